//! The HTTP clients, each built when it is first needed: reading the certificates of the system takes
//! longer than starting the process, and a server on this machine needs none of them.

use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::{Client, ClientBuilder, Url, redirect, retry};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Common servers close an idle connection after five seconds; one that is given up before that is never
/// used at the moment in which it is closed.
const PLAIN_IDLE: Duration = Duration::from_secs(4);
const TLS_IDLE: Duration = Duration::from_secs(60);

/// A client is cheap to clone, but one that could not be built stays so: the reason is kept as text.
type Built = OnceLock<Result<Client, String>>;

#[derive(Debug, Default)]
pub(crate) struct Clients {
    /// For `http:` endpoints. Never through a proxy.
    plain: Built,
    /// For `https:` endpoints on this machine. Never through a proxy.
    tls_loopback: Built,
    /// For all other `https:` endpoints, through the proxy that the environment names.
    tls: Built,
}

impl Clients {
    pub(crate) fn for_url(&self, url: &Url) -> Result<Client, String> {
        let (slot, build): (_, fn() -> _) = match url.scheme() {
            "http" => (&self.plain, build_plain),
            "https" if is_loopback(url) => (&self.tls_loopback, || build_tls(true)),
            "https" => (&self.tls, || build_tls(false)),
            other => return Err(format!("the scheme {other:?} is not http or https")),
        };
        slot.get_or_init(build).clone()
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What holds for every client. Redirects are not followed: a key and a conversation go only to the host
/// that the user named. Retries are the kernel's alone.
fn common() -> ClientBuilder {
    Client::builder()
        .user_agent(concat!("bonded/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
}

fn build_plain() -> Result<Client, String> {
    let provider = rustls::crypto::ring::default_provider();
    let no_roots = rustls::ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = common()
        .tls_backend_preconfigured(no_roots)
        .pool_idle_timeout(PLAIN_IDLE)
        .no_proxy();
    client.build().map_err(|error| error.to_string())
}

fn build_tls(loopback: bool) -> Result<Client, String> {
    // An error says only that a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = common().pool_idle_timeout(TLS_IDLE);
    let client = if loopback { client.no_proxy() } else { client };
    client.build().map_err(|error| {
        let source = std::error::Error::source(&error).map(ToString::to_string);
        format!("{error}: {}", source.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_loopback() {
        let cases = [
            ("https://localhost:1234/v1", true),
            ("https://127.0.0.1/v1", true),
            ("https://127.9.9.9/v1", true),
            ("https://[::1]:8080/v1", true),
            ("https://localhost.example.org/v1", false),
            ("https://10.0.0.1/v1", false),
            ("https://api.example.org/v1", false),
        ];
        for (url, expected) in cases {
            let url: Url = url.parse().expect("a URL");
            assert_eq!(is_loopback(&url), expected, "{url}");
        }
    }

    #[test]
    fn a_plain_endpoint_never_loads_the_certificates() {
        let clients = Clients::default();
        let url = "http://127.0.0.1:1/v1".parse().expect("a URL");
        assert!(clients.for_url(&url).is_ok());
        assert!(clients.tls.get().is_none() && clients.tls_loopback.get().is_none());
    }

    #[test]
    fn other_schemes_are_refused() {
        let url = "ftp://example.org/".parse().expect("a URL");
        let refused = Clients::default().for_url(&url);
        assert!(refused.is_err_and(|why| why.contains("ftp")));
    }
}
