//! Holds every event of every workspace against the rules.
//!
//! An event is held against the rules as they stand in the stream where it does. Where the engine begins behind the end
//! of the stream, it begins with the rules of today, but for those that were made after an event.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::WorkspaceError;
use bonded_kernel::{RuleId, WorkspaceId};
use bonded_workspace_rules::{
    Actor, Change, Condition, EventSubject, Facts, Fire, Note, Refused, Rule, RuleFact, RunFact,
    StoredEvent, WorkspaceEvent, WorkspaceFact, run_of_firing,
};
use tokio::sync::mpsc::UnboundedSender;

use super::engine_state::EngineState;

/// A page of events; one write makes all their firings durable.
const EVENTS_AT_ONCE: usize = 200;

/// How many events may be looked at again after a crash, where nothing came of them.
const UNWRITTEN_MAX: u64 = 1000;

/// What the scheduler is told about rules.
pub(super) enum RuleNews {
    Changed(Box<Rule>),
    Deleted(RuleId),
    /// Any of them may be another.
    Unknown,
}

/// A rule that waits for events.
struct LiveRule {
    rule: Rule,
    condition: Condition,
}

/// One for each engine. Its two positions differ where nothing came of events: those are not worth a write, and are
/// looked at again after a crash.
pub(super) struct Matcher {
    shared: Arc<EngineState>,
    news: UnboundedSender<RuleNews>,
    rules: BTreeMap<WorkspaceId, BTreeMap<RuleId, LiveRule>>,
    /// The row of the last event that was looked at.
    looked: u64,
    /// The same, as the store knows it.
    written: u64,
}

impl Matcher {
    /// It knows no rules until it runs.
    pub(super) fn new(shared: Arc<EngineState>, news: UnboundedSender<RuleNews>) -> Self {
        Self {
            shared,
            news,
            rules: BTreeMap::new(),
            looked: 0,
            written: 0,
        }
    }

    /// Never ends; after an error it pauses and loads position and rules anew.
    pub(super) async fn run(mut self) {
        loop {
            let error = match self.follow().await {
                Ok(never) => match never {},
                Err(error) => error,
            };
            let shared = self.shared.clone();
            shared.pause("the events could not be read", &error).await;
        }
    }

    /// The position is read before the rules: a rule that is made in between comes again with its event.
    async fn follow(&mut self) -> Result<std::convert::Infallible, WorkspaceError> {
        let shared = self.shared.clone();
        self.written = shared.store().considered_row().await?;
        self.looked = self.looked.max(self.written);
        self.load_rules().await?;
        loop {
            let events = shared
                .store()
                .events_all(self.looked, EVENTS_AT_ONCE)
                .await?;
            match events.last() {
                None => shared.store().changed_any(self.looked).await?,
                Some(&(last, _)) => self.consider(&events, last).await?,
            }
        }
    }

    /// Also after a change of a workspace, because rules of archived or deleted ones do not fire.
    async fn load_rules(&mut self) -> Result<(), WorkspaceError> {
        self.rules.clear();
        for rule in self.shared.store().enabled_rules().await? {
            self.put(rule);
        }
        Ok(())
    }

    /// Takes a rule as it is now.
    fn put(&mut self, rule: Rule) {
        let of_workspace = self.rules.entry(rule.draft.workspace_id).or_default();
        of_workspace.remove(&rule.rule_id);
        if !rule.draft.enabled {
            return;
        }
        match rule.draft.condition() {
            Ok(condition) => {
                of_workspace.insert(rule.rule_id, LiveRule { rule, condition });
            }
            Err(faults) => {
                let why: Vec<String> = faults.iter().map(ToString::to_string).collect();
                let why = why.join("; ");
                let message = format!("rule {} does not fire: {why}", rule.rule_id);
                self.shared.tell(&message);
            }
        }
    }

    /// Rules change where their events stand in the stream. Says whether this was such an event.
    async fn change_rules(&mut self, event: &StoredEvent) -> Result<bool, WorkspaceError> {
        let news = match event.event.subject() {
            EventSubject::Rule(RuleFact::Created(rule) | RuleFact::Updated(rule)) => {
                self.put(rule.clone());
                RuleNews::Changed(Box::new(rule.clone()))
            }
            EventSubject::Rule(RuleFact::Deleted(rule_id)) => {
                let of_workspace = self.rules.get_mut(&event.workspace_id);
                of_workspace.map(|rules| rules.remove(&rule_id));
                RuleNews::Deleted(rule_id)
            }
            EventSubject::Workspace(WorkspaceFact::Updated { .. }) => {
                self.load_rules().await?;
                RuleNews::Unknown
            }
            EventSubject::Workspace(WorkspaceFact::Created { .. })
            | EventSubject::Member(_)
            | EventSubject::Note(..)
            | EventSubject::Run(..)
            | EventSubject::Operation(_)
            | EventSubject::Issue(_)
            | EventSubject::Notice(_)
            | EventSubject::Hook(..)
            | EventSubject::Attachment(_) => return Ok(false),
        };
        // A scheduler that is gone needs no news.
        let _ = self.news.send(news);
        Ok(true)
    }

