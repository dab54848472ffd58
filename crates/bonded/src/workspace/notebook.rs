//! A workspace on this machine, for commands: its store and which workspace is meant.
//!
//! It asks no server and knows no users: whoever can open the files may do everything. A server that runs meanwhile
//! sees what is written here at its next look into the store.

use std::sync::Arc;

use bonded_kernel::{Millis, NoteId, nearest};
use bonded_workspace::config::HostSurroundings;
use bonded_workspace::store::{
    CommittedWrite, NoteFilter, NoteSort, Page, StoredRule, WorkspaceStore, Write,
};
use bonded_workspace_rules::{Actor, Chain, Change, Note, Rule, Workspace};

use crate::agents;
use crate::args::PlaceArgs;
use crate::error::{CliError, Code, store_error};
use crate::settings::prefix;
use bonded_serve::workspace::clock::now;
use bonded_serve::workspace::configured::Configured;

/// Of so many notes, those changed last, one may have been meant.
const LOOKED_AT_MAX: u64 = 500;
/// Fewer letters of an id are like those of too many others.
const ID_TYPED_MIN: usize = 6;

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
        let dir = crate::workspace::place::open(&place.data.data)?;
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
        match own {
            Some(note) => Ok(note),
            None => Err(self.missing_note(named).await?),
        }
    }

    /// With the note that was probably meant, among those changed last.
    async fn missing_note(&self, named: &str) -> Result<CliError, CliError> {
        let filter = NoteFilter {
            workspace: self.workspace.workspace_id,
            note_kind: None,
            keyword: None,
            folder: None,
            include_deleted: false,
            sort: NoteSort::Updated,
            page: Page {
                limit: LOOKED_AT_MAX,
                offset: 0,
            },
        };
        let listed = self.store.notes(filter).await.map_err(store_error)?;
        let names = listed
            .iter()
            .map(|it| (it.note_id.to_string(), it.title.clone()));
        let message = format!(
            "NOTE_NOT_FOUND: there is no note {named:?} in {:?}",
            self.workspace.name
        );
        Ok(CliError::new(Code::Refused, message).hint(hint(
            named,
            &names.collect::<Vec<_>>(),
            "bonded note list",
        )))
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
        let found = match named.parse() {
            Err(_) => self.rule_beginning(named).await?,
            Ok(id) => {
                let rule = self.store.rule(id).await.map_err(store_error)?;
                let is_here = |rule: &StoredRule| {
                    !rule.is_deleted && rule.rule.draft.workspace_id == self.workspace.workspace_id
                };
                rule.filter(is_here).map(|stored| stored.rule)
            }
        };
        match found {
            Some(rule) => Ok(rule),
            None => Err(self.missing_rule(named).await?),
        }
    }

    async fn missing_rule(&self, named: &str) -> Result<CliError, CliError> {
        let rules = self.store.rules(self.workspace.workspace_id).await;
        let rules = rules.map_err(store_error)?;
        let name = |it: &Rule| it.draft.name.clone().unwrap_or_default();
        let names: Vec<(String, String)> = rules
            .iter()
            .map(|it| (it.rule_id.to_string(), name(it)))
            .collect();
        let message = format!("RULE_NOT_FOUND: there is no rule {named:?}");
        Ok(CliError::new(Code::Refused, message).hint(hint(named, &names, "bonded rule list")))
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

/// The name or the id that is nearest to what was typed, else where all are listed. Of an id people type the beginning, so
/// that as much of each is compared.
fn hint(named: &str, known: &[(String, String)], list: &str) -> String {
    let names = known.iter().map(|(_, name)| name.as_str());
    let beginnings = known.iter().filter_map(|(id, _)| id.get(..named.len()));
    let near = nearest(named, names).or_else(|| match named.len() {
        0..ID_TYPED_MIN => None,
        _ => nearest(named, beginnings),
    });
    let is_near = |(id, name): &&(String, String)| {
        near.is_some_and(|near| near == name || id.starts_with(near))
    };
    match known.iter().find(is_near) {
        Some((id, name)) => format!("did you mean {name:?} ({id})?"),
        None => format!("`{list}` shows what there is"),
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
