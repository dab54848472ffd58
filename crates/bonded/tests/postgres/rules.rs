//! Rules whose runs are queued, and driven by workers on other machines.

use bonded_testkit::clients::Clients;
use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{Place, call, report, with};
use bonded_testkit::postgres::{Database, PostgresServer};
use bonded_testkit::process::Process;
use bonded_testkit::provider::{Provider, reasoning};
use rustix::process::Signal;
use serde_json::{Value, json};

const LEASE_MS: u64 = 2_000;

/// What the machines have in common: a database, and a directory of agents.
struct Shared {
    database: Database,
    place: Place,
}

struct Served {
    clients: Clients,
    process: Process,
    place: Place,
}

impl Shared {
    fn new(lines: &[Value], front_matter: &str) -> Option<Self> {
        let database = PostgresServer::shared()?.database();
        let owner = Place::with_store(&database.address("owner"));
        owner
            .bonded(&["store", "init", "--grant", "app"])
            .succeeds();
        let address = format!("{}&bonded_lease_ms={LEASE_MS}", database.address("app"));
        let place = Place::with_store(&address);
        let agent = place.agent("tidy", lines, front_matter);
        let text = std::fs::read(agent).expect("it was written");
        place.write("projects/tidy.ai", text);
        Some(Self { database, place })
    }

    fn address(&self) -> String {
        self.place.store()
    }

    /// A server with a directory of its own.
    fn serve(&self, flags: &[&str]) -> Served {
        self.serve_asking(&[], flags)
    }

    /// The same with models that its rules may ask.
    fn serve_asking(&self, models: &[&Provider], flags: &[&str]) -> Served {
        let place = Place::new();
        let projects = self.place.path("projects").display().to_string();
        let listed = models
            .iter()
            .map(|it| format!("lmstudio={}", it.base_url()));
        let listed: Vec<String> = listed.collect();
        let allowed = json!({ "automation": {
            "allowed_dirs": { "*": [projects] },
            "allowed_providers": listed,
        } });
        place.write("data/config.json", allowed.to_string());
        let mut command = place.serve_data();
        command
            .args(["--tooling-transport", "native"])
            .args(flags)
            .env("DATABASE_URL", self.address())
            .env_remove("BONDED_STORE");
        let (process, address) = Process::serve(&mut command);
        Served {
            clients: Clients::of(&place, address),
            process,
            place,
        }
    }

    fn worker(&self, of: &Place) -> Process {
        let worker = Process::begin(&mut of.command(&["worker", "--queue", "rules"]));
        worker.wait_until_told("worker of rules");
        worker
    }

    /// The lines of a file that agents write to.
    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.place.path("projects").join(name));
        let text = text.unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Served {
    fn rule(&self, trigger: &str) -> String {
        let action = json!({ "kind": "run", "agent_file": "tidy.ai", "goal": "Tidy up." });
        self.rule_with(trigger, &action)
    }

    fn rule_with(&self, trigger: &str, action: &Value) -> String {
        let rule = json!({
            "workspace_id": self.clients.workspace(),
            "trigger": trigger,
            "condition_json": {},
            "action_json": action,
            "enabled": true,
        });
        let made = self.clients.owner.post("/api/automation/rules", &rule);
        assert_eq!(made.status, 201, "{made:?}");
        let rule = made.json()["rule_id"].as_str().map(str::to_owned);
        rule.expect("an id")
    }

    fn launch(&self, rule: &str) -> String {
        let path = format!("/api/automation/rules/{rule}/launch");
        let run = self.clients.owner.post(&path, &json!({})).json()["run_id"].clone();
        run.as_str().expect("a run has an id").to_owned()
    }

    fn runs(&self, status: &str) -> Vec<String> {
        let workspace = self.clients.workspace();
        let path =
            format!("/api/automation/runs?workspace_id={workspace}&status={status}&limit=200");
        let listed = self.clients.owner.get(&path).json();
        let runs = listed["runs"].as_array().expect("a list");
        let id = |run: &Value| run["run_id"].as_str().unwrap_or_default().to_owned();
        runs.iter().map(id).collect()
    }
}

fn note_taken() -> Value {
    call("run", json!({ "command": "echo tidied >> ran" }))
}

#[test]
fn a_firing_is_queued_under_its_own_id_and_its_end_is_taken_note_of() {
    let Some(shared) = Shared::new(&[note_taken(), report("tidied")], "tools: run") else {
        return;
    };
    let served = shared.serve(&["--queue", "rules", "--needs", "desk"]);
    let rule = served.rule("manual");
    let run = served.launch(&rule);
    let waits = || {
        let listed = shared.place.bonded(&["runs", "--json"]).stdout;
        let mut rows = listed.lines().map(bonded_testkit::place::parse);
        let row = rows.find(|row| row["runId"] == run).unwrap_or_default();
        row["waitsFor"].as_str().unwrap_or_default().to_owned()
    };
    wait_until("it is queued", || waits() == "a worker of queue rules");
    let there = Place::with_store(&shared.address());
    let words = ["worker", "--queue", "rules", "--label", "desk"];
    let worker = Process::begin(&mut there.command(&words));
    wait_until("it has ended", || served.runs("succeeded") == [run.clone()]);
    assert_eq!(shared.lines("ran"), ["tidied"]);
    let whose = shared
        .database
        .sql("SELECT DISTINCT submitter FROM bonded.lane");
    assert!(!whose.is_empty());
    let drove = "SELECT count(*) FROM bonded.worker WHERE name LIKE 'process";
    let drove = format!("{drove} {} %'", served.process.id());
    assert_eq!(shared.database.sql(&drove), "0", "the server drove none");
    shared.place.passes_the_audit(&run);
    for process in [served.process, worker] {
        process.end(Signal::TERM).succeeds();
    }
}

