//! Addresses of this machine.

use std::net::IpAddr;

use reqwest::Url;

/// Whether an address can mean this machine only.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
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
}
