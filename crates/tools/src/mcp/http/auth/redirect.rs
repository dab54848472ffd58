//! The end of a login: the browser comes back to a port of this machine, with a code.
//!
//! Any page in any browser can reach a port of this machine, so a visitor is believed only if it knows the
//! state. All others are answered alike and cannot hold the login up: each has a few seconds, and those who say
//! nothing make room for those who come.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::document::IssuerMetadata;
use super::error::{OauthError, shown};
use super::places::is_same_issuer;

/// Enough for the longest code that issuers give.
const HEAD_BYTES_MAX: usize = 16 * 1024;
/// How long one visitor may take to say what it wants.
const VISITOR_TIMEOUT: Duration = Duration::from_secs(5);
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// At the same time.
const VISITORS_MAX: usize = 64;
const PATH: &str = "/callback";

#[derive(Debug)]
pub(super) struct Redirect {
    listener: TcpListener,
    uri: String,
}

/// What a visitor brings.
#[derive(Debug, PartialEq, Eq)]
enum Brought {
    Code(String),
    Error(String),
    /// It is not the one that is waited for.
    Nothing,
}

impl Redirect {
    pub(super) async fn bind(port: Option<u16>) -> Result<Self, OauthError> {
        let port = port.unwrap_or(0);
        let refused = |source| OauthError::Listen { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        Ok(Self {
            listener,
            uri: format!("http://{bound}{PATH}"),
        })
    }

    pub(super) fn uri(&self) -> &str {
        &self.uri
    }

    /// Waits for the one visitor who knows the state. Everybody else is sent away. A browser opens more
    /// connections than it uses, so nobody waits for another.
    pub(super) async fn code(
        &self,
        state: &str,
        issuer: &IssuerMetadata,
    ) -> Result<String, OauthError> {
        let mut visitors = JoinSet::new();
        let mut in_order = VecDeque::new();
        loop {
            let heard = tokio::select! {
                Ok((visitor, _)) = self.listener.accept() => {
                    let visit = tokio::time::timeout(VISITOR_TIMEOUT, target(visitor));
                    in_order.push_back(visitors.spawn(visit));
                    send_away(&mut in_order);
                    continue;
                }
                Some(heard) = visitors.join_next() => heard,
                else => {
                    // The system can take nobody in just now.
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Ok(Ok(Some((visitor, heard)))) = heard else {
                continue;
            };
            let brought = brought(&heard, state, issuer);
            // Whether the page is seen does not matter, and nobody waits for a stranger to read one.
            let shown = tokio::time::timeout(VISITOR_TIMEOUT, answer(visitor, page(&brought)));
            match brought {
                Brought::Code(code) => {
                    let _unseen = shown.await;
                    return Ok(code);
                }
                Brought::Error(error) => {
                    let _unseen = shown.await;
                    let issuer = issuer.issuer.clone();
                    return Err(OauthError::Refused { issuer, error });
                }
                Brought::Nothing => drop(tokio::spawn(shown)),
            }
        }
    }
}

/// Whoever has said nothing for longest makes room: a browser speaks as soon as it has come.
fn send_away(in_order: &mut VecDeque<AbortHandle>) {
    in_order.retain(|visit| !visit.is_finished());
    while in_order.len() > VISITORS_MAX {
        if let Some(oldest) = in_order.pop_front() {
            oldest.abort();
        }
    }
}

/// What a visitor asks for.
async fn target(mut visitor: TcpStream) -> Option<(TcpStream, String)> {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX || visitor.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.strip_prefix("GET ")?.split(' ').next()?;
    let target = target.to_owned();
    Some((visitor, target))
}

fn page(brought: &Brought) -> String {
    let (status, text) = match brought {
        Brought::Code(_) => (200, "Logged in. You can close this page."),
        Brought::Error(_) => (200, "The login was refused. You can close this page."),
        Brought::Nothing => (404, "Nothing is here."),
    };
    let page = format!("<!doctype html><title>bonded</title><p>{text}\n");
    format!(
        "HTTP/1.1 {status} So\r\nconnection: close\r\ncontent-type: text/html\r\nreferrer-policy: \
         no-referrer\r\ncontent-length: {}\r\n\r\n{page}",
        page.len()
    )
}

async fn answer(mut visitor: TcpStream, page: String) -> std::io::Result<()> {
    visitor.write_all(page.as_bytes()).await?;
    visitor.shutdown().await
}

/// The issuer's name is checked where it is given, and must be given where the issuer says that it does: an
/// answer of another issuer with the right state would be a mix-up on purpose.
fn brought(target: &str, state: &str, issuer: &IssuerMetadata) -> Brought {
    let Ok(url) = Url::parse(&format!("http://127.0.0.1{target}")) else {
        return Brought::Nothing;
    };
    let field = |name: &str| {
        let mut pairs = url.query_pairs();
        let found = pairs.find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    };
    if url.path() != PATH || field("state").as_deref() != Some(state) {
        return Brought::Nothing;
    }
    let is_from_issuer = match field("iss") {
        Some(iss) => is_same_issuer(&iss, &issuer.issuer),
        None => !issuer.authorization_response_iss_parameter_supported,
    };
    if !is_from_issuer {
        return Brought::Error("the answer to the login came from another issuer".into());
    }
    match (field("code"), field("error"), field("error_description")) {
        (Some(code), None, _) => Brought::Code(code),
        (_, Some(error), Some(words)) => {
            Brought::Error(format!("{} ({})", shown(&error), shown(&words)))
        }
        (_, Some(error), None) => Brought::Error(shown(&error)),
        (None, None, _) => Brought::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_who_knows_the_state_and_comes_from_the_issuer_brings_a_code() {
        let code = |text: &str| Brought::Code(text.into());
        let other = Brought::Error("the answer to the login came from another issuer".into());
        for (target, says_iss, expected) in [
            ("/callback?code=c&state=s", false, code("c")),
            (
                "/callback?state=s&code=a%20b&iss=https://i",
                true,
                code("a b"),
            ),
            ("/callback?code=c&state=x", false, Brought::Nothing),
            ("/callback?code=c", false, Brought::Nothing),
            ("/?code=c&state=s", false, Brought::Nothing),
            ("/favicon.ico", false, Brought::Nothing),
            ("", false, Brought::Nothing),
            ("/callback?state=s", false, Brought::Nothing),
            (
                "/callback?error=access_denied&state=s",
                false,
                Brought::Error("\"access_denied\"".into()),
            ),
            ("/callback?code=c&state=s", true, other),
        ] {
            let server: Url = "https://i/".parse().expect("a URL");
            let mut issuer = IssuerMetadata::assumed(&server);
            issuer.authorization_response_iss_parameter_supported = says_iss;
            assert_eq!(brought(target, "s", &issuer), expected, "{target}");
        }
    }

    #[tokio::test]
    async fn a_browser_is_heard_however_many_strangers_say_nothing() {
        let redirect = Redirect::bind(None).await.expect("a port is free");
        let address = redirect.listener.local_addr().expect("it is bound");
        let issuer = IssuerMetadata::assumed(&"https://i/".parse().expect("a URL"));
        let strangers = async {
            let mut silent = vec![];
            for _ in 0..300 {
                silent.push(TcpStream::connect(address).await.expect("it is open"));
            }
            let mut browser = TcpStream::connect(address).await.expect("it is open");
            let asked = b"GET /callback?code=c&state=s HTTP/1.1\r\n\r\n";
            browser.write_all(asked).await.expect("it can be sent");
            (silent, browser)
        };
        let both = async { tokio::join!(redirect.code("s", &issuer), strangers) };
        let heard = tokio::time::timeout(VISITOR_TIMEOUT / 2, both).await;
        let (code, _open) = heard.expect("nobody is waited for");
        assert_eq!(code.expect("it knows the state"), "c");
    }

    proptest! {
        #[test]
        fn no_target_brings_a_code_without_the_state(target in "/(callback)?[?&=%a-z0-9/#@:\u{e9} ]{0,80}") {
            let issuer = IssuerMetadata::assumed(&"https://i/".parse().expect("a URL"));
            prop_assert_eq!(brought(&target, "no-one-knows-it", &issuer), Brought::Nothing);
        }
    }
}
