//! A server that demands tokens and the issuer that grants them, both at one address. A refresh token is good
//! once: who spends one twice loses everything, as with strict issuers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::provider::{self, Provider, Reply, raw};

/// What the server was sent.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    pub path: String,
    pub authorization: String,
    /// Of the query, or of a form.
    pub fields: BTreeMap<String, String>,
    pub body: Value,
}

/// What it answers: a status, further lines of the head, and a body.
#[derive(Clone, Debug)]
pub struct Answer(pub u16, pub String, pub String);

#[derive(Debug, Default)]
pub struct State {
    count: u32,
    pub access: BTreeSet<String>,
    pub refresh: BTreeSet<String>,
    pub lifetime_s: Option<u64>,
    /// The text of every token, where a hostile issuer chose it.
    pub chosen: Option<String>,
    pub asked: Vec<Asked>,
}

#[derive(Debug)]
pub struct Issuer {
    pub origin: String,
    state: Arc<Mutex<State>>,
}

impl Issuer {
    pub fn start() -> Self {
        Self::twisted(|_, _| None)
    }

    /// Answers otherwise where `twist` says so, which is told the origin too.
    pub fn twisted(twist: impl Fn(&str, &Asked) -> Option<Answer> + Send + Sync + 'static) -> Self {
        let state = Arc::<Mutex<State>>::default();
        let shared = Arc::clone(&state);
        let provider = Provider::serving(move |asked| {
            let origin = format!("http://{}", asked.headers["host"]);
            let asked = read(asked);
            let twisted = twist(&origin, &asked);
            answer(&shared, &origin, asked, twisted)
        });
        let origin = provider.origin();
        Self { origin, state }
    }

    pub fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes every access token back.
    pub fn expire(&self) {
        self.state().access.clear();
    }

    /// How often the issuer was asked for a token in this way.
    pub fn grants(&self, grant: &str) -> usize {
        let state = self.state();
        let grants = state
            .asked
            .iter()
            .filter_map(|it| it.fields.get("grant_type"));
        grants.filter(|it| *it == grant).count()
    }
}

/// Does what a browser does in which somebody is logged in already. Gives the last page.
pub fn browse(url: &str) -> String {
    let (host, target) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .expect("an address");
    let mut stream = TcpStream::connect(host).expect("somebody listens");
    write!(stream, "GET /{target} HTTP/1.1\r\nhost: {host}\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is text");
    match answer.split("location: ").nth(1) {
        Some(rest) => browse(rest.lines().next().unwrap_or_default()),
        None => answer,
    }
}

fn answer(state: &Mutex<State>, origin: &str, asked: Asked, twisted: Option<Answer>) -> Reply {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    let Answer(status, head, body) = twisted.unwrap_or_else(|| usual(&mut state, origin, &asked));
    // Long enough for others to find out that they need a token too.
    let delay_ms = if asked.path == "/token" { 50 } else { 0 };
    state.asked.push(asked);
    let lines = head.lines().filter_map(|line| line.split_once(": "));
    let headers = lines.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut reply = raw(status, "", body).delayed_ms(delay_ms);
    reply.headers = headers.collect();
    reply
}

fn read(asked: &provider::Asked) -> Asked {
    let (path, query) = asked.path.split_once('?').unwrap_or((&asked.path, ""));
    let pairs = query.split('&').chain(asked.text.split('&'));
    let authorization = asked.headers.get("authorization");
    Asked {
        path: path.into(),
        authorization: authorization.cloned().unwrap_or_default(),
        fields: pairs
            .filter_map(|pair| pair.split_once('='))
            .map(decoded)
            .collect(),
        body: asked.body.clone(),
    }
}

fn decoded((name, value): (&str, &str)) -> (String, String) {
    let mut bytes = vec![];
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                rest = after;
            }
        }
    }
    (name.into(), String::from_utf8_lossy(&bytes).into_owned())
}

pub fn says(status: u16, body: &Value) -> Answer {
    let head = "content-type: application/json\r\n".into();
    Answer(status, head, body.to_string())
}

