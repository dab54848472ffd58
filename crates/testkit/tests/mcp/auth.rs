//! Servers that demand tokens: logins, renewals, and issuers that cannot be trusted.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use bonded_kernel::{Limits, Mask, Outcome, ToolOutput};
use bonded_tools::Registry;
use bonded_tools::mcp::{
    Grant, HttpEndpoint, LoggedIn, McpError, McpServer, McpServers, Oauth, OauthSettings, login,
    logout,
};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::issuer::{Answer, Asked, Issuer, browse};
use crate::world::{invocation, pool, registry};

fn endpoint(issuer: &Issuer, dir: &Path, change: impl FnOnce(Oauth) -> Oauth) -> HttpEndpoint {
    let oauth = Oauth::new(OauthSettings::default()).keeping(dir.to_owned());
    HttpEndpoint {
        url: issuer.url(),
        oauth: Some(Arc::new(change(oauth))),
        ..HttpEndpoint::default()
    }
}

fn visit(url: &str) {
    let url = url.to_owned();
    std::thread::spawn(move || browse(&url));
}

pub(crate) async fn log_in(issuer: &Issuer, dir: &Path) -> Result<LoggedIn, McpError> {
    login("srv", &endpoint(issuer, dir, |oauth| oauth.attended(visit))).await
}

/// A run without anybody at the screen.
async fn start(issuer: &Issuer, dir: &Path) -> Result<(McpServers, Registry), McpError> {
    let pool = pool(1);
    let server = McpServer::http("srv", endpoint(issuer, dir, |oauth| oauth));
    let started = pool.start(&[server]).await?;
    Ok((pool, registry(started)))
}

async fn call(registry: &Registry) -> ToolOutput {
    let call = invocation(registry, &Limits::default(), "srv__token", &json!({}));
    registry.invoke(&call, &Mask::default()).await
}

fn kept(dir: &Path) -> Value {
    let files = std::fs::read_dir(dir).expect("it can be read");
    let paths = files.map(|file| file.expect("it is there").path());
    let mut paths = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let path = paths.next().expect("a file of tokens");
    let text = std::fs::read_to_string(path).expect("it can be read");
    serde_json::from_str(&text).expect("it is JSON")
}

#[tokio::test]
async fn a_login_is_kept_for_its_owner_alone_and_used_by_runs() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    let dir = temp.path().join("deep/tokens");
    let done = log_in(&issuer, &dir).await.expect("it succeeds");
    assert_eq!((done.scope.as_str(), done.is_renewed), ("read", true));
    for (path, mode) in [(done.file.as_path(), 0o600), (&dir, 0o700)] {
        let found = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(found & 0o777, mode, "{}", path.display());
    }
    let (_pool, registry) = start(&issuer, &dir).await.expect("it starts");
    assert_eq!(
        call(&registry).await.text,
        "you sent access-7f31c95e2b8d4a06f9b2-1"
    );
    let state = issuer.state();
    let asked = |path: &str| {
        let mut found = state.asked.iter().filter(|asked| asked.path == path);
        found.next().cloned().expect("it was asked for")
    };
    let (page, token) = (asked("/authorize"), asked("/token"));
    for field in ["resource", "redirect_uri"] {
        assert_eq!(page.fields[field], token.fields[field], "{field}");
    }
    assert_eq!(page.fields["resource"], issuer.url());
    assert_eq!(page.fields["scope"], "read");
    let carries_token = |asked: &&Asked| asked.authorization.contains("7f31");
    let mut carrying = state.asked.iter().filter(carries_token);
    assert!(carrying.all(|asked| asked.path == "/mcp"));
}

#[tokio::test]
async fn without_a_login_a_person_is_told_how_to_log_in() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    let error = start(&issuer, temp.path()).await.map(drop);
    let error = error.expect_err("it is refused").to_string();
    for part in ["401", "`bonded login srv`", "secretHeaders"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    assert_eq!(issuer.state().asked.len(), 1, "nobody else was asked");
}

#[tokio::test]
async fn a_token_that_is_refused_is_renewed_once_and_the_call_is_made() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    log_in(&issuer, temp.path()).await.expect("it succeeds");
    let (_pool, registry) = start(&issuer, temp.path()).await.expect("it starts");
    issuer.expire();
    assert_eq!(
        call(&registry).await.text,
        "you sent access-7f31c95e2b8d4a06f9b2-2"
    );
    assert_eq!(issuer.grants("refresh_token"), 1);
    assert_eq!(
        kept(temp.path())["refresh_token"],
        "refresh-7f31c95e2b8d4a06f9b2-2"
    );
    // An issuer that takes everything back leaves nothing to renew.
    issuer.expire();
    issuer.state().refresh.clear();
    let output = call(&registry).await;
    assert_eq!(output.outcome, Outcome::Failed);
    for part in [
        "`bonded login srv`",
        "invalid_grant",
        "nothing was executed",
    ] {
        assert!(output.text.contains(part), "{part} in {}", output.text);
    }
    // A login that somebody makes meanwhile is found.
    log_in(&issuer, temp.path()).await.expect("it succeeds");
    assert_eq!(
        call(&registry).await.text,
        "you sent access-7f31c95e2b8d4a06f9b2-3"
    );
}

