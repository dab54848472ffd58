//! Where a request comes from.
//!
//! Bounds for each client are counted by address. One who has a network of IPv6 has 2^64 addresses in it, so that a
//! bound for each of them would be none: the upper 64 bits stand for all of them.

use std::net::IpAddr;

/// The client at the other end of the connection. Addresses of one network of IPv6 are one client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Addresses of one network of the newer kind are one client's.
/// An IPv4 address that is written as one of IPv6 is taken for what it is. The loopback address stays whole.
pub fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
        address => address,
    }
}
