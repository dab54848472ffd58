//! The states of an agent that works in loops: one of four, and what lies over it.

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// What is to be done is thought over; who is in no other state is in this one.
    Planning,
    /// The steps are done.
    Executing,
    /// What was done is looked at.
    Evaluating,
    /// Nothing is left to do: the loop rests.
    Idle,
    /// Over one of the four: notes are put in order.
    RecordOrganizing,
    /// Over one of the four: the memory is too large and must shrink.
    Paging,
}

impl State {
    /// In the order in which an agent goes through them.
    pub const ALL: [Self; 6] = [
        Self::Planning,
        Self::Executing,
        Self::Evaluating,
        Self::Idle,
        Self::RecordOrganizing,
        Self::Paging,
    ];

    /// The label by which memory, prompts and instructions name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Executing => "executing",
            Self::Evaluating => "evaluating",
            Self::Idle => "idle",
            Self::RecordOrganizing => "record_organizing",
            Self::Paging => "paging",
        }
    }

    /// Reads a label; blanks around it do not matter.
    pub fn of(label: &str) -> Option<Self> {
        let label = label.trim();
        Self::ALL.into_iter().find(|state| state.as_str() == label)
    }

    /// Whether it excludes the others of its kind.
    pub(crate) fn is_exclusive(self) -> bool {
        !matches!(self, Self::RecordOrganizing | Self::Paging)
    }

    /// What an agent may go on to: once around, and idle from anywhere when it sees nothing to do.
    pub(super) fn next(self) -> &'static [Self] {
        match self {
            Self::Planning => &[Self::Executing, Self::Idle],
            Self::Executing => &[Self::Evaluating, Self::Idle],
            Self::Evaluating => &[Self::Planning, Self::Idle],
            Self::Idle => &[Self::Planning],
            Self::RecordOrganizing | Self::Paging => &[],
        }
    }
}

/// States in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct States(Vec<State>);

impl States {
    /// Labels between commas. Those that nobody knows are left out.
    pub(super) fn read(labels: &str) -> Self {
        let mut states = Self::default();
        labels
            .split(',')
            .filter_map(State::of)
            .for_each(|state| states.add(state));
        states
    }

    pub(super) fn add(&mut self, state: State) {
        if state.is_exclusive() {
            self.0.retain(|other| !other.is_exclusive());
        }
        if !self.0.contains(&state) {
            self.0.push(state);
        }
    }

    pub(super) fn delete(&mut self, state: State) {
        self.0.retain(|other| *other != state);
    }

    pub(super) fn has(&self, state: State) -> bool {
        self.0.contains(&state)
    }

    /// The one of the four that holds: who is in none of them plans.
    pub(super) fn main(&self) -> State {
        let main = self.0.iter().find(|state| state.is_exclusive());
        main.copied().unwrap_or(State::Planning)
    }

    /// The labels as they are kept; `None` where there is none.
    pub(super) fn labels(&self) -> Option<String> {
        let labels: Vec<&str> = self.0.iter().map(|state| state.as_str()).collect();
        (!labels.is_empty()).then(|| labels.join(","))
    }

    /// What holds: who is in no state plans.
    pub(super) fn in_force(mut self) -> Vec<State> {
        if !self.0.iter().any(|state| state.is_exclusive()) {
            self.0.insert(0, State::Planning);
        }
        self.0
    }
}
