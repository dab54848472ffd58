//! Several servers of one workspace, whose notes, rules and runs are on one PostgreSQL server.

use std::process::Command;

use bonded_testkit::client::Client;
use bonded_testkit::clients::Clients;
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::Place;
use bonded_testkit::postgres::{Database, PostgresServer};
use bonded_testkit::process::Process;
use rustix::process::Signal;
use serde_json::{Value, json};

/// One of the servers, with a directory of its own.
pub(crate) struct Served {
    pub(crate) clients: Clients,
    pub(crate) process: Process,
    _place: Place,
}

/// A database with its tables; `None` where there is no server to be had.
pub(crate) fn database() -> Option<Database> {
    let database = PostgresServer::shared()?.database();
    let owner = Place::with_store(&database.address("owner"));
    let made = owner.bonded(&["store", "init", "--grant", "app"]);
    made.succeeds();
    made.says("workspaces: created");
    Some(database)
}

/// The database is named by a variable, as many programs have it.
fn serve(database: &Database) -> Served {
    serve_with(database, |_| {})
}

pub(crate) fn serve_with(database: &Database, adjust: impl FnOnce(&mut Command)) -> Served {
    let place = Place::new();
    let mut command = place.serve_data();
    adjust(&mut command);
    command
        .env("DATABASE_URL", database.address("app"))
        .env_remove("BONDED_STORE");
    let (process, address) = Process::serve(&mut command);
    assert!(!place.path("data/workspace.db").exists());
    Served {
        clients: Clients::of(&place, address),
        process,
        _place: place,
    }
}

fn rule(workspace: &str) -> Value {
    json!({
        "workspace_id": workspace,
        "trigger": "workspace_event.note_created",
        "condition_json": {},
        "action_json": { "kind": "notify", "title": "a note was made" },
        "enabled": true,
    })
}

fn ended_runs(of: &Clients, workspace: &str) -> usize {
    let path = format!("/api/automation/runs?workspace_id={workspace}&status=succeeded&limit=200");
    let listed = of.owner.get(&path).json();
    listed["runs"].as_array().map_or(0, Vec::len)
}

pub(crate) fn notices(of: &Clients, workspace: &str) -> usize {
    let path = format!("/api/notices?workspace_id={workspace}&limit=200");
    let listed = of.owner.get(&path).json();
    let notices = listed["notices"].as_array().map(Vec::len);
    notices.unwrap_or_else(|| panic!("{listed}"))
}

#[test]
fn what_one_server_writes_every_other_shows_and_tells_its_sockets() {
    let Some(database) = database() else {
        return;
    };
    let (first, second) = (serve(&database), serve(&database));
    let workspace = first.clients.workspace();
    assert_eq!(second.clients.workspace(), workspace, "there is one");
    let mut socket = second.clients.owner.socket();
    socket.follow_workspace(&workspace, Some(0));
    let already = socket.seqs(2);
    let note = first.clients.note("Herons", "they stand in ponds");
    let told = socket.next();
    assert_eq!(told["event_seq"].as_u64(), Some(already[1] + 1), "{told}");
    let path = format!("/api/notes/{}", note["note_id"].as_str().expect("an id"));
    assert_eq!(second.clients.owner.get(&path).json()["title"], "Herons");
    let search = format!("/api/search?workspace_id={workspace}&q=ponds");
    let found = second.clients.owner.get(&search).json();
    assert_eq!(found["results"][0]["title"], "Herons", "{found}");
    second.clients.write(&note, 1);
    let stale = json!({ "base_version": 1, "markdown": "late" });
    assert_eq!(first.clients.owner.patch(&path, &stale).status, 409);
    for served in [first, second] {
        served.process.end(Signal::TERM).succeeds();
    }
}

#[test]
fn a_session_of_one_server_is_one_of_every_other() {
    let Some(database) = database() else {
        return;
    };
    let (first, second) = (serve(&database), serve(&database));
    let credentials = json!({ "username": "owner", "password": "correct horse battery staple" });
    let made = first
        .clients
        .owner
        .post("/api/setup/register", &credentials);
    assert!(made.status < 300, "{made:?}");
    let entered = first.clients.nobody().post("/api/auth/login", &credentials);
    let cookie = entered.header("set-cookie").expect("a session is a cookie");
    let cookie = cookie.split(';').next().unwrap_or_default();
    let token = entered.json()["csrf_token"]
        .as_str()
        .expect("a token")
        .to_owned();
    let headers = format!("\r\nCookie: {cookie}\r\nX-CSRF-Token: {token}");
    let there = Client::with(&second.clients.address, &headers);
    assert_eq!(there.get("/api/auth/session").status, 200);
    assert_eq!(there.post("/api/auth/logout", &json!({})).status, 204);
    let here = Client::with(&first.clients.address, &headers);
    assert_eq!(here.get("/api/auth/session").status, 401);
}

