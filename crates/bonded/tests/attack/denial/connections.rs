//! Clients that say nothing, say it slowly, or are refused.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

use bonded_testkit::process::Process;

use super::server::{
    Server, never, question, raise_descriptors, receive_one, report, words, write_agent,
};
use crate::person::Person;

fn serving(person: &Person, flags: &[&str]) -> Server {
    write_agent(person, "agent", &[report("Because.")], "");
    Server::start(person, &["agent"], &[&["--no-token"], flags].concat())
}

/// As many silent connections as this process may hold and the server takes, up to two thousand. One that is not taken at
/// once ends it: the server would close the first before the last is there.
fn silent_connections(server: &Server) -> Vec<TcpStream> {
    raise_descriptors();
    let address = server.address.parse().expect("it is an address");
    let connect = |_| TcpStream::connect_timeout(&address, Duration::from_secs(2)).ok();
    let silent: Vec<TcpStream> = (0..2000).map_while(connect).collect();
    assert!(silent.len() > 1100, "only {}", silent.len());
    silent
}

#[test]
fn two_thousand_silent_connections_stop_nobody() {
    let person = Person::new();
    let server = serving(&person, &[]);
    let began = Instant::now();
    let silent = silent_connections(&server);
    for _ in 0..5 {
        assert_eq!(server.chat("", &question("agent")).status, 200);
    }
    // The silent ones are closed by themselves after twenty seconds: that is not what helped.
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    drop(silent);
}

#[test]
fn two_thousand_silent_connections_stop_no_workspace() {
    let person = Person::new();
    let data = person.path("data").display().to_string();
    let words = ["serve", "--data", &data, "--listen", "127.0.0.1:0"];
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let server = Server::of(&person, &words);
    let began = Instant::now();
    let silent = silent_connections(&server);
    let reply = server.get("/api/v1/health");
    assert!(reply.status < 500, "{reply:?}");
    assert!(
        began.elapsed() < Duration::from_secs(15),
        "{:?}",
        began.elapsed()
    );
    drop(silent);
}

/// One byte a second of a head, and nothing at all: both are over before the minute is.
#[test]
fn a_head_that_does_not_come_to_its_end_is_cut() {
    let person = Person::new();
    let server = serving(&person, &[]);
    let (mut slow, mut silent) = (server.connect(), server.connect());
    slow.set_nodelay(true).expect("it can be set");
    let began = Instant::now();
    let head = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ";
    slow.write_all(head).expect("it is open");
    while slow.write_all(b"a").is_ok() {
        assert!(began.elapsed() < Duration::from_secs(40), "it is not cut");
        std::thread::sleep(Duration::from_millis(500));
    }
    let mut rest = vec![];
    // A reset ends it as well.
    let _ended = silent.read_to_end(&mut rest);
    assert_eq!(rest, b"");
    assert!(began.elapsed() < Duration::from_secs(40));
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_body_of_one_byte_a_minute_is_cut() {
    let person = Person::new();
    let server = serving(&person, &[]);
    let mut slow = server.connect();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Content-Length: 1000\r\n\r\n{{",
        server.address
    );
    let began = Instant::now();
    slow.write_all(head.as_bytes()).expect("it is open");
    let reply = receive_one(&mut slow);
    assert!(
        began.elapsed() < Duration::from_secs(40),
        "{:?}",
        began.elapsed()
    );
    let reply = reply.expect("it is told why");
    assert_eq!(reply.status, 408, "{reply:?}");
    assert_eq!(reply.header("connection"), Some("close"), "{reply:?}");
}

#[test]
fn a_stderr_that_nobody_reads_stops_no_server() {
    let person = Person::new();
    write_agent(&person, "agent", &[report("Because.")], "");
    // A port that was free a moment ago: the address cannot be read from stderr.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = free.local_addr().expect("it is bound").to_string();
    drop(free);
    let (_unread, mut stderr) = std::io::pipe().expect("a pipe can be made");
    let almost_all = vec![b'x'; 65_536 - 256];
    stderr.write_all(&almost_all).expect("it holds 64 KiB");
    let words = words(&person, &["agent"], &["--no-token", "--listen", &address]);
    let mut command = person.command(&words);
    let process = Process::begin(command.stdout(Stdio::null()).stderr(stderr));
    drop(command);
    let server = Server::unheard(process, address);
    // Twice as many as fill the pipe and every line that may wait for it.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for number in 0..250 {
                    let reply = server.chat("", &question("agent"));
                    assert_eq!(reply.status, 200, "{number}: {reply:?}");
                }
            });
        }
    });
    let (took, code) = server.terminate();
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert_eq!(code, Some(0));
}

/// Four hundred requests of one client over kept connections, most of them refused: each is answered, and where the
/// connection is closed, the answer says so.
#[test]
fn refusals_keep_the_connection_or_say_that_they_do_not() {
    let person = Person::new();
    write_agent(&person, "agent", &[report("Because.")], "");
    write_agent(&person, "slow", &[never()], "");
    let flags = ["--token", "alpha", "--concurrency", "1"];
    let server = Server::start(&person, &["agent", "slow"], &flags);
    // The line is full: whoever asks is told to come later.
    let _waiting = server.fill("alpha", &question("slow"));
    let small = question("agent").to_string();
    let large = "x".repeat(300_000);
    let huge = "x".repeat(3_000_000);
    let known = "Authorization: Bearer alpha\r\n";
    let rows: [(&str, &str, &str, u16); 7] = [
        ("GET /health", "", "", 200),
        ("POST /nowhere", known, &small, 404),
        ("POST /nowhere", known, &large, 404),
        ("POST /v1/chat/completions", "", &large, 401),
        ("POST /v1/chat/completions", known, &small, 429),
        ("DELETE /v1/models", known, &small, 405),
        ("POST /nowhere", known, &huge, 404),
    ];
    let mut stream = server.connect();
    let (mut kept, mut closed) = (0, 0);
    for number in 0..400 {
        let (line, headers, body, status) = rows[number % rows.len()];
        server.send(&mut stream, line, headers, body.as_bytes());
        let reply =
            receive_one(&mut stream).unwrap_or_else(|| panic!("{number}: {line} is unanswered"));
        assert_eq!(reply.status, status, "{number}: {reply:?}");
        if reply.header("connection") == Some("close") {
            closed += 1;
            stream = server.connect();
        } else {
            kept += 1;
        }
    }
    assert_eq!((kept, closed), (400, 0));
    // What is too much to be taken in ends the connection, and the answer says so.
    let mut stream = server.connect();
    let head = "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000000\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it is open");
    let reply = receive_one(&mut stream).expect("it is answered");
    assert_eq!(reply.header("connection"), Some("close"), "{reply:?}");
}
