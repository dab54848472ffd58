//! A provider behind TLS: a server of Python's own library with a certificate that `openssl` made, directly and through a
//! proxy.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::done::Done;
use crate::place::{Place, finish, start};

const KEY: &str = "sk-a-key-that-only-the-provider-sees";

/// A certificate for this machine and for a name that only the proxy knows, signed by one that nobody knows.
const CERTIFICATES: &str = "\
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=tests \
        -keyout ca.key -out ca.crt && \
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost \
        -keyout server.key -out server.csr && \
    printf 'subjectAltName=DNS:localhost,DNS:model.example.invalid' > names && \
    openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile names -out server.crt";

/// Answers each request, and prints its port and then the proof of who asked.
const SERVER: &str = r#"
import http.server, json, ssl
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self): self.answer(404, {})
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        print(self.headers["authorization"], flush=True)
        message = {"role": "assistant", "content": "hello over TLS"}
        self.answer(200, {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
    def answer(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("server.crt", "server.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

struct TlsServer {
    child: Child,
    port: u16,
}

impl TlsServer {
    fn start(dir: &Path) -> Self {
        let made = Command::new("sh")
            .args(["-c", CERTIFICATES])
            .current_dir(dir)
            .output();
        let made = made.expect("a shell can be started");
        assert!(made.status.success(), "{made:?}");
        let mut child = Command::new("python3")
            .args(["-c", SERVER])
            .current_dir(dir)
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python can be started");
        let stdout = child.stdout.as_mut().expect("it is piped");
        let mut line = String::new();
        BufReader::with_capacity(1, stdout)
            .read_line(&mut line)
            .expect("it prints its port");
        let port = line.trim().parse().expect("a port");
        Self { child, port }
    }

    /// The proofs that it was shown.
    fn shown(mut self) -> Vec<String> {
        self.child.kill().expect("it can be ended");
        let mut text = String::new();
        let stdout = self.child.stdout.as_mut().expect("it is piped");
        stdout.read_to_string(&mut text).expect("text");
        self.child.wait().expect("it ends");
        text.lines().map(str::to_owned).collect()
    }
}

/// A run that asks `endpoint` once; its provider's key is in the configuration.
fn run(place: &Place, endpoint: &str, variables: &[(&str, &str)]) -> Done {
    let config = serde_json::json!({
        "providers": { "mine": { "type": "openai", "baseUrl": endpoint, "apiKey": KEY } },
    });
    place.write(".ai-agent/ai-agent.json", config.to_string());
    let words = [
        "run",
        "say hello",
        "--model",
        "mine/m",
        "--max-turns",
        "1",
        "--max-retries",
        "1",
    ];
    let mut command = place.command(&words);
    command.envs(variables.iter().copied());
    finish(start(&mut command))
}

#[test]
fn a_certificate_that_nobody_signed_is_refused_one_for_another_name_too_and_a_known_one_is_used() {
    let place = Place::new();
    let server = TlsServer::start(&place.path(""));
    let port = server.port;
    let known = place.path("ca.crt").display().to_string();
    let known = [("SSL_CERT_FILE", known.as_str())];
    let refused = run(&place, &format!("https://localhost:{port}/v1"), &[]);
    refused.says("SSL_CERT_FILE");
    let other = run(&place, &format!("https://127.0.0.1:{port}/v1"), &known);
    other.says("another name");
    let plain = run(&place, &format!("http://localhost:{port}/v1"), &known);
    assert_ne!(plain.code, Some(0), "{plain:?}");
    let done = run(&place, &format!("https://localhost:{port}/v1"), &known);
    done.says("hello over TLS");
    assert_eq!(server.shown(), [format!("Bearer {KEY}")]);
}

/// A proxy that leads every tunnel to one port, and keeps what went through it.
fn proxy(to: u16, seen: Arc<Mutex<Vec<u8>>>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            thread::spawn(move || {
                let mut head = vec![];
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    client.read_exact(&mut byte)?;
                    head.push(byte[0]);
                }
                seen.lock().expect("not poisoned").extend(&head);
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
                let mut server = TcpStream::connect(("127.0.0.1", to))?;
                let (mut from_server, mut to_client) = (server.try_clone()?, client.try_clone()?);
                thread::spawn(move || io::copy(&mut from_server, &mut to_client));
                let mut part = [0; 4096];
                loop {
                    let count = client.read(&mut part)?;
                    if count == 0 {
                        return server.shutdown(std::net::Shutdown::Write);
                    }
                    seen.lock().expect("not poisoned").extend(&part[..count]);
                    server.write_all(&part[..count])?;
                }
            });
        }
    });
    port
}

#[test]
fn through_a_proxy_the_provider_is_asked_and_the_proxy_sees_neither_key_nor_words() {
    let place = Place::new();
    let server = TlsServer::start(&place.path(""));
    let seen = Arc::default();
    let proxy = format!("http://127.0.0.1:{}", proxy(server.port, Arc::clone(&seen)));
    let known = place.path("ca.crt").display().to_string();
    let variables = [("SSL_CERT_FILE", known.as_str()), ("HTTPS_PROXY", &proxy)];
    let done = run(&place, "https://model.example.invalid/v1", &variables);
    done.says("hello over TLS");
    assert_eq!(server.shown(), [format!("Bearer {KEY}")]);
    let seen = String::from_utf8_lossy(&seen.lock().expect("not poisoned")).into_owned();
    assert!(
        seen.starts_with("CONNECT model.example.invalid:443 HTTP/1.1\r\n"),
        "{seen}"
    );
    for hidden in [KEY, "say hello"] {
        assert!(!seen.contains(hidden), "{seen}");
    }
}
