//! From a host's name to the addresses that a tool may connect to.
//!
//! Connections are made to the addresses that were judged, not to the name: nobody can give a harmless
//! address to the judge and another one to the connection.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::policy::may_reach;
use super::settings::Reach;

/// Looks up the addresses of a name.
pub type NameLookup =
    Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Asks the operating system.
pub fn system_lookup() -> NameLookup {
    Arc::new(|host| {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    })
}

/// Resolves the one host that a person named.
pub(crate) struct JudgingResolver {
    pub(crate) host: String,
    pub(crate) reach: Reach,
    pub(crate) lookup: NameLookup,
}

/// The name leads to no address that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{host} leads to {refused}, which this tool may not reach")]
pub(super) struct AddressRefused {
    host: String,
    refused: String,
}

impl Resolve for JudgingResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        if !host.eq_ignore_ascii_case(&self.host) {
            let refused = "another host than the one of its URL".into();
            return Box::pin(std::future::ready(Err(
                AddressRefused { host, refused }.into()
            )));
        }
        let reach = self.reach;
        let looking = (self.lookup)(host.clone());
        Box::pin(async move {
            let judged = judge(&host, reach, looking.await?)?;
            let sockets = judged.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(sockets) as Addrs)
        })
    }
}

/// The addresses that may be reached, where there is at least one.
///
/// A name that leads to both kinds is reached at those that are allowed. No address at all is no refusal; the
/// connection fails by itself.
fn judge(host: &str, reach: Reach, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, AddressRefused> {
    let (allowed, refused): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|address| may_reach(host, reach, *address));
    match refused.first() {
        Some(first) if allowed.is_empty() => Err(AddressRefused {
            host: host.into(),
            refused: first.to_string(),
        }),
        _ => Ok(allowed),
    }
}

impl fmt::Debug for JudgingResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JudgingResolver").field(&self.host).finish()
    }
}
