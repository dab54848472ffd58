//! Names that mean this machine.

use std::net::IpAddr;

/// Whether a name, with a port or without, can mean this machine only.
/// Only `localhost` and addresses count; a name that merely resolves to this machine does not, because anybody can
/// have one. Nothing is looked up.
pub fn is_loopback_name(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
