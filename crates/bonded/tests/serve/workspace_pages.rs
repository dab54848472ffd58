//! The pages of `bonded serve --data`: the workspace's own session, and what each role sees of the runs of rules.

use bonded_testkit::client::Client;
use bonded_testkit::clients::{Clients, code};
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, done, report};
use bonded_testkit::process::Process;
use serde_json::{Value, json};

use crate::pages::closed_routes;

const PASSWORD: &str = "correct horse";

struct Workspace {
    place: Place,
    clients: Clients,
    _process: Process,
    /// A run of a rule, whose call waits for a person.
    run: String,
}

impl Workspace {
    fn start() -> Self {
        let place = Place::new();
        let allowed = json!({ "automation": { "allowed_dirs": { "*": ["../projects"] } } });
        place.write("data/config.json", allowed.to_string());
        let write = call(
            "write",
            json!({ "path": "made.txt", "content": "by a rule\n" }),
        );
        let asking = "tools: builtin\napprovals: [\"ask:write\"]";
        let agent = place.agent("tidy", &[write, report("tidied")], asking);
        let text = std::fs::read(agent).expect("it was written");
        place.write("projects/tidy.ai", text);
        let (process, address) = Process::serve(place.serve_data().env_remove("BONDED_STORE"));
        let clients = Clients::of(&place, address);
        let run = launch(&clients);
        let path = format!("/api/runs/{run}");
        wait_until("the call waits", || {
            clients.owner.get(&path).value()["status"] == "awaiting_review"
        });
        Self {
            place,
            clients,
            _process: process,
            run,
        }
    }

    /// A client with a session, and the header that belongs to it.
    fn log_in(&self) -> (Client, String) {
        let credentials = json!({ "username": "owner", "password": PASSWORD });
        self.clients
            .owner
            .post("/api/setup/register", &credentials)
            .is(201);
        let reply = self.clients.nobody().post("/api/auth/login", &credentials);
        let cookie = reply.header("set-cookie").expect("a session is a cookie");
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let csrf = reply.json()["csrf_token"]
            .as_str()
            .expect("a token")
            .to_owned();
        let client = Client::with(&self.clients.address, &format!("\r\nCookie: {cookie}"));
        (client, format!("X-CSRF-Token: {csrf}"))
    }

    fn card(&self) -> Value {
        self.clients.owner.get("/api/inbox").is(200)["calls"][0].clone()
    }
}

fn launch(clients: &Clients) -> String {
    let rule = json!({
        "workspace_id": clients.workspace(), "trigger": "manual", "name": "tidy",
        "action_json": { "kind": "run", "agent_file": "tidy.ai", "goal": "Tidy up." },
    });
    let rule = clients.owner.post("/api/automation/rules", &rule).is(201);
    let rule = rule["rule_id"].as_str().expect("an id");
    let path = format!("/api/automation/rules/{rule}/launch");
    let run = clients.owner.post(&path, &json!({})).json()["run_id"].clone();
    run.as_str().expect("a run has an id").to_owned()
}

fn verdict(card: &Value) -> Value {
    json!({ "turn": card["turn"], "call": card["call"], "digest": card["digest"] })
}

/// Sends what a route takes.
fn ask(client: &Client, line: &str, body: Option<&Value>) -> bonded_testkit::http::Reply {
    let body = body.map_or(String::new(), Value::to_string);
    client.send(line, "\r\nContent-Type: application/json", body.as_bytes())
}

#[test]
fn a_stranger_gets_the_app_and_nothing_of_the_runs() {
    let workspace = Workspace::start();
    let nobody = workspace.clients.nobody();
    assert_eq!(nobody.get("/").status, 200);
    assert_eq!(nobody.and("Accept: text/html").get("/notes/x").status, 200);
    let policy = nobody.get("/");
    let policy = policy.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    let site = nobody.get("/api/site").is(200);
    assert_eq!(
        (&site["kind"], &site["login"]),
        (&json!("workspace"), &json!("password"))
    );
    assert_eq!(
        site["has"],
        json!(["inbox", "notes", "people", "rules", "runs"])
    );
    let missing = nobody.get("/api/none");
    assert_eq!(
        (missing.status, code(&missing).as_str()),
        (404, "NOT_FOUND")
    );
    assert_eq!(
        nobody.get("/notes/x").status,
        404,
        "for programs it stays what it was"
    );
    for (line, body) in closed_routes(&workspace.run) {
        for client in [
            &nobody,
            &Client::with_token(&workspace.clients.address, "wrong"),
        ] {
            let refused = ask(client, &line, body.as_ref());
            assert_eq!(refused.status, 401, "{line}");
            assert!(!code(&refused).is_empty(), "{line}");
        }
    }
    let link = ask(&nobody, "POST /api/session", Some(&json!({ "link": "x" })));
    assert_eq!(link.status, 401, "{link:?}");
}

