//! What the logs of a store say, and what they must say together with what was done outside.

use serde_json::Value;

use crate::place::{Place, parse};

pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) status: String,
}

impl Place {
    /// All runs of the store; none where there is no store yet.
    pub(crate) fn listed(&self) -> Vec<Listed> {
        let listed = self.bonded(&["runs", "--json", "--limit", "1000"]);
        if listed.stderr.contains("store-missing") {
            return vec![];
        }
        assert_eq!(listed.code, Some(0), "{listed:?}");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let runs = listed.stdout.lines().map(parse);
        runs.map(|run| Listed {
            id: text(&run["runId"]),
            status: text(&run["status"]),
        })
        .collect()
    }

    /// The status of a run, if there is one.
    pub(crate) fn status(&self, run: &str) -> Option<String> {
        let all = self.listed();
        let it = all.into_iter().find(|listed| listed.id == run);
        it.map(|listed| listed.status)
    }

    /// The log of a run is whole, and each of its steps comes to the same again.
    pub(crate) fn is_whole(&self, run: &str) {
        for (command, code) in [("verify", 7), ("replay", 0)] {
            let audited = self.bonded(&[command, run]);
            assert_eq!(audited.code, Some(code), "{audited:?}");
        }
    }

    /// Each call of a tool was executed once; or, where its outcome is unknown, at most once.
    pub(crate) fn check_witness(&self, tool: &str, done: usize) {
        let (mut known, mut unknown) = (0, 0);
        for run in self.listed() {
            for entry in self.log(&run.id).iter().map(|line| parse(line)) {
                if entry["kind"] != "tool_finished" || entry["data"]["tool"] != tool {
                    continue;
                }
                // The log leaves out what is the rule: success.
                match entry["data"]["outcome"].as_str().unwrap_or("ok") {
                    "ok" => known += 1,
                    _ => unknown += 1,
                }
            }
        }
        assert!(
            (known..=known + unknown).contains(&done),
            "{tool} was done {done} times; {known} calls succeeded and {unknown} did not"
        );
    }
}
