//! A server of workspaces that somebody runs for several people, and what they ask it.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::http;
use bonded_testkit::patience::PATIENCE;
use bonded_testkit::process::Process;
use bonded_testkit::provider::{Provider, silence};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::person::{Done, Person};

pub(super) use bonded_testkit::http::Reply as Said;
pub(super) use bonded_testkit::patience::wait_until as until;

static KEYS: AtomicU64 = AtomicU64::new(0);

pub(super) struct House {
    pub(super) person: Person,
    process: Process,
    address: SocketAddr,
    pub(super) owner: Guest,
    variables: Vec<(&'static str, &'static str)>,
}

/// Somebody who asks, or nobody.
#[derive(Clone)]
pub(super) struct Guest {
    pub(super) user_id: String,
    pub(super) token: Option<String>,
    address: SocketAddr,
    /// The address of the machine that they ask from.
    from: Ipv4Addr,
}

/// A request whose last byte is still to come.
pub(super) struct Held {
    stream: TcpStream,
    last: String,
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl House {
    /// A server with this configuration.
    pub(super) fn open(config: &Value) -> Self {
        Self::furnished(config, &[], |_| {})
    }

    /// The same with variables in its environment, after the person has put files into place.
    pub(super) fn furnished(
        config: &Value,
        variables: &[(&'static str, &'static str)],
        furnish: impl FnOnce(&Person),
    ) -> Self {
        let person = Person::new();
        person.make_dir(&person.path("data"));
        person.write(person.path("data/config.json"), config.to_string());
        furnish(&person);
        Self::begin(person, variables.to_vec())
    }

    fn begin(person: Person, variables: Vec<(&'static str, &'static str)>) -> Self {
        let data = person.path("data").display().to_string();
        let mut command = person.command(&["serve", "--data", &data, "--listen", "127.0.0.1:0"]);
        command.envs(variables.iter().copied());
        let (process, address) = Process::serve(&mut command);
        let address = address.parse().expect("an address");
        let token = std::fs::read_to_string(person.path("data/owner-token"));
        let token = token.expect("there is a token").trim().to_owned();
        let mut owner = Guest {
            user_id: String::new(),
            token: Some(token),
            address,
            from: Ipv4Addr::LOCALHOST,
        };
        owner.user_id = text(&owner.get("/api/auth/session").is(200)["user_id"]);
        Self {
            person,
            process,
            address,
            owner,
            variables,
        }
    }

    /// Stops the server and starts it again, with another configuration where there is one.
    pub(super) fn again(self, config: Option<&Value>) -> Self {
        self.process.end(Signal::TERM);
        if let Some(config) = config {
            let file = self.person.path("data/config.json");
            self.person.write(file, config.to_string());
        }
        Self::begin(self.person, self.variables)
    }

    pub(super) fn data(&self, name: &str) -> PathBuf {
        self.person.path("data").join(name)
    }

    pub(super) fn nobody(&self) -> Guest {
        Guest {
            user_id: String::new(),
            token: None,
            address: self.address,
            from: Ipv4Addr::LOCALHOST,
        }
    }

    pub(super) fn with_token(&self, token: &str) -> Guest {
        Guest {
            token: Some(token.to_owned()),
            ..self.nobody()
        }
    }

    /// The workspace that was there first, which is the owner's.
    pub(super) fn workspace(&self) -> String {
        let listed = self.owner.get("/api/workspaces").is(200);
        text(&listed["workspaces"][0]["workspace_id"])
    }

    /// A new user, with a role in the owner's workspace or none.
    pub(super) fn user(&self, name: &str, role: Option<&str>) -> Guest {
        let made = self
            .owner
            .post("/api/users", &json!({ "name": name }))
            .is(201);
        let guest = Guest {
            user_id: text(&made["user_id"]),
            ..self.with_token(&text(&made["token"]))
        };
        if let Some(role) = role {
            let path = format!("/api/workspaces/{}/members", self.workspace());
            let body = json!({ "user_id": guest.user_id, "role": role });
            self.owner.post(&path, &body).is(200);
        }
        guest
    }

    /// `bonded` on the data directory.
    pub(super) fn bonded(&self, words: &[&str]) -> Done {
        let data = self.data("").display().to_string();
        let mut all = words.to_vec();
        all.extend(["--data", data.as_str()]);
        self.person.bonded(&all)
    }

    /// Everything in the data directory that is the server's own and no store, with its content.
    pub(super) fn own_files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let names = ["owner-token", "config.json", "agent-prompt.json", ".env"];
        let files = names.iter().map(|name| self.data(name));
        files
            .map(|file| {
                let content = std::fs::read(&file).unwrap_or_default();
                (file, content)
            })
            .collect()
    }
}