    /// Events in their order, each held against the rules as they are after it. What comes of the whole page is one
    /// write: either all its firings are durable with the position, or none is.
    async fn consider(
        &mut self,
        events: &[(u64, StoredEvent)],
        last: u64,
    ) -> Result<(), WorkspaceError> {
        let mut firings = vec![];
        let mut has_news = false;
        for (_, event) in events {
            has_news |= self.change_rules(event).await?;
            self.hear(&event.event);
            firings.extend(self.firings(event).await?);
        }
        let is_late = last.saturating_sub(self.written) >= UNWRITTEN_MAX;
        if has_news || is_late || !firings.is_empty() {
            self.write(last, firings).await?;
        }
        self.looked = last;
        Ok(())
    }

    /// Another engine on the same store is found out by the position: nothing of this write is made then.
    async fn write(&mut self, row: u64, firings: Vec<Fire>) -> Result<(), WorkspaceError> {
        let change = Change::Considered {
            after: self.written,
            row,
            firings,
        };
        match self.shared.write(change).await {
            Ok(_) => self.written = row,
            // Somebody else has looked at them: what came of it is in the store.
            Err(WorkspaceError::Refused(Refused::CursorMoved { found, .. })) => {
                self.written = found;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// What the stream says about runs is told to the runner, whoever wrote it.
    fn hear(&self, event: &WorkspaceEvent) {
        let EventSubject::Run(run_id, fact) = event.subject() else {
            return;
        };
        match fact {
            RunFact::Queued(_) => self.shared.queued.notify_one(),
            RunFact::Cancelled(_) => {
                self.shared.active.cancel(run_id);
                self.shared.queued.notify_one();
            }
            RunFact::Running | RunFact::Succeeded(_) | RunFact::Failed(_) => {}
        }
    }

    /// The note is loaded only where a rule has a trigger for the event. The depth is one more than that of the event.
    async fn firings(&self, event: &StoredEvent) -> Result<Vec<Fire>, WorkspaceError> {
        let meant = self.meant(event);
        if meant.is_empty() {
            return Ok(vec![]);
        }
        let note = self.note_of(event).await?;
        let facts = Facts {
            workspace_id: event.workspace_id,
            event_type: Some(event.event.name()),
            actor_type: Some(actor_type(&event.actor)),
            note: note.as_ref(),
            body: event.event.hook().map(|(_, body)| body),
            at: event.at,
        };
        let fire = |live: &LiveRule| Fire {
            run_id: run_of_firing(live.rule.rule_id, event.event_id),
            rule_id: live.rule.rule_id,
            triggering_event_id: event.event_id,
            depth: event.chain.depth.saturating_add(1),
            request: None,
        };
        let holds = |live: &&LiveRule| live.condition.holds(&facts);
        Ok(meant.into_iter().filter(holds).map(fire).collect())
    }

    /// The rules with a trigger for this event that were there when it happened.
    fn meant(&self, event: &StoredEvent) -> Vec<&LiveRule> {
        let name = event.event.name();
        let rules = self.rules.get(&event.workspace_id);
        let rules = rules.into_iter().flat_map(BTreeMap::values);
        let is_meant = |live: &&LiveRule| {
            let is_for_it = event
                .event
                .hook()
                .is_none_or(|(rule, _)| rule == live.rule.rule_id);
            is_for_it && live.rule.draft.trigger.answers(name) && live.rule.created_at <= event.at
        };
        rules.filter(is_meant).collect()
    }

    /// In the version that the event left, whatever became of it since.
    async fn note_of(&self, event: &StoredEvent) -> Result<Option<Note>, WorkspaceError> {
        match (event.note_id, event.version) {
            (Some(note), Some(version)) => self.shared.store().note_at(note, version).await,
            _ => Ok(None),
        }
    }
}

/// The words that conditions compare with.
fn actor_type(actor: &Actor) -> &'static str {
    match actor {
        Actor::User { .. } => "user",
        Actor::Agent { .. } => "agent",
        Actor::System => "system",
    }
}
