//! Those who ask a server of a workspace: its owner, and whom the owner lets in.

use std::net::TcpStream;

use serde_json::{Value, json};

use crate::client::Client;
use crate::http::Reply;
use crate::place::Place;
use crate::socket::upgrade;

#[derive(Clone, Debug)]
pub struct Clients {
    /// Where the server listens.
    pub address: String,
    pub owner: Client,
}

impl Clients {
    /// The clients of a server that has opened the directory `data` of a place.
    pub fn of(place: &Place, address: String) -> Self {
        let token = std::fs::read_to_string(place.path("data/owner-token"));
        let token = token.expect("a token was made");
        let owner = Client::with_token(&address, token.trim());
        Self { address, owner }
    }

    pub fn nobody(&self) -> Client {
        Client::with(&self.address, "")
    }

    /// A new user, who is a member of the first workspace in this role, or of none.
    pub fn user(&self, name: &str, role: Option<&str>) -> (String, Client) {
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
    pub fn workspace(&self) -> String {
        let listed = self.owner.get("/api/workspaces").json();
        let id = &listed["workspaces"][0]["workspace_id"];
        id.as_str().unwrap_or_else(|| panic!("{listed}")).to_owned()
    }

    /// A new note of the owner's.
    pub fn note(&self, title: &str, markdown: &str) -> Value {
        let body =
            json!({ "workspace_id": self.workspace(), "title": title, "markdown": markdown });
        let made = self.owner.post("/api/notes", &body);
        assert_eq!(made.status, 201, "{made:?}");
        made.json()
    }

    /// Writes the version after this one of a note.
    #[track_caller]
    pub fn write(&self, note: &Value, version: u64) {
        let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
        let body = json!({ "base_version": version, "markdown": format!("v{}", version + 1) });
        let changed = self.owner.patch(&path, &body);
        assert_eq!(changed.status, 200, "{changed:?}");
    }
}

/// Asks for a socket, and gives the connection and the head of the answer.
pub fn upgraded(address: &str, headers: &str) -> (TcpStream, String) {
    upgrade(address, headers).expect("the server answers")
}

/// The code of an error, with a look at its envelope.
pub fn code(reply: &Reply) -> String {
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
