//! How tokens of MCP servers are had.

use bonded_host::config::McpTransport;
use bonded_tools::mcp::{
    Grant, IdentityProvider, OauthSettings, ProviderPlace, Subject, SubjectKind,
};
use bonded_tools::rest::Reach;
use serde_json::{Value, json};

use crate::mcp::server;
use crate::world::World;

#[test]
fn how_tokens_are_had_is_read_and_what_contradicts_itself_is_named() {
    let with = |oauth: Value| json!({"url": "https://x/mcp", "oauth": oauth});
    let found = |settings: &Value| match server(settings)?.transport {
        McpTransport::Http(endpoint) => Ok(endpoint.oauth),
        other => Err(format!("{other:?}")),
    };
    assert_eq!(found(&json!({"url": "https://x/mcp"})), Ok(None));
    let all = with(
        json!({"grant": "client_credentials", "clientId": "i", "clientSecret": "hidden",
        "scopes": ["a b", "c"], "issuer": "https://y", "redirectPort": 8123, "privateAddresses": true}),
    );
    let oauth = found(&all).expect("it is good").expect("it is there");
    let expected = OauthSettings {
        grant: Grant::ClientCredentials,
        client_id: Some("i".into()),
        client_secret: Some("hidden".into()),
        private_key_pem: None,
        scopes: vec!["a".into(), "b".into(), "c".into()],
        issuer: Some("https://y".into()),
        identity_provider: None,
        redirect_port: Some(8123),
        reach: Reach::Private,
    };
    assert_eq!(oauth, expected);
    assert!(!format!("{oauth:?}").contains("hidden"));
    assert_eq!(found(&with(json!({}))), Ok(Some(OauthSettings::default())));
    for (settings, part) in [
        (with(json!({"grant": "password"})), "client_credentials"),
        (with(json!({"grant": "client_credentials"})), "clientId"),
        (with(json!({"clientSecret": "s"})), "clientId"),
        (
            with(json!({"clientId": "i", "clientSecret": "s", "privateKey": "p"})),
            "remove the one",
        ),
        (
            json!({"url": "https://x", "oauth": {}, "secretHeaders": {"authorization": "s"}}),
            "remove one of them",
        ),
    ] {
        let error = found(&settings).expect_err("it is wrong");
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn a_port_that_no_machine_has_is_refused_whatever_a_run_uses() {
    let oauth = json!({"url": "https://x", "oauth": {"redirectPort": 70000}});
    let world = World::with(&json!({"mcpServers": {"s": oauth}}).to_string());
    let problems = world.problems();
    assert!(problems.contains("a port, from 1 to 65535"), "{problems}");
}

#[test]
fn who_vouches_for_a_person_is_read_and_what_is_missing_is_named() {
    let with = |provider: &Value| {
        let oauth =
            json!({"grant": "identity_assertion", "clientId": "i", "identityProvider": provider});
        json!({"url": "https://x/mcp", "oauth": oauth})
    };
    let found = |settings: &Value| match server(settings)?.transport {
        McpTransport::Http(endpoint) => Ok(endpoint.oauth.and_then(|it| it.identity_provider)),
        other => Err(format!("{other:?}")),
    };
    let in_file = json!({"issuer": "https://p", "clientId": "d", "clientSecret": "hidden",
        "token": "hidden too", "tokenType": "refresh_token"});
    let expected = IdentityProvider {
        place: ProviderPlace::Issuer("https://p".into()),
        client_id: "d".into(),
        client_secret: Some("hidden".into()),
        subject: Subject::Token("hidden too".into()),
        subject_kind: SubjectKind::RefreshToken,
    };
    assert_eq!(found(&with(&in_file)), Ok(Some(expected)));
    let said = json!({"tokenEndpoint": "https://p/token", "clientId": "d", "token": "hidden"});
    let provider = found(&with(&said))
        .expect("it is good")
        .expect("it is there");
    assert_eq!(provider.subject, Subject::Token("hidden".into()));
    assert!(!format!("{provider:?} {:?}", provider.subject).contains("hidden"));
    let but = |change: Value| {
        let mut provider = said.clone();
        let fields = change.as_object().cloned().unwrap_or_default();
        provider.as_object_mut().expect("an object").extend(fields);
        with(&provider)
    };
    let alone = json!({"url": "https://x", "oauth": {"identityProvider": said}});
    let nobody =
        json!({"url": "https://x", "oauth": {"grant": "identity_assertion", "clientId": "i"}});
    for (settings, part) in [
        (with(&json!({})), "issuer, or a tokenEndpoint"),
        (with(&json!({})), "token, or a tokenFile"),
        (with(&json!({})), "needs a clientId"),
        (but(json!({"issuer": "https://p"})), "not both"),
        (but(json!({"tokenFile": "/f"})), "not both"),
        (but(json!({"token": null, "tokenFile": "f"})), "absolute"),
        (but(json!({"tokenType": "saml"})), "id_token, refresh_token"),
        (alone, "need each other"),
        (nobody, "need each other"),
    ] {
        let error = found(&settings).expect_err("it is wrong");
        assert!(error.contains(part), "{part} in {error}");
    }
}

#[test]
fn every_secret_of_a_login_is_known_before_it_is_used() {
    let provider = json!({"issuer": "https://p", "clientId": "d", "clientSecret": "${A}-desk-Kq7w2Zt9",
        "token": "${A}-identity-Xv4m8Rb1"});
    let oauth = json!({"grant": "identity_assertion", "clientId": "i", "clientSecret": "${A}-client-Nc6y3Lp5",
        "identityProvider": provider});
    let settings = json!({"mcpServers": {"s": {"url": "https://x/mcp", "oauth": oauth}}});
    let world = World::with(&settings.to_string()).variable("A", "plain");
    let (config, secrets) = world.load_with_secrets();
    config.mcp_server("s").expect("it is good");
    for secret in [
        "plain-desk-Kq7w2Zt9",
        "plain-identity-Xv4m8Rb1",
        "plain-client-Nc6y3Lp5",
    ] {
        let masked = secrets.mask().text(secret).into_owned();
        assert!(!masked.contains(secret), "{masked}");
    }
}

#[test]
fn the_file_of_a_token_may_be_anywhere_for_the_person_and_beneath_its_directory_for_what_was_found()
{
    let with = |file: &str| {
        let provider = json!({"issuer": "https://p", "clientId": "d", "tokenFile": file});
        let oauth =
            json!({"grant": "identity_assertion", "clientId": "i", "identityProvider": provider});
        json!({"mcpServers": {"s": {"url": "https://x/mcp", "oauth": oauth}}}).to_string()
    };
    let subject = |world: &World| match world.load().mcp_server("s") {
        Ok(Some(server)) => match server.transport {
            McpTransport::Http(endpoint) => {
                let provider = endpoint.oauth.and_then(|it| it.identity_provider);
                Ok(provider.expect("it is there").subject)
            }
            other => Err(format!("{other:?}")),
        },
        Ok(None) => Err("it is not there".to_owned()),
        Err(problems) => Err(world.shown(&problems)),
    };
    let own = World::new().file("home/.ai-agent/ai-agent.json", with("/run/identity"));
    assert_eq!(subject(&own), Ok(Subject::InFile("/run/identity".into())));
    let world = World::new()
        .file("cwd/token", "abc\n")
        .file("outside", "key");
    let inside = with(&world.path("cwd/token").to_string_lossy());
    let world = world.file("cwd/.ai-agent.json", inside);
    assert_eq!(subject(&world), Ok(Subject::Token("abc".into())));
    let outside = with(&world.path("outside").to_string_lossy());
    let world = world.file("cwd/.ai-agent.json", outside);
    assert!(subject(&world).is_err_and(|why| why.contains("tokenFile")));
}
