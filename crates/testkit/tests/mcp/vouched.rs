//! Servers to which a company's identity provider opens the door.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bonded_kernel::{Limits, Mask, Outcome, ToolOutput};
use bonded_tools::Registry;
use bonded_tools::mcp::{
    Grant, HttpEndpoint, IdentityProvider, McpServer, McpServers, Oauth, OauthSettings,
    ProviderPlace, Subject, SubjectKind,
};
use serde_json::json;
use tempfile::TempDir;

use crate::issuer::{Asked, Issuer, says};
use crate::world::{invocation, pool, registry};

type Learnt = Arc<Mutex<BTreeSet<String>>>;

fn provider(issuer: &Issuer, file: &Path) -> IdentityProvider {
    IdentityProvider {
        place: ProviderPlace::TokenEndpoint(format!("{}/identity/token", issuer.origin)),
        client_id: "desk".into(),
        client_secret: Some("desk-secret".into()),
        subject: Subject::InFile(file.to_owned()),
        subject_kind: SubjectKind::IdToken,
    }
}

fn endpoint(issuer: &Issuer, provider: IdentityProvider, learnt: &Learnt) -> HttpEndpoint {
    let settings = OauthSettings {
        grant: Grant::IdentityAssertion,
        client_id: Some("program".into()),
        client_secret: Some("program-secret".into()),
        identity_provider: Some(provider),
        ..OauthSettings::default()
    };
    let learnt = Arc::clone(learnt);
    let learn = move |_: &str, value: &str| {
        learnt.lock().expect("nobody panics").insert(value.into());
    };
    HttpEndpoint {
        url: issuer.url(),
        oauth: Some(Arc::new(Oauth::new(settings).learning(learn))),
        ..HttpEndpoint::default()
    }
}

async fn start(endpoint: HttpEndpoint) -> Result<(McpServers, Registry), String> {
    let pool = pool(1);
    let started = pool.start(&[McpServer::http("srv", endpoint)]).await;
    let started = started.map_err(|error| error.to_string())?;
    Ok((pool, registry(started)))
}

async fn call(registry: &Registry) -> ToolOutput {
    let call = invocation(registry, &Limits::default(), "srv__token", &json!({}));
    registry.invoke(&call, &Mask::default()).await
}

fn at(issuer: &Issuer, path: &str) -> Vec<Asked> {
    let state = issuer.state();
    let asked = state.asked.iter().filter(|asked| asked.path == path);
    asked.cloned().collect()
}

#[tokio::test]
async fn who_is_vouched_for_needs_no_login_and_is_vouched_for_again_when_a_token_is_over() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    let file = temp.path().join("identity");
    std::fs::write(&file, "person-91aa-1\n").expect("it is written");
    let learnt = Learnt::default();
    let endpoint = endpoint(&issuer, provider(&issuer, &file), &learnt);
    let (_pool, registry) = start(endpoint).await.expect("it starts");
    assert_eq!(
        call(&registry).await.text,
        "you sent access-7f31c95e2b8d4a06f9b2-2"
    );
    // The next token is asked for with the identity token that is in the file by then.
    std::fs::write(&file, "person-91aa-2\n").expect("it is written");
    issuer.expire();
    assert_eq!(
        call(&registry).await.text,
        "you sent access-7f31c95e2b8d4a06f9b2-4"
    );

    let exchanges = at(&issuer, "/identity/token");
    let fields = exchanges.iter().map(|asked| &asked.fields);
    for (fields, person) in fields.zip(["person-91aa-1", "person-91aa-2"]) {
        let kind = |name: &str| format!("urn:ietf:params:oauth:token-type:{name}");
        let expected = [
            (
                "grant_type",
                "urn:ietf:params:oauth:grant-type:token-exchange".into(),
            ),
            ("requested_token_type", kind("id-jag")),
            ("subject_token_type", kind("id_token")),
            ("subject_token", person.to_owned()),
            ("audience", issuer.origin.clone()),
            ("resource", issuer.url()),
            ("scope", "read".into()),
        ];
        for (name, value) in expected {
            assert_eq!(fields.get(name), Some(&value), "{name}");
        }
    }
    assert_eq!(exchanges.len(), 2);
    // "desk:desk-secret": what the issuer knows of us is not told here.
    let desk = "Basic ZGVzazpkZXNrLXNlY3JldA==";
    assert!(exchanges.iter().all(|asked| asked.authorization == desk));
    let carries = |asked: &&Asked, part: &str| asked.fields.values().any(|it| it.contains(part));
    let state = issuer.state();
    let carry_identity = state.asked.iter().filter(|it| carries(it, "person-91aa"));
    assert!(
        carry_identity
            .into_iter()
            .all(|it| it.path == "/identity/token")
    );
    let carry_word = state.asked.iter().filter(|it| carries(it, "word-4c88"));
    assert!(carry_word.into_iter().all(|it| it.path == "/token"));
    let learnt = learnt.lock().expect("nobody panics");
    for secret in [
        "person-91aa-1",
        "person-91aa-2",
        "word-4c88-1",
        "access-7f31c95e2b8d4a06f9b2-4",
    ] {
        assert!(learnt.contains(secret), "{secret} is masked: {learnt:?}");
    }
}

