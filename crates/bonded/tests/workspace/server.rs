//! A running server of a workspace, and what a client needs to talk to it.

use std::cell::Cell;
use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::http::{self, Reply};
use crate::model::Model;
use crate::place::{Done, Place, finish, start};

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Server {
    pub(crate) place: Place,
    child: Option<Child>,
    pub(crate) address: String,
    pub(crate) owner: Client,
    pub(crate) told: Vec<String>,
    rest: Receiver<String>,
}

/// Who asks, and how they show it.
#[derive(Clone)]
pub(crate) struct Client {
    address: String,
    /// Header lines, each beginning with a line break.
    headers: String,
    keys: Cell<u32>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_in(Place::new())
    }

    /// Serves the directory `data` of a place.
    pub(crate) fn start_in(place: Place) -> Self {
        let data = place.path("data").display().to_string();
        let words = ["serve", "--data", &data, "--listen", "127.0.0.1:0"];
        let mut child = start(&mut place.command(&words));
        let lines = lines_of(&mut child);
        let mut told = vec![];
        let address = loop {
            let line = lines
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("no start: {told:?}"));
            if let Some(address) = line.strip_prefix("listening on http://") {
                break address.to_owned();
            }
            told.push(line);
        };
        let token =
            std::fs::read_to_string(place.path("data/owner-token")).expect("a token was made");
        let owner = Client::with_token(&address, token.trim());
        Self {
            place,
            child: Some(child),
            address,
            owner,
            told,
            rest: lines,
        }
    }

    /// A server with this in its configuration.
    pub(crate) fn with_config(config: &Value) -> Self {
        let place = Place::new();
        std::fs::create_dir(place.path("data")).expect("a directory can be made");
        std::fs::write(place.path("data/config.json"), config.to_string())
            .expect("a file can be written");
        Self::start_in(place)
    }

    /// A server whose rules may ask these models.
    pub(crate) fn asking(models: &[&Model]) -> Self {
        let listed = models.iter().map(|it| format!("lmstudio={}", it.base_url));
        let listed: Vec<String> = listed.collect();
        Self::with_config(&json!({ "automation": { "allowed_providers": listed } }))
    }

    pub(crate) fn nobody(&self) -> Client {
        Client::with(&self.address, "")
    }

    /// A new user, who is a member of the first workspace in this role, or of none.
    pub(crate) fn user(&self, name: &str, role: Option<&str>) -> (String, Client) {
        let made = self.owner.post("/api/users", &json!({ "name": name }));
        assert_eq!(made.status, 201, "{made:?}");
        let made = made.json();
        let id = made["user_id"]
            .as_str()
            .expect("a user has an id")
            .to_owned();
        if let Some(role) = role {
            let path = format!("/api/workspaces/{}/members", self.workspace());
            let set = self
                .owner
                .post(&path, &json!({ "user_id": id, "role": role }));
            assert_eq!(set.status, 200, "{set:?}");
        }
        let token = made["token"].as_str().expect("a user has a token");
        (id, Client::with_token(&self.address, token))
    }

    /// The workspace that a new directory has.
    pub(crate) fn workspace(&self) -> String {
        let listed = self.owner.get("/api/workspaces").json();
        let id = &listed["workspaces"][0]["workspace_id"];
        id.as_str().unwrap_or_else(|| panic!("{listed}")).to_owned()
    }

    /// A new note of the owner's.
    pub(crate) fn note(&self, title: &str, markdown: &str) -> Value {
        let body =
            json!({ "workspace_id": self.workspace(), "title": title, "markdown": markdown });
        let made = self.owner.post("/api/notes", &body);
        assert_eq!(made.status, 201, "{made:?}");
        made.json()
    }

    /// The line on stderr that holds this: one of the start, or the next one after it.
    pub(crate) fn line_with(&self, part: &str) -> String {
        if let Some(line) = self.told.iter().find(|line| line.contains(part)) {
            return line.clone();
        }
        let mut told = vec![];
        loop {
            let line = self
                .rest
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("no line with {part:?}: {told:?}"));
            if line.contains(part) {
                return line;
            }
            told.push(line);
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().expect("the server runs").id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let child = self.child.as_ref().expect("the server runs");
        kill_process(Pid::from_child(child), signal).expect("the server can be signalled");
    }

    /// The most memory that the server has held at once.
    pub(crate) fn peak_bytes(&self) -> u64 {
        let id = self.child.as_ref().expect("the server runs").id();
        let status = std::fs::read_to_string(format!("/proc/{id}/status"));
        let status = status.expect("a process has a status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kilobytes.expect("the system says how much memory a process had") << 10
    }

    /// Ends the server as a person would, and gives its place for another one.
    pub(crate) fn stop(mut self) -> (Place, Done) {
        self.signal(Signal::TERM);
        let done = finish(self.child.take().expect("the server runs"));
        (std::mem::replace(&mut self.place, Place::new()), done)
    }

    /// Ends the server by a signal, and gives its place and all that it printed.
    pub(crate) fn end(mut self, signal: Signal) -> (Place, String) {
        self.signal(signal);
        let done = finish(self.child.take().expect("the server runs"));
        let place = std::mem::replace(&mut self.place, Place::new());
        // The lines end with the process.
        let lines: Vec<String> = self.told.drain(..).chain(self.rest.iter()).collect();
        (place, done.stdout + &lines.join("\n"))
    }

    /// Kills the server, and gives its place for another one.
    pub(crate) fn crash(mut self) -> Place {
        self.signal(Signal::KILL);
        finish(self.child.take().expect("the server runs"));
        std::mem::replace(&mut self.place, Place::new())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // A server that has ended by itself needs no end.
            let _ended = child.kill().and_then(|()| child.wait());
        }
    }
}

