//! Where a request comes from.

use std::net::IpAddr;

/// The client at the other end of the connection. Addresses of one network of IPv6 are one client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// Addresses of one network of the newer kind are one client's.
pub fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
        address => address,
    }
}
