//! The memory of an agent that works in loops: keys and values that outlive a loop, a run and a process. It folds
//! out of the log like everything else; the file that a person sees is written from it.

mod state;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use state::State;
use state::States;

/// The keys that have a meaning to the loop itself.
pub const STATE_KEY: &str = "state";
/// What is left to be done, as the agent wrote it.
pub const STEPS_KEY: &str = "steps";
/// What the agent thought in earlier loops.
pub const THINK_LOG_KEY: &str = "think_log";
/// What the person asked for.
pub const USER_REQUEST_KEY: &str = "user_request";
/// The run that writes the memory; it is kept by the run itself.
pub const RUN_ID_KEY: &str = "run_id";

/// What a move is refused with that is not in the order of the states.
pub(crate) const STATE_TRANSITION_REFUSED: &str = "STATE_TRANSITION_REFUSED";

const KEY_BYTES_MAX: usize = 256;

/// Paging ends when the memory has shrunk to so many hundredths of where it began.
const PAGING_ENDS_AT_PERCENT: u64 = 80;

/// At so many times the size where paging begins nothing more is taken in.
const FULL_AT: u64 = 4;

/// Keys and values, sorted by key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    entries: BTreeMap<String, Value>,
}

/// What a person changed by hand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemoryEdit {
    /// Keys that have another value now, or are new.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
    /// Keys that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

impl MemoryEdit {
    /// Whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }
}

/// Why the memory does not take something in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MemoryFault {
    #[error(
        "there is no state {label:?}: use planning, executing, evaluating, idle, record_organizing or paging"
    )]
    UnknownState { label: String },
    #[error(
        "{}: from {} the agent goes on to {}, not to {}; it is still {}",
        STATE_TRANSITION_REFUSED, .from.as_str(), labels_of(.from.next()), .to.as_str(), .from.as_str()
    )]
    NoSuchMove { from: State, to: State },
    #[error("the key {key:?} is kept by the run itself: use another")]
    KeptKey { key: String },
    #[error("a key has at most {KEY_BYTES_MAX} bytes")]
    LongKey,
    #[error(
        "the memory would have {bytes} bytes and takes {max}: delete what is no longer needed with ram_delete, or keep it in a note"
    )]
    Full { bytes: u64, max: u64 },
}

impl MemoryFault {
    /// The stable code, where it has one.
    pub(crate) fn code(&self) -> Option<&'static str> {
        matches!(self, Self::NoSuchMove { .. }).then_some(STATE_TRANSITION_REFUSED)
    }
}

fn labels_of(states: &[State]) -> String {
    let labels: Vec<&str> = states.iter().map(|state| state.as_str()).collect();
    labels.join(" or ")
}

impl Memory {
    /// Reads a JSON object; `None` where it is none.
    pub fn read(text: &str) -> Option<Self> {
        let entries = serde_json::from_str(text).ok()?;
        Some(Self { entries })
    }

    /// All of them, those that the run itself keeps included.
    pub fn entries(&self) -> &BTreeMap<String, Value> {
        &self.entries
    }

