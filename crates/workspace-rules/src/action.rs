//! What a rule does when it fires: a loop of the agent, a run of an agent file, a plan of work items, or something plain
//! that needs no model.
//!
//! An action is kept as its author wrote it and read again whenever its rule fires, so that what it leaves open follows
//! the defaults of the host at that time. Reading never stops at the first fault. A new kind of action is one line of
//! the table below, a type that implements `RuleAction`, and a function that reads its fields.

mod loop_form;
mod looping;
mod path;
mod plain;
mod rule_action;
mod run;
mod webhook;
mod work;

use bonded_kernel::{FormRow, Mistake, WorkspaceId, form_schema};
use serde::Serialize;
use serde_json::{Value, json};

use super::fault::{Fault, RuleFields};
use super::surroundings::Surroundings;
use rule_action::{ActionNeeds, REQUEST, RuleAction};

pub use looping::{LoopAction, memory_name};
pub use plain::{AddKeywordAction, MoveAction, NotifyAction};
pub use rule_action::{NeedsNote, Resource};
pub use run::RunAction;
pub use webhook::WebhookAction;
pub use work::WorkAction;

/// Each line is a kind of action: its variant, the name that rules have for it, what reads its fields, and their form. All that is
/// done by kind follows from here; what a kind says of itself is its `RuleAction`.
macro_rules! actions {
    ($($(#[$doc:meta])* $variant:ident($action:ty) = $kind:literal, $read:path, $form:path;)*) => {
        /// What a rule does.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "kind")]
        pub enum Action {
            $($(#[$doc])* #[serde(rename = $kind)] $variant($action),)*
        }

        const KINDS: &[&str] = &[$($kind,)*];
        const FORMS: &[(&str, &[FormRow])] = &[$(($kind, $form),)*];

        impl Action {
            /// The name that rules have for it.
            pub const fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $kind,)*
                }
            }

            fn needs(&self) -> ActionNeeds<'_> {
                match self {
                    $(Self::$variant(action) => action.needs(),)*
                }
            }

            /// What it does, in words that follow "when …,".
            pub fn words(&self) -> String {
                match self {
                    $(Self::$variant(action) => action.words(),)*
                }
            }
        }

        /// Whether runs of actions of a kind are asked something.
        fn is_asked(kind: &str) -> bool {
            match kind {
                $($kind => <$action as RuleAction>::IS_ASKED,)*
                _ => false,
            }
        }

        fn read_of_kind(
            kind: &str,
            fields: &mut RuleFields<'_, '_>,
            workspace: &WorkspaceId,
            host: &dyn Surroundings,
        ) -> Option<Action> {
            match kind {
                $($kind => $read(fields, workspace, host).map(Action::$variant),)*
                other => {
                    let kinds = KINDS.iter().copied();
                    fields.fault("kind", Mistake::unknown_word(other, kinds));
                    None
                }
            }
        }
    };
}

actions! {
    /// A run of the agent, one loop after the other.
    Loop(Box<LoopAction>) = "kjxlkj_agent", looping::read, loop_form::FORM;
    /// A run of an agent file with a goal.
    Run(RunAction) = "run", run::read, run::FORM;
    /// A plan of work items on a tree.
    Work(WorkAction) = "work", work::read, work::FORM;
    /// One more keyword for the note.
    AddKeyword(AddKeywordAction) = "add_keyword", plain::read_add_keyword, plain::ADD_KEYWORD;
    /// Another folder for the note.
    Move(MoveAction) = "move", plain::read_move, plain::MOVE;
    /// A notice for people.
    Notify(NotifyAction) = "notify", plain::read_notify, plain::NOTIFY;
    /// A message to another server.
    Webhook(WebhookAction) = "webhook", webhook::read, webhook::FORM;
}

impl Action {
    /// What the run is asked, where the action says it.
    pub fn request(&self) -> Option<&str> {
        self.needs().request
    }

    /// What no other run may use while this one goes on, as the action names it.
    pub fn exclusive(&self) -> Option<Resource<'_>> {
        self.needs().exclusive
    }

    /// The prompt file that is read before a rule with the action is taken.
    pub fn prompt_path(&self) -> Option<&str> {
        self.needs().prompt_path
    }

    /// What the action wants of the note that the event is about.
    pub fn needs_note(&self) -> NeedsNote {
        self.needs().note
    }

    /// Whether it signs what it sends, with the secret of its rule.
    pub fn is_signed(&self) -> bool {
        self.needs().is_signed
    }

    /// Reads the action of a rule of a workspace. Either all is well, or everything that is not comes back.
    pub fn read(
        written: &Value,
        workspace: &WorkspaceId,
        host: &dyn Surroundings,
    ) -> Result<Self, Vec<Fault>> {
        let mut faults = vec![];
        let action = read(written, "", workspace, host, &mut faults);
        match action {
            Some(action) if faults.is_empty() => Ok(action),
            _ => Err(faults),
        }
    }
}

/// An action as JSON Schema: the fields that its kind has.
pub(super) fn schema() -> Value {
    let of_kind = |(kind, form): &(&str, &[FormRow])| {
        let mut schema = form_schema(form);
        schema["properties"]["kind"] = json!({ "const": kind });
        schema
    };
    let kinds: Vec<Value> = FORMS.iter().map(of_kind).collect();
    json!({
        "type": "object",
        "properties": { "kind": { "enum": KINDS } },
        "required": ["kind"],
        "oneOf": kinds,
    })
}

/// What a person may say who launches a rule.
const LAUNCH: &[FormRow] = &[FormRow::new("request", REQUEST, "What the run is asked")];

/// Whether a run of this action may be asked this in place of what the action says.
pub(super) fn check_request(written: &Value, request: &str) -> Result<(), String> {
    let kind = written["kind"].as_str().unwrap_or_default();
    if !is_asked(kind) {
        return Err(format!(
            "the action {kind} asks no agent: launch the rule without a request"
        ));
    }
    let mut faults: Vec<Fault> = vec![];
    let given = json!({ "request": request });
    if let Some(mut fields) = RuleFields::of(&given, "", &mut faults) {
        fields.hold_to(LAUNCH);
        fields.text_row("request");
    }
    match faults.first() {
        None => Ok(()),
        Some(fault) => Err(fault.to_string()),
    }
}

/// Reads the action at a pointer. Whatever was found wrong is in `faults`.
/// The faults may belong to an action that comes back all the same: whoever calls it looks at `faults` before using it.
pub(super) fn read(
    written: &Value,
    at: &str,
    workspace: &WorkspaceId,
    host: &dyn Surroundings,
    faults: &mut Vec<Fault>,
) -> Option<Action> {
    let mut fields = RuleFields::of(written, at, faults)?;
    let kind = fields.required_text("kind", 256)?;
    read_of_kind(kind, &mut fields, workspace, host)
}
