//! The fields that a condition can ask about.
//!
//! Names are checked when a rule is saved, so that a misspelt one is a fault and not a condition that never holds. Only
//! keys of metadata are free.

use std::borrow::Cow;

use bonded_kernel::Millis;
use serde_json::Value;

use super::facts::Facts;
use crate::note::title_from_clock;

/// A field by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Plain(Plain),
    /// `note.metadata.KEY`
    Metadata(String),
    /// `event.body.KEY`, where a dot leads into what the key holds.
    Body(String),
}

/// The fields whose names are fixed. The names are in `PLAIN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    Workspace,
    EventType,
    ActorType,
    At,
    NoteId,
    Title,
    Markdown,
    Kind,
    Keywords,
    Version,
    AccessScope,
}

pub(super) const PLAIN: [(&str, Plain); 11] = [
    ("workspace_id", Plain::Workspace),
    ("event.type", Plain::EventType),
    ("event.actor_type", Plain::ActorType),
    ("trigger.at", Plain::At),
    ("note.id", Plain::NoteId),
    ("note.title", Plain::Title),
    ("note.markdown", Plain::Markdown),
    ("note.kind", Plain::Kind),
    ("note.keywords", Plain::Keywords),
    ("note.version", Plain::Version),
    ("note.access_scope", Plain::AccessScope),
];

pub(super) const METADATA: &str = "note.metadata.";
pub(super) const BODY: &str = "event.body.";

/// The fields whose keys are free, as they are written.
pub(super) const FREE: [&str; 2] = ["note.metadata.KEY", "event.body.KEY"];

/// What values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Id,
    Text,
    Texts,
    Number,
    Anything,
}

/// The value that a field has in some facts.
pub(super) enum FieldValue<'a> {
    Text(Cow<'a, str>),
    Texts(&'a [String]),
    Number(u64),
    Json(&'a Value),
}

impl Field {
    /// None for a name that is no field, and for metadata without a key.
    pub(super) fn named(name: &str) -> Option<Self> {
        if let Some(key) = name.strip_prefix(METADATA) {
            return (!key.is_empty()).then(|| Self::Metadata(key.to_owned()));
        }
        if let Some(path) = name.strip_prefix(BODY) {
            let is_path = path.split('.').all(|key| !key.is_empty());
            return is_path.then(|| Self::Body(path.to_owned()));
        }
        let plain = PLAIN.iter().find(|(known, _)| *known == name);
        plain.map(|(_, field)| Self::Plain(*field))
    }

    /// As it is written in a rule.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Metadata(key) => format!("{METADATA}{key}"),
            Self::Body(path) => format!("{BODY}{path}"),
            Self::Plain(field) => {
                let found = PLAIN.iter().find(|(_, known)| known == field);
                found.map_or("", |(name, _)| name).to_owned()
            }
        }
    }

    /// Known without any facts, so that a comparison is judged when its rule is saved.
    pub(super) fn sort(&self) -> Sort {
        match self {
            Self::Plain(Plain::Workspace | Plain::NoteId) => Sort::Id,
            Self::Plain(Plain::Keywords) => Sort::Texts,
            Self::Plain(Plain::Version) => Sort::Number,
            Self::Plain(
                Plain::EventType
                | Plain::ActorType
                | Plain::At
                | Plain::Title
                | Plain::Markdown
                | Plain::Kind
                | Plain::AccessScope,
            ) => Sort::Text,
            Self::Metadata(_) | Self::Body(_) => Sort::Anything,
        }
    }

    /// None where the facts have no such field, such as that of a note for a schedule.
    pub(super) fn of<'a>(&self, facts: &Facts<'a>) -> Option<FieldValue<'a>> {
        let note = facts.note;
        let field = match self {
            Self::Metadata(key) => return Some(FieldValue::Json(note?.metadata.get(key)?)),
            Self::Body(path) => {
                let found = path.split('.').try_fold(facts.body?, |it, key| it.get(key));
                return found.map(FieldValue::Json);
            }
            Self::Plain(field) => field,
        };
        let borrowed = |text: &'a str| FieldValue::Text(text.into());
        let owned = |text: String| FieldValue::Text(text.into());
        Some(match field {
            Plain::Workspace => owned(facts.workspace_id.to_string()),
            Plain::EventType => borrowed(facts.event_type?),
            Plain::ActorType => borrowed(facts.actor_type?),
            Plain::At => owned(rfc3339(facts.at)),
            Plain::NoteId => owned(note?.note_id.to_string()),
            Plain::Title => borrowed(&note?.title),
            Plain::Markdown => borrowed(&note?.markdown),
            Plain::Kind => borrowed(&note?.note_kind),
            Plain::Keywords => FieldValue::Texts(&note?.keywords),
            Plain::Version => FieldValue::Number(note?.version),
            Plain::AccessScope => borrowed(note?.access_scope.as_str()),
        })
    }
}

/// UTC with milliseconds: texts of this form are in the order of time.
fn rfc3339(at: Millis) -> String {
    let seconds = title_from_clock(at).replacen(' ', "T", 1);
    format!("{seconds}.{:03}Z", at.0 % 1000)
}