#[tokio::test]
async fn a_token_that_is_about_to_expire_is_renewed_before_it_is_sent() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    issuer.state().lifetime_s = Some(0);
    log_in(&issuer, temp.path()).await.expect("it succeeds");
    issuer.state().lifetime_s = Some(3600);
    let (_pool, registry) = start(&issuer, temp.path()).await.expect("it starts");
    assert_eq!(
        call(&registry).await.text,
        "you sent access-7f31c95e2b8d4a06f9b2-2"
    );
    let state = issuer.state();
    let mut sent = state.asked.iter().filter(|asked| asked.path == "/mcp");
    assert!(
        sent.all(|asked| !asked.authorization.ends_with("7f31c95e2b8d4a06f9b2-1")),
        "the old one is not sent"
    );
}

#[tokio::test]
async fn many_who_are_refused_at_once_spend_one_refresh_token() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    log_in(&issuer, temp.path()).await.expect("it succeeds");
    let mut worlds = vec![];
    for _ in 0..6 {
        worlds.push(start(&issuer, temp.path()).await.expect("it starts"));
    }
    issuer.expire();
    let calls = worlds
        .iter()
        .flat_map(|(_, registry)| [call(registry), call(registry)]);
    for output in join_all(calls).await {
        assert_eq!(output.text, "you sent access-7f31c95e2b8d4a06f9b2-2");
    }
    assert_eq!(issuer.grants("refresh_token"), 1);
}

#[tokio::test]
async fn a_program_that_the_issuer_knows_needs_no_login_and_leaves_no_file() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    let settings = OauthSettings {
        grant: Grant::ClientCredentials,
        client_id: Some("program".into()),
        client_secret: Some("program-secret".into()),
        ..OauthSettings::default()
    };
    let learnt = Arc::<Mutex<Vec<String>>>::default();
    let learning = Arc::clone(&learnt);
    let oauth = Oauth::new(settings)
        .keeping(temp.path().to_owned())
        .learning(move |_, value| learning.lock().expect("nobody panics").push(value.into()));
    let endpoint = HttpEndpoint {
        url: issuer.url(),
        oauth: Some(Arc::new(oauth)),
        ..HttpEndpoint::default()
    };
    let pool = pool(1);
    let started = pool.start(&[McpServer::http("srv", endpoint)]).await;
    let registry = registry(started.expect("it starts"));
    issuer.expire();
    assert_eq!(
        call(&registry).await.text,
        "you sent access-7f31c95e2b8d4a06f9b2-2"
    );
    assert_eq!(issuer.grants("client_credentials"), 2);
    let learnt = learnt.lock().expect("nobody panics");
    assert!(
        learnt.contains(&"access-7f31c95e2b8d4a06f9b2-2".to_owned()),
        "{learnt:?}"
    );
    let left = std::fs::read_dir(temp.path()).expect("it can be read");
    assert_eq!(left.count(), 0);
}

#[tokio::test]
async fn a_call_that_needs_more_than_was_granted_fails_with_what_to_do() {
    let issuer = Issuer::twisted(|_, asked| {
        let head =
            "www-authenticate: Bearer error=\"insufficient_scope\", scope=\"read $(write)'\"\r\n";
        let is_call = asked.body["method"] == "tools/call";
        is_call.then(|| Answer(403, head.into(), String::new()))
    });
    let temp = TempDir::new().expect("a directory");
    log_in(&issuer, temp.path()).await.expect("it succeeds");
    let (_pool, registry) = start(&issuer, temp.path()).await.expect("it starts");
    let output = call(&registry).await;
    assert_eq!(output.outcome, Outcome::Failed);
    let part = "`bonded login srv --scope 'read write'`";
    assert!(output.text.contains(part), "{}", output.text);
}

#[tokio::test]
async fn a_logout_takes_the_token_back_and_forgets_it() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    log_in(&issuer, temp.path()).await.expect("it succeeds");
    let endpoint = endpoint(&issuer, temp.path(), |oauth| oauth);
    assert!(logout("srv", &endpoint).await.expect("it succeeds"));
    assert!(issuer.state().refresh.is_empty());
    assert!(!logout("srv", &endpoint).await.expect("it succeeds"));
    assert!(start(&issuer, temp.path()).await.is_err());
}

#[tokio::test]
async fn a_login_with_another_issuer_than_the_one_that_is_wanted_is_not_used() {
    let (issuer, temp) = (Issuer::start(), TempDir::new().expect("a directory"));
    log_in(&issuer, temp.path()).await.expect("it succeeds");
    for (wanted, is_used) in [("https://other.example", false), (&issuer.origin, true)] {
        let settings = OauthSettings {
            issuer: Some(wanted.into()),
            ..OauthSettings::default()
        };
        let oauth = Oauth::new(settings).keeping(temp.path().to_owned());
        let endpoint = HttpEndpoint {
            url: issuer.url(),
            oauth: Some(Arc::new(oauth)),
            ..HttpEndpoint::default()
        };
        let pool = pool(1);
        let started = pool.start(&[McpServer::http("srv", endpoint)]).await;
        assert_eq!(started.is_ok(), is_used, "{wanted}: {started:?}");
        let mut state = issuer.state();
        let mut asked = state.asked.drain(..);
        let carried = asked.any(|asked| asked.authorization.contains("7f31"));
        assert_eq!(carried, is_used, "{wanted}");
    }
}
