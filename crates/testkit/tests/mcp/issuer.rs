//! A server that demands tokens and the issuer that grants them, both at one address. A refresh token is good
//! once: who spends one twice loses everything, as with strict issuers.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// What the server was sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) authorization: String,
    /// Of the query, or of a form.
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) body: Value,
}

/// What it answers: a status, further lines of the head, and a body.
pub(crate) struct Answer(pub(crate) u16, pub(crate) String, pub(crate) String);

type Twist = Box<dyn Fn(&Asked) -> Option<Answer> + Send + Sync>;

#[derive(Default)]
pub(crate) struct State {
    count: u32,
    pub(crate) access: BTreeSet<String>,
    pub(crate) refresh: BTreeSet<String>,
    pub(crate) lifetime_s: Option<u64>,
    /// The text of every token, where a hostile issuer chose it.
    pub(crate) chosen: Option<String>,
    pub(crate) asked: Vec<Asked>,
}

pub(crate) struct Issuer {
    pub(crate) origin: String,
    state: Arc<Mutex<State>>,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        Self::twisted(|_, _| None)
    }

    /// Answers otherwise where `twist` says so, which is told the origin too.
    pub(crate) fn twisted(
        twist: impl Fn(&str, &Asked) -> Option<Answer> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let origin = format!("http://127.0.0.1:{port}");
        let state = Arc::<Mutex<State>>::default();
        let (own, shared) = (origin.clone(), Arc::clone(&state));
        let twist: Arc<Twist> = Arc::new(Box::new(move |asked| twist(&own, asked)));
        let own = origin.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (own, shared, twist) = (own.clone(), Arc::clone(&shared), Arc::clone(&twist));
                // A client that went away needs no answer.
                std::thread::spawn(move || serve(stream, &own, &shared, &twist).ok());
            }
        });
        Self { origin, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes every access token back.
    pub(crate) fn expire(&self) {
        self.state().access.clear();
    }

    /// How often the issuer was asked for a token in this way.
    pub(crate) fn grants(&self, grant: &str) -> usize {
        let state = self.state();
        let grants = state
            .asked
            .iter()
            .filter_map(|it| it.fields.get("grant_type"));
        grants.filter(|it| *it == grant).count()
    }
}

/// Does what a browser does in which somebody is logged in already. Gives the last page.
pub(crate) fn browse(url: &str) -> String {
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

fn serve(
    stream: TcpStream,
    origin: &str,
    state: &Mutex<State>,
    twist: &Twist,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let asked = read(&mut reader)?;
    let twisted = twist(&asked);
    let answer = {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.asked.push(asked.clone());
        twisted.unwrap_or_else(|| usual(&mut state, origin, &asked))
    };
    if asked.path == "/token" {
        // Long enough for others to find out that they need a token too.
        std::thread::sleep(Duration::from_millis(50));
    }
    let Answer(status, head, body) = answer;
    let length = body.len();
    let whole = format!(
        "HTTP/1.1 {status} So\r\nconnection: close\r\n{head}content-length: {length}\r\n\r\n{body}"
    );
    reader.get_mut().write_all(whole.as_bytes())
}

fn read(reader: &mut BufReader<TcpStream>) -> std::io::Result<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut asked) = (0, Asked::default());
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().unwrap_or(0);
            }
            Some((name, value)) if name.eq_ignore_ascii_case("authorization") => {
                asked.authorization = value.into();
            }
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    asked.path = path.into();
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    let form = String::from_utf8_lossy(&body);
    let pairs = query.split('&').chain(form.split('&'));
    asked.fields = pairs
        .filter_map(|pair| pair.split_once('='))
        .map(decoded)
        .collect();
    Ok(asked)
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

pub(crate) fn says(status: u16, body: &Value) -> Answer {
    let head = "content-type: application/json\r\n".into();
    Answer(status, head, body.to_string())
}

/// What an issuer says about itself.
pub(crate) fn metadata(origin: &str) -> Value {
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
