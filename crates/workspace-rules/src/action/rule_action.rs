//! What every kind of action says of itself.

use bonded_kernel::{FormKind, FormRow};

/// What a person asks of a run.
pub(super) const REQUEST: FormKind = FormKind::Text {
    bytes_max: 64 << 10,
};

/// The field that says which kind of action it is. It has been read when the others are.
pub(super) const KIND: FormRow =
    FormRow::new("kind", FormKind::AnyText, "What the rule does").required();

/// An action of one kind. Nothing here has a default, so that a new kind has to answer all of it.
pub(super) trait RuleAction {
    /// Whether its run is asked something, by the action or by the person who launches the rule.
    const IS_ASKED: bool;

    /// What it needs around it.
    fn needs(&self) -> ActionNeeds<'_>;

    /// What it does, in words that follow "when …,".
    fn words(&self) -> String;
}

/// What an action needs around it.
pub(super) struct ActionNeeds<'a> {
    /// What the run is asked, where the action says it.
    pub(super) request: Option<&'a str>,
    /// What no other run may use while this one goes on, as the action names it.
    pub(super) exclusive: Option<Resource<'a>>,
    /// The prompt file that is read before a rule with the action is taken.
    pub(super) prompt_path: Option<&'a str>,
    /// What it wants of the note that the event is about.
    pub(super) note: NeedsNote,
    /// Whether it signs what it sends, with the secret of its rule.
    pub(super) is_signed: bool,
}

/// What an action wants of the note that the event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeedsNote {
    /// It works without one.
    No,
    /// It changes the note, so that there must be one.
    ToChange,
}

/// Something that one run uses at a time, by the name that a rule has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource<'a> {
    /// The memory of an agent.
    Memory(&'a str),
    /// The tree that a plan changes.
    Tree(&'a str),
}