#[test]
fn a_firing_is_one_run_whatever_is_killed() {
    let slow = with(note_taken(), "delay_ms", 150);
    let Some(shared) = Shared::new(&[slow, report("tidied")], "tools: run") else {
        return;
    };
    let flags = ["--queue", "rules"];
    let (mut first, mut second) = (shared.serve(&flags), shared.serve(&flags));
    let there = [0, 1].map(|_| Place::with_store(&shared.address()));
    let mut workers = [shared.worker(&there[0]), shared.worker(&there[1])];
    first.rule("workspace_event.note_created");
    for number in 0..12 {
        first.clients.note(&format!("note {number}"), "text");
        if number == 3 {
            // The first one fires the rules.
            first.process.end(Signal::KILL);
            first = std::mem::replace(&mut second, shared.serve(&flags));
        }
        if number % 4 == 1 {
            let killed = number / 4 % 2;
            workers[killed].end(Signal::KILL);
            workers[killed] = shared.worker(&there[killed]);
        }
    }
    wait_until("all have ended", || {
        first.runs("succeeded").len() + first.runs("failed").len() == 12
    });
    // A call that was under way when its worker was killed is not made again.
    let sql = "SELECT count(*) FROM bonded.run";
    assert_eq!(shared.database.sql(sql), "12");
    assert!(shared.lines("ran").len() <= 12, "{:?}", shared.lines("ran"));
    for run in first.runs("succeeded") {
        shared.place.passes_the_audit(&run);
    }
    let [one, other] = workers;
    for process in [first.process, second.process, one, other] {
        process.end(Signal::TERM).succeeds();
    }
}

#[test]
fn a_run_of_a_rule_that_was_approved_goes_on_at_a_worker() {
    let lines = [note_taken(), report("tidied")];
    let Some(shared) = Shared::new(&lines, "tools: run\napprovals: {ask: [run]}") else {
        return;
    };
    let served = shared.serve(&["--queue", "rules"]);
    let there = Place::with_store(&shared.address());
    let worker = shared.worker(&there);
    let run = served.launch(&served.rule("manual"));
    worker.line_with("waits for approval");
    assert!(shared.lines("ran").is_empty());
    let owner = &served.clients.owner;
    let inbox = owner.get("/api/inbox").json();
    let card = &inbox["calls"][0];
    let verdict = json!({ "turn": card["turn"], "call": card["call"], "digest": card["digest"] });
    let approved = owner.post(&format!("/api/runs/{run}/approve"), &verdict);
    assert_eq!(approved.is(200)["resumed"], true, "{approved:?} {inbox}");
    worker.line_with("succeeded");
    assert_eq!(shared.lines("ran"), ["tidied"]);
    let cancelled = served.launch(&served.rule("manual"));
    wait_until("it waits", || {
        worker
            .told()
            .iter()
            .filter(|it| it.contains("waits"))
            .count()
            == 2
    });
    let path = format!("/api/automation/runs/{cancelled}/cancel");
    served.clients.owner.post(&path, &json!({}));
    wait_until("it has ended", || {
        shared.place.status(&cancelled).as_deref() == Some("cancelled")
    });
    for process in [served.process, worker] {
        process.end(Signal::TERM).succeeds();
    }
}

#[test]
fn the_loops_of_a_workspace_are_driven_by_a_worker_that_has_its_notes() {
    let Some(shared) = Shared::new(&[], "") else {
        return;
    };
    let add = "<record_add><keywords>k</keywords><value>{\"title\": \"Made there\", \"markdown\": \"text\"}</value></record_add>";
    let state = "<state_add><state>idle</state></state_add>";
    let model = Provider::start();
    model.say([reasoning("", add), reasoning("", state)]);
    let served = shared.serve_asking(&[&model], &["--queue", "rules"]);
    let rule = served.rule_with(
        "manual",
        &json!({
            "kind": "kjxlkj_agent",
            "provider": { "provider_kind": "lmstudio", "base_url": model.base_url(), "model": "m" },
            "mode": "yolo",
            "loop": { "loop_delay_ms": 1, "idle_delay_ms": 1 },
        }),
    );
    let run = served.launch(&rule);
    let there = Place::with_store(&shared.address());
    let without = shared.worker(&there);
    let data = served.place.path("data").display().to_string();
    let waits = || {
        let listed = shared.place.bonded(&["runs", "--json"]).stdout;
        let mut rows = listed.lines().map(bonded_testkit::place::parse);
        let row = rows.find(|row| row["runId"] == run).unwrap_or_default();
        row["waitsFor"].as_str().unwrap_or_default().to_owned()
    };
    let expected = format!("a worker that has the workspace in {data}");
    wait_until("it says so", || waits() == expected);
    let words = ["worker", "--queue", "rules", "--data", &data];
    let mut command = there.command(&words);
    command.env("DATABASE_URL", shared.address());
    let worker = Process::begin(command.env_remove("BONDED_STORE"));
    wait_until("it has ended", || served.runs("succeeded") == [run.clone()]);
    let found = served.clients.owner.get(&format!(
        "/api/search?workspace_id={}&q=there",
        served.clients.workspace()
    ));
    assert_eq!(
        found.json()["results"][0]["title"],
        "Made there",
        "{found:?}"
    );
    assert!(served.place.path("data/agent-kv-store.json").is_file());
    for process in [served.process, without, worker] {
        process.end(Signal::TERM).succeeds();
    }
}
