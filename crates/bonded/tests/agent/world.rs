//! A world for one test: a home, a working directory, an agent, its configuration and its provider.

use std::path::PathBuf;
use std::process::{Child, Command};

use bonded_testkit::place::{Place, clean_command, finish, program};
use bonded_testkit::tool_server;
use serde_json::{Value, json};

use crate::provider::{Asked, Billed, Provider};
use crate::reply::{Reply, raw, report_tag};

pub(crate) use crate::outcome::Outcome;
pub(crate) use bonded_testkit::done::{peak_kb, start};

pub(crate) struct World {
    place: Place,
    provider: Provider,
    front_matter: String,
    prompt: String,
    config: Value,
}

impl World {
    /// An agent without tools that asks `first/one`.
    pub(crate) fn new() -> Self {
        let place = Place::new();
        std::fs::create_dir(place.path("home")).expect("a directory can be made in it");
        let provider = Provider::start();
        let endpoint =
            |key: &str| json!({ "type": "openai", "baseUrl": provider.base_url(), "apiKey": key });
        let config = json!({
            "providers": { "first": endpoint("key-1"), "second": endpoint("key-2"), "third": endpoint("key-3") },
        });
        Self {
            place,
            provider,
            front_matter: String::new(),
            prompt: "You are tested.".into(),
            config,
        }
    }

    /// The same with the tool server `test`.
    pub(crate) fn with_tools() -> Self {
        let world = Self::new().front("tools: test");
        let server = world.tool_server(&json!({}));
        world.config(&json!({ "mcpServers": { "test": server } }))
    }

