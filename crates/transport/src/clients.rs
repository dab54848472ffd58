//! The HTTP clients, each built when it is first needed: reading the certificates of the system takes
//! longer than starting the process, and a server on this machine needs none of them.
//!
//! There are three, because what may be on the way differs. Whatever goes to this machine, or goes unencrypted,
//! never goes through a proxy: the proxy would see the key and the conversation. What goes elsewhere is
//! encrypted, and a proxy that the environment names sees only the host. Redirects and certificates are the
//! business of `bonded_outbound`, which builds them.

use std::sync::OnceLock;
use std::time::Duration;

use bonded_outbound::{Address, PooledClient, Proxy, Reach};

/// A connection with TLS is dear to open, and providers keep theirs for a minute and longer.
const TLS_IDLE: Duration = Duration::from_secs(60);

/// One that could not be built stays so: the reason is kept as text.
type Built = OnceLock<Result<PooledClient, String>>;

/// One of these lives as long as its transport, so that connections are used again. A look at a list makes one for
/// itself and drops it.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    /// For `http:` endpoints. Never through a proxy.
    plain: OnceLock<PooledClient>,
    /// For `https:` endpoints on this machine. Never through a proxy.
    tls_loopback: Built,
    /// For all other `https:` endpoints, through the proxy that the environment names.
    tls: Built,
}

impl Clients {
    /// The client for an address, built if it is the first of its kind. A client that could not be built fails
    /// for every request of this process in the same words; it is not tried again, since certificates that
    /// could not be read stay so.
    pub(crate) fn to(&self, address: &Address) -> Result<&PooledClient, String> {
        let (slot, proxy) = match address.reach() {
            Reach::Plain => return Ok(self.plain.get_or_init(PooledClient::plain)),
            Reach::EncryptedLoopback => (&self.tls_loopback, Proxy::Never),
            Reach::Encrypted => (&self.tls, Proxy::FromEnvironment),
        };
        let built = slot.get_or_init(|| PooledClient::encrypted(proxy, TLS_IDLE));
        built.as_ref().map_err(Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_endpoint_never_loads_the_certificates() {
        let clients = Clients::default();
        let url = "http://127.0.0.1:1/v1".parse().expect("a URL");
        let address = Address::new(&url).expect("an address");
        assert!(clients.to(&address).is_ok());
        assert!(clients.tls.get().is_none() && clients.tls_loopback.get().is_none());
    }
}
