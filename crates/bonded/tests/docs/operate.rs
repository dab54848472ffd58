//! The commands of the page for those who operate bonded, on servers of the test's own.

use std::fs::{self, Permissions};
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use bonded_testkit::http;
use bonded_testkit::installed::installed;
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, done, finish, start};
use bonded_testkit::postgres::{Database, PASSWORD, PostgresServer, as_nobody, free_port};
use bonded_testkit::process::Process;

use crate::examples::{block, in_shell};

const PAGE: &str = "docs/operate.md";

/// A store that a worker may use, and its place.
fn store(database: &Database) -> Place {
    let owner = Place::with_store(&database.address("owner"));
    let init = ["store", "init", "--grant", "app"];
    owner.bonded(&init).succeeds();
    Place::with_store(&database.address("app"))
}

fn run(place: &Place, id: &str) {
    let script = place.script(&[done("ok")]);
    let words = ["run", "--id", id, "--model", &script, "the goal"];
    place.bonded(&words).succeeds();
}

pub(crate) fn probes(text: &str) {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let database = server.database();
    let place = store(&database);
    let port = free_port().to_string();
    let text = text.replace("8131", &port);
    let (first, asked) = text.split_once('\n').expect("there are several lines");
    let mut worker = in_shell(&place, &format!("exec {first}"));
    worker.env("BONDED_STORE", database.address("app"));
    let (_worker, address) = Process::serve(&mut worker);
    assert!(address.ends_with(&port), "{address}");
    for line in asked.lines() {
        let path = line.strip_prefix(&format!("curl --fail http://{address}"));
        let path = path.unwrap_or_else(|| panic!("{line:?} asks the worker"));
        wait_until(line, || {
            let answer = http::ask(&address, &format!("GET {path}"), "", None);
            answer.is_ok_and(|answer| answer.status == 200)
        });
    }
}

pub(crate) fn scrape(text: &str) {
    let Some(programs): Option<PathBuf> = installed("BONDED_PROMETHEUS") else {
        return;
    };
    let place = Place::new();
    let token = place.write("token", "a-token");
    let text = text.replace("/etc/prometheus/bonded-token", &token.display().to_string());
    let config = place.write("prometheus.yml", text);
    let mut promtool = Command::new(programs.join("promtool"));
    let checked = promtool.args(["check", "config"]).arg(config).output();
    let checked = checked.expect("promtool runs");
    assert!(checked.status.success(), "{checked:?}");
}

pub(crate) fn traces(text: &str) {
    let place = Place::new();
    let script = place.script(&[done("ok")]);
    let receiver = TcpListener::bind("127.0.0.1:0").expect("a port can be had");
    let port = receiver.local_addr().expect("it has an address").port();
    let text = text
        .replace("4318", &port.to_string())
        .replace("openai/gpt-5-mini", &script);
    let heard = thread::spawn(move || {
        let (mut stream, _) = receiver.accept().expect("somebody comes");
        let mut head = [0; 16];
        stream.read_exact(&mut head).expect("it is a request");
        head
    });
    let mut command = in_shell(&place, &text);
    command.env("BONDED_STORE", place.path("store.db"));
    finish(start(&mut command)).succeeds();
    let head = heard.join().expect("it listens");
    assert_eq!(&head, b"POST /v1/traces ");
}

/// The first host is away: the second one is the primary.
pub(crate) fn failover(text: &str) {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let database = server.database();
    let place = store(&database);
    let (name, port) = (&database.name, server.port());
    let hosts = format!("app:{PASSWORD}@127.0.0.1:9,127.0.0.1:{port}/{name}");
    let printed = "worker@db1.example.org,db2.example.org/agents";
    let line = text.trim().replace(printed, &hosts);
    assert_ne!(line, text.trim());
    let mut worker = in_shell(&place, &format!("{line} --once"));
    finish(start(&mut worker)).succeeds();
}

