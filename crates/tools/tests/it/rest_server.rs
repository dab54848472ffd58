//! A server on loopback that writes down every request and answers as a test wants it to.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query, as they were on the wire.
    pub(crate) target: String,
    /// By lower-case name.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Its threads end with the test's process. One request a connection.
    pub(crate) fn start(
        answer: impl Fn(&Seen, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("a bound listener has one");
        let seen = Arc::new(Mutex::new(vec![]));
        let (written, answer) = (Arc::clone(&seen), Arc::new(answer));
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let (written, answer) = (Arc::clone(&written), Arc::clone(&answer));
                thread::spawn(move || {
                    let seen = read(&stream)?;
                    written.lock().expect("nobody panics").push(seen.clone());
                    // A client that has heard enough hangs up; that is its right.
                    answer(&seen, &mut stream)
                });
            }
        });
        Self { address, seen }
    }

    /// Answers every request alike.
    pub(crate) fn saying(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        let whole = whole(status, headers, &body.into());
        Self::start(move |_, stream| stream.write_all(&whole))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("nobody panics").clone()
    }
}

/// A whole answer.
pub(crate) fn whole(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

fn read(stream: &TcpStream) -> io::Result<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let mut seen = Seen {
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        ..Seen::default()
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let (name, value) = (name.to_lowercase(), value.trim().to_owned());
        seen.headers.insert(name, value);
    }
    let length = seen
        .headers
        .get("content-length")
        .and_then(|it| it.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    seen.body = String::from_utf8_lossy(&body).into_owned();
    Ok(seen)
}
