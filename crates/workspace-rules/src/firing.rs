//! Firings: a rule and what set it off. The names of both give the name of the run, so that nothing fires twice.

use bonded_kernel::{EventId, Millis, RuleId, RunId};

/// The event that an instant of a schedule stands for.
pub fn firing_event_id(rule: RuleId, instant: Millis) -> EventId {
    EventId::derived(&[b"instant", rule.as_bytes(), &instant.0.to_le_bytes()])
}

/// The run of a rule that was set off by this event.
pub fn run_of_firing(rule: RuleId, event: EventId) -> RunId {
    let id = EventId::derived(&[b"run", rule.as_bytes(), event.as_bytes()]);
    RunId::new(&id.to_string()).expect("hexadecimal digits and hyphens name a run")
}