#[test]
fn a_role_decides_what_of_a_run_of_a_rule_is_seen_and_done() {
    let workspace = Workspace::start();
    let (_, viewer) = workspace.clients.user("vera", Some("viewer"));
    let (_, stranger) = workspace.clients.user("sam", None);
    let (_, editor) = workspace.clients.user("edda", Some("editor"));
    let list = viewer.get("/api/runs").is(200);
    assert_eq!(list["runs"][0]["runId"], json!(workspace.run), "{list}");
    assert_eq!(viewer.get("/api/inbox").is(200)["calls"], json!([]));
    assert_eq!(stranger.get("/api/runs").is(200)["counted"], 0);
    for (line, body) in closed_routes(&workspace.run) {
        if !line.contains(&workspace.run) {
            continue;
        }
        let refused = ask(&viewer, &line, body.as_ref());
        // Nobody forks the run of a rule.
        let expected = match line.ends_with("/fork") {
            true => (409, "CONFLICT"),
            false => (403, "ROLE_FORBIDDEN"),
        };
        assert_eq!(
            (refused.status, code(&refused).as_str()),
            expected,
            "{line}"
        );
        assert_eq!(ask(&stranger, &line, body.as_ref()).status, 404, "{line}");
    }
    let refused = viewer.get(&format!("/api/runs/{}", workspace.run));
    assert_eq!(
        refused.json()["details"]["role_needed"],
        "editor",
        "{refused:?}"
    );
    let page = editor.get(&format!("/api/runs/{}", workspace.run)).is(200);
    assert_eq!(
        page["may"],
        json!(["approve", "cancel", "resume"]),
        "{page}"
    );
    let denied = editor.post(
        &format!("/api/runs/{}/deny", workspace.run),
        &verdict(&workspace.card()),
    );
    assert_eq!(denied.is(200)["resumed"], true);
    let shown = format!("/api/automation/runs/{}", workspace.run);
    wait_until("the engine has continued", || {
        viewer.get(&shown).is(200)["status"] == "succeeded"
    });
    let log = editor.get(&format!("/api/runs/{}/log", workspace.run));
    assert!(log.body.contains("\"by\":\"edda\""), "{}", log.body);
    assert!(!workspace.place.path("projects/made.txt").exists());
}

#[test]
fn a_session_changes_nothing_without_its_token_or_for_a_page_of_another_origin() {
    let workspace = Workspace::start();
    let (session, csrf) = workspace.log_in();
    let approve = format!("/api/runs/{}/approve", workspace.run);
    let body = verdict(&workspace.card());
    let bare = session.post(&approve, &body);
    assert_eq!((bare.status, code(&bare).as_str()), (403, "CSRF_INVALID"));
    let wrong = session.and("X-CSRF-Token: wrong").post(&approve, &body);
    assert_eq!((wrong.status, code(&wrong).as_str()), (403, "CSRF_INVALID"));
    let own = session.and(&csrf);
    let foreign = own.and("Origin: http://evil.example").post(&approve, &body);
    assert_eq!(
        (foreign.status, code(&foreign).as_str()),
        (403, "CSRF_INVALID")
    );
    let no_json = own.send(
        &format!("POST {approve}"),
        "\r\nContent-Type: text/plain",
        b"{}",
    );
    assert_eq!(
        (no_json.status, code(&no_json).as_str()),
        (415, "UNSUPPORTED_MEDIA_TYPE")
    );
    assert_eq!(session.get("/api/runs").status, 200, "a look needs no more");
    assert_eq!(own.post(&approve, &body).is(200)["recorded"], true);
    wait_until("it was written", || {
        workspace.place.path("projects/made.txt").exists()
    });
    assert_eq!(own.post("/api/auth/logout", &json!({})).status, 204);
    assert_eq!(
        session.get("/api/runs").status,
        401,
        "the session has ended"
    );
}