    /// An agent that asks a server of messages, whose every answer is the report and says that it used this.
    pub(crate) fn of_messages(usage: &Value) -> Self {
        let world = Self::new();
        let provider = json!({ "type": "anthropic", "baseUrl": world.base_url(), "apiKey": "k" });
        let body = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude",
            "content": [{ "type": "text", "text": report_tag("pipe", "done") }],
            "stop_reason": "end_turn",
            "usage": usage,
        });
        world
            .front("models: anthropic/claude")
            .config(&json!({ "providers": { "anthropic": provider } }))
            .then_always(raw(200, "application/json", body.to_string()))
    }

    /// The configuration of a tool server with these variables.
    pub(crate) fn tool_server(&self, env: &Value) -> Value {
        tool_server::of_this_program("world::serves_tools_where_it_is_asked_to", env)
    }

    /// Adds lines to the front matter.
    pub(crate) fn front(mut self, lines: &str) -> Self {
        self.front_matter.push_str(lines);
        self.front_matter.push('\n');
        self
    }

    pub(crate) fn prompt(mut self, text: &str) -> Self {
        self.prompt = text.into();
        self
    }

    /// Merges into the configuration of the working directory. A null takes a key out.
    pub(crate) fn config(mut self, more: &Value) -> Self {
        merge(&mut self.config, more);
        self
    }

    /// Writes a file into the working directory, or by `../home/...` into the home.
    pub(crate) fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path(name);
        let parent = path.parent().expect("a file lies in a directory");
        std::fs::create_dir_all(parent).expect("a directory can be made");
        std::fs::write(path, text).expect("a file can be written");
        self
    }

    /// The next answers of the provider.
    pub(crate) fn says(self, replies: impl IntoIterator<Item = Reply>) -> Self {
        self.provider.say(replies);
        self
    }

    /// What the provider answers when everything else was said.
    pub(crate) fn then_always(self, reply: Reply) -> Self {
        self.provider.then_always(reply);
        self
    }

    /// What the provider says of its models to whoever looks.
    pub(crate) fn lists(self, models: &Value) -> Self {
        self.provider.list(models);
        self
    }

    /// The paths at which the provider's models were looked at.
    pub(crate) fn looks(&self) -> Vec<String> {
        self.provider.looks()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.work().join(name)
    }

    pub(crate) fn base_url(&self) -> String {
        self.provider.base_url()
    }

    pub(crate) fn requests(&self) -> Vec<Asked> {
        self.provider.asked()
    }

    /// What the provider bills, by its own books.
    pub(crate) fn billed(&self) -> Vec<Billed> {
        self.provider.billed()
    }

    /// Waits until the provider was asked so often.
    pub(crate) fn wait_for_requests(&self, count: usize) {
        self.provider.wait_for(count);
    }

    /// The lines of a ledger that are whole.
    pub(crate) fn ledger(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_default();
        let lines = text.lines();
        lines
            .filter_map(|line| serde_json::from_str(line).ok())
            .map(without_store)
            .collect()
    }

    pub(crate) fn requests_count(&self) -> usize {
        self.provider.asked_count()
    }

    /// The program in this world, and nothing of the tester's environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        // What these tests are about lies in the working directory, and the person trusts it.
        let trusting = ["run", "serve", "mcp", "work", "config", "login", "logout"];
        let (name, rest) = arguments.split_first().expect("a command is named");
        let at = usize::from(*name == "config");
        let (before, after) = rest.split_at(at);
        let trust = trusting.contains(name).then_some("--trust");
        let mut command = clean_command(program(), &self.place.path("home"), &self.place.work());
        command
            .arg("--store")
            .arg(self.place.path("store.db"))
            .arg(name)
            .args(before)
            .args(trust)
            .args(after)
            .env_remove("PATH")
            .env("FOR_COMMANDS", "handed on");
        command
    }

    /// Writes the agent and its configuration, where the test has not written them itself.
    pub(crate) fn write(&self) {
        let has_models = self
            .front_matter
            .lines()
            .any(|line| line.starts_with("models"));
        let models = if has_models {
            ""
        } else {
            "models: first/one\n"
        };
        let agent = format!("---\n{models}{}---\n{}\n", self.front_matter, self.prompt);
        let config = self.config.to_string();
        for (name, text) in [("agent.ai", agent), (".ai-agent.json", config)] {
            if !self.path(name).exists() {
                std::fs::write(self.path(name), text).expect("a file can be written");
            }
        }
    }

    /// The command that runs the agent.
    pub(crate) fn run_command(&self, flags: &[&str], goal: &str) -> Command {
        self.write();
        let fixed = ["run", "--agent", "agent.ai", "--json"];
        let arguments: Vec<&str> = fixed.iter().chain(flags).copied().chain([goal]).collect();
        self.command(&arguments)
    }

    /// Runs the agent to its end.
    pub(crate) fn run(&self, flags: &[&str], goal: &str) -> Outcome {
        self.finish(start(&mut self.run_command(flags, goal)))
    }

    /// Runs another command to its end.
    pub(crate) fn bonded(&self, arguments: &[&str]) -> Outcome {
        self.finish(start(&mut self.command(arguments)))
    }

    /// Waits for a process and collects what it printed.
    pub(crate) fn finish(&self, child: Child) -> Outcome {
        let done = finish(child);
        Outcome {
            code: done.code,
            result: serde_json::from_str(&done.stdout).unwrap_or_default(),
            stdout: done.stdout,
            stderr: done.stderr,
            requests: self.requests(),
        }
    }

    /// The log of a run, as `show --json` prints it.
    pub(crate) fn log(&self, run: &str) -> Vec<Value> {
        let shown = self.bonded(&["show", run, "--json"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        let parse = |line| serde_json::from_str(line).expect("a line of a log is JSON");
        shown.stdout.lines().map(parse).collect()
    }

    /// The log of a run that is whole and says the same when it is decided again.
    #[track_caller]
    pub(crate) fn sound_log(&self, run: &str) -> Vec<Value> {
        let replayed = self.bonded(&["replay", run]);
        assert_eq!(replayed.code, Some(0), "{replayed:?}");
        // Nothing was kept to compare it with.
        let verified = self.bonded(&["verify", run]);
        assert_eq!(verified.code, Some(7), "{verified:?}");
        self.log(run)
    }

    /// How many bytes the store has on the disk.
    pub(crate) fn store_bytes(&self) -> u64 {
        let names = ["store.db", "store.db-wal"].map(|name| self.place.path(name));
        let sizes = names.iter().filter_map(|name| name.metadata().ok());
        sizes.map(|it| it.len()).sum()
    }
}

fn merge(into: &mut Value, more: &Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                match value {
                    Value::Null => drop(into.remove(key)),
                    value => merge(into.entry(key.clone()).or_insert(json!({})), value),
                }
            }
        }
        (into, more) => *into = more.clone(),
    }
}

#[test]
fn serves_tools_where_it_is_asked_to() {
    tool_server::serve_where_it_is_asked_to();
}

/// An account as a result has it: only the ledger, which several stores may share, names the store.
pub(crate) fn without_store(mut line: Value) -> Value {
    let store = line.as_object_mut().and_then(|line| line.remove("store"));
    let is_named = |store: Value| store.as_str().is_some_and(|it| it.starts_with('/'));
    let is_account = line["type"].is_string();
    assert!(!is_account || store.is_some_and(is_named), "{line}");
    line
}
