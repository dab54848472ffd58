//! A tree, agents that play scripts, and plans.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::done::text;
use crate::place::{Done, Place, call, done, finish, parse, start};

/// What a plan ends with that did not wholly succeed.
pub(crate) const SOME_FAILED: i32 = 1;

pub(crate) struct World {
    pub(crate) place: Place,
}

impl World {
    /// A directory without git, with one file in it.
    pub(crate) fn plain() -> Self {
        let world = Self {
            place: Place::new(),
        };
        world.write("kept.txt", "kept\n");
        world
    }

    /// A repository with one commit.
    pub(crate) fn repository() -> Self {
        let world = Self::plain();
        world.git(&["init", "--quiet", "--initial-branch=main", "."]);
        world.git(&["config", "user.name", "Somebody"]);
        world.git(&["config", "user.email", "somebody@example.org"]);
        world.git(&["add", "."]);
        world.git(&["commit", "--quiet", "--message", "first"]);
        world
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.place.work()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.tree().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        let parent = path.parent().expect("a file lies in a directory");
        std::fs::create_dir_all(parent).expect("a directory can be made");
        std::fs::write(path, content).expect("a file can be written");
    }

    /// The text of a file of the tree, and nothing where there is none.
    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }

    /// What git prints.
    pub(crate) fn git(&self, words: &[&str]) -> String {
        let said = self.try_git(words);
        assert_eq!(said.code, Some(0), "git {words:?}: {said:?}");
        said.stdout
    }

    pub(crate) fn try_git(&self, words: &[&str]) -> Done {
        let mut git = Command::new("git");
        git.args(words)
            .current_dir(self.tree())
            .env("HOME", self.place.path("."))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_EDITOR", "true")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        finish(start(&mut git))
    }

    /// Says what the agent of this number does; then it is done.
    pub(crate) fn agent(&self, number: u8, lines: &[Value]) {
        let report = json!({ "report_format": "markdown", "report_content": "ok" });
        let mut all = lines.to_vec();
        all.push(call("agent__final_report", report));
        self.agent_without_end(number, &all);
    }

    pub(crate) fn agent_without_end(&self, number: u8, lines: &[Value]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let script = self.place.path(&format!("agent-{number}.jsonl"));
        std::fs::write(&script, text).expect("the script can be written");
        let file = format!(
            "---\nmodels: script:{}\ntools: builtin\n---\nYou are tested.\n",
            script.display()
        );
        std::fs::write(self.agent_file(number), file).expect("the agent can be written");
    }

    fn agent_file(&self, number: u8) -> PathBuf {
        self.place.path(&format!("agent-{number}.ai"))
    }

    /// `bonded work` on the tree, with every agent that was written.
    pub(crate) fn work_command(&self, plan: &Value, flags: &[&str]) -> Command {
        let file = self.place.path("plan.json");
        std::fs::write(&file, plan.to_string()).expect("the plan can be written");
        self.work_command_on(&file, flags)
    }

    pub(crate) fn work_command_on(&self, plan: &Path, flags: &[&str]) -> Command {
        let mut command = self.place.command(&["work"]);
        command.arg(plan);
        let written = (0..10).filter(|number| self.agent_file(*number).exists());
        for number in written {
            let file = self.agent_file(number);
            command.arg(format!("--agent=agent-{number}={}", file.display()));
        }
        command.args(flags);
        command
    }

    pub(crate) fn work(&self, plan: &Value, flags: &[&str]) -> Done {
        finish(start(&mut self.work_command(plan, flags)))
    }

    /// The results of a plan, as they are printed: an array, or one object.
    pub(crate) fn results(&self, plan: &Value, flags: &[&str]) -> Value {
        let mut words = vec!["--json"];
        words.extend(flags);
        self.work(plan, &words).json()
    }

    /// The one result of a plan with one item.
    pub(crate) fn result(&self, item: &Value) -> Value {
        let result = self.results(item, &[]);
        assert!(result.is_object(), "{result}");
        result
    }

    /// What is kept beside the store.
    pub(crate) fn kept(&self, name: &str) -> PathBuf {
        self.place.path("store.db.work").join(name)
    }

    /// The runs that there were, oldest last.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let listed = self.place.bonded(&["runs", "--json"]);
        listed.stdout.lines().map(parse).collect()
    }

    pub(crate) fn log_of(&self, result: &Value) -> Vec<Value> {
        let receipt = receipt(result);
        let run = text(&receipt["run"]["run_id"]).to_owned();
        self.place
            .log(&run)
            .iter()
            .map(|line| parse(line))
            .collect()
    }
}

/// An item that the agent of this number works on.
pub(crate) fn item(id: &str, agent: u8) -> Value {
    let agent = format!("agent-{agent}");
    json!({ "id": id, "agent_id": agent, "description": format!("the work of {id}") })
}

/// The same with these fields more.
pub(crate) fn with_fields(mut item: Value, more: Value) -> Value {
    let (Some(fields), Value::Object(more)) = (item.as_object_mut(), more) else {
        panic!("an item and what is added to it are objects");
    };
    fields.extend(more);
    item
}

pub(crate) fn writes(path: &str, content: &str) -> Value {
    call("write", json!({ "path": path, "content": content }))
}

pub(crate) fn runs(command: &str) -> Value {
    call("run", json!({ "command": command }))
}

/// A script for runs that have no agent file.
pub(crate) fn script(world: &World, lines: &[Value]) -> String {
    let mut all = lines.to_vec();
    all.push(done("ok"));
    world.place.script(&all)
}

/// The receipt that a result names.
#[track_caller]
pub(crate) fn receipt(result: &Value) -> Value {
    let path = text(&result["receipt_path"]);
    let written = std::fs::read_to_string(path);
    parse(&written.unwrap_or_else(|error| panic!("{path}: {error}")))
}

#[track_caller]
pub(crate) fn expect_status(result: &Value, status: &str, why: &str) {
    assert_eq!(result["status"], status, "{result}");
    let field = match status {
        "denied" => "denial_reason",
        _ => "error",
    };
    let said = result[field].as_str().unwrap_or_default();
    assert!(said.contains(why), "{why:?} is not in {said:?}");
}

/// The statuses of several results, in their order.
pub(crate) fn statuses(results: &Value) -> Vec<&str> {
    let results = results.as_array().expect("several results");
    results.iter().map(|it| text(&it["status"])).collect()
}
