//! What Prometheus reads, and what those are told who probe.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bonded_testkit::http;
use bonded_testkit::installed::installed;
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::Place;
use bonded_testkit::postgres::free_port;
use serde_json::Value;

use crate::served::{METRICS_TOKEN, Served, TOKEN, get};

/// Names the directory of its programs.
const PROMETHEUS: &str = "BONDED_PROMETHEUS";

/// A Prometheus that scrapes one server, with a token for its figures.
struct Prometheus {
    child: Child,
    address: String,
}

impl Prometheus {
    fn start(programs: &Path, place: &Place, target: &str) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let token = place.write("scrape-token", METRICS_TOKEN);
        let config = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: bonded\n    authorization:\n      \
             credentials_file: {}\n    static_configs:\n      - targets: ['{target}']\n",
            token.display()
        );
        let config = place.write("prometheus.yml", config);
        let mut command = Command::new(programs.join("prometheus"));
        command.arg("--config.file").arg(config);
        command.arg("--storage.tsdb.path").arg(place.path("tsdb"));
        command.args(["--web.listen-address", &address]);
        let command = command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("Prometheus starts");
        Self { child, address }
    }

    /// The first value of a query, once there is one.
    fn value(&self, query: &str) -> String {
        let mut value = String::new();
        let path = format!("GET /api/v1/query?query={query}");
        wait_until(query, || {
            let Ok(answer) = http::ask(&self.address, &path, "", None) else {
                return false;
            };
            let found = answer.value()["data"]["result"][0]["value"][1].clone();
            value = found.as_str().unwrap_or_default().to_owned();
            !value.is_empty()
        });
        value
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // One that has ended is as good.
        let _ended = (self.child.kill(), self.child.wait());
    }
}

/// What promtool finds wrong with figures.
fn lint(programs: &Path, text: &str) -> String {
    let mut promtool = Command::new(programs.join("promtool"));
    let promtool = promtool
        .args(["check", "metrics", "--extended"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = promtool.spawn().expect("promtool starts");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    stdin.write_all(text.as_bytes()).expect("it reads");
    drop(stdin);
    let ended = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.success() || !said.is_empty(), "{ended:?}");
    said
}

#[test]
fn a_real_prometheus_scrapes_a_server_and_promtool_finds_nothing_wrong() {
    let Some(programs): Option<PathBuf> = installed(PROMETHEUS) else {
        return;
    };
    let served = Served::start(&[]);
    assert_eq!(served.ask().status, 200);
    let figures = served.get("/metrics", METRICS_TOKEN);
    assert_eq!(figures.status, 200);
    let kind = figures.header("content-type");
    assert_eq!(kind, Some("text/plain; version=0.0.4"));
    assert_eq!(lint(&programs, &figures.body), "");
    let place = Place::new();
    let prometheus = Prometheus::start(&programs, &place, &served.address);
    assert_eq!(prometheus.value("bonded_ready"), "1");
    for (query, expected) in [
        ("up", "1"),
        (
            "bonded_runs_ended_total{agent=%22lead%22,termination=%22done%22}",
            "1",
        ),
        ("bonded_runs_driven", "0"),
        (
            "bonded_tool_seconds_count{tool=%22list%22,outcome=%22ok%22}",
            "1",
        ),
        ("bonded_request_seconds_count{provider=%22script%22}", "3"),
        ("bonded_request_failures_total{kind=%22rate_limit%22}", "1"),
        ("bonded_turn_seconds_count", "2"),
        (
            "bonded_queue_runs{queue=%22requests%22,state=%22queued%22}",
            "0",
        ),
        ("bonded_append_failures_total", "0"),
    ] {
        assert_eq!(prometheus.value(query), expected, "{query}");
    }
    let appends: f64 = prometheus
        .value("bonded_append_seconds_count")
        .parse()
        .expect("a number");
    assert!(appends >= 3.0, "{appends}");
    let tokens = prometheus.value("bonded_tokens_total{type=%22input%22}");
    assert!(tokens.parse::<f64>().is_ok_and(|it| it > 0.0), "{tokens}");
}

#[test]
fn figures_need_a_token_and_probes_need_none() {
    let served = Served::start(&[]);
    let rows = [
        ("/metrics", "", 401),
        ("/metrics", "another", 401),
        ("/metrics", TOKEN, 200),
        ("/metrics", METRICS_TOKEN, 200),
        ("/v1/models", METRICS_TOKEN, 401),
        ("/healthz", "", 200),
        ("/readyz", "", 200),
    ];
    for (path, token, status) in rows {
        assert_eq!(served.get(path, token).status, status, "{path} {token:?}");
    }
    assert_eq!(served.get("/healthz", "").json()["status"], "ok");
    assert_eq!(served.get("/readyz", "").json()["status"], "ready");
}

#[test]
fn a_server_whose_disk_is_full_is_alive_and_not_ready_until_there_is_room() {
    let served = Served::start(&[]);
    assert_eq!(served.get("/readyz", "").status, 200);
    served.process.set_disk_full(true);
    wait_until("it is not ready", || {
        served.get("/readyz", "").status == 503
    });
    let told = served.get("/readyz", "").json();
    assert_eq!(told["status"], "not_ready");
    assert_eq!(served.get("/healthz", "").status, 200);
    assert!(
        served
            .get("/metrics", METRICS_TOKEN)
            .body
            .contains("\nbonded_ready 0\n")
    );
    served.process.set_disk_full(false);
    wait_until("it is ready again", || {
        served.get("/readyz", "").status == 200
    });
    assert_eq!(served.ask().status, 200);
}

#[test]
fn the_figures_of_a_workspace_are_for_its_owner() {
    let place = Place::new();
    let (_process, address) = bonded_testkit::process::Process::serve(&mut place.serve_data());
    let owner = std::fs::read_to_string(place.path("data/owner-token"));
    let owner = owner.expect("the owner's token is kept there");
    assert_eq!(get(&address, "/metrics", "").status, 401);
    let figures = get(&address, "/metrics", owner.trim());
    assert_eq!(figures.status, 200);
    assert!(
        figures.body.contains("\nbonded_runs_driven 0\n"),
        "{}",
        figures.body
    );
    let ready: Value = get(&address, "/readyz", "").json();
    assert_eq!(ready["status"], "ready");
}
