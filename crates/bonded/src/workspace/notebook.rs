//! A workspace on this machine, for commands: its store and which workspace is meant.
//!
//! It asks no server and knows no users: whoever can open the files may do everything. A server that runs meanwhile
//! sees what is written here at its next look into the store.

use std::sync::Arc;

use bonded_kernel::{Millis, NoteId};
use bonded_workspace::config::HostSurroundings;
use bonded_workspace::store::{CommittedWrite, StoredRule, WorkspaceStore, Write};
use bonded_workspace_rules::{Actor, Chain, Change, Note, Rule, Workspace};

use crate::agents;
use crate::args::PlaceArgs;
use crate::error::{CliError, Code, store_error};
use crate::settings::prefix;
use bonded_serve::workspace::clock::now;
use bonded_serve::workspace::configured::Configured;
use bonded_serve::workspace::data_dir::DataDir;

/// One workspace, with what its rules are checked against.
#[derive(Debug)]
pub(crate) struct Notebook {
    pub(crate) store: Arc<WorkspaceStore>,
    pub(crate) workspace: Workspace,
    pub(crate) surroundings: Arc<HostSurroundings>,
}

impl Notebook {
    /// Without a name, the oldest workspace is meant. Two of the same name are distinguished by their ids.
    pub(crate) async fn open(place: &PlaceArgs) -> Result<Self, CliError> {
        let dir = DataDir::open(&place.data.data)?;
        let store = dir.open_store_to_read()?;
        let all = store.all_workspaces().await.map_err(store_error)?;
        let mut configured = Configured::read(&dir, agents::variables())?;
        configured.is_first(all.first());
        let workspace = match &place.workspace {
            None => all.into_iter().next(),
            Some(named) => {
                let is_it =
                    |it: &Workspace| it.workspace_id.to_string() == *named || it.name == *named;
                all.into_iter().find(is_it)
            }
        };
        let workspace = workspace.ok_or_else(|| {
            let named = place.workspace.as_deref().unwrap_or_default();
            CliError::new(
                Code::Refused,
                format!("WORKSPACE_NOT_FOUND: there is no workspace {named:?}"),
            )
        })?;
        Ok(Self {
            store,
            workspace,
            surroundings: configured.surroundings,
        })
    }

    /// Makes a change as whoever has the files.
    pub(crate) async fn write(&self, change: Change) -> Result<CommittedWrite, CliError> {
        self.write_at(change, now()).await
    }

    /// The same at a time of the past, for what is read back from files.
    pub(crate) async fn write_at(
        &self,
        change: Change,
        at: Millis,
    ) -> Result<CommittedWrite, CliError> {
        let write = by_keeper(change, at);
        self.store.write(write).await.map_err(store_error)
    }

    /// The note that a person means by an id, a title, or the beginning of an id.
    /// A title counts more than a beginning: it is what people give their notes themselves.
    pub(crate) async fn note(&self, named: &str) -> Result<Note, CliError> {
        let id = match named.parse::<NoteId>() {
            Ok(id) => Some(id),
            Err(_) => {
                let workspace = self.workspace.workspace_id;
                let found = self.store.link_target(workspace, named.to_owned()).await;
                match found.map_err(store_error)? {
                    Some(id) => Some(id),
                    None => self.note_beginning(named).await?,
                }
            }
        };
        let note = match id {
            Some(id) => self.store.note(id).await.map_err(store_error)?,
            None => None,
        };
        // An id names a note of any workspace, and only one is meant.
        let own = note.filter(|note| note.workspace_id == self.workspace.workspace_id);
        own.ok_or_else(|| {
            let message = format!(
                "NOTE_NOT_FOUND: there is no note {named:?} in {:?}",
                self.workspace.name
            );
            CliError::new(Code::Refused, message).hint("`bonded note list` shows what there is")
        })
    }

    /// The one note whose id begins so.
    async fn note_beginning(&self, named: &str) -> Result<Option<NoteId>, CliError> {
        let range = prefix::range(named).filter(|_| prefix::is_beginning(named));
        let Some((first, last)) = range else {
            return Ok(None);
        };
        let range = (NoteId::from_bytes(first), NoteId::from_bytes(last));
        let most = prefix::SHOWN_MAX as u64;
        let workspace = self.workspace.workspace_id;
        let found = self.store.notes_between(workspace, range, most).await;
        let found = found.map_err(store_error)?;
        match found.as_slice() {
            [] => Ok(None),
            [(id, _)] => Ok(Some(*id)),
            several => {
                let shown = several.iter().map(|(id, title)| format!("{id}  {title}"));
                Err(prefix::ambiguous(
                    named,
                    "notes'",
                    &shown.collect::<Vec<_>>(),
                ))
            }
        }
    }

    /// The rule with this id, or the one whose id begins so.
    /// A rule of another workspace, or one that was deleted, is not there.
    pub(crate) async fn rule(&self, named: &str) -> Result<Rule, CliError> {
        let missing = || {
            CliError::new(
                Code::Refused,
                format!("RULE_NOT_FOUND: there is no rule {named:?}"),
            )
            .hint("`bonded rule list` shows what there is")
        };
        let Ok(id) = named.parse() else {
            return self.rule_beginning(named).await?.ok_or_else(missing);
        };
        let rule = self.store.rule(id).await.map_err(store_error)?;
        let is_here = |rule: &StoredRule| {
            !rule.is_deleted && rule.rule.draft.workspace_id == self.workspace.workspace_id
        };
        Ok(rule.filter(is_here).ok_or_else(missing)?.rule)
    }
}

impl Notebook {
    async fn rule_beginning(&self, named: &str) -> Result<Option<Rule>, CliError> {
        if !prefix::is_beginning(named) {
            return Ok(None);
        }
        let rules = self.store.rules(self.workspace.workspace_id).await;
        let mut rules = rules.map_err(store_error)?;
        let beginning = named.to_lowercase();
        rules.retain(|rule| rule.rule_id.to_string().starts_with(&beginning));
        match rules.len() {
            0 | 1 => Ok(rules.pop()),
            _ => {
                let name = |rule: &Rule| rule.draft.name.clone().unwrap_or_default();
                let shown = rules
                    .iter()
                    .map(|it| format!("{}  {}", it.rule_id, name(it)));
                Err(prefix::ambiguous(
                    named,
                    "rules'",
                    &shown.collect::<Vec<_>>(),
                ))
            }
        }
    }
}

/// A change by whoever has the files.
/// It has no idempotency key, so that the same command twice is two changes, and no chain: it was caused by no
/// rule.
pub(crate) fn by_keeper(change: Change, at: Millis) -> Write {
    Write {
        actor: Actor::System,
        at,
        request_id: "cli".to_owned(),
        key: None,
        chain: Chain::default(),
        change,
    }
}
