//! The actions `add_keyword`, `move` and `notify`: one write each, in the name of the run.
//!
//! A write has the name of its run as its key, so that a run which is taken up after a crash writes nothing twice. What a
//! run writes stands in the chain of what set its rule off, as what an agent writes does.

use std::sync::Arc;

use bonded_host::Clock;
use bonded_workspace_rules::{
    Actor, AddKeywordAction, Chain, Change, Code, MoveAction, Note, Notice, NotifyAction,
};
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::firing::{Firing, Performed, Performs};
use crate::store::{CommittedWrite, IdempotencyKey, WorkspaceError, WorkspaceStore, Write};

/// Writes what plain actions say.
pub struct PlainActions {
    /// Where it is written.
    pub store: Arc<WorkspaceStore>,
    /// For the time of the write.
    pub clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for PlainActions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlainActions")
    }
}

impl PlainActions {
    /// A store that fails may work again: the run waits, and is taken up later.
    async fn write(&self, firing: &Firing, change: Change) -> Result<CommittedWrite, Performed> {
        let run = &firing.run;
        let write = Write {
            actor: Actor::Agent {
                run_id: run.run_id.clone(),
                rule_id: run.rule_id,
            },
            at: self.clock.now(),
            request_id: "rules".into(),
            key: Some(IdempotencyKey {
                scope: "rule run".into(),
                key: run.run_id.to_string(),
            }),
            chain: Chain {
                depth: run.depth,
                cause: Some(run.triggering_event_id),
            },
            change,
        };
        self.store.write(write).await.map_err(|error| match error {
            WorkspaceError::Refused(refused) => {
                Performed::failed(refused.code(), &refused.to_string())
            }
            WorkspaceError::Store(_) => Performed::Waits,
        })
    }

    /// What came of a change of the note, for the history of the run.
    async fn change_note(&self, firing: &Firing, change: Change) -> Result<Performed, Performed> {
        let note_id = note_of(firing).map_err(|none| *none)?.note_id;
        let written = self.write(firing, change).await?;
        let version = written.events.iter().find_map(|event| event.version);
        Ok(Performed::succeeded(json!({
            "note_id": note_id,
            "changed": version.is_some(),
            "version": version,
        })))
    }
}

/// A launch by hand may name no event, or one that is about no note.
fn note_of(firing: &Firing) -> Result<&Note, Box<Performed>> {
    firing.note.as_ref().ok_or_else(|| {
        let kind = firing.action.kind();
        let message = format!(
            "{kind} changes the note of an event, and this run has none: launch the rule with the event of a note"
        );
        Box::new(Performed::failed(Code::NoteNotFound, &message))
    })
}

/// Both ways out are how the run was performed.
fn either(performed: Result<Performed, Performed>) -> Performed {
    performed.unwrap_or_else(|performed| performed)
}

impl Performs<AddKeywordAction> for PlainActions {
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a AddKeywordAction,
        _: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        Box::pin(async move {
            let change = note_of(firing).map(|note| Change::AddKeyword {
                note_id: note.note_id,
                keyword: action.keyword.clone(),
            });
            match change {
                Ok(change) => either(self.change_note(firing, change).await),
                Err(performed) => *performed,
            }
        })
    }
}

impl Performs<MoveAction> for PlainActions {
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a MoveAction,
        _: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        Box::pin(async move {
            let change = note_of(firing).map(|note| Change::MoveNote {
                note_id: note.note_id,
                folder: action.folder.clone(),
            });
            match change {
                Ok(change) => either(self.change_note(firing, change).await),
                Err(performed) => *performed,
            }
        })
    }
}

impl Performs<NotifyAction> for PlainActions {
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        action: &'a NotifyAction,
        _: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        let change = Change::PostNotice {
            workspace_id: firing.run.workspace_id,
            notice: Notice {
                title: action.title.clone(),
                message: action.message.clone(),
                note_id: firing.note.as_ref().map(|note| note.note_id),
                rule_id: None,
                run_id: None,
            },
        };
        Box::pin(async move {
            match self.write(firing, change).await {
                Ok(written) => {
                    let notice = written.events.first().map(|event| event.event_id);
                    Performed::succeeded(json!({ "notice_id": notice }))
                }
                Err(performed) => performed,
            }
        })
    }
}
