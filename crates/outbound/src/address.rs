//! Where a request goes, made ready once for all the requests that go there.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderValue, Uri};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::loopback::is_loopback;

/// An address of `http:` or `https:`.
///
/// A password in it becomes a header, so that it neither goes into the request line nor is shown.
#[derive(Clone, Debug)]
pub struct Address {
    pub(crate) uri: Uri,
    pub(crate) authorization: Option<HeaderValue>,
    reach: Reach,
}

/// What a request passes on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Unencrypted, and never through a proxy: the proxy would see the key and the conversation.
    Plain,
    /// Encrypted, to this machine.
    EncryptedLoopback,
    /// Encrypted, to another machine.
    Encrypted,
}

impl Address {
    /// Fails for other schemes, in words that do not repeat the address.
    pub fn new(url: &Url) -> Result<Self, String> {
        let reach = match url.scheme() {
            "http" => Reach::Plain,
            "https" if is_loopback(url) => Reach::EncryptedLoopback,
            "https" => Reach::Encrypted,
            other => return Err(format!("the scheme {other:?} is not http or https")),
        };
        let mut bare = url.clone();
        bare.set_fragment(None);
        // Addresses of these schemes have a host, so that neither can fail.
        let _ = bare.set_username("");
        let _ = bare.set_password(None);
        let uri = bare.as_str().parse();
        let uri = uri.map_err(|error: http::uri::InvalidUri| error.to_string())?;
        Ok(Self {
            uri,
            authorization: authorization(url),
            reach,
        })
    }

    /// What a request passes on its way there.
    pub fn reach(&self) -> Reach {
        self.reach
    }

    /// The scheme, the host and the port: neither a password nor a query.
    pub fn origin(&self) -> String {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let host = self.uri.authority().map_or("", |it| it.as_str());
        format!("{scheme}://{host}")
    }
}

/// What a name and a password in an address mean.
fn authorization(url: &Url) -> Option<HeaderValue> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let mut proof = percent_decode_str(url.username()).collect::<Vec<u8>>();
    proof.push(b':');
    proof.extend(percent_decode_str(url.password().unwrap_or_default()));
    let mut header = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(proof))).ok()?;
    header.set_sensitive(true);
    Some(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Result<Address, String> {
        Address::new(&text.parse().expect("a URL"))
    }

    #[test]
    fn a_password_becomes_a_header_and_is_nowhere_else() {
        let with =
            address("https://me:s%40fe@api.example.org:8443/v1?version=2#part").expect("one");
        let shown = format!("{with:?} {}", with.origin());
        assert!(
            !shown.contains("s%40fe") && !shown.contains("s@fe"),
            "{shown}"
        );
        assert_eq!(with.origin(), "https://api.example.org:8443");
        assert_eq!(with.uri, "https://api.example.org:8443/v1?version=2");
        let header = with.authorization.expect("a header");
        assert_eq!(header, "Basic bWU6c0BmZQ==");
        assert!(
            address("http://127.0.0.1/")
                .expect("one")
                .authorization
                .is_none()
        );
    }

    #[test]
    fn what_a_request_passes_depends_on_scheme_and_host() {
        let rows = [
            ("http://api.example.org/v1", Reach::Plain),
            ("http://127.0.0.1:8080/v1", Reach::Plain),
            ("https://localhost:8080/v1", Reach::EncryptedLoopback),
            ("https://api.example.org/v1", Reach::Encrypted),
        ];
        for (text, reach) in rows {
            assert_eq!(address(text).expect("an address").reach(), reach, "{text}");
        }
        assert!(address("ftp://example.org/").is_err_and(|why| why.contains("ftp")));
    }
}
