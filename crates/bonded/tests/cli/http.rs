//! A server that answers each request with the next of its bodies, and remembers what it heard.

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::request::next_request;

pub(crate) struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// The thread ends with the test's process.
    pub(crate) fn start(bodies: Vec<Vec<u8>>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener
            .local_addr()
            .expect("a bound listener has an address");
        let heard = Arc::new(Mutex::new(vec![]));
        let memory = heard.clone();
        thread::spawn(move || {
            for body in bodies {
                let Some((mut stream, request)) = next_request(&listener) else {
                    return;
                };
                memory
                    .lock()
                    .expect("no thread panics with the lock")
                    .push(request);
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                     Connection: close\r\n\r\n",
                    body.len()
                );
                // A client that has heard enough hangs up.
                let _hung_up = stream
                    .write_all(head.as_bytes())
                    .and_then(|()| stream.write_all(&body));
            }
        });
        Self { address, heard }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The requests so far, each whole.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard
            .lock()
            .expect("no thread panics with the lock")
            .clone()
    }
}
