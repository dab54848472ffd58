//! Which addresses a tool may reach.
//!
//! A host that is written as an address is reached as it is written: a person who names 127.0.0.1 means it.
//! A name is another matter: whoever runs its zone decides what it leads to, and may change that between two
//! calls.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use super::settings::Reach;

/// What an address is to a request that comes from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressKind {
    Public,
    /// A network that is not routed on the internet.
    Private,
    Loopback,
    /// Link-local addresses and others at which machines are told their secrets.
    Metadata,
    /// Nobody's: unspecified, multicast, reserved.
    Unusable,
}

/// At these addresses, clouds hand out the keys of the machine that asks.
const METADATA_V4: [Ipv4Addr; 2] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
];
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// Whether a request to `host` may go to an address that its name was resolved to.
pub(crate) fn may_reach(host: &str, reach: Reach, address: IpAddr) -> bool {
    let is_local_name = is_local_name(host);
    match kind(address) {
        AddressKind::Public => !is_local_name,
        AddressKind::Loopback => is_local_name || reach == Reach::Private,
        AddressKind::Private => !is_local_name && reach == Reach::Private,
        AddressKind::Metadata | AddressKind::Unusable => false,
    }
}

/// Whether two addresses have the same scheme, host and port.
pub(super) fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin() && one.origin().is_tuple()
}

/// `localhost` and the names under it mean this machine and nothing else.
fn is_local_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

fn kind(address: IpAddr) -> AddressKind {
    match address {
        IpAddr::V4(v4) => kind_v4(v4),
        IpAddr::V6(v6) => match embedded(v6) {
            Some(v4) => kind_v4(v4),
            None => kind_v6(v6),
        },
    }
}

/// The metadata addresses come first, because some of them lie in ranges that are private or unusable.
fn kind_v4(v4: Ipv4Addr) -> AddressKind {
    let [a, b, c, _] = v4.octets();
    match (a, b, c) {
        _ if METADATA_V4.contains(&v4) => AddressKind::Metadata,
        (169, 254, _) => AddressKind::Metadata,
        (127, ..) => AddressKind::Loopback,
        (10, ..) | (172, 16..=31, _) | (192, 168, _) | (100, 64..=127, _) => AddressKind::Private,
        (0 | 224..=255, ..) | (192, 0, 0 | 2) | (198, 18 | 19, _) => AddressKind::Unusable,
        (192, 88, 99) | (198, 51, 100) | (203, 0, 113) => AddressKind::Unusable,
        _ => AddressKind::Public,
    }
}

/// Only what is assigned to the internet is public; whatever range is not known is unusable.
fn kind_v6(v6: Ipv6Addr) -> AddressKind {
    let first = v6.segments()[0];
    match first {
        _ if v6 == METADATA_V6 => AddressKind::Metadata,
        _ if v6.is_loopback() => AddressKind::Loopback,
        0xfe80..=0xfebf => AddressKind::Metadata,
        0xfc00..=0xfdff | 0xfec0..=0xfeff => AddressKind::Private,
        0x2001 if v6.segments()[1] == 0xdb8 => AddressKind::Unusable,
        0x2000..=0x3fff => AddressKind::Public,
        _ => AddressKind::Unusable,
    }
}

/// The IPv4 address that an IPv6 address stands for: a translator on the way would take it out.
fn embedded(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let from = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0) if !v6.is_loopback() => Some(from(g, h)),
        (0, 0, 0, 0, 0, 0xffff) | (0, 0, 0, 0, 0xffff, 0) => Some(from(g, h)),
        (0x64, 0xff9b, _, _, _, _) => Some(from(g, h)),
        (0x2002, ..) => Some(from(b, c)),
        // Teredo keeps the client's address inverted.
        (0x2001, 0, ..) => Some(from(!g, !h)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_only_to_addresses_that_its_reach_allows() {
        // Address, then: a public name, a name with private reach, localhost.
        let rows = [
            ("93.184.216.34", true, true, false),
            ("2606:4700::1111", true, true, false),
            ("127.0.0.1", false, true, true),
            ("127.8.8.8", false, true, true),
            ("::1", false, true, true),
            ("10.0.0.1", false, true, false),
            ("172.16.0.1", false, true, false),
            ("172.32.0.1", true, true, false),
            ("192.168.1.1", false, true, false),
            ("100.64.0.1", false, true, false),
            ("fd12::1", false, true, false),
            ("169.254.169.254", false, false, false),
            ("169.254.0.1", false, false, false),
            ("fe80::1", false, false, false),
            ("fd00:ec2::254", false, false, false),
            ("100.100.100.200", false, false, false),
            ("192.0.0.192", false, false, false),
            ("0.0.0.0", false, false, false),
            ("0.1.2.3", false, false, false),
            ("::", false, false, false),
            ("224.0.0.1", false, false, false),
            ("255.255.255.255", false, false, false),
            ("ff02::1", false, false, false),
            ("198.18.0.1", false, false, false),
            ("::ffff:127.0.0.1", false, true, true),
            ("::ffff:169.254.169.254", false, false, false),
            ("::169.254.169.254", false, false, false),
            ("64:ff9b::a9fe:a9fe", false, false, false),
            ("64:ff9b::7f00:1", false, true, true),
            ("64:ff9b:1::a9fe:a9fe", false, false, false),
            ("2002:7f00:1::", false, true, true),
            ("2002:a9fe:a9fe::1", false, false, false),
            ("2001:0:1:2:3:4:80ff:fffe", false, true, true),
            ("::ffff:8.8.8.8", true, true, false),
        ];
        for (address, public, private, local) in rows {
            let address: IpAddr = address.parse().expect("an address");
            let found = [
                may_reach("api.example", Reach::Public, address),
                may_reach("api.example", Reach::Private, address),
                may_reach("LOCALHOST.", Reach::Public, address),
            ];
            assert_eq!(found, [public, private, local], "{address}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        for (one, other, same) in [
            ("http://h/a", "http://h:80/b?c", true),
            ("https://h", "https://H:443", true),
            ("http://h", "https://h", false),
            ("http://h:80", "http://h:81", false),
            ("http://h", "http://h.example", false),
            ("data:,a", "data:,a", false),
        ] {
            let parse = |text: &str| Url::parse(text).expect("a URL");
            assert_eq!(
                is_same_origin(&parse(one), &parse(other)),
                same,
                "{one} {other}"
            );
        }
    }
}
