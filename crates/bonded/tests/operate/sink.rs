//! A receiver of traces that keeps what it is sent, and a real collector before it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use bonded_testkit::installed::{SDK_PYTHON, installed};
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::Place;
use bonded_testkit::postgres::free_port;
use serde_json::Value;

/// A request to a receiver.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

/// Takes everything in.
pub(crate) struct Sink {
    port: u16,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Sink {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
        let port = listener.local_addr().expect("it has an address").port();
        let received = Arc::<Mutex<Vec<Received>>>::default();
        let kept = received.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = kept.clone();
                thread::spawn(move || answer_all(stream, &kept));
            }
        });
        Self { port, received }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().expect("no answer panics").clone()
    }

    /// The spans so far, as OpenTelemetry's own reader has them.
    pub(crate) fn spans(&self, place: &Place) -> Vec<Value> {
        let received = self.received();
        let files = received.iter().enumerate().map(|(number, request)| {
            let name = format!("otlp-{}-{number}", self.port);
            place.write(&name, &request.body)
        });
        let files: Vec<PathBuf> = files.collect();
        let python = installed(SDK_PYTHON).expect("who asks has it");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/operate/decode.py");
        let read = Command::new(python).arg(script).args(files).output();
        let read = read.expect("Python runs");
        let errors = String::from_utf8_lossy(&read.stderr);
        assert!(read.status.success(), "not OTLP: {errors}");
        serde_json::from_slice(&read.stdout).expect("the script prints JSON")
    }
}

fn answer_all(mut stream: TcpStream, kept: &Mutex<Vec<Received>>) {
    let mut reader = BufReader::new(stream.try_clone().expect("it can be cloned"));
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !matches!(reader.read_line(&mut head), Ok(1..)) {
                return;
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse().ok()).flatten()
        });
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let request = Received { head, body };
        kept.lock().expect("no answer panics").push(request);
        let answer =
            "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Rotel, a collector that others wrote, which hands on what it takes to a sink.
pub(crate) struct Collector {
    child: Child,
    pub(crate) address: String,
}

impl Collector {
    /// `None` where it is not installed.
    pub(crate) fn start(place: &Place, sink: &Sink) -> Option<Self> {
        let python = installed(SDK_PYTHON)?;
        let found = Command::new(python)
            .args(["-c", "import rotel; print(rotel.__path__[0])"])
            .output()
            .expect("Python runs");
        let dir = String::from_utf8(found.stdout).expect("it is a path");
        let [http, grpc] = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
        let mut rotel = Command::new(PathBuf::from(dir.trim()).join("rotel-agent"));
        rotel.args(["start", "--otlp-http-endpoint", &http]);
        rotel.args(["--otlp-grpc-endpoint", &grpc, "--exporter", "otlp"]);
        rotel.args(["--otlp-exporter-endpoint", &sink.address()]);
        rotel.args(["--otlp-exporter-protocol", "http"]);
        rotel.args(["--otlp-exporter-compression", "none"]);
        rotel.arg("--pid-file").arg(place.path("rotel.pid"));
        rotel.arg("--log-file").arg(place.path("rotel.log"));
        let rotel = rotel.stdout(Stdio::null()).stderr(Stdio::null());
        let child = rotel.spawn().expect("the collector starts");
        wait_until("the collector listens", || {
            TcpStream::connect(&http).is_ok()
        });
        let address = format!("http://{http}");
        Some(Self { child, address })
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        // One that has ended is as good.
        let _ended = (self.child.kill(), self.child.wait());
    }
}