fn with_programs(command: &mut Command, server: &PostgresServer) {
    let path = std::env::var("PATH").unwrap_or_default();
    let bonded = bonded_testkit::place::program();
    let own = bonded.parent().expect("a program lies in a directory");
    let programs = server.programs().display();
    command.env("PATH", format!("{programs}:{}:{path}", own.display()));
}

/// Dumped and restored, a log is the same.
pub(crate) fn backup(text: &str) {
    let Some(server) = PostgresServer::shared() else {
        return;
    };
    let (database, other) = (server.database(), server.database());
    let place = store(&database);
    run(&place, "r");
    let head = place.bonded(&["verify", "r", "--json"]).json();
    let head = head["head"].as_str().expect("it has a head");
    let restore = block(PAGE, "pg_restore")
        .replace("--grant worker", "--grant app")
        .replace("RUN", "r")
        .replace("HASH", head);
    let script = format!("set -e\n{text}{restore}");
    let mut command = in_shell(&place, &script);
    with_programs(&mut command, server);
    command
        .env("OWNER_ADDRESS", database.address("owner"))
        .env("NEW_OWNER_ADDRESS", other.address("owner"))
        .env("NEW_ADDRESS", other.address("app"));
    let restored = finish(start(&mut command));
    restored.succeeds();
    assert!(restored.stdout.contains("succeeded"), "{restored:?}");
}

/// A setting as a server takes it when it starts.
fn settings(text: &str) -> Vec<String> {
    let pairs = text.lines().filter_map(|line| line.split_once(" = "));
    let pairs = pairs.map(|(name, value)| format!("{name}={}", value.trim_matches('\'')));
    pairs.collect()
}

/// What was begun after the moment is gone, and what was there before is whole.
pub(crate) fn point_in_time(text: &str) {
    // The settings name a directory that is there before the server is: of whoever the server runs as.
    let archive = tempfile::tempdir().expect("a temporary directory can be made");
    fs::set_permissions(archive.path(), Permissions::from_mode(0o777)).expect("it is ours");
    let here = |text: &str| text.replace("/archive", &archive.path().display().to_string());
    let archiving = settings(&here(text));
    let archiving: Vec<&str> = archiving.iter().map(String::as_str).collect();
    let Some(server) = PostgresServer::start(&archiving) else {
        return;
    };
    let server: &'static PostgresServer = Box::leak(Box::new(server));
    let database = server.database();
    let place = store(&database);
    let base = server.socket_dir().join("base");
    let copy = block(PAGE, "pg_basebackup").replace("/backup/base", &base.display().to_string());
    let mut shell = as_nobody("sh".as_ref());
    with_programs(&mut shell, server);
    shell
        .args(["-c", &copy])
        .env("PGHOST", server.socket_dir())
        .env("PGPORT", server.port().to_string())
        .env("PGUSER", "owner")
        .stderr(Stdio::inherit());
    assert!(shell.status().expect("a shell can be started").success());
    run(&place, "before");
    let moment = server.sql("postgres", "SELECT clock_timestamp()");
    run(&place, "after");
    server.sql("postgres", "SELECT pg_switch_wal()");
    wait_until("it is archived", || {
        let sql = "SELECT count(*) FROM pg_stat_archiver WHERE last_archived_wal >= \
                   (SELECT pg_walfile_name(pg_current_wal_lsn() - 1))";
        server.sql("postgres", sql) == "1"
    });
    let recovery = block(PAGE, "restore_command").replace("2026-11-18 16:00:00+00", &moment);
    let recovery = settings(&here(&recovery));
    let recovery: Vec<&str> = recovery.iter().map(String::as_str).collect();
    let restored = server.recovered(&base, &recovery);
    let place = Place::with_store(&database.address_on(&restored, "app"));
    let listed = place.bonded(&["runs", "--json"]);
    listed.succeeds();
    assert!(listed.stdout.contains("\"before\"") && !listed.stdout.contains("\"after\""));
    place.passes_the_audit("before");
    run(&place, "another");
}
