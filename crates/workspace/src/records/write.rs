//! Making and changing notes, and writing issues down. In reviewed mode nothing is changed: a person is asked.
//!
//! Ids are derived from the key of the call, so that a call which is repeated after a crash finds what it made instead
//! of making it again.

use crate::store::Page;
use bonded_kernel::{Invocation, Mode, NoteId, OperationId};
use bonded_tools::ToolFault;
use bonded_workspace_rules::{
    Actor, Change, Code, Issue, Metadata, NewNote, Note, NoteEdit, NoteWrite, Proposal,
    WorkspaceEvent,
};
use serde_json::{Value, json};

use super::{AGENT_CALL, Records, fault, note_of};

/// How far back the changes of a note are looked through for one that a call made before a crash.
const CHANGES_LOOKED_AT: u64 = 64;

/// Of the notes with one title so many are named.
const ALIKE_MAX: u64 = 10;

impl Records {
    /// A note that is already there under the derived id was made by this very call.
    pub(super) async fn add(
        &self,
        arguments: &Value,
        call: &Invocation,
    ) -> Result<Value, ToolFault> {
        let draft = Draft::read(word(arguments, "value"));
        let new = NewNote {
            note_id: NoteId::derived(&[b"record_add", call.key().as_bytes()]),
            workspace_id: self.scope.workspace_id,
            title: draft.title,
            markdown: draft.markdown.unwrap_or_default(),
            note_kind: draft.kind,
            access_scope: Default::default(),
            keywords: keywords(word(arguments, "keywords")),
            metadata: metadata_of(call),
        };
        if self.mode == Mode::Reviewed {
            return self.propose(call, Proposal::CreateNote(new)).await;
        }
        // The call may have been under way when its process died.
        if let Some(note) = self.store.note(new.note_id).await.map_err(fault)? {
            return Ok(self.shown(&note));
        }
        let written = self.write(call, Change::CreateNote(new)).await;
        let written = written.map_err(fault)?;
        match note_of(written) {
            Some(note) => self.made(&note).await,
            None => Ok(Value::Null),
        }
    }

    /// A note that was made, and the others that have its title.
    async fn made(&self, note: &Note) -> Result<Value, ToolFault> {
        let mut shown = self.shown(note);
        let mut alike = self.titled(&note.title).await?;
        alike.retain(|id| *id != note.note_id);
        if !alike.is_empty() {
            shown["same_title"] = json!(alike);
        }
        Ok(shown)
    }

    /// Titles need not be unique, and an agent that makes the same note again should see it.
    async fn titled(&self, title: &str) -> Result<Vec<NoteId>, ToolFault> {
        let workspace = self.scope.workspace_id;
        let found = self
            .store
            .notes_titled(workspace, title.to_owned(), ALIKE_MAX);
        found.await.map_err(fault)
    }

    /// The order matters: first which note is meant and whether the scope allows it, then whether this call changed it
    /// before a crash, and only then whether its version was read.
    pub(super) async fn update(
        &self,
        arguments: &Value,
        call: &Invocation,
    ) -> Result<Value, ToolFault> {
        let note = self.named(word(arguments, "key")).await?;
        if let Some(version) = self.made_before(&note, call).await? {
            return Ok(answer(&note, version));
        }
        let draft = Draft::read(word(arguments, "value"));
        if let Some(kind) = &draft.kind {
            let allowed = self.scope.check_create(kind, 0);
            allowed.map_err(|it| ToolFault::new(it.code.as_str(), it.message))?;
        }
        let write = NoteWrite {
            note_id: note.note_id,
            base_version: self.read_version(&note, call).await?,
            edit: NoteEdit {
                title: draft.title,
                markdown: draft.markdown,
                note_kind: draft.kind,
                metadata: metadata_of(call),
                ..NoteEdit::default()
            },
        };
        if self.mode == Mode::Reviewed {
            return self.propose(call, Proposal::UpdateNote(write)).await;
        }
        let written = self.write(call, Change::UpdateNote(write)).await;
        let written = written.map_err(fault)?;
        Ok(note_of(written).map_or(Value::Null, |note| self.shown(&note)))
    }

    /// Not held back in reviewed mode: it changes no note. Metadata that is no JSON is kept as text.
    pub(super) async fn issue(
        &self,
        arguments: &Value,
        call: &Invocation,
    ) -> Result<Value, ToolFault> {
        let metadata = word(arguments, "metadata");
        let metadata = serde_json::from_str(metadata).unwrap_or_else(|_| metadata.into());
        let issue = Issue {
            key: word(arguments, "key").to_owned(),
            value: word(arguments, "value").to_owned(),
            metadata,
            run_id: Some(call.run().clone()),
        };
        let workspace_id = self.scope.workspace_id;
        let change = Change::RecordIssue {
            workspace_id,
            issue,
        };
        self.write(call, change).await.map_err(fault)?;
        Ok(json!({ "status": "recorded" }))
    }

