//! Somebody's tree, an item that is worked off on it, and what came of that.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use bonded_work::tree::{Checkpoints, read_tree};
use bonded_work_rules::{Receipt, Tree, verify_receipt};
use serde_json::{Value, json};

use crate::person::{Done, Person, done, finish, start};

const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Desk {
    pub(super) person: Person,
}

impl Desk {
    pub(super) fn new() -> Self {
        Self {
            person: Person::new(),
        }
    }

    /// One with a tree so large that copies stand on the tree itself.
    pub(super) fn large() -> Self {
        let desk = Self::new();
        for number in 0..2_100 {
            let name = format!("many/{}/{number}", number % 20);
            desk.person.write(desk.tree().join(name), "x");
        }
        desk
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.person.work()
    }

    pub(super) fn write(&self, name: &str, content: &str) {
        self.person.write(self.tree().join(name), content);
    }

    pub(super) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.tree().join(name)).ok()
    }

    /// What is kept beside the store.
    pub(super) fn kept(&self) -> PathBuf {
        self.person.home().join(".local/share/bonded/store.db.work")
    }

    /// `bonded work` with one item that does what the lines say.
    pub(super) fn command(&self, lines: &[Value], fields: Value, flags: &[&str]) -> Command {
        let mut command = self.person.command(&["work"]);
        command.args(self.words(lines, fields, flags));
        command
    }

    pub(super) fn words(&self, lines: &[Value], fields: Value, flags: &[&str]) -> Vec<String> {
        let mut all = lines.to_vec();
        all.push(done());
        let model = self.person.script(&all);
        let mut item = json!({ "id": "one", "agent_id": "agent-1", "description": "the work" });
        let (Some(item_fields), Value::Object(more)) = (item.as_object_mut(), fields) else {
            panic!("the fields of an item are an object");
        };
        item_fields.extend(more);
        let plan = self.person.path("plan.json");
        self.person.write(&plan, item.to_string());
        let plan = plan.display().to_string();
        let mut words = vec![plan, "--json".into(), "--model".into(), model];
        words.extend(flags.iter().map(|flag| (*flag).to_owned()));
        words
    }

    pub(super) fn start(&self, lines: &[Value], fields: Value) -> Child {
        start(&mut self.command(lines, fields, &[]))
    }

    pub(super) fn work(&self, lines: &[Value], fields: Value) -> Outcome {
        Outcome::of(finish(self.start(lines, fields)))
    }

    /// Waits until the tests of the item have begun, or the program has ended.
    pub(super) fn wait_for_tests(&self, child: &mut Child) {
        let began = Instant::now();
        while !self.has_attempt() && began.elapsed() < PATIENCE {
            if child.try_wait().expect("it can be asked").is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn has_attempt(&self) -> bool {
        let plans = std::fs::read_dir(self.kept().join("plans"));
        let mut plans = plans.into_iter().flatten().flatten();
        plans.any(|plan| plan.path().join("items/one/attempt.json").exists())
    }

    /// The state that a receipt says the item came to, restored from what is kept, and its hashes held against it.
    pub(super) fn restore(&self, receipt: &Receipt, dir: &Path) {
        let outcome = &receipt.outcome;
        let plan = self.kept().join("plans").join(&outcome.plan_id);
        let level = plan.join(format!("level-{}.tree", outcome.level));
        let before = read_tree(&level).expect("the state before is kept");
        assert_eq!(before.hash(), outcome.before_hash);
        let after = after(&before, receipt);
        assert_eq!(after.hash(), outcome.after_hash);
        let checkpoints = Checkpoints::open(&self.kept()).expect("contents are kept");
        checkpoints.restore(&after, dir).expect("all is kept");
    }
}

fn after(before: &Tree, receipt: &Receipt) -> Tree {
    let changes = receipt.outcome.deltas.changes().into_iter().cloned();
    let changes: Vec<_> = changes.collect();
    before.with_changes(&changes).expect("the changes fit")
}

/// What `bonded work` said and wrote.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) done: Done,
    pub(super) result: Value,
}

impl Outcome {
    pub(super) fn of(done: Done) -> Self {
        let result = serde_json::from_str(&done.stdout).unwrap_or_default();
        Self { done, result }
    }

    pub(super) fn status(&self) -> &str {
        self.result["status"].as_str().unwrap_or("nothing")
    }

    #[track_caller]
    pub(super) fn receipt(&self) -> Receipt {
        let path = self.receipt_path();
        let text = std::fs::read_to_string(&path).expect("it is there");
        verify_receipt(&text).expect("it is whole")
    }

    #[track_caller]
    pub(super) fn receipt_path(&self) -> PathBuf {
        let path = self.result["receipt_path"].as_str();
        path.unwrap_or_else(|| panic!("{self:?}")).into()
    }
}

/// Runs a line of a shell in a directory, as nobody in particular.
pub(super) fn passes(line: &str, dir: &Path) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(dir);
    shell.status().expect("there is a shell").success()
}
