//! A tree with a plan, and workers that have homes of their own and nothing of the tree.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use bonded_testkit::done::text;
use bonded_testkit::place::{Done, Place, call, finish, parse, program, start};
use bonded_testkit::process::Process;
use serde_json::{Value, json};

use crate::shop::Shop;

/// Covers the tree with an empty file system, for the worker alone.
const WITHOUT_TREE: &str = "mount -t tmpfs none \"$0\" && exec \"$@\"";

/// What an agent does before its report.
pub(crate) type Agents = Vec<Vec<Value>>;

pub(crate) struct Yard {
    pub(crate) shop: Shop,
    agents: usize,
}

pub(crate) fn runs(command: &str) -> Value {
    call("run", json!({ "command": command }))
}

pub(crate) fn writes(path: &str, content: &str) -> Value {
    call("write", json!({ "path": path, "content": content }))
}

/// An item that the agent of this number works on, with these fields more.
pub(crate) fn item(id: &str, agent: usize, more: Value) -> Value {
    let agent = format!("agent-{agent}");
    let mut item =
        json!({ "id": id, "agent_id": agent, "description": format!("the work of {id}") });
    let (Some(fields), Value::Object(more)) = (item.as_object_mut(), more) else {
        panic!("an item and what is added to it are objects");
    };
    fields.extend(more);
    item
}

/// Writes the agents of a plan, each with its script.
fn write_agents(place: &Place, agents: &Agents, more: &str) {
    for (number, lines) in agents.iter().enumerate() {
        let report = json!({ "report_format": "markdown", "report_content": "ok" });
        let mut lines = lines.clone();
        lines.push(call("agent__final_report", report));
        place.agent(&format!("agent-{number}"), &lines, more);
    }
}

fn agent_flags(place: &Place, agents: usize) -> Vec<String> {
    let flag = |number| {
        let file = place.path(&format!("agent-{number}.ai"));
        format!("--agent=agent-{number}={}", file.display())
    };
    (0..agents).map(flag).collect()
}

impl Yard {
    pub(crate) fn new(lease_ms: u64, agents: &Agents) -> Option<Self> {
        Self::with_agents(lease_ms, agents, "tools: builtin")
    }

    /// With more or other front matter than the built-in tools.
    pub(crate) fn with_agents(lease_ms: u64, agents: &Agents, more: &str) -> Option<Self> {
        let shop = Shop::new(lease_ms)?;
        write_agents(&shop.place, agents, more);
        Some(Self {
            shop,
            agents: agents.len(),
        })
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.shop.place.work()
    }

    pub(crate) fn work_command(&self, plan: &Value, flags: &[&str]) -> Command {
        let file = self.shop.place.write("plan.json", plan.to_string());
        let mut command = self.shop.place.command(&["work"]);
        command.arg(file).args(["--queue", "items", "--json"]);
        command.args(agent_flags(&self.shop.place, self.agents));
        command.args(flags);
        command
    }

    pub(crate) fn work(&self, plan: &Value, flags: &[&str]) -> Done {
        finish(start(&mut self.work_command(plan, flags)))
    }

    pub(crate) fn resume(&self) -> Done {
        let words = ["work", "--resume", "--json"];
        finish(start(&mut self.shop.place.command(&words)))
    }

    /// A worker with a home of its own, which cannot see the tree.
    pub(crate) fn worker(&self, flags: &[&str]) -> YardWorker {
        let place = Place::with_store(&self.shop.place.store());
        let mut command = place.command_of("unshare".as_ref(), &["-m", "sh", "-c", WITHOUT_TREE]);
        command.arg(self.tree()).arg(program());
        command
            .args(["worker", "--items", "--queue", "items"])
            .args(flags);
        let process = Process::begin(&mut command);
        process.wait_until_told("worker of");
        YardWorker { place, process }
    }

    /// The runs of items that are queued or driven, or were.
    pub(crate) fn count(&self, what: &str) -> usize {
        let counted = self
            .shop
            .database
            .sql(&format!("SELECT count(*) FROM {what}"));
        counted.parse().expect("it is a number")
    }
}

pub(crate) struct YardWorker {
    pub(crate) place: Place,
    pub(crate) process: Process,
}

/// Everything in a tree, with modes and targets, by path.
pub(crate) fn state_of(root: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut state = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in std::fs::read_dir(&dir).expect("it can be listed") {
            let path = entry.expect("it can be read").path();
            let about = path.symlink_metadata().expect("it is there");
            let content = match (about.is_symlink(), about.is_dir()) {
                (true, _) => {
                    let target = std::fs::read_link(&path).expect("it is a link");
                    target.as_os_str().as_bytes().to_vec()
                }
                (_, true) => {
                    left.push(path.clone());
                    vec![]
                }
                _ => std::fs::read(&path).expect("it can be read"),
            };
            let name = path.strip_prefix(root).expect("it is below").to_owned();
            state.insert(name, (about.permissions().mode(), content));
        }
    }
    state
}

/// What of a result must be the same wherever the item was worked on.
fn essence(result: &Value) -> Value {
    let receipt = std::fs::read_to_string(text(&result["receipt_path"]));
    let receipt = parse(&receipt.expect("there is a receipt"));
    let names = |field: &str| {
        let paths = result[field].as_array().cloned().unwrap_or_default();
        let name = |path: &Value| Path::new(text(path)).file_name().map(|it| it.to_owned());
        format!("{:?}", paths.iter().map(name).collect::<Vec<_>>())
    };
    json!({
        "id": result["work_item_id"],
        "status": result["status"],
        "denial": result["denial_reason"],
        "error": result["error"],
        "output": result["output_hash"],
        "changed": [names("modified_files"), names("created_files"), names("deleted_files")],
        "tests": [result["metrics"]["tests_passed"], result["metrics"]["tests_failed"]],
        "sizes": [result["metrics"]["tool_ops_count"], result["metrics"]["delta_size"], result["metrics"]["files_touched"]],
        "before": receipt["before_hash"],
        "after": receipt["after_hash"],
        "content": receipt["content_hash"],
        "deltas": receipt["deltas"],
    })
}

/// What the same plan comes to on a tree that was made the same way, worked off by one process.
pub(crate) fn locally(
    make: &dyn Fn(&Path),
    agents: &Agents,
    plan: &Value,
) -> (Value, PathBuf, Place) {
    let place = Place::new();
    make(&place.work());
    write_agents(&place, agents, "tools: builtin");
    let file = place.write("plan.json", plan.to_string());
    let mut command = place.command(&["work"]);
    command
        .arg(file)
        .arg("--json")
        .args(agent_flags(&place, agents.len()));
    let done = finish(start(&mut command));
    (essences(&done), place.work(), place)
}

/// The first item of which something else came is named.
#[track_caller]
pub(crate) fn check_same(found: &Value, expected: &Value) {
    let of = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for (found, expected) in of(found).iter().zip(of(expected)) {
        assert_eq!(*found, expected);
    }
    assert_eq!(of(found).len(), of(expected).len());
}

pub(crate) fn essences(done: &Done) -> Value {
    assert!(!done.stdout.is_empty(), "{done:?}");
    match done.json() {
        Value::Array(results) => results.iter().map(essence).collect(),
        result => Value::Array(vec![essence(&result)]),
    }
}
