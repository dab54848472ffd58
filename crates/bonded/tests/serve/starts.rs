//! Servers that do not start.

use crate::place::Place;
use crate::served::{Served, report};

#[test]
fn a_server_that_could_not_serve_safely_or_at_all_does_not_start() {
    let place = Place::new();
    place.agent("agent", &[report("Because.")], "");
    std::fs::write(place.path("empty.txt"), "# nothing yet\n\n").expect("a file can be written");
    let agent = place.path("agent.ai").display().to_string();
    let empty = place.path("empty.txt").display().to_string();
    let busy = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let taken = busy.local_addr().expect("it is bound").to_string();
    let rows: [(&[&str], i32, &str); 9] = [
        (&[], 4, "--agent"),
        (&["--agent", "missing.ai"], 4, "missing.ai"),
        (
            &["--agent", &agent, "--listen", "0.0.0.0:0"],
            4,
            "--token-file FILE",
        ),
        (
            &["--agent", &agent, "--listen", "[::]:0"],
            4,
            "there is no token",
        ),
        (&["--agent", &agent, "--listen", "nonsense"], 4, "--listen"),
        (&["--agent", &agent, "--listen", &taken], 3, "cannot listen"),
        (&["--agent", &agent, "--token", ""], 4, "a token is empty"),
        (
            &["--agent", &agent, "--token-file", &empty],
            4,
            "there is no token in",
        ),
        (&["--agent", &agent, "--max-cost", "1"], 4, "--max-cost"),
    ];
    for (flags, code, reason) in rows {
        let words: Vec<&str> = ["serve"].iter().chain(flags).copied().collect();
        let done = place.bonded(&words);
        assert_eq!(done.code, Some(code), "{flags:?}: {done:?}");
        assert!(done.stderr.contains(reason), "{flags:?}: {done:?}");
    }
}

#[test]
fn a_server_with_tokens_in_a_file_may_listen_beyond_this_machine() {
    let place = Place::new();
    place.agent("agent", &[report("Because.")], "");
    std::fs::write(place.path("tokens.txt"), "# ours\nalpha\n").expect("a file can be written");
    let tokens = place.path("tokens.txt").display().to_string();
    let flags = ["--listen", "0.0.0.0:0", "--token-file", &tokens];
    let served = Served::start_in(place, &["agent"], &flags);
    assert_eq!(served.get("/v1/models").status, 401);
}
