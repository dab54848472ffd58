//! Whatever a tree is like and whatever is done in it: an item that does not succeed has not happened.

use std::time::Duration;

use serde_json::{Value, json};

use crate::SEED;
use crate::place::{call, done, finish, parse};
use crate::plans::git;
use crate::random_tree::{edits, plant};
use crate::rng::{Rng, number, seed, tell};
use crate::snapshot::Snapshot;
use crate::world::{Kill, World};

const TREES_DEFAULT: u64 = 6;

/// Every edit is made so often, so that one is whole after a kill.
const TIMES: usize = 2;

/// About as long as a plan takes.
const PLAN_MS: u64 = 2500;

/// What is done before the edits and after them.
type Words = (&'static str, &'static str);

/// Ways not to succeed: what the item adds to its edits, and what the plan says of it.
fn ways() -> [(&'static str, Words, Value); 5] {
    [
        (
            "failure",
            ("", ""),
            json!({ "test_command": "echo no > sure-1; exit 1" }),
        ),
        ("denied", ("mkfifo fifo", ""), json!({})),
        (
            "denied",
            ("", ""),
            json!({ "constraints": { "max_files": 1 } }),
        ),
        ("denied", ("", ""), json!({ "output_files": ["declared"] })),
        (
            "timeout",
            ("", "sleep 60"),
            json!({ "constraints": { "timeout_ms": 1200, "max_files": 1000, "max_delta_size": 1000 } }),
        ),
    ]
}

/// A plan of items that all come to nothing, and what they are told.
struct InVain {
    items: Vec<Value>,
    cases: String,
    statuses: Vec<&'static str>,
}

impl InVain {
    fn new(rng: &mut Rng) -> Self {
        let (mut items, mut cases, mut statuses) = (vec![], String::new(), vec![]);
        for (number, (status, words, more)) in ways().into_iter().enumerate() {
            let id = format!("item-{number}");
            let edits = edits(rng);
            let (first, last) = words;
            cases.push_str(&format!(
                "{id})\necho 1 > sure-1; echo 2 > sure-2\n{first}\n{edits}\n{last}\n;;\n"
            ));
            let mut item = json!({
                "id": id,
                "agent_id": "agent-2",
                "description": "in vain",
                "constraints": { "max_files": 1000, "max_delta_size": 1000 },
            });
            if let (Value::Object(item), Value::Object(more)) = (&mut item, more) {
                item.extend(more);
            }
            items.push(item);
            statuses.push(status);
        }
        Self {
            items,
            cases,
            statuses,
        }
    }

    fn script(&self) -> Vec<Value> {
        let cases = &self.cases;
        let command = |number: usize| {
            format!("# {number}\ncase $(basename \"$(dirname \"$PWD\")\") in\n{cases}esac\ntrue")
        };
        let mut lines: Vec<Value> = (0..TIMES)
            .map(|number| call("run", json!({ "command": command(number) })))
            .collect();
        lines.push(done("ok"));
        lines
    }
}

#[test]
fn whatever_is_done_to_whatever_tree_an_item_that_does_not_succeed_leaves_it_as_it_was() {
    let trees = number("BONDED_WORK_CRASH_TREES").unwrap_or(TREES_DEFAULT);
    let seed = seed(SEED);
    tell(&format!("BONDED_WORK_CRASH_SEED={seed}"));
    for number in 0..trees {
        check(&mut Rng::of(seed, number), number % 2 == 1);
    }
}

/// A tree has files that run with their owner's rights, and edits may copy one, or leave one behind where a kill cut
/// them short. That is denied whatever else the item does.
fn ended_as(result: &Value, wanted: &str) -> bool {
    let reason = result["denial_reason"].as_str().unwrap_or_default();
    let has_set_id = result["status"] == "denied" && reason.contains("no_set_id");
    result["status"] == *wanted || has_set_id
}

fn check(rng: &mut Rng, is_killed: bool) {
    let template = tempfile::tempdir().expect("a temporary directory can be made");
    plant(rng, template.path());
    if rng.below(2) == 0 {
        git(template.path(), &["init", "-q"]);
    }
    let in_vain = InVain::new(rng);
    let plan = Value::Array(in_vain.items.clone());
    let world = World::new(template.path(), &in_vain.script(), &plan);
    let before = Snapshot::of_tree(&world.root());
    let repository = Snapshot::of_repository(&world.root());
    if is_killed {
        let moment = Duration::from_millis(rng.below(PLAN_MS));
        if world.kill(world.begin(), &Kill::After(moment)).is_ok() {
            world.check_after_kill(&[&before], &repository);
        }
    }
    let end = finish(world.begin_again());
    assert_eq!(end.code, Some(1), "{end:?}");
    let after = Snapshot::of_tree(&world.root());
    assert_eq!(
        before.difference(&after),
        Vec::<String>::new(),
        "{end:?}\n{}",
        world.outputs()
    );
    let results = parse(&end.stdout);
    let results = results.as_array().expect("there are several results");
    assert_eq!(results.len(), in_vain.statuses.len(), "{end:?}");
    for (result, wanted) in results.iter().zip(&in_vain.statuses) {
        assert!(ended_as(result, wanted), "not {wanted}: {result}\n{end:?}");
    }
    world.check_receipts();
    world.check_remains(&repository);
}
