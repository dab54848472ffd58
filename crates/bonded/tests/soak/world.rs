//! What all of the soak share: the servers, the model, the time, and what may be refused just now.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bonded_testkit::process::drain;
use bonded_testkit::tool_server;
use serde_json::{Value, json};

use crate::http::{self, Reply};
use crate::model;
use crate::place::Place;
use crate::process::{Process, STDIO, command};
use crate::rules;
use crate::runs;
use crate::tally::Tally;

/// What is refused so long after the disk has room again may have begun before.
const AFTERMATH: Duration = Duration::from_secs(20);

pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    pub(crate) tally: Tally,
    pub(crate) agents: Process,
    pub(crate) agents_at: String,
    pub(crate) workspace: Process,
    pub(crate) workspace_at: String,
    /// The header that the owner of the workspace is known by.
    pub(crate) owner: String,
    pub(crate) workspace_id: String,
    pub(crate) stdio: Process,
    tickets: AtomicU64,
    is_over: AtomicBool,
    /// Until when a full disk may be the reason of a refusal.
    excused_until: Mutex<Option<Instant>>,
}

/// Ends the load when it is dropped, also where a check fails.
pub(crate) struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl World {
    pub(crate) fn open(seed: u64, time: Duration) -> Self {
        let model = model::serve(seed);
        let agents = Process::start_agents(&model);
        let agents_at = agents.address();
        let workspace = Process::start_workspace(&model);
        let workspace_at = workspace.address();
        let token = fs::read_to_string(workspace.place.path("data/owner-token"));
        let token = token.expect("the server has made a token");
        let owner = format!("\r\nAuthorization: Bearer {}", token.trim());
        let listed = http::ask(&workspace_at, "GET /api/workspaces", &owner, None);
        let listed = listed.expect("the server answers").value();
        let workspace_id = listed["workspaces"][0]["workspace_id"].as_str();
        let workspace_id = workspace_id.expect("there is a workspace").to_owned();
        let world = Self {
            seed,
            time,
            tally: Tally::default(),
            agents,
            agents_at,
            workspace,
            workspace_at,
            owner,
            workspace_id,
            stdio: Process::start_stdio(&model),
            tickets: AtomicU64::new(1),
            is_over: AtomicBool::new(false),
            excused_until: Mutex::default(),
        };
        rules::furnish(&world, &model);
        world
    }

    pub(crate) fn over_at_the_end(&self) -> Over<'_> {
        Over(&self.is_over)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits, but not beyond the end.
    pub(crate) fn pause(&self, time: Duration) {
        let began = Instant::now();
        while !self.is_over() && began.elapsed() < time {
            thread::sleep(Duration::from_millis(50).min(time));
        }
    }

    /// A number that no other question has.
    pub(crate) fn ticket(&self) -> u64 {
        self.tickets.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn processes(&self) -> [&Process; 3] {
        [&self.agents, &self.workspace, &self.stdio]
    }

    pub(crate) fn excuse(&self, time: Duration) {
        let mut until = self
            .excused_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *until = Some(Instant::now() + time + AFTERMATH);
    }

    fn is_excused(&self) -> bool {
        let until = *self
            .excused_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Counts an answer: right, refused for a reason that was made here, or wrong.
    pub(crate) fn judge(
        &self,
        door: &'static str,
        answer: std::io::Result<Reply>,
        is_right: impl FnOnce(&Reply) -> bool,
    ) -> Option<Reply> {
        let reply = match answer {
            Ok(reply) => reply,
            Err(error) => {
                self.tally.is_wrong(door, &format!("no answer: {error}"));
                return None;
            }
        };
        if is_right(&reply) {
            self.tally.right(door);
            return Some(reply);
        }
        self.refused(door, code(&reply), &format!("{reply:?}"));
        None
    }

    /// A refusal is due where the provider failed too often, or where the disk is full.
    pub(crate) fn refused(&self, door: &'static str, code: Option<String>, shown: &str) {
        let code = code.unwrap_or_default();
        let of_the_provider = code.starts_with("provider_");
        let of_the_disk = self.is_excused()
            && [
                "internal",
                "INTERNAL_ERROR",
                "agent_unusable",
                "fatal",
                "STORE_UNAVAILABLE",
                "store_failed",
            ]
            .contains(&code.as_str());
        if of_the_provider || of_the_disk {
            self.tally.count(door, &format!("refused: {code}"));
        } else {
            self.tally.is_wrong(door, shown);
        }
    }

    /// Stops everything and checks what is left; gives what is wrong.
    pub(crate) fn close(&self) -> Vec<String> {
        let mut findings = rules::check(self);
        for process in self.processes() {
            findings.extend(process.stop());
        }
        findings.extend(runs::check_store(&self.agents));
        findings.extend(runs::check_store(&self.stdio));
        findings
    }
}

/// What an error is called, in the shapes of all servers; nothing where the answer is none.
pub(crate) fn code(reply: &Reply) -> Option<String> {
    let whole = reply.value();
    let events = reply.events();
    let mut shapes = std::iter::once(&whole).chain(&events);
    shapes.find_map(|shape| {
        let places = [
            &shape["error"]["code"],
            &shape["code"],
            &shape["response"]["error"]["code"],
            &shape["result"]["_meta"]["bonded/code"],
        ];
        let mut codes = places.into_iter().filter_map(Value::as_str);
        codes.next().map(str::to_owned)
    })
}

impl Process {
    fn start_agents(model: &str) -> Self {
        let place = Place::new();
        let words = agent_words(&place, model, "serve");
        let more = ["--listen", "127.0.0.1:0", "--no-token", "--mcp"].map(str::to_owned);
        let words = [words, more.to_vec()].concat();
        let mut command = command(&place, &words);
        let process = Self::start("serve --agent", place, &mut command);
        drain(process.stdout());
        process
    }

    fn start_stdio(model: &str) -> Self {
        let place = Place::new();
        let words = agent_words(&place, model, "mcp");
        let mut command = command(&place, &words);
        command.stdin(Stdio::piped());
        Self::start(STDIO, place, &mut command)
    }

    fn start_workspace(model: &str) -> Self {
        let config =
            json!({ "automation": { "allowed_providers": [format!("lmstudio={model}")] } });
        let place = Place::with_config(&config);
        let data = place.path("data").display().to_string();
        let words = ["serve", "--data", &data, "--listen", "127.0.0.1:0"].map(str::to_owned);
        let mut command = command(&place, &words);
        let process = Self::start("serve --data", place, &mut command);
        drain(process.stdout());
        process
    }
}

/// The agents that ask the model, and what is needed to offer them.
fn agent_words(place: &Place, model: &str, command: &str) -> Vec<String> {
    let test = "world::serves_tools_where_it_is_asked_to";
    let server = tool_server::of_this_program(test, &json!({}));
    let provider: Value = json!({ "type": "openai-compatible", "baseUrl": model });
    let config = json!({ "providers": { "local": provider }, "mcpServers": { "test": server } });
    let config_file = place.path("config.json");
    fs::write(&config_file, config.to_string()).expect("it can be written");
    fs::write(place.work().join("page.txt"), model::PAGE).expect("it can be written");
    let mut words = vec![command.to_owned()];
    for (name, more) in [
        ("plain", ""),
        ("reader", "tools: builtin\n"),
        ("caller", "tools: test\n"),
    ] {
        let file = place.path(&format!("{name}.ai"));
        let text = format!(
            "---\nmodels: local/m\ndescription: An agent of the soak.\n{more}---\nYou are soaked.\n"
        );
        fs::write(&file, text).expect("the agent can be written");
        words.extend(["--agent".to_owned(), file.display().to_string()]);
    }
    words.extend(["--trust", "--tooling-transport", "native", "--config"].map(str::to_owned));
    words.push(config_file.display().to_string());
    words
}

#[test]
fn serves_tools_where_it_is_asked_to() {
    tool_server::serve_where_it_is_asked_to();
}
