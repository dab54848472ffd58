//! What was asked, where it holds a secret: the log keeps the secret's name, and the model is asked what was asked.
//!
//! A process that takes the run up knows the log alone, and asks with the name.

use bonded_kernel::{Image, Mask, Message, Run, Text};

/// What a run was asked, as its log has it.
#[derive(Debug)]
pub(crate) struct AskedGoal {
    /// Without secrets.
    pub(crate) text: Text,
    pub(crate) images: Vec<Image>,
}

impl AskedGoal {
    /// Whether a run was asked just that.
    pub(crate) fn is_of(&self, run: &Run) -> bool {
        *run.goal() == self.text && run.images() == self.images
    }
}

/// The goal and the system text as they were given, each with what the log has in its place.
#[derive(Debug)]
pub(crate) struct GoalTexts {
    goal: KeptText,
    system: KeptText,
}

/// What was given, and what the log has instead.
struct KeptText {
    text: Text,
    kept: Text,
}

/// Nobody sees it by accident.
impl std::fmt::Debug for KeptText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kept.fmt(f)
    }
}

impl KeptText {
    /// The same text twice, without a copy, where there is no secret in it.
    fn new(text: Text, mask: &Mask) -> Self {
        let kept = match mask.text(&text) {
            std::borrow::Cow::Owned(masked) => masked.into(),
            std::borrow::Cow::Borrowed(_) => text.clone(),
        };
        Self { text, kept }
    }
}

impl GoalTexts {
    /// `mask` is that of the run, so that it hides what its servers gave as well.
    pub(crate) fn new(goal: Text, system: Text, mask: &Mask) -> Self {
        Self {
            goal: KeptText::new(goal, mask),
            system: KeptText::new(system, mask),
        }
    }

    /// What the log keeps: the goal and the system text.
    pub(crate) fn kept(&self) -> (Text, Text) {
        (self.goal.kept.clone(), self.system.kept.clone())
    }

    /// `None` where the log keeps both as they are.
    pub(crate) fn unless_kept(self) -> Option<Self> {
        let is_kept = |it: &KeptText| it.text == it.kept;
        (!is_kept(&self.goal) || !is_kept(&self.system)).then_some(self)
    }

    /// The messages of a request, with the goal as it was given.
    pub(super) fn messages(&self, messages: &[Message]) -> Vec<Message> {
        let mut messages = messages.to_vec();
        let goal = messages.iter_mut().rev().find_map(|message| match message {
            Message::User { text, .. } if *text == self.goal.kept => Some(text),
            Message::User { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
        });
        if let Some(text) = goal {
            text.clone_from(&self.goal.text);
        }
        messages
    }

    /// The system text as it was given. What the kernel adds stands behind it.
    ///
    /// `None` where the request's text does not begin with what was kept; it is sent as it is then.
    pub(super) fn system(&self, system: &str) -> Option<String> {
        let added = system.strip_prefix(self.system.kept.as_str())?;
        Some(format!("{}{added}", self.system.text))
    }
}