impl Client {
    pub(crate) fn with(address: &str, headers: &str) -> Self {
        Self {
            address: address.to_owned(),
            headers: headers.to_owned(),
            keys: Cell::new(0),
        }
    }

    pub(crate) fn with_token(address: &str, token: &str) -> Self {
        Self::with(address, &format!("\r\nAuthorization: Bearer {token}"))
    }

    /// The same client with one more header.
    pub(crate) fn and(&self, header: &str) -> Self {
        let headers = format!("{}\r\n{header}", self.headers);
        Self::with(&self.address, &headers)
    }

    pub(crate) fn headers(&self) -> &str {
        &self.headers
    }

    /// A key that no other request of this client has.
    fn key(&self) -> String {
        self.keys.set(self.keys.get() + 1);
        format!(
            "\r\nIdempotency-Key: key-{}-{}",
            std::process::id(),
            self.keys.get()
        )
    }

    pub(crate) fn send(&self, line: &str, headers: &str, body: &[u8]) -> Reply {
        let own = &self.headers;
        let address = &self.address;
        let head = format!("{line} HTTP/1.1\r\nHost: {address}\r\nConnection: close{own}{headers}");
        http::receive(http::send(address, &head, body))
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        self.send(&format!("GET {path}"), "", b"")
    }

    /// Sends JSON with a key of its own.
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Reply {
        self.keyed(method, path, &self.key(), body)
    }

    /// Sends JSON with headers, each beginning with a line break.
    pub(crate) fn keyed(&self, method: &str, path: &str, headers: &str, body: &Value) -> Reply {
        let headers = format!("{headers}\r\nContent-Type: application/json");
        self.send(
            &format!("{method} {path}"),
            &headers,
            body.to_string().as_bytes(),
        )
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.json("POST", path, body)
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Reply {
        self.json("PATCH", path, body)
    }

    pub(crate) fn put(&self, path: &str, body: &Value) -> Reply {
        self.json("PUT", path, body)
    }

    pub(crate) fn delete(&self, path: &str) -> Reply {
        self.send(&format!("DELETE {path}"), &self.key(), b"")
    }
}

/// The code of an error, with a look at its envelope.
pub(crate) fn code(reply: &Reply) -> String {
    let body = reply.json();
    for field in ["code", "message", "details", "request_id"] {
        assert!(body.get(field).is_some(), "{field} is missing: {reply:?}");
    }
    assert_eq!(
        body["request_id"].as_str(),
        reply.header("x-request-id"),
        "{reply:?}"
    );
    body["code"].as_str().unwrap_or_default().to_owned()
}

/// The lines of the server's stderr. They are read to the end, so that it never waits for a reader.
pub(crate) fn lines_of(child: &mut Child) -> Receiver<String> {
    let stderr = child.stderr.take().expect("stderr is a pipe");
    let (sender, receiver) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            // The test may have heard enough.
            let _unheard = sender.send(line);
        }
    });
    receiver
}
