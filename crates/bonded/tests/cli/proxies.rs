//! The proxy that the environment names: which requests go through it, and what it gets to see.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use bonded_testkit::provider::{Provider, message};
use serde_json::json;

use crate::done::Done;
use crate::place::{Place, finish, start};

/// A proxy that opens every tunnel and closes it: it hears the lines of one request for each connection.
struct Proxy {
    url: String,
    heard: Receiver<Vec<String>>,
}

impl Proxy {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (hear, heard) = channel();
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let mut reader = BufReader::new(connection);
                let lines = head(&mut reader);
                let _ = reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n");
                if hear.send(lines).is_err() {
                    return;
                }
            }
        });
        Self {
            url: format!("http://me:s%40fe@127.0.0.1:{port}"),
            heard,
        }
    }

    fn heard(&self) -> Vec<Vec<String>> {
        self.heard.try_iter().collect()
    }
}

/// The lines before the first empty one.
fn head(reader: &mut impl BufRead) -> Vec<String> {
    let lines = reader.lines().map_while(Result::ok);
    lines.take_while(|line| !line.is_empty()).collect()
}

fn run(endpoint: &str, proxy: &Proxy, more: &[(&str, &str)]) -> Done {
    let place = Place::new();
    let words = ["run", "say hello", "--max-attempts", "1"];
    let target = ["--model", "openai/m", "--base-url", endpoint];
    let mut command = place.command(&[&words[..], &target[..]].concat());
    command
        .env("OPENAI_API_KEY", "sk-a-key-for-the-host-alone")
        .env("HTTPS_PROXY", &proxy.url)
        .env("HTTP_PROXY", &proxy.url)
        .env("ALL_PROXY", &proxy.url)
        .envs(more.iter().copied());
    finish(start(&mut command))
}

#[test]
fn what_is_encrypted_goes_through_the_proxy_which_sees_the_host_alone() {
    let proxy = Proxy::start();
    run("https://api.example.invalid/v1", &proxy, &[]);
    let heard = proxy.heard();
    assert!(!heard.is_empty(), "the proxy was passed by");
    for lines in heard {
        assert_eq!(lines[0], "CONNECT api.example.invalid:443 HTTP/1.1");
        let all = lines.join("\n").to_lowercase();
        assert!(
            all.contains("proxy-authorization: basic bwu6c0bmzq=="),
            "{all}"
        );
        assert!(!all.contains("sk-a-key"), "{all}");
    }
}

#[test]
fn a_host_that_needs_no_proxy_is_asked_without_it() {
    let proxy = Proxy::start();
    let done = run(
        "https://api.example.invalid/v1",
        &proxy,
        &[("NO_PROXY", "example.invalid")],
    );
    assert_eq!(proxy.heard(), Vec::<Vec<String>>::new());
    assert!(
        done.stderr
            .contains("cannot connect to https://api.example.invalid"),
        "{}",
        done.stderr
    );
}

#[test]
fn what_is_not_encrypted_and_what_stays_on_this_machine_never_meets_a_proxy() {
    let proxy = Proxy::start();
    let provider = Provider::start();
    provider.say([message(&json!({ "content": "hello" }), "stop")]);
    run(&provider.base_url(), &proxy, &[]);
    assert!(provider.asked_count() > 0, "the server was not asked");
    run("https://localhost:1/v1", &proxy, &[]);
    run("https://127.0.0.1:1/v1", &proxy, &[]);
    assert_eq!(proxy.heard(), Vec::<Vec<String>>::new());
}

#[test]
fn a_proxy_of_another_kind_is_refused_in_words() {
    let proxy = Proxy {
        url: "socks5://127.0.0.1:1".into(),
        heard: channel().1,
    };
    let done = run("https://api.example.invalid/v1", &proxy, &[]);
    assert!(done.stderr.contains("proxy"), "{}", done.stderr);
}