    /// The value of one key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.get(key)
    }

    /// All entries as a JSON object.
    pub fn text(&self) -> String {
        // Keys are strings, so this cannot fail.
        serde_json::to_string(&self.entries).unwrap_or_default()
    }

    /// The size that paging goes by.
    pub fn bytes(&self) -> u64 {
        self.text().len() as u64
    }

    /// The states that are in force, in their order.
    pub fn states(&self) -> Vec<State> {
        self.kept_states().in_force()
    }

    /// Whether the agent says that nothing is left to do.
    pub fn is_idle(&self) -> bool {
        self.kept_states().has(State::Idle)
    }

    /// Whether nothing is left to be done.
    pub fn has_no_steps(&self) -> bool {
        match self.get(STEPS_KEY) {
            None | Some(Value::Null) => true,
            Some(Value::Array(steps)) => steps.is_empty(),
            Some(Value::Object(steps)) => steps.is_empty(),
            Some(Value::String(steps)) => steps.trim().is_empty(),
            Some(_) => false,
        }
    }

    /// What turns this memory into another one.
    pub fn edit_to(&self, other: &Self) -> MemoryEdit {
        let changed = |(key, value): &(&String, &Value)| self.entries.get(*key) != Some(*value);
        let set = other.entries.iter().filter(changed);
        let gone = |key: &&String| !other.entries.contains_key(*key);
        MemoryEdit {
            set: set
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            removed: self.entries.keys().filter(gone).cloned().collect(),
        }
    }

    /// Takes a change by hand in. Whoever sits before the file may write whatever fits into it, but for what names
    /// the run.
    pub fn edit(&mut self, edit: &MemoryEdit) {
        let is_kept = |key: &str| [USER_REQUEST_KEY, RUN_ID_KEY].contains(&key);
        for (key, value) in edit.set.iter().filter(|(key, _)| !is_kept(key)) {
            self.entries.insert(key.clone(), value.clone());
        }
        for key in edit.removed.iter().filter(|key| !is_kept(key)) {
            self.entries.remove(key);
        }
    }

    /// A run begins: who was idle plans.
    pub(crate) fn begin(&mut self, request: &str, run: &str) {
        let mut states = self.kept_states();
        if states.has(State::Idle) {
            states.add(State::Planning);
            self.keep_states(&states);
        }
        self.entries.insert(USER_REQUEST_KEY.into(), request.into());
        self.entries.insert(RUN_ID_KEY.into(), run.into());
    }

    pub(crate) fn end(&mut self) {
        self.entries.remove(USER_REQUEST_KEY);
        self.entries.remove(RUN_ID_KEY);
    }

    /// Sets a key. A value that is JSON is kept as that, any other as a text.
    pub(crate) fn add(
        &mut self,
        key: &str,
        value: &str,
        paging_bytes: u64,
    ) -> Result<(), MemoryFault> {
        check_key(key)?;
        if key == STATE_KEY {
            return self.set_states(value);
        }
        let mut then = self.clone();
        then.entries.insert(key.into(), value_of(value));
        let (bytes, max) = (then.bytes(), paging_bytes.saturating_mul(FULL_AT));
        if bytes > max && bytes > self.bytes() {
            return Err(MemoryFault::Full { bytes, max });
        }
        *self = then;
        Ok(())
    }

    /// Removes a key; says whether it was there.
    pub(crate) fn delete(&mut self, key: &str) -> Result<bool, MemoryFault> {
        check_key(key)?;
        Ok(self.entries.remove(key).is_some())
    }

    pub(crate) fn add_state(&mut self, label: &str) -> Result<(), MemoryFault> {
        let mut states = self.kept_states();
        states.add(known(label)?);
        self.keep_states(&states);
        Ok(())
    }

    pub(crate) fn delete_state(&mut self, label: &str) -> Result<bool, MemoryFault> {
        let state = known(label)?;
        let mut states = self.kept_states();
        let was_there = states.has(state);
        states.delete(state);
        self.keep_states(&states);
        Ok(was_there)
    }

    /// The one of the four states that holds.
    pub(crate) fn main_state(&self) -> State {
        self.kept_states().main()
    }

    /// Whether the agent may have come here from another state.
    pub(crate) fn check_move(&self, from: State) -> Result<(), MemoryFault> {
        let to = self.main_state();
        match from == to || from.next().contains(&to) {
            true => Ok(()),
            false => Err(MemoryFault::NoSuchMove { from, to }),
        }
    }

    /// Begins or ends a state that comes by itself; says whether that changed anything.
    pub(crate) fn settle(&mut self, state: State, holds: bool) -> bool {
        let mut states = self.kept_states();
        let held = states.has(state);
        match holds {
            true => states.add(state),
            false => states.delete(state),
        }
        self.keep_states(&states);
        held != holds
    }

    pub(crate) fn think(&mut self, log: &str) {
        self.entries.insert(THINK_LOG_KEY.into(), log.into());
    }

    /// Begins or ends paging, by the size.
    pub(crate) fn settle_paging(&mut self, paging_bytes: u64) {
        let bytes = self.bytes();
        let mut states = self.kept_states();
        let ends_at = paging_bytes.saturating_mul(PAGING_ENDS_AT_PERCENT) / 100;
        if bytes >= paging_bytes {
            states.add(State::Paging);
        } else if bytes <= ends_at {
            states.delete(State::Paging);
        }
        if states != self.kept_states() {
            self.keep_states(&states);
        }
    }

    fn set_states(&mut self, labels: &str) -> Result<(), MemoryFault> {
        let labels = labels.trim().trim_matches('"');
        for label in labels.split(',').filter(|label| !label.trim().is_empty()) {
            known(label)?;
        }
        self.keep_states(&States::read(labels));
        Ok(())
    }

    fn kept_states(&self) -> States {
        let labels = self.get(STATE_KEY).and_then(Value::as_str);
        States::read(labels.unwrap_or_default())
    }

    fn keep_states(&mut self, states: &States) {
        match states.labels() {
            Some(labels) => drop(self.entries.insert(STATE_KEY.into(), labels.into())),
            None => drop(self.entries.remove(STATE_KEY)),
        }
    }
}

fn known(label: &str) -> Result<State, MemoryFault> {
    State::of(label).ok_or_else(|| MemoryFault::UnknownState {
        label: label.chars().take(64).collect(),
    })
}

fn check_key(key: &str) -> Result<(), MemoryFault> {
    if key.len() > KEY_BYTES_MAX {
        return Err(MemoryFault::LongKey);
    }
    match [USER_REQUEST_KEY, RUN_ID_KEY].contains(&key) {
        true => Err(MemoryFault::KeptKey { key: key.into() }),
        false => Ok(()),
    }
}

/// JSON where a text is JSON. A number that would not be written back as it stands is kept as a text.
fn value_of(text: &str) -> Value {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Number(number)) if number.to_string() != text.trim() => text.into(),
        Ok(value) => value,
        Err(_) => text.into(),
    }
}