impl Guest {
    /// The same from another address of the machine.
    pub(super) fn from(&self, last: u8) -> Self {
        Self {
            from: Ipv4Addr::new(127, 0, 0, last),
            ..self.clone()
        }
    }

    pub(super) fn get(&self, path: &str) -> Said {
        self.ask("GET", path, None, "")
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> Said {
        self.ask("POST", path, Some(body), "")
    }

    pub(super) fn delete(&self, path: &str) -> Said {
        self.ask("DELETE", path, None, "")
    }

    /// Asks with a connection of its own.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>, more: &str) -> Said {
        let mut stream = self.connected();
        let (head, body) = self.request(method, path, body, more);
        stream
            .write_all((head + &body).as_bytes())
            .expect("the server listens");
        http::receive(stream)
    }

    /// Asks, but keeps the end of the body back: the server has let them in, and waits.
    pub(super) fn hold(&self, method: &str, path: &str, body: &Value) -> Held {
        let mut stream = self.connected();
        let (head, body) = self.request(method, path, Some(body), "Expect: 100-continue\r\n");
        stream
            .write_all(head.as_bytes())
            .expect("the server listens");
        // The server asks for the body once it knows who sends it.
        let mut go_on = [0; 25];
        stream.read_exact(&mut go_on).expect("the server answers");
        assert_eq!(go_on, *b"HTTP/1.1 100 Continue\r\n\r\n", "{method} {path}");
        let (first, last) = body.split_at(body.len() - 1);
        stream
            .write_all(first.as_bytes())
            .expect("the server listens");
        Held {
            stream,
            last: last.to_owned(),
        }
    }

    /// The head of a request, and its body.
    fn request(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
        more: &str,
    ) -> (String, String) {
        let token = self.token.as_ref();
        let token = token.map_or(String::new(), |it| {
            format!("Authorization: Bearer {it}\r\n")
        });
        let (kind, body) = match body {
            Some(body) => ("Content-Type: application/json\r\n", body.to_string()),
            None => ("", String::new()),
        };
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nIdempotency-Key: key-{key}\r\n\
             Content-Length: {}\r\n{kind}{token}{more}\r\n",
            self.address,
            body.len()
        );
        (head, body)
    }

    fn connected(&self) -> TcpStream {
        let made = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        bind(&made, &SocketAddrV4::new(self.from, 0)).expect("an address of this machine");
        let SocketAddr::V4(server) = self.address else {
            unreachable!("the server listens on an address of the older kind");
        };
        connect(&made, &server).expect("the server listens");
        let stream = TcpStream::from(made);
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a time is a time");
        stream
    }

    /// A workspace of their own.
    pub(super) fn workspace(&self, name: &str) -> String {
        let made = self
            .post("/api/workspaces", &json!({ "name": name }))
            .is(201);
        text(&made["workspace_id"])
    }

    /// Tries to make a rule with this action.
    pub(super) fn rule(&self, workspace: &str, action: &Value) -> Said {
        let rule = json!({ "workspace_id": workspace, "trigger": "manual", "action_json": action });
        self.post("/api/automation/rules", &rule)
    }

    /// Launches a rule and gives the id of its run.
    pub(super) fn launch(&self, rule: &Value) -> String {
        let path = format!("/api/automation/rules/{}/launch", text(&rule["rule_id"]));
        text(&self.post(&path, &json!({})).is(201)["run_id"])
    }

    /// A run of a rule, once it has ended.
    pub(super) fn ended(&self, run: &str) -> Value {
        let began = Instant::now();
        loop {
            let shown = self.get(&format!("/api/automation/runs/{run}")).is(200);
            let status = text(&shown["status"]);
            if !["queued", "running"].contains(&status.as_str()) {
                return shown;
            }
            assert!(began.elapsed() < PATIENCE, "it does not end: {shown}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Held {
    /// Sends what was kept back.
    pub(super) fn finish(mut self) -> Said {
        self.stream
            .write_all(self.last.as_bytes())
            .expect("the server listens");
        http::receive(self.stream)
    }
}

/// A model that takes requests and never answers.
pub(super) fn silent_model() -> String {
    let provider = Provider::start();
    provider.then_always(silence());
    provider.always("GET /v1/models", silence());
    provider.base_url()
}

/// A path as a rule writes it.
pub(super) fn written(path: impl AsRef<Path>) -> String {
    path.as_ref().display().to_string()
}
