//! Stands between the program and the server, passes everything on, and hears what the server counted.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::check::Heard;
use crate::fault::Fault;

type Connections = Arc<Mutex<Vec<JoinHandle<Exchange>>>>;

/// Both directions of a connection that has ended.
#[derive(Debug, Default)]
struct Exchange {
    asked: Vec<u8>,
    answered: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Listener {
    port: u16,
    connections: Connections,
}

impl Listener {
    /// Listens on a port of its own until the process ends.
    pub(super) fn start(server_port: u16) -> Result<Self, Fault> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(Fault::unmeasured)?;
        let port = listener.local_addr().map_err(Fault::unmeasured)?.port();
        let connections = Connections::default();
        let accepted = Arc::clone(&connections);
        thread::spawn(move || {
            // A connection that could not be accepted is the program's to notice.
            for client in listener.incoming().flatten() {
                let passing = thread::spawn(move || pass(&client, server_port));
                lock(&accepted).push(passing);
            }
        });
        Ok(Self { port, connections })
    }

    pub(super) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.port)
    }

    /// What was said since the last time. The program that talked must have ended.
    pub(super) fn heard(&self) -> Heard {
        let connections = std::mem::take(&mut *lock(&self.connections));
        let mut heard = Heard::default();
        for connection in connections {
            // A connection whose thread panicked said nothing that counts.
            let exchange = connection.join().unwrap_or_default();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            heard.add(&text(&exchange.asked), &text(&exchange.answered));
        }
        heard
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes a connection on until both sides have closed it.
fn pass(client: &TcpStream, server_port: u16) -> Exchange {
    let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server_port)) else {
        return Exchange::default();
    };
    thread::scope(|scope| {
        let asking = scope.spawn(|| copy(client, &server));
        let answered = copy(&server, client);
        let asked = asking.join().unwrap_or_default();
        Exchange { asked, answered }
    })
}

/// Copies until one side closes, and tells the other.
fn copy(mut from: &TcpStream, mut to: &TcpStream) -> Vec<u8> {
    let mut copied = vec![];
    let mut buffer = [0; 16_384];
    let mut step = || -> io::Result<usize> {
        let count = from.read(&mut buffer)?;
        copied.extend_from_slice(&buffer[..count]);
        to.write_all(&buffer[..count])?;
        Ok(count)
    };
    while step().is_ok_and(|count| count > 0) {}
    // The other side may have closed already.
    let _ = to.shutdown(Shutdown::Write);
    copied
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_is_unchanged_and_heard() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let port = server.local_addr().expect("it listens").port();
        let usage = "\"usage\":{\"completion_tokens\":7,\"prompt_tokens\":40}";
        let serving = thread::spawn(move || {
            let (mut stream, _) = server.accept().expect("somebody comes");
            let mut request = [0; 4];
            stream.read_exact(&mut request).expect("a request");
            stream.write_all(usage.as_bytes()).expect("it listens");
            request
        });
        let listener = Listener::start(port).expect("a port is free");
        let mut client =
            TcpStream::connect((Ipv4Addr::LOCALHOST, listener.port)).expect("it listens");
        client.write_all(b"POST").expect("it listens");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        drop(client);
        assert_eq!(&serving.join().expect("no panic"), b"POST");
        assert_eq!(answer, usage);
        let heard = listener.heard();
        assert_eq!((heard.input_tokens, heard.output_tokens), (40, 7));
        assert_eq!(listener.heard(), Heard::default());
    }
}
