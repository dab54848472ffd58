//! The runs of a plan's items: what of them was finished, and that nothing finished is done again.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use rusqlite::{Connection, OpenFlags};

use crate::boundary::resolve;
use crate::place::parse;
use crate::world::World;

/// What had ended before the kill, and must not be done again.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// The entries in the logs of items whose outcomes were written down.
    entries: BTreeMap<String, u32>,
    receipts: BTreeMap<PathBuf, Vec<u8>>,
}

impl World {
    /// What was finished by now.
    pub(crate) fn finished(&self) -> Finished {
        let mut finished = Finished::default();
        let Some(items) = resolve(&self.dir(), "store.db.work/plans/*/items") else {
            return finished;
        };
        let log = self.entries_by_run();
        for item in fs::read_dir(items).expect("a directory can be read") {
            let dir = item.expect("an entry can be read").path();
            let id = dir.file_name().unwrap_or_default().to_string_lossy();
            if dir.join("outcome.json").exists() {
                let of_item = log.iter().filter(|(run, _)| is_run_of(run, &id));
                let of_item = of_item.map(|(run, entries)| (run.clone(), *entries));
                finished.entries.extend(of_item);
            }
            if dir.join("RESULT.json").exists() {
                let receipt = dir.join("RECEIPT.json");
                let bytes = fs::read(&receipt).expect("what is sealed has a receipt");
                finished.receipts.insert(receipt, bytes);
            }
        }
        finished
    }

    fn entries_by_run(&self) -> BTreeMap<String, u32> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let store = Connection::open_with_flags(self.place.path("store.db"), flags)
            .expect("the store can be opened");
        let mut asked = store
            .prepare("SELECT run.id, count(*) FROM run JOIN entry ON entry.id >> 24 = run.key GROUP BY run.id")
            .expect("the store has its tables");
        let rows = asked.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let rows = rows.expect("the store can be asked");
        rows.map(|row| row.expect("a row can be read")).collect()
    }

    /// What was finished is as it was, and nobody began it anew.
    pub(crate) fn check_not_repeated(&self, finished: &Finished) {
        if finished.entries.is_empty() {
            return;
        }
        let log = self.entries_by_run();
        for (run, entries) in &finished.entries {
            let again = log.keys().filter(|it| is_run_of(it, item_of(run))).count();
            assert_eq!(again, of_same_item(finished, run), "{run} was begun anew");
            assert_eq!(log.get(run), Some(entries), "{run} went on");
        }
        for (receipt, bytes) in &finished.receipts {
            let now = fs::read(receipt).expect("the receipt is still there");
            assert!(now == *bytes, "{} is another one", receipt.display());
        }
    }

    /// What the tools said in each run, for a person who looks for what went wrong.
    pub(crate) fn outputs(&self) -> String {
        let mut told = String::new();
        for run in self.entries_by_run().keys() {
            for entry in self.place.log(run).iter().map(|line| parse(line)) {
                if entry["kind"] == "tool_finished" {
                    told.push_str(&format!("{run}: {}\n", entry["data"]));
                }
            }
        }
        told
    }

    /// The last run of every item has ended, and once. One whose copy was lost stays as it was.
    pub(crate) fn check_runs(&self) {
        let all = self.entries_by_run();
        let is_last = |run: &&String| !all.contains_key(&next_attempt(run));
        for run in all.keys().filter(is_last) {
            let log = self.place.log(run);
            let ends = log.iter().map(|line| parse(line)["kind"] == "run_ended");
            let ends: Vec<bool> = ends.collect();
            assert_eq!(ends.last(), Some(&true), "{run}");
            assert_eq!(ends.iter().filter(|it| **it).count(), 1, "{run}");
        }
    }
}

/// Whether a run is an item's, whichever attempt it is.
fn is_run_of(run: &str, item: &str) -> bool {
    item_of(run) == item
}

fn item_of(run: &str) -> &str {
    run.split('.').nth(1).unwrap_or_default()
}

/// The id of the run by which an item begins again.
fn next_attempt(run: &str) -> String {
    let mut parts = run.splitn(3, '.');
    let (plan, item) = (parts.next().unwrap_or_default(), item_of(run));
    let attempt: u32 = parts.nth(1).map_or(1, |number| number.parse().unwrap_or(1));
    format!("{plan}.{item}.{}", attempt + 1)
}

fn of_same_item(finished: &Finished, run: &str) -> usize {
    let same = |it: &&String| item_of(it) == item_of(run);
    finished.entries.keys().filter(same).count()
}
