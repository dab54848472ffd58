//! Whose turn it is: one run of each person after the other, and of each person one of each rule.
//!
//! Fairness is by person, not by workspace or rule, so that nobody gains by making more of them. A person is whoever
//! made the workspace.

use std::collections::BTreeMap;

use crate::store::QueuedRuns;
use bonded_kernel::RuleId;
use bonded_workspace_rules::AutomationRun;

use super::super::active::Active;

/// When who had a turn last. Nothing of it is kept: a new process begins with everybody's turn.
#[derive(Debug, Default)]
pub(super) struct Turns {
    count: u64,
    people: BTreeMap<String, u64>,
    rules: BTreeMap<RuleId, u64>,
}

impl Turns {
    /// A run of a rule has begun.
    pub(super) fn had(&mut self, whose: &str, rule: RuleId) {
        self.count += 1;
        self.people.insert(whose.to_owned(), self.count);
        self.rules.insert(rule, self.count);
    }

    /// What waits, those first who have the fewest under way, and of these who had no turn for longest. The runs of a
    /// rule stay in the order in which they were queued.
    pub(super) fn order(
        &self,
        queued: Vec<QueuedRuns>,
        active: &Active,
    ) -> Vec<(String, AutomationRun)> {
        let mut by_person: BTreeMap<String, Vec<QueuedRuns>> = BTreeMap::new();
        for rule in queued {
            by_person.entry(rule.whose.clone()).or_default().push(rule);
        }
        let mut order = vec![];
        for (whose, rules) in by_person {
            let had = self.people.get(&whose).copied();
            let places = active.count_of(&whose)..;
            let runs = places.zip(self.of_person(rules, active));
            order
                .extend(runs.map(|(place, run)| ((place, had, run.queued_at), whose.clone(), run)));
        }
        order.sort_by_key(|(place, _, _)| *place);
        order
            .into_iter()
            .map(|(_, whose, run)| (whose, run))
            .collect()
    }

    /// The same order among the rules of one person.
    fn of_person(&self, rules: Vec<QueuedRuns>, active: &Active) -> Vec<AutomationRun> {
        let mut order = vec![];
        for QueuedRuns { rule_id, runs, .. } in rules {
            let had = self.rules.get(&rule_id).copied();
            let places = active.count_of_rule(rule_id)..;
            let runs = places.zip(runs);
            order.extend(runs.map(|(place, run)| ((place, had, run.queued_at), run)));
        }
        order.sort_by_key(|(place, _)| *place);
        order.into_iter().map(|(_, run)| run).collect()
    }
}
