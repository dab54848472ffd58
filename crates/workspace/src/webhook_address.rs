//! Where rules may send to: addresses that the operator lists, and of private ones only those that are listed themselves.
//!
//! A name proves nothing, because whoever owns it can let it lead into the server's own network. Therefore it is the
//! address that a name leads to which is judged, right before the connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;

/// The lines of `automation.allowed_webhooks`.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedWebhooks(Vec<Url>);

impl AllowedWebhooks {
    /// Lines that mean nothing were refused with the configuration, and are left out here.
    pub(crate) fn new(lines: &[String]) -> Self {
        Self(lines.iter().filter_map(|line| checked(line).ok()).collect())
    }

    /// The address that a rule means, if it may send there: the same scheme, host and port as a line, and its path or
    /// one below it.
    pub(crate) fn find(&self, written: &str) -> Result<Url, String> {
        let url = checked(written)?;
        match self.0.iter().any(|line| covers(line, &url)) {
            true => Ok(url),
            false => Err(format!(
                "rules may send only to the addresses in automation.allowed_webhooks of config.json; {} is not among them",
                url.origin().ascii_serialization()
            )),
        }
    }

    /// Whether an address that a host leads to may be connected to.
    pub(crate) fn may_connect(&self, url: &Url, address: SocketAddr) -> bool {
        is_public(address.ip()) || self.0.iter().any(|line| names(line, url, address))
    }
}

/// An address of the web, without what does not belong into one.
pub(crate) fn checked(written: &str) -> Result<Url, String> {
    let bad = || {
        "must begin with https:// or http://, and hold neither a user name, a password nor a fragment".to_owned()
    };
    let url: Url = written.trim().parse().map_err(|_| bad())?;
    let is_plain = ["http", "https"].contains(&url.scheme())
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none();
    if is_plain { Ok(url) } else { Err(bad()) }
}

/// Both have been parsed, so that neither has a path with `..` in it.
fn covers(line: &Url, url: &Url) -> bool {
    let (above, path) = (line.path().trim_end_matches('/'), url.path());
    let is_below = path
        .strip_prefix(above)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    line.origin() == url.origin() && is_below
}

/// Whether the line lists this very address: by its number, or as `localhost`, with the port that is asked for.
fn names(line: &Url, url: &Url, address: SocketAddr) -> bool {
    let host = line.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_it = match bare {
        "localhost" => address.ip().is_loopback(),
        bare => bare.parse() == Ok(address.ip()),
    };
    is_it && line.port_or_known_default() == url.port_or_known_default()
}

/// Whether an address is one of the internet: no machine of a network of one's own, no part of this one, and nothing
/// that another address hides in.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        // This network, shared by carriers, for protocols, for benchmarks, reserved with broadcast.
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a, b, c) == (192, 88, 99)
        || (a == 198 && (b == 18 || b == 19))
        || a >= 240;
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [first, second, ..] = address.segments();
    // Only what is given out for the internet, and of that neither tunnels nor documentation.
    let is_given_out = first & 0xe000 == 0x2000;
    let is_special = first == 0x2002
        || (first == 0x2001 && (second < 0x0200 || second == 0x0db8))
        || first == 0x3fff;
    is_given_out && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        let rows = [
            ("93.184.216.34", true),
            ("2606:2800:220:1::1", true),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.1.1", false),
            ("127.0.0.1", false),
            ("0.0.0.0", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("198.18.0.1", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("::1", false),
            ("::", false),
            ("::ffff:10.0.0.1", false),
            ("::ffff:93.184.216.34", true),
            ("fe80::1", false),
            ("fc00::1", false),
            ("64:ff9b::a00:1", false),
            ("2002:a00:1::", false),
            ("2001:0:a00:1::", false),
            ("2001:db8::1", false),
        ];
        for (address, expected) in rows {
            let address: IpAddr = address.parse().expect("an address");
            assert_eq!(is_public(address), expected, "{address}");
        }
    }

    #[test]
    fn a_rule_sends_only_where_a_line_leads() {
        let lines = [
            "https://hooks.example/in".to_owned(),
            "http://10.0.0.7:9000".to_owned(),
        ];
        let allowed = AllowedWebhooks::new(&lines);
        let rows = [
            ("https://hooks.example/in", true),
            ("https://hooks.example/in/one?x=1", true),
            ("https://hooks.example/inside", false),
            ("https://hooks.example/in/../out", false),
            ("https://hooks.example/in/%2e%2e/out", false),
            ("http://hooks.example/in", false),
            ("https://hooks.example:444/in", false),
            ("https://hooks.example.evil/in", false),
            ("https://user@hooks.example/in", false),
            ("http://10.0.0.7:9000/any", true),
            ("ftp://hooks.example/in", false),
            ("hooks.example/in", false),
        ];
        for (url, expected) in rows {
            assert_eq!(allowed.find(url).is_ok(), expected, "{url}");
        }
    }

    #[test]
    fn a_private_address_is_connected_to_only_where_a_line_names_it() {
        let lines = [
            "https://hooks.example/".to_owned(),
            "http://10.0.0.7:9000".to_owned(),
        ];
        let allowed = AllowedWebhooks::new(&lines);
        let rows = [
            ("https://hooks.example/", "93.184.216.34:443", true),
            ("https://hooks.example/", "10.0.0.7:443", false),
            ("https://hooks.example/", "127.0.0.1:443", false),
            ("http://10.0.0.7:9000/", "10.0.0.7:9000", true),
        ];
        for (url, address, expected) in rows {
            let url: Url = url.parse().expect("a URL");
            let address = address.parse().expect("an address");
            assert_eq!(
                allowed.may_connect(&url, address),
                expected,
                "{url} {address}"
            );
        }
    }
}