#[test]
fn a_rule_fires_once_whichever_server_saw_the_event_and_another_goes_on_when_one_is_killed() {
    let Some(database) = database() else {
        return;
    };
    let (first, second) = (serve(&database), serve(&database));
    let workspace = first.clients.workspace();
    let made = first
        .clients
        .owner
        .post("/api/automation/rules", &rule(&workspace));
    assert_eq!(made.status, 201, "{made:?}");
    for number in 0..10 {
        let of = [&first, &second][number % 2];
        of.clients.note(&format!("note {number}"), "text");
    }
    wait_until("all have fired", || {
        ended_runs(&first.clients, &workspace) == 10
    });
    assert_eq!(notices(&second.clients, &workspace), 10);
    let holder = "SELECT count(*) FROM bonded_workspace.lease";
    assert_eq!(database.sql(holder).trim(), "1");
    first.process.end(Signal::KILL);
    second.clients.note("after it", "text");
    wait_until("the other one has fired", || {
        ended_runs(&second.clients, &workspace) == 11
    });
    assert_eq!(notices(&second.clients, &workspace), 11);
}

#[test]
fn the_address_of_a_server_stands_for_a_directory_and_one_without_tables_is_refused() {
    let Some(database) = database() else {
        return;
    };
    let place = Place::new();
    let address = database.address("app");
    let words = ["serve", "--data", &address, "--listen", "127.0.0.1:0"];
    let mut command = place.command(&words);
    let (process, _) = Process::serve(command.env_remove("BONDED_STORE"));
    process.end(Signal::TERM).succeeds();
    let listed = place.bonded(&["user", "--data", &address, "list"]);
    listed.succeeds();
    assert!(listed.stdout.contains("owner"), "{listed:?}");
    let empty = database.server.database();
    let words = [
        "serve",
        "--data",
        &empty.address("owner"),
        "--listen",
        "127.0.0.1:0",
    ];
    place.bonded(&words).fails_with(3, "store-not-ready");
}

#[test]
fn a_workspace_in_a_file_stays_there_whatever_the_environment_says() {
    let Some(database) = database() else {
        return;
    };
    let place = Place::new();
    let (process, _) = Process::serve(&mut place.serve_data());
    process.end(Signal::TERM).succeeds();
    let mut command = place.serve_data();
    let (process, address) = Process::serve(command.env("DATABASE_URL", database.address("app")));
    process.line_with("DATABASE_URL is set");
    let clients = Clients::of(&place, address);
    clients.note("in the file", "text");
    process.end(Signal::TERM).succeeds();
    let notes = database.sql("SELECT count(*) FROM bonded_workspace.note");
    assert_eq!(notes.trim(), "0");
}

#[test]
fn what_is_attached_at_one_server_can_be_had_from_every_other() {
    let Some(database) = database() else {
        return;
    };
    let (first, second) = (serve(&database), serve(&database));
    let note = first.clients.note("with a plan", "text");
    let id = note["note_id"].as_str().expect("an id");
    let line = format!("POST /api/notes/{id}/attachments?name=plan.txt");
    let made = first
        .clients
        .owner
        .send(&line, "\r\nIdempotency-Key: plan", b"the plan");
    assert_eq!(made.status, 201, "{made:?}");
    let id = made.json()["attachment_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let had = second.clients.owner.get(&format!("/api/attachments/{id}"));
    assert_eq!((had.status, had.body.as_str()), (200, "the plan"));
}

#[test]
fn who_guesses_at_all_servers_by_turns_is_slowed_down_as_at_one() {
    let Some(database) = database() else {
        return;
    };
    let (first, second) = (serve(&database), serve(&database));
    let wrong = json!({ "username": "owner", "password": "a wrong guess of a password" });
    let statuses: Vec<u16> = (0..8)
        .map(|number| {
            let of = [&first, &second][number % 2];
            of.clients.nobody().post("/api/auth/login", &wrong).status
        })
        .collect();
    let looked_at = statuses.iter().filter(|status| **status == 401).count();
    assert_eq!(looked_at, 6, "{statuses:?}");
    assert!(
        statuses[6..].iter().all(|status| *status == 429),
        "{statuses:?}"
    );
}