/// What an issuer says about itself.
pub fn metadata(origin: &str) -> Value {
    json!({ "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
        "revocation_endpoint": format!("{origin}/revoke"), "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post"] })
}

fn usual(state: &mut State, origin: &str, asked: &Asked) -> Answer {
    let field = |name: &str| asked.fields.get(name).cloned().unwrap_or_default();
    match asked.path.as_str() {
        "/.well-known/oauth-protected-resource/mcp" => says(
            200,
            &json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin],
                "scopes_supported": ["read"] }),
        ),
        "/.well-known/oauth-authorization-server" => says(200, &metadata(origin)),
        "/register" => says(201, &json!({ "client_id": "made-up" })),
        "/authorize" => {
            let (to, state) = (field("redirect_uri"), field("state"));
            let to = format!("location: {to}?code=the-code&state={state}\r\n");
            Answer(302, to, String::new())
        }
        "/token" => token(state, asked),
        "/identity/token" => vouch(state, asked),
        "/revoke" => {
            state.refresh.remove(&field("token"));
            says(200, &json!({}))
        }
        "/mcp" => tools(state, origin, asked),
        _ => Answer(404, String::new(), String::new()),
    }
}

fn token(state: &mut State, asked: &Asked) -> Answer {
    let field = |name: &str| asked.fields.get(name).map_or("", String::as_str);
    let is_good = match field("grant_type") {
        "refresh_token" => state.refresh.remove(field("refresh_token")),
        "authorization_code" => field("code") == "the-code",
        "client_credentials" => field("client_secret") == "program-secret",
        "urn:ietf:params:oauth:grant-type:jwt-bearer" => {
            field("assertion").starts_with("word-4c88")
        }
        _ => false,
    };
    if !is_good {
        state.access.clear();
        state.refresh.clear();
        return says(400, &json!({ "error": "invalid_grant" }));
    }
    state.count += 1;
    let drawn = |kind: &str| format!("{kind}-7f31c95e2b8d4a06f9b2-{}", state.count);
    let token = |kind| state.chosen.clone().unwrap_or_else(|| drawn(kind));
    let (access, refresh) = (token("access"), token("refresh"));
    state.access.insert(access.clone());
    state.refresh.insert(refresh.clone());
    let mut granted =
        json!({ "access_token": access, "token_type": "bearer", "refresh_token": refresh });
    if let Some(life_s) = state.lifetime_s {
        granted["expires_in"] = json!(life_s);
    }
    says(200, &granted)
}

/// An identity provider at the same address, which knows one person.
fn vouch(state: &mut State, asked: &Asked) -> Answer {
    let field = |name: &str| asked.fields.get(name).map_or("", String::as_str);
    if !field("subject_token").starts_with("person-91aa") {
        let why = "the identity token has expired";
        return says(
            400,
            &json!({ "error": "invalid_grant", "error_description": why }),
        );
    }
    state.count += 1;
    says(
        200,
        &json!({ "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A",
            "access_token": format!("word-4c88-{}", state.count) }),
    )
}

fn tools(state: &State, origin: &str, asked: &Asked) -> Answer {
    let token = asked
        .authorization
        .strip_prefix("Bearer ")
        .unwrap_or_default();
    let id = &asked.body["id"];
    if !state.access.contains(token) {
        let place = format!("{origin}/.well-known/oauth-protected-resource/mcp");
        let head = format!("www-authenticate: Bearer resource_metadata=\"{place}\"\r\n");
        return Answer(401, head, String::new());
    }
    let result = match asked.body["method"].as_str().unwrap_or_default() {
        "initialize" => json!({ "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "web", "version": "1" } }),
        "tools/list" => {
            let schema = json!({ "type": "object" });
            json!({ "tools": [{ "name": "token", "inputSchema": schema }] })
        }
        _ => json!({ "content": [{ "type": "text", "text": format!("you sent {token}") }] }),
    };
    match id.is_null() {
        true => Answer(202, String::new(), String::new()),
        false => says(
            200,
            &json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        ),
    }
}
