//! Where a request comes from.

use std::net::IpAddr;

/// The client at the other end of the connection. Addresses of one network of IPv6 are one client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);
