//! Providers that fail: what ends a run, what is tried again, where, and after how long.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::reply::{call, raw, refusal, report, text};
use crate::world::{World, start};

#[test]
fn a_refused_key_or_an_empty_account_ends_the_run_at_once() {
    let quota = json!({ "error": { "message": "no money", "code": "insufficient_quota" } });
    let quota = raw(429, "application/json", quota.to_string());
    let rows = [
        (refusal(401, "bad key"), "auth", "bad key"),
        (quota, "quota", "no money"),
    ];
    for (reply, kind, message) in rows {
        let world = World::new()
            .front("models: first/a, second/b")
            .then_always(reply);
        let outcome = world.run(&["--max-retries", "3"], "try").failed();
        assert_eq!(outcome.requests.len(), 1, "{message}");
        let error = outcome.result["error"].as_str().unwrap_or_default();
        assert!(error.contains(kind) && error.contains(message), "{error}");
        assert_eq!(outcome.result["termination"]["kind"], "fatal");
        assert_eq!(outcome.account_fields("llm", "status"), ["failed"]);
        let log = world.log(outcome.run_id());
        assert_eq!(
            log.last().map(|entry| &entry["kind"]),
            Some(&json!("run_ended"))
        );
    }
}

#[test]
fn the_advice_of_a_limited_provider_is_heeded() {
    let limited = refusal(429, "slow down").header("retry-after", "2");
    let world = World::new().says([limited, report("done")]);
    let outcome = world.run(&["--max-retries", "2"], "try").good();
    let waited = outcome.requests[1].at - outcome.requests[0].at;
    assert!(waited >= Duration::from_millis(1950), "{waited:?}");
    assert!(waited < Duration::from_secs(20), "{waited:?}");
    assert_eq!(outcome.account_fields("llm", "status"), ["failed", "ok"]);
}

#[test]
fn an_attempt_that_failed_otherwise_is_followed_at_once_by_the_next_target() {
    let rows = [
        ("model", refusal(500, "out of order")),
        ("model", refusal(400, "bad request")),
        ("network", text("cut").cut()),
        ("timeout", text("late").delayed_ms(1500)),
        (
            "malformed",
            raw(200, "text/html", "<html>Bad gateway</html>"),
        ),
    ];
    for (class, reply) in rows {
        let world = World::new()
            .front("models: first/a, second/b")
            .says([reply, report("done")]);
        let outcome = world.run(&["--llm-timeout-ms", "700"], "try").good();
        assert_eq!(
            outcome.account_fields("llm", "provider"),
            ["first", "second"],
            "{class}"
        );
        let error = outcome.account_fields("llm", "error")[0];
        assert!(error.starts_with(class), "{class}: {error}");
        let told = outcome.requests[1].said().contains("could not be read");
        assert_eq!(told, class == "malformed", "{class}");
        let waited = outcome.requests[1].at - outcome.requests[0].at;
        assert!(waited < Duration::from_millis(2500), "{class}: {waited:?}");
    }
}

#[test]
fn a_server_that_speaks_no_tls_is_told_with_its_address_and_what_to_do() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("https://{}/v1", listener.local_addr().expect("it is bound"));
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // Whoever asked may have heard enough.
            let _closed =
                stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    let world = World::new().config(&json!({ "providers": { "first": { "baseUrl": url } } }));
    let outcome = world.run(&["--max-retries", "1"], "try").failed();
    let error = outcome.account_fields("llm", "error")[0];
    let origin = url.trim_end_matches("/v1");
    for part in [origin, "does not speak TLS", "http://"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

/// Hands every connection to this address on to the provider.
fn hand_on(address: &str, provider: &str) {
    let listener = TcpListener::bind(address).expect("the address is free again");
    let provider = provider.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let Ok(onward) = TcpStream::connect(&provider) else {
                return;
            };
            for (from, to) in [(&stream, &onward), (&onward, &stream)] {
                let pair = (from.try_clone(), to.try_clone());
                let (Ok(mut from), Ok(mut to)) = pair else {
                    return;
                };
                thread::spawn(move || {
                    let _end = std::io::copy(&mut from, &mut to);
                    let _closed = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
}

#[test]
fn a_server_that_is_away_for_seconds_and_comes_back_ends_no_run() {
    let world = World::new().says([call("done", json!({ "reason": "It is tidy." }))]);
    let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
    let address = free.expect("there is a free port").to_string();
    let url = world.base_url().replace(&provider_of(&world), &address);
    let words = ["run", "--model", "any", "--base-url", &url, "tidy up"];
    let mut child = start(&mut world.command(&words));
    let stderr = child.stderr.take().expect("stderr is a pipe");
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let refused = lines.find(|it| it.contains("refused"));
    assert!(refused.is_some(), "the server is not there");
    // As long as a server takes to start: more than the first waits.
    thread::sleep(Duration::from_secs(3));
    assert!(
        child.try_wait().is_ok_and(|it| it.is_none()),
        "it waits for its server"
    );
    hand_on(&address, &provider_of(&world));
    let rest = thread::spawn(move || lines.collect::<Vec<_>>());
    let outcome = world.finish(child);
    assert_eq!(outcome.code, Some(0), "{rest:?}");
    assert!(outcome.stdout.contains("It is tidy."), "{outcome:?}");
    assert_eq!(outcome.requests.len(), 1, "what was refused was not heard");
}

/// Where the provider of a world listens.
fn provider_of(world: &World) -> String {
    let url = world.base_url();
    let rest = url.trim_start_matches("http://");
    rest.split('/').next().unwrap_or_default().to_owned()
}
