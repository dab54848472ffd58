//! A run whose turns are made from a memory: what the next one shows, and what a person changes in between.

use super::{Run, RunPhase};
use crate::memory::{Memory, MemoryEdit};
use crate::model::Message;
use crate::profile::LoopAudit;
use crate::prompt::Conversation;

impl Run {
    /// The memory, where the run works in loops.
    pub fn memory(&self) -> Option<&Memory> {
        self.standing.memory()
    }

    /// What is kept of a run that works in loops.
    pub fn audit_of_loop(&self) -> Option<LoopAudit> {
        self.standing.audit(self.turn, self.termination())
    }

    /// Whether the log keeps what the model wrote.
    pub fn keeps_text(&self) -> bool {
        self.profile().keeps_text()
    }

    /// Makes the one message of the next turn.
    pub(super) fn compose(&mut self) {
        let Some(text) = self.standing.compose(&self.setup.started) else {
            return;
        };
        let system = self.standing.system().unwrap_or(&self.setup.started.system);
        let message = Message::user(text);
        self.meter.restart(system, &message);
        let mut conversation = Conversation::default();
        conversation.push(message);
        let system_bytes = system.len() as u64;
        self.tally.ledger.restart(system_bytes, &conversation);
        self.dialogue.conversation = conversation;
    }

    /// A turn is over: what it leaves is what the next one is made from.
    pub(super) fn turn_over(&mut self) {
        if let Some(left) = self.standing.turn_over(self.tally.watch.last_at) {
            self.tally.progress.turn_over(&left.results, &left.memory);
            self.compose();
        }
        self.hear_person();
    }

    pub(super) fn memory_edited(&mut self, edit: &MemoryEdit) {
        let has_memory = self.standing.edited(edit);
        // A turn that is open goes on with what it began with.
        if has_memory && matches!(self.phase, RunPhase::Between) {
            self.compose();
        }
    }
}
