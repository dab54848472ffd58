//! Witnesses outside the program: what they saw is what happened, whatever the program says of itself.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::person::Person;

/// A file that must stay as it is.
pub(crate) struct Canary {
    path: PathBuf,
    content: Vec<u8>,
}

impl Canary {
    /// Puts a canary with this content at a path of a person.
    pub(crate) fn put(person: &Person, path: impl AsRef<Path>, content: &str) -> Self {
        person.write(path.as_ref(), content);
        Self {
            path: path.as_ref().to_owned(),
            content: content.as_bytes().to_vec(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Fails where the file was changed or removed.
    #[track_caller]
    pub(crate) fn lives(&self) {
        let now = std::fs::read(&self.path).unwrap_or_default();
        let now = String::from_utf8_lossy(&now).into_owned();
        assert_eq!(now.as_bytes(), self.content, "{}", self.path.display());
    }
}

/// Fails where something lies at a path where nothing may be.
#[track_caller]
pub(crate) fn absent(path: impl AsRef<Path>) {
    let path = path.as_ref();
    assert!(
        std::fs::symlink_metadata(path).is_err(),
        "{} was made",
        path.display()
    );
}

/// Fails where one of the texts holds a secret.
#[track_caller]
pub(crate) fn holds_no(secret: &str, texts: &[&str]) {
    for text in texts {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

/// How often a race is run.
pub(crate) fn rounds(usual: usize) -> usize {
    let said = std::env::var("BONDED_ATTACK_ROUNDS").ok();
    said.and_then(|said| said.parse().ok()).unwrap_or(usual)
}

/// A stranger's server: it keeps every byte that anybody sends, and answers 500.
pub(crate) struct Listener {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Listener {
    pub(crate) fn new() -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = socket.local_addr().expect("it has an address");
        let heard = Arc::new(Mutex::new(vec![]));
        let keep = heard.clone();
        thread::spawn(move || {
            for connection in socket.incoming().flatten() {
                let keep = keep.clone();
                thread::spawn(move || hear(connection, &keep));
            }
        });
        Self { address, heard }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Everything that was sent here so far.
    pub(crate) fn heard(&self) -> String {
        let heard = self.heard.lock().expect("no thread panics with it");
        String::from_utf8_lossy(&heard).into_owned()
    }
}

fn hear(mut connection: TcpStream, keep: &Mutex<Vec<u8>>) {
    let _ = connection.set_read_timeout(Some(Duration::from_secs(20)));
    let mut bytes = [0; 4096];
    let mut answered = false;
    while let Ok(count) = connection.read(&mut bytes) {
        if count == 0 {
            return;
        }
        let mut kept = keep.lock().expect("no thread panics with it");
        kept.extend(&bytes[..count]);
        drop(kept);
        if !answered {
            let answer = b"HTTP/1.1 500 Internal Server Error\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
            let _ = connection.write_all(answer);
            answered = true;
        }
    }
}
