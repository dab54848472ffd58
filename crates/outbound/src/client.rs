//! The clients, and the settings that all of them share.

use std::error::Error;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Url, redirect, retry};
use rustls::crypto::ring;

pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) const USER_AGENT_NAME: &str = concat!("bonded/", env!("CARGO_PKG_VERSION"));

/// Common servers close an idle connection after five seconds; one that is given up before that is never
/// used at the moment in which it is closed.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Whether requests go through a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// Whatever the environment says: for servers on this machine.
    Never,
    /// The one that the environment names, if it names one.
    FromEnvironment,
}

/// What holds for every client. Redirects are not followed, so that a key, a token and a conversation go only to the
/// host that the user named. Nothing is sent twice: a call may not be made twice, and retries are the kernel's alone.
pub fn builder() -> ClientBuilder {
    Client::builder()
        .user_agent(USER_AGENT_NAME)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(IDLE_TIMEOUT)
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
}

/// A client for `http:`. No certificates are read, and no proxy is used.
pub fn plain() -> Result<Client, String> {
    let client = without_certificates(builder())?.no_proxy();
    client.build().map_err(|error| error.to_string())
}

/// A client for `https:`, which trusts whom the system trusts. An idle connection is kept for `idle`.
pub fn encrypted(proxy: Proxy, idle: Duration) -> Result<Client, String> {
    provide_tls();
    let client = builder().pool_idle_timeout(idle);
    let client = match proxy {
        Proxy::Never => client.no_proxy(),
        Proxy::FromEnvironment => client,
    };
    client.build().map_err(|error| {
        let source = error.source().map(ToString::to_string);
        format!("{error}: {}", source.unwrap_or_default())
    })
}

/// For `http:` no certificates are read; for everything else nothing but `https:` is spoken.
pub fn for_scheme(client: ClientBuilder, url: &Url) -> Result<ClientBuilder, String> {
    match url.scheme() {
        "http" => without_certificates(client),
        _ => {
            provide_tls();
            Ok(client.https_only(true))
        }
    }
}

fn provide_tls() {
    // An error says only that a provider is installed already, which serves as well.
    let _ = ring::default_provider().install_default();
}

/// Reading the certificates of the system takes longer than starting the process.
fn without_certificates(client: ClientBuilder) -> Result<ClientBuilder, String> {
    let no_roots = rustls::ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(client.tls_backend_preconfigured(no_roots))
}
