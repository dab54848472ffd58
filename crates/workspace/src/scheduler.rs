//! Looks at the schedules of rules when they are due.
//!
//! It hears of rules from the matcher, in the order of the stream, and keeps what it needs of each in memory. How far a
//! schedule was considered is written together with its firings, so that a crash neither loses an instant nor fires it
//! twice. It naps for a bounded time only, because clocks are set and machines sleep.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::WorkspaceError;
use bonded_kernel::{Millis, RuleId};
use bonded_workspace_rules::{
    CAUGHT_UP_MAX, CLOCK_CORRECTED_MS, Change, Condition, Facts, Fire, Instants as _, Issue,
    LeftOut, Rule, Schedule, due, firing_event_id, run_of_firing,
};
use serde_json::json;
use tokio::sync::mpsc::UnboundedReceiver;

use super::cron::Cron;
use super::engine_state::EngineState;
use super::matcher::RuleNews;

/// A rule with a schedule.
struct ScheduledRule {
    rule: Rule,
    schedule: Schedule,
    condition: Condition,
    cron: Cron,
    considered_until: Millis,
    next: Option<Millis>,
}

/// One for each engine.
pub(super) struct Scheduler {
    shared: Arc<EngineState>,
    news: UnboundedReceiver<RuleNews>,
    rules: BTreeMap<RuleId, ScheduledRule>,
}

impl Scheduler {
    /// It knows no rules until it is told; the first thing that it does is to load them all.
    pub(super) fn new(shared: Arc<EngineState>, news: UnboundedReceiver<RuleNews>) -> Self {
        Self {
            shared,
            news,
            rules: BTreeMap::new(),
        }
    }

    /// Never ends. All news is taken in before schedules are looked at, so that a rule which was just changed does not
    /// fire as it was.
    pub(super) async fn run(mut self) {
        let shared = self.shared.clone();
        let mut news = Some(RuleNews::Unknown);
        loop {
            let heard = match &news {
                Some(news) => self.hear(news).await,
                None => Ok(()),
            };
            if let Err(error) = heard {
                shared
                    .pause("the schedules could not be read", &error)
                    .await;
                continue;
            }
            news = self.news.try_recv().ok();
            if news.is_some() {
                continue;
            }
            if let Err(error) = self.look().await {
                shared
                    .pause("the schedules could not be checked", &error)
                    .await;
                continue;
            }
            let next = self.rules.values().filter_map(|it| it.next).min();
            tokio::select! {
                heard = self.news.recv() => news = heard,
                () = shared.nap(next) => {}
            }
        }
    }

    /// News that could not be taken in because the store failed is tried again.
    async fn hear(&mut self, news: &RuleNews) -> Result<(), WorkspaceError> {
        match news {
            RuleNews::Changed(rule) => self.put(Rule::clone(rule)).await,
            RuleNews::Deleted(rule) => {
                self.rules.remove(rule);
                Ok(())
            }
            RuleNews::Unknown => {
                self.rules.clear();
                for rule in self.shared.store().enabled_rules().await? {
                    self.put(rule).await?;
                }
                Ok(())
            }
        }
    }

    /// Takes a rule as it is now.
    async fn put(&mut self, rule: Rule) -> Result<(), WorkspaceError> {
        // News may be older than what was loaded.
        let known = self.rules.get(&rule.rule_id);
        if known.is_some_and(|known| known.rule.version >= rule.version) {
            return Ok(());
        }
        self.rules.remove(&rule.rule_id);
        if rule.draft.enabled {
            let scheduled = self.scheduled(rule).await?;
            self.rules.extend(scheduled.map(|it| (it.rule.rule_id, it)));
        }
        Ok(())
    }