    /// An operation that is known under the derived id was proposed by this very call.
    async fn propose(&self, call: &Invocation, proposal: Proposal) -> Result<Value, ToolFault> {
        let operation_id = OperationId::derived(&[b"operation", call.key().as_bytes()]);
        let known = self.store.operation(operation_id).await.map_err(fault)?;
        if known.is_none() {
            let workspace_id = self.scope.workspace_id;
            let change = Change::Propose {
                operation_id,
                workspace_id,
                proposal,
            };
            self.write(call, change).await.map_err(fault)?;
        }
        Ok(json!({
            "status": "proposed",
            "operation_id": operation_id,
            "told": "a person will apply or reject it; nothing was changed yet"
        }))
    }

    /// The note that a key names: its id, or its exact title in the workspace.
    async fn named(&self, key: &str) -> Result<Note, ToolFault> {
        let found = match key.parse() {
            Ok(id) => Some(id),
            Err(_) => self.only_titled(key).await?,
        };
        let note = match found {
            Some(id) => self.store.note(id).await.map_err(fault)?,
            None => None,
        };
        let is_meant = |note: &Note| note.title == key || key.parse() == Ok(note.note_id);
        let note = note.filter(|note| note.deleted_at.is_none() && is_meant(note));
        let note = note.ok_or_else(|| {
            let why = "no note has this id or exactly this title; find it with record_search";
            ToolFault::new(Code::NoteNotFound.as_str(), why)
        })?;
        let checked = self
            .scope
            .check_update(&note.workspace_id, &note.note_kind, 0);
        checked.map_err(|it| ToolFault::new(it.code.as_str(), it.message))?;
        Ok(note)
    }

    /// The one note with this title. Which of several is meant is not for us to guess.
    async fn only_titled(&self, title: &str) -> Result<Option<NoteId>, ToolFault> {
        let found = self.titled(title).await?;
        match found[..] {
            [] => Ok(None),
            [id] => Ok(Some(id)),
            _ => {
                let ids: Vec<String> = found.iter().map(NoteId::to_string).collect();
                let message = format!(
                    "several notes have the title {title:?}, so nothing was changed: {}. Name the one that you mean \
                     by its id",
                    ids.join(", ")
                );
                Err(ToolFault::new(Code::AmbiguousTitle.as_str(), message))
            }
        }
    }

    /// The version that this very call made before its process died, if it did.
    async fn made_before(&self, note: &Note, call: &Invocation) -> Result<Option<u64>, ToolFault> {
        let page = Page {
            limit: CHANGES_LOOKED_AT,
            offset: 0,
        };
        let history = self.store.history(note.note_id, page).await;
        let history = history.map_err(fault)?;
        let is_own =
            |actor: &Actor| matches!(actor, Actor::Agent { run_id, .. } if run_id == call.run());
        let made = history.iter().filter(|it| is_own(&it.actor)).find(|it| {
            let WorkspaceEvent::NoteUpdated(updated) = &it.event else {
                return false;
            };
            updated.metadata.get(AGENT_CALL) == Some(&call.key().into())
        });
        Ok(made.and_then(|it| it.version))
    }

    /// What the run wrote it knows, and may change again at once.
    fn shown(&self, note: &Note) -> Value {
        self.seen.wrote(note);
        answer(note, note.version)
    }
}

/// What the agent is told of a write, in a form that `SeenNotes` can recall from the log.
fn answer(note: &Note, version: u64) -> Value {
    json!({ "note_id": note.note_id, "title": note.title, "version": version })
}

/// The mark by which a call finds its own write again.
fn metadata_of(call: &Invocation) -> Metadata {
    Metadata::from([(AGENT_CALL.to_owned(), call.key().into())])
}

/// The schema has made sure that it is there and a text.
fn word<'a>(arguments: &'a Value, name: &str) -> &'a str {
    arguments[name].as_str().unwrap_or_default()
}

/// Agents write them with commas between.
fn keywords(written: &str) -> Vec<String> {
    let words = written.split(',').map(str::trim);
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// A note as an agent writes it: text, or JSON with title and markdown.
#[derive(Default)]
struct Draft {
    title: Option<String>,
    markdown: Option<String>,
    kind: Option<String>,
}

impl Draft {
    /// JSON without a title or a text is taken for text, because a note may well be about JSON.
    fn read(written: &str) -> Self {
        let parsed: Option<Value> = serde_json::from_str(written).ok();
        let object = parsed.as_ref().and_then(Value::as_object);
        let is_note = |it: &&serde_json::Map<String, Value>| {
            it.contains_key("title") || it.contains_key("markdown")
        };
        let Some(note) = object.filter(is_note) else {
            return Self {
                markdown: Some(written.to_owned()),
                ..Self::default()
            };
        };
        let text = |name: &str| note.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            title: text("title").filter(|title| !title.trim().is_empty()),
            markdown: text("markdown"),
            kind: text("kind").or_else(|| text("note_kind")),
        }
    }
}
