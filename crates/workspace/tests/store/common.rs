//! A store of its own, and short ways to write to it. Where it is kept is said by `place`.

use bonded_kernel::{Millis, NoteId, UserId, WorkspaceId};
use bonded_workspace::store::{
    CommittedWrite, IdempotencyKey, WorkspaceStore, Write, WriteOutcome,
};
use bonded_workspace_rules::{
    Actor, Chain, Change, NewNote, Note, NoteEdit, NoteWrite, Refused, Role,
};

use crate::place::Place;

pub(crate) const WORKSPACE: WorkspaceId = WorkspaceId::from_bytes([1; 16]);
pub(crate) const OWNER: UserId = UserId::from_bytes([2; 16]);

pub(crate) struct World {
    pub(crate) store: WorkspaceStore,
    pub(crate) place: Place,
}

/// A store with one workspace, whose owner is [`OWNER`].
pub(crate) async fn world() -> World {
    let place = Place::new().await;
    let store = place.open();
    let world = World { store, place };
    let change = Change::CreateWorkspace {
        workspace_id: WORKSPACE,
        name: "home".into(),
    };
    world.write(change).await.expect("the workspace is made");
    world
}

pub(crate) fn by(user: UserId, change: Change) -> Write {
    Write {
        actor: Actor::User { user_id: user },
        at: Millis(1_700_000_000_000),
        request_id: "test".into(),
        key: None,
        chain: Chain::default(),
        change,
    }
}

pub(crate) fn keyed(key: &str, change: Change) -> Write {
    let key = IdempotencyKey {
        scope: "notes".into(),
        key: key.into(),
    };
    Write {
        key: Some(key),
        ..by(OWNER, change)
    }
}

pub(crate) fn note_id(number: u64) -> NoteId {
    NoteId::derived(&[b"note", &number.to_le_bytes()])
}

pub(crate) fn new_note(number: u64, title: &str, markdown: &str) -> NewNote {
    NewNote {
        note_id: note_id(number),
        workspace_id: WORKSPACE,
        title: Some(title.into()),
        markdown: markdown.into(),
        note_kind: None,
        access_scope: Default::default(),
        keywords: vec![],
        metadata: Default::default(),
    }
}

pub(crate) fn edit(number: u64, base_version: u64, markdown: &str) -> Change {
    Change::UpdateNote(NoteWrite {
        note_id: note_id(number),
        base_version,
        edit: NoteEdit {
            markdown: Some(markdown.into()),
            ..NoteEdit::default()
        },
    })
}

impl World {
    /// Writes as the owner.
    pub(crate) async fn write(&self, change: Change) -> Result<CommittedWrite, Refused> {
        self.send(by(OWNER, change)).await
    }

    pub(crate) async fn send(&self, write: Write) -> Result<CommittedWrite, Refused> {
        self.store.write(write).await.map_err(|error| {
            let refused = error.refused().cloned();
            refused.unwrap_or_else(|| panic!("the store failed: {error}"))
        })
    }

    pub(crate) async fn add(&self, number: u64, title: &str, markdown: &str) -> Note {
        let written = self
            .write(Change::CreateNote(new_note(number, title, markdown)))
            .await
            .expect("the note is made");
        note(written)
    }

    pub(crate) async fn member(&self, number: u8, role: Role) -> UserId {
        let user_id = UserId::from_bytes([number; 16]);
        let change = Change::SetMember {
            workspace_id: WORKSPACE,
            user_id,
            role,
        };
        self.write(change).await.expect("the member is set");
        user_id
    }
}

/// The note that a write came to.
pub(crate) fn note(written: CommittedWrite) -> Note {
    match written.outcome {
        WriteOutcome::Note(note) => *note,
        other => panic!("no note: {other:?}"),
    }
}