    /// None for rules without a schedule, and for those that cannot be read here any more, which are told.
    async fn scheduled(&self, rule: Rule) -> Result<Option<ScheduledRule>, WorkspaceError> {
        let Some(schedule) = rule.draft.schedule.clone() else {
            return Ok(None);
        };
        let cron = Cron::parse(&schedule.cron, &schedule.timezone);
        let (cron, condition) = match (cron, rule.draft.condition()) {
            (Ok(cron), Ok(condition)) => (cron, condition),
            (cron, _) => {
                let why = cron
                    .err()
                    .map_or("its condition".into(), |it| it.to_string());
                let message = format!("rule {} does not fire: {why}", rule.rule_id);
                self.shared.tell(&message);
                return Ok(None);
            }
        };
        let stored = self.shared.store().considered_until(rule.rule_id).await?;
        // What was due before the rule was as it is now is not its business.
        let considered_until = stored.map_or(rule.updated_at, |it| it.max(rule.updated_at));
        Ok(Some(ScheduledRule {
            next: cron.after(considered_until),
            rule,
            schedule,
            condition,
            cron,
            considered_until,
        }))
    }

    /// One rule after the other; a rule may be due several times.
    async fn look(&mut self) -> Result<(), WorkspaceError> {
        let shared = self.shared.clone();
        for scheduled in self.rules.values_mut() {
            while scheduled.is_time(shared.now()) {
                scheduled.look(&shared).await?;
            }
        }
        Ok(())
    }
}

impl ScheduledRule {
    /// Whether there is anything to look at.
    fn is_time(&self, now: Millis) -> bool {
        let was_ahead = self.considered_until - now >= CLOCK_CORRECTED_MS;
        was_ahead || self.next.is_some_and(|next| next <= now)
    }

    /// The write comes before the memory is changed: where it fails, the same instants are looked at again.
    async fn look(&mut self, shared: &EngineState) -> Result<(), WorkspaceError> {
        let is_busy = shared.store().has_open_run(self.rule.rule_id).await?;
        let now = shared.now();
        let due = due(
            &self.schedule,
            self.considered_until,
            now,
            is_busy,
            &self.cron,
        );
        let instants = due.instants.iter().filter(|at| self.is_meant(**at));
        let firings = instants.map(|at| self.fire(*at)).collect();
        let change = Change::ConsideredSchedule {
            rule_id: self.rule.rule_id,
            until: due.considered_until,
            firings,
        };
        shared.write(change).await?;
        if let Some(left_out) = due.left_out {
            self.tell_left_out(shared, left_out).await?;
        }
        self.considered_until = due.considered_until;
        self.next = self.cron.after(due.considered_until);
        Ok(())
    }

    /// What is not made up for is told to whoever runs the server, and written down for the people of the workspace.
    async fn tell_left_out(
        &self,
        shared: &EngineState,
        left: LeftOut,
    ) -> Result<(), WorkspaceError> {
        let rule = self.rule.rule_id;
        let message = format!(
            "{} scheduled times of rule {rule} were missed and are not caught up on: catch_up all covers the latest {CAUGHT_UP_MAX}",
            left.count
        );
        shared.tell(&message);
        let issue = Issue {
            key: format!("catch_up {rule}"),
            value: message,
            metadata: json!({
                "rule_id": rule, "left_out": left.count, "first_ms": left.first, "last_ms": left.last,
            }),
            run_id: None,
        };
        let workspace_id = self.rule.draft.workspace_id;
        let change = Change::RecordIssue {
            workspace_id,
            issue,
        };
        match shared.write(change).await {
            // Where nothing can be written down, it was told all the same.
            Ok(_) | Err(WorkspaceError::Refused(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// There is no event and no note: conditions about them do not hold.
    fn is_meant(&self, at: Millis) -> bool {
        self.condition.holds(&Facts {
            workspace_id: self.rule.draft.workspace_id,
            event_type: None,
            actor_type: None,
            note: None,
            body: None,
            at,
        })
    }

    /// The ids are derived from the rule and the instant, so that the same instant is one run.
    fn fire(&self, at: Millis) -> Fire {
        let event = firing_event_id(self.rule.rule_id, at);
        Fire {
            run_id: run_of_firing(self.rule.rule_id, event),
            rule_id: self.rule.rule_id,
            triggering_event_id: event,
            depth: 1,
            request: None,
        }
    }
}