#[tokio::test]
async fn an_identity_token_that_is_over_fails_the_call_and_names_its_place() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    let file = temp.path().join("identity");
    std::fs::write(&file, "person-91aa").expect("it is written");
    let learnt = Learnt::default();
    let endpoint = endpoint(&issuer, provider(&issuer, &file), &learnt);
    let (_pool, registry) = start(endpoint).await.expect("it starts");
    std::fs::write(&file, "too-old").expect("it is written");
    issuer.expire();
    let output = call(&registry).await;
    assert_eq!(output.outcome, Outcome::Failed);
    for part in [
        "does not vouch",
        "has expired",
        "identity",
        "nothing was executed",
    ] {
        assert!(output.text.contains(part), "{part} in {}", output.text);
    }
    assert!(!output.text.contains("too-old"), "{}", output.text);
}

#[tokio::test]
async fn what_is_no_word_of_the_provider_is_not_taken_to_the_issuer() {
    let issuer = Issuer::twisted(|_, asked| {
        let asks = asked.path == "/identity/token" && asked.fields["subject_token"] == "mistaken";
        let other = json!({ "issued_token_type": "urn:ietf:params:oauth:token-type:access_token",
            "token_type": "Bearer", "access_token": "word-4c88" });
        asks.then(|| says(200, &other))
    });
    let temp = TempDir::new().expect("a directory");
    let at_file = |name: &str, text: &str| {
        let file = temp.path().join(name);
        std::fs::write(&file, text).expect("it is written");
        file
    };
    let missing = temp.path().join("missing");
    let good = at_file("good", "person-91aa");
    let elsewhere = |url: &str| IdentityProvider {
        place: ProviderPlace::TokenEndpoint(url.into()),
        ..provider(&issuer, &good)
    };
    let named = IdentityProvider {
        place: ProviderPlace::Issuer(format!("{}/nobody", issuer.origin)),
        ..provider(&issuer, &good)
    };
    let rows = [
        (
            provider(&issuer, &at_file("other", "mistaken")),
            "has not issued",
        ),
        (provider(&issuer, &missing), "cannot be read"),
        (
            provider(&issuer, &at_file("empty", " \n")),
            "no identity token",
        ),
        (elsewhere("http://identity.example/token"), "not encrypted"),
        (elsewhere("identity"), "is not an address"),
        (named, "describes itself nowhere"),
    ];
    for (provider, part) in rows {
        let endpoint = endpoint(&issuer, provider, &Learnt::default());
        let error = start(endpoint).await.map(drop).expect_err("nobody vouches");
        assert!(error.contains(part), "{part} in {error}");
    }
    assert!(at(&issuer, "/token").is_empty(), "the issuer was not asked");
}

#[tokio::test]
async fn a_provider_says_itself_where_it_exchanges_tokens() {
    let issuer = Issuer::twisted(|origin, asked| {
        let is_asked = asked.path == "/identity/.well-known/openid-configuration";
        let described = json!({ "issuer": format!("{origin}/identity"),
            "token_endpoint": format!("{origin}/identity/token"),
            "token_endpoint_auth_methods_supported": ["client_secret_post"] });
        is_asked.then(|| says(200, &described))
    });
    let provider = IdentityProvider {
        place: ProviderPlace::Issuer(format!("{}/identity", issuer.origin)),
        subject: Subject::Token("person-91aa".into()),
        subject_kind: SubjectKind::RefreshToken,
        ..provider(&issuer, Path::new("/nowhere"))
    };
    let endpoint = endpoint(&issuer, provider, &Learnt::default());
    let (_pool, registry) = start(endpoint).await.expect("it starts");
    assert_eq!(
        call(&registry).await.text,
        "you sent access-7f31c95e2b8d4a06f9b2-2"
    );
    let exchange = &at(&issuer, "/identity/token")[0];
    assert_eq!(exchange.fields["client_secret"], "desk-secret");
    let kind = &exchange.fields["subject_token_type"];
    assert_eq!(kind, "urn:ietf:params:oauth:token-type:refresh_token");
}
