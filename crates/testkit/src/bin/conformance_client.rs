//! The client as the public conformance suite of MCP wants to have it: a program that is given the address of
//! a server and does with it what a client does. It calls every tool that the server offers. Where it must log
//! in, it opens the page itself: those of the suite lead back at once.

use std::sync::Arc;

use bonded_kernel::{Limits, Mask, Outcome};
use bonded_testkit::invocation;
use bonded_tools::mcp::{
    Grant, HttpEndpoint, IdentityProvider, McpServer, McpServers, Oauth, OauthSettings,
    ProviderPlace, Subject, SubjectKind,
};
use bonded_tools::{Queues, Registry};
use serde_json::{Value, json};

/// Where the suite wants a client to describe itself.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

type Fault = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Fault> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(drive())
}

async fn drive() -> Result<(), Fault> {
    let url = std::env::args().nth(1).ok_or("the address is missing")?;
    let tokens = tempfile::tempdir()?;
    let oauth = Oauth::new(settings()?).keeping(tokens.path().to_owned());
    let endpoint = HttpEndpoint {
        url,
        oauth: Some(Arc::new(oauth.attended(visit))),
        ..HttpEndpoint::default()
    };
    let mut server = McpServer::http("suite", endpoint);
    server.takes_form_defaults = true;
    let pool = McpServers::new(Arc::new(Queues::new([])?), 1);
    let called = call_all(&pool, server).await;
    pool.stop().await;
    called
}

async fn call_all(pool: &McpServers, server: McpServer) -> Result<(), Fault> {
    let registry = Registry::new(pool.start(&[server]).await?.tools)?;
    let names = registry.catalog().specs().map(|spec| spec.name.clone());
    for name in names.filter(|name| name.starts_with("suite__")) {
        let call = invocation(&registry, &Limits::default(), &name, &arguments(&name));
        let output = registry.invoke(&call, &Mask::default()).await;
        if output.outcome != Outcome::Ok {
            return Err(format!("{name}: {}", output.text).into());
        }
    }
    Ok(())
}

/// What the suite says about us.
fn settings() -> Result<OauthSettings, Fault> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or("{}".into());
    let context: Value = serde_json::from_str(&context)?;
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let identity_provider = text("idp_issuer").map(|issuer| IdentityProvider {
        place: ProviderPlace::Issuer(issuer),
        client_id: text("idp_client_id").unwrap_or_default(),
        client_secret: None,
        subject: Subject::Token(text("idp_id_token").unwrap_or_default()),
        subject_kind: SubjectKind::IdToken,
    });
    let is_program = scenario.starts_with("auth/client-credentials");
    Ok(OauthSettings {
        grant: match is_program {
            _ if identity_provider.is_some() => Grant::IdentityAssertion,
            true => Grant::ClientCredentials,
            false => Grant::AuthorizationCode,
        },
        identity_provider,
        client_id: text("client_id").or(Some(DOCUMENT.into())),
        client_secret: text("client_secret"),
        private_key_pem: text("private_key_pem"),
        ..OauthSettings::default()
    })
}

/// Opens a page and goes where it leads.
fn visit(url: &str) {
    // An error says only that a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let page = reqwest::Client::new().get(url);
    tokio::spawn(async move { page.send().await });
}

fn arguments(tool: &str) -> Value {
    match tool {
        "suite__add_numbers" => json!({ "a": 5, "b": 3 }),
        _ => json!({}),
    }
}
