//! Where the requests of a tool may go: redirects, and the addresses behind names.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bonded_tools::rest::{NameLookup, Reach, Redirects};
use serde_json::json;

use crate::rest::{endpoints, settings, world};
use crate::rest_server::{Server, whole};
use crate::world::World;

#[tokio::test]
async fn a_redirect_is_refused_unless_it_stays_and_is_allowed_to() {
    let elsewhere = Server::saying(200, "", "the secret of another server");
    let port = elsewhere.port();
    let server = Server::start(move |seen, stream| {
        let place = match seen.target.as_str() {
            "/near" => "/end".to_owned(),
            "/loop" => "/loop".into(),
            "/port" => format!("http://127.0.0.1:{port}/"),
            "/name" => "http://localhost:1/".into(),
            "/metadata" => "http://169.254.169.254/latest/meta-data/".into(),
            "/scheme" => "file:///etc/passwd".into(),
            _ => return stream.write_all(&whole(200, "", b"the end")),
        };
        stream.write_all(&whole(302, &format!("location: {place}\r\n"), b""))
    });
    let rows = [
        ("/near", Redirects::Refused, "(tool failed: http_redirect"),
        ("/near", Redirects::SameOrigin, "the end"),
        (
            "/loop",
            Redirects::SameOrigin,
            "(tool failed: http_redirect",
        ),
        (
            "/port",
            Redirects::SameOrigin,
            "(tool failed: http_redirect",
        ),
        (
            "/name",
            Redirects::SameOrigin,
            "(tool failed: http_redirect",
        ),
        (
            "/metadata",
            Redirects::Refused,
            "(tool failed: http_redirect",
        ),
        (
            "/metadata",
            Redirects::SameOrigin,
            "(tool failed: http_redirect",
        ),
        (
            "/scheme",
            Redirects::SameOrigin,
            "(tool failed: http_redirect",
        ),
    ];
    for (path, redirects, expected) in rows {
        let mut described = settings("GET", &server.url(path));
        described.redirects = redirects;
        described
            .headers
            .insert("Authorization".into(), "hunter2".into());
        let output = world(&described).call("rest__x", json!({})).await;
        assert!(
            output.text.starts_with(expected),
            "{path} {redirects:?}: {}",
            output.text
        );
    }
    assert!(
        elsewhere.seen().is_empty(),
        "no header went to another origin"
    );
    let loops = server
        .seen()
        .iter()
        .filter(|seen| seen.target == "/loop")
        .count();
    assert_eq!(loops, 6);
}

/// Leads every name to these addresses, one after the other, and counts.
fn lookup(addresses: Vec<IpAddr>) -> (NameLookup, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let lookup: NameLookup = Arc::new(move |_| {
        let nth = counted
            .fetch_add(1, Ordering::SeqCst)
            .min(addresses.len() - 1);
        let address = addresses[nth];
        Box::pin(async move { Ok(vec![address]) })
    });
    (lookup, asked)
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_or_its_keys_is_not_followed() {
    let server = Server::saying(200, "", "inside");
    let (port, loopback) = (server.port(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    let metadata = IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254));
    let rows = [
        (
            "api.example",
            Reach::Public,
            loopback,
            "(tool failed: address_refused",
        ),
        ("api.example", Reach::Private, loopback, "inside"),
        (
            "api.example",
            Reach::Public,
            metadata,
            "(tool failed: address_refused",
        ),
        (
            "api.example",
            Reach::Private,
            metadata,
            "(tool failed: address_refused",
        ),
        ("localhost", Reach::Public, loopback, "inside"),
        (
            "localhost",
            Reach::Public,
            metadata,
            "(tool failed: address_refused",
        ),
    ];
    for (host, reach, address, expected) in rows {
        let mut described = settings("GET", &format!("http://{host}:{port}/"));
        described.reach = reach;
        let (lookup, _) = lookup(vec![address]);
        let tool = endpoints(lookup).tool(&described).expect("it is good");
        let output = World::of(vec![tool]).call("rest__x", json!({})).await;
        let case = format!("{host} {reach:?} {address}: {}", output.text);
        assert!(output.text.starts_with(expected), "{case}");
    }
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_name_that_changes_its_address_is_judged_each_time() {
    let server = Server::saying(200, "", "inside");
    let (private, metadata) = (Ipv4Addr::LOCALHOST, Ipv4Addr::new(169, 254, 169, 254));
    let (lookup, asked) = lookup(vec![private.into(), metadata.into()]);
    let mut described = settings("GET", &format!("http://api.example:{}/", server.port()));
    described.reach = Reach::Private;
    let tool = endpoints(lookup).tool(&described).expect("it is good");
    let world = World::of(vec![tool]);
    let first = world.call("rest__x", json!({})).await;
    assert_eq!(first.text, "inside");
    let second = world.call("rest__x", json!({})).await;
    assert!(second.text.contains("address_refused"), "{}", second.text);
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(server.seen().len(), 1);
}
