//! A running server of a workspace, and what a client needs to talk to it.

use std::net::TcpStream;

use bonded_testkit::process::Process;
use bonded_testkit::provider::Provider;
use bonded_testkit::socket::upgrade;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::http::Reply;
use crate::place::{Done, Place};

pub(crate) use bonded_testkit::client::Client;

pub(crate) struct Server {
    pub(crate) place: Place,
    pub(crate) process: Process,
    pub(crate) address: String,
    pub(crate) owner: Client,
    /// What it said before it listened.
    pub(crate) told: Vec<String>,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_in(Place::new())
    }

    /// Serves the directory `data` of a place.
    pub(crate) fn start_in(place: Place) -> Self {
        let (process, address) = Process::serve(&mut place.serve_data());
        let token =
            std::fs::read_to_string(place.path("data/owner-token")).expect("a token was made");
        let owner = Client::with_token(&address, token.trim());
        Self {
            place,
            told: process.told_first(),
            process,
            address,
            owner,
        }
    }

    /// A server with this in its configuration.
    pub(crate) fn with_config(config: &Value) -> Self {
        Self::start_in(Place::with_config(config))
    }

    /// A server whose rules may ask these models.
    pub(crate) fn asking(models: &[&Provider]) -> Self {
        let listed = models
            .iter()
            .map(|it| format!("lmstudio={}", it.base_url()));
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

    /// Ends the server as a person would, and gives its place for another one.
    pub(crate) fn stop(self) -> (Place, Done) {
        let done = self.process.end(Signal::TERM);
        (self.place, done)
    }

    /// Ends the server by a signal, and gives its place and all that it printed.
    pub(crate) fn end(self, signal: Signal) -> (Place, String) {
        let done = self.process.end(signal);
        (self.place, done.stdout + &done.stderr)
    }

    /// Kills the server, and gives its place for another one.
    pub(crate) fn crash(self) -> Place {
        self.process.end(Signal::KILL);
        self.place
    }
}

/// Asks for a socket, and gives the connection and the head of the answer.
pub(crate) fn upgraded(address: &str, headers: &str) -> (TcpStream, String) {
    upgrade(address, headers).expect("the server answers")
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