#[test]
fn a_run_that_no_rule_began_is_nobodys_here() {
    let workspace = Workspace::start();
    let store = workspace.place.path("data/bonded.db").display().to_string();
    let model = workspace.place.script(&[done("private")]);
    let words = [
        "--store", &store, "run", "--id", "own", "--model", &model, "My own.",
    ];
    workspace.place.bonded(&words).succeeds();
    let owner = &workspace.clients.owner;
    assert_eq!(owner.get("/api/runs").is(200)["counted"], 1);
    for (line, body) in closed_routes("own") {
        if line.contains("own") {
            assert_eq!(ask(owner, &line, body.as_ref()).status, 404, "{line}");
        }
    }
}

#[test]
fn a_stream_ends_when_the_one_who_listens_has_lost_their_role() {
    let workspace = Workspace::start();
    let (id, editor) = workspace.clients.user("edda", Some("editor"));
    let header = editor.headers().trim().to_owned();
    let browser = crate::pages::Browser {
        address: &workspace.clients.address,
        header,
    };
    let mut lines = browser.stream(&format!("run={}&after=0", workspace.run));
    assert!(lines.any(|line| line["entry"]["kind"] == "review_asked"));
    let members = format!(
        "/api/workspaces/{}/members/{id}",
        workspace.clients.workspace()
    );
    assert_eq!(workspace.clients.owner.delete(&members).status, 204);
    let cancel = format!("/api/runs/{}/cancel", workspace.run);
    workspace
        .clients
        .owner
        .post(&cancel, &json!({ "reason": "enough" }))
        .is(200);
    assert!(
        !lines.any(|line| line["entry"]["kind"] == "run_ended"),
        "it has ended before"
    );
}

#[test]
fn a_server_without_a_password_says_that_it_needs_to_be_set_up_until_it_has_one() {
    let place = Place::new();
    let (process, address) = Process::serve(&mut place.serve_data());
    let clients = Clients::of(&place, address);
    let site = || {
        let site = clients.nobody().get("/api/site").is(200);
        let names = site.as_object().expect("an object").keys().cloned();
        (names.collect::<Vec<_>>(), site["needsSetup"].clone())
    };
    let told = ["has", "kind", "login", "needsSetup", "now", "version"];
    assert_eq!(site(), (told.map(String::from).to_vec(), json!(true)));
    // People who have only a token cannot log in.
    clients.user("vera", Some("viewer"));
    assert_eq!(site().1, json!(true));
    let credentials = json!({ "username": "ana", "password": PASSWORD });
    let stranger = clients.nobody().post("/api/setup/register", &credentials);
    assert_eq!(stranger.status, 401, "{stranger:?}");
    assert_eq!(site().1, json!(true));
    let owner = &clients.owner;
    owner.post("/api/setup/register", &credentials).is(201);
    let told = ["has", "kind", "login", "now", "version"];
    assert_eq!(site(), (told.map(String::from).to_vec(), Value::Null));
    drop(process);
    let (_process, address) = Process::serve(&mut place.serve_data());
    let again = Client::with(&address, "").get("/api/site").is(200);
    assert_eq!(again.get("needsSetup"), None);
}

#[test]
fn an_agent_that_is_launched_with_a_request_is_asked_that_and_not_what_the_rule_says() {
    let workspace = Workspace::start();
    let owner = &workspace.clients.owner;
    let run = |id: &str| owner.get(&format!("/api/runs/{id}")).value();
    let goal = |id: &str| run(id)["goal"].as_str().unwrap_or_default().to_owned();
    assert!(goal(&workspace.run).starts_with("Tidy up."));
    let path = format!("/api/automation/runs/{}", workspace.run);
    let rule = owner.get(&path).is(200)["rule_id"].clone();
    let launch = format!(
        "/api/automation/rules/{}/launch",
        rule.as_str().expect("an id")
    );
    let asked = json!({ "request": "Count the files." });
    let launched = owner.post(&launch, &asked).is(201)["run_id"].clone();
    let launched = launched.as_str().expect("an id");
    wait_until("it begins", || !goal(launched).is_empty());
    let goal = goal(launched);
    assert!(goal.starts_with("Count the files."), "{goal}");
    assert!(
        goal.contains("What set this off") && !goal.contains("Tidy up."),
        "{goal}"
    );
}
