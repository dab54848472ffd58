//! What the HTTP clients of tools have in common.

use std::error::Error;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Url, redirect, retry};

use crate::tls;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Common servers close an idle connection after five seconds; one that is given up before that is never
/// used at the moment in which it is closed.
const IDLE: Duration = Duration::from_secs(4);

/// What holds for every client. Redirects are not followed, so that a token goes only to the host that the
/// user named; and nothing is sent twice, because a call may not be made twice.
pub(crate) fn common() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("bonded/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
}

/// For `http:` no certificates are read; for everything else nothing but `https:` is spoken.
pub(crate) fn for_scheme(client: ClientBuilder, url: &Url) -> Result<ClientBuilder, String> {
    match url.scheme() {
        "http" => without_certificates(client),
        _ => {
            provide_tls();
            Ok(client.https_only(true))
        }
    }
}

pub(crate) fn provide_tls() {
    // An error says only that a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

pub(crate) fn without_certificates(client: ClientBuilder) -> Result<ClientBuilder, String> {
    let provider = rustls::crypto::ring::default_provider();
    let no_roots = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(client.tls_backend_preconfigured(no_roots))
}

/// An error with its causes, each once: the outermost one alone says little. What TLS refused is said in our own words.
pub(crate) fn causes(error: &(dyn Error + 'static)) -> String {
    if let Some(refused) = tls::refused(error) {
        return refused;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        source = cause.source();
    }
    text
}
