//! The directory of a workspace server: its configuration, the agent's prompt, the owner's token, and two stores, unless
//! these are on a server.
//!
//! It is for its user alone. Files are made whole or not at all, and one that is there is never overwritten but for the
//! token. Where a file and the store must agree, the order is such that a crash between them leaves something that the
//! next start mends.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bonded_kernel::UserId;
use bonded_state::database::ServerDatabase;
use bonded_workspace::attachments::AttachmentFiles;
use bonded_workspace::config::WorkspaceConfig;
use bonded_workspace::store::{By, IdempotencyKey, User, WorkspaceError, WorkspaceStore, Write};
use bonded_workspace_rules::{Actor, AgentPrompt, Chain, Change, PromptFault};

use super::clock::now;
use super::ids;
use super::password::random_token;

/// What a new directory begins with.
const PROMPT: &str = include_str!("agent-prompt.json");
/// What the first workspace is called.
const FIRST_WORKSPACE: &str = "Notes";
/// Whoever can read it is the owner.
const TOKEN_FILE: &str = "owner-token";
/// As the default configuration names it.
const PROMPT_FILE: &str = "agent-prompt.json";
/// Made with all its defaults.
const CONFIG_FILE: &str = "config.json";

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// A command that only looks found nothing to look at.
    #[error("there is no workspace in {}", .0.display())]
    Missing(PathBuf),
    /// The prompt of the agent cannot be used.
    #[error("{}: {}: {fault}", .fault.code(), .path.display())]
    Prompt { path: PathBuf, fault: PromptFault },
    /// A file could not be read or written.
    #[error("{}: {error}", .path.display())]
    File {
        path: PathBuf,
        error: std::io::Error,
    },
    /// The store could not be opened, or failed.
    #[error(transparent)]
    Store(WorkspaceError),
    /// There is no randomness to make a token of.
    #[error("{0}")]
    NoToken(String),
}

/// Why nobody else became the owner.
#[derive(Debug)]
pub enum TransferError {
    /// Nothing was changed.
    Store(WorkspaceError),
    /// No token could be made or written. Where it could not be written, the owner is another already, and the next
    /// start makes a token.
    File(DataDirError),
}

/// As every token is made.
fn new_token() -> Result<String, DataDirError> {
    random_token().map_err(|refusal| DataDirError::NoToken(refusal.message))
}

/// A directory that is there.
#[derive(Clone, Debug)]
pub struct DataDir {
    path: PathBuf,
    server: Option<StoreServer>,
}

/// Where the stores of a directory are, if they do not lie in it.
#[derive(Clone, Debug)]
pub struct StoreServer {
    /// With the tables of workspaces.
    pub database: Arc<dyn ServerDatabase>,
    /// Names the log of runs, as a file would be named.
    pub runs: PathBuf,
}

impl DataDir {
    /// The directory with its files; what is missing is made, and what is made is said.
    pub fn make(
        path: &Path,
        server: Option<StoreServer>,
    ) -> Result<(Self, Vec<String>), DataDirError> {
        let dir = Self {
            path: path.to_owned(),
            server,
        };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(path).map_err(|error| fault(path, error))?;
        let mut made = vec![];
        let config = WorkspaceConfig::default().text();
        for (name, text) in [(CONFIG_FILE, config.as_str()), (PROMPT_FILE, PROMPT)] {
            if dir.write_new(name, text, 0o644)? {
                made.push(format!("made {}", dir.file(name).display()));
            }
        }
        Ok((dir, made))
    }

    /// A directory that must be there already: a command that only looks makes none.
    pub fn open(path: &Path, server: Option<StoreServer>) -> Result<Self, DataDirError> {
        let dir = Self {
            path: path.to_owned(),
            server,
        };
        let is_there = match dir.server {
            Some(_) => dir.config_file().is_file(),
            None => dir.file("workspace.db").is_file(),
        };
        if is_there {
            return Ok(dir);
        }
        Err(DataDirError::Missing(path.to_owned()))
    }

    /// All names are ours.
    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// As it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether or not it is there.
    pub fn config_file(&self) -> PathBuf {
        self.file(CONFIG_FILE)
    }

    /// The log of runs: a file, or the address of a server in the place of one.
    pub fn runs_file(&self) -> PathBuf {
        match &self.server {
            Some(server) => server.runs.clone(),
            None => self.file("bonded.db"),
        }
    }

    /// Opens the store, making it where there is none.
    pub fn open_store(&self) -> Result<Arc<WorkspaceStore>, DataDirError> {
        let opened = match &self.server {
            Some(server) => WorkspaceStore::on_server(server.database.clone()),
            None => WorkspaceStore::open(&self.file("workspace.db")),
        };
        Ok(Arc::new(opened.map_err(DataDirError::Store)?))
    }

    /// Opens a store that is there; where it cannot be written, to be read.
    pub fn open_store_to_read(&self) -> Result<Arc<WorkspaceStore>, DataDirError> {
        let opened = match &self.server {
            Some(server) => WorkspaceStore::on_server(server.database.clone()),
            None => WorkspaceStore::open_to_read(&self.file("workspace.db")),
        };
        Ok(Arc::new(opened.map_err(DataDirError::Store)?))
    }

    /// Checks the agent's prompt and tells, in one sentence, what in it means nothing.
    pub fn check_prompt(&self, path: &Path) -> Result<Option<String>, DataDirError> {
        let bytes = fs::read(path).map_err(|error| fault(path, error))?;
        match AgentPrompt::read(&bytes) {
            Ok(read) => {
                let unknown: Vec<String> = read.warnings.iter().map(ToString::to_string).collect();
                let warning = || format!("{}: {}", path.display(), unknown.join("; "));
                Ok((!unknown.is_empty()).then(warning))
            }
            Err(fault) => {
                let path = path.to_owned();
                Err(DataDirError::Prompt { path, fault })
            }
        }
    }

    /// The files of notes.
    pub(super) fn attachments(&self) -> AttachmentFiles {
        AttachmentFiles::new(self.file("attachments"))
    }

    /// Removes contents that no event names. One that cannot be removed does no harm.
    pub(super) async fn remove_unnamed_attachments(
        &self,
        store: &WorkspaceStore,
    ) -> Result<(), DataDirError> {
        let removed = match self.attachments().sweep() {
            Ok(None) => return Ok(()),
            Ok(Some(sweep)) => {
                let named = store.attachment_names().await;
                sweep.leave(&named.map_err(DataDirError::Store)?)
            }
            Err(error) => Err(error),
        };
        if let Err(error) = removed {
            tracing::warn!("warning: files that no note has were not removed: {error}");
        }
        Ok(())
    }

    /// Makes the owner, the first workspace and the owner's token, where they are missing. Says where the token is when
    /// it is new.
    pub async fn set_up(&self, store: &WorkspaceStore) -> Result<Option<PathBuf>, DataDirError> {
        let path = self.file(TOKEN_FILE);
        let token = match fs::read_to_string(&path) {
            Ok(text) => text.trim().to_owned(),
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(fault(&path, error)),
        };
        // A token that was revoked is one that somebody else may have.
        let is_revoked = store
            .is_revoked(&token)
            .await
            .map_err(DataDirError::Store)?;
        let is_new = token.is_empty() || is_revoked;
        let token = match is_new {
            true => new_token()?,
            false => token,
        };
        // The file first: a token that the store knows and nobody has would open nothing.
        if is_new {
            self.write_private(TOKEN_FILE, &token)?;
        }
        self.make_owner(store, &token, is_new && !is_revoked)
            .await?;
        Ok(is_new.then_some(path))
    }

    /// Makes somebody else the owner. The file has a new token, which is theirs.
    pub async fn transfer(
        &self,
        store: &WorkspaceStore,
        by: By,
        to: UserId,
    ) -> Result<User, TransferError> {
        let token = new_token().map_err(TransferError::File)?;
        // The store first: until it knows the token, the file's one is the old owner's.
        let owner = store.transfer(by, to, &token, now()).await;
        let owner = owner.map_err(TransferError::Store)?;
        self.write_private(TOKEN_FILE, &token)
            .map_err(TransferError::File)?;
        Ok(owner)
    }

    /// Whoever lost the file can make a new token by starting again; whatever the old one opened is closed first.
    async fn make_owner(
        &self,
        store: &WorkspaceStore,
        token: &str,
        is_new: bool,
    ) -> Result<(), DataDirError> {
        let owner = store
            .owner(ids::user(), now())
            .await
            .map_err(DataDirError::Store)?;
        let owner = owner.user_id;
        // Who removes the file wants the old token to open nothing any more. Where the store is shared, a directory without
        // the file is one more of its servers.
        if is_new && self.server.is_none() {
            store
                .revoke_access(owner, now())
                .await
                .map_err(DataDirError::Store)?;
        }
        let label = TOKEN_FILE.to_owned();
        store
            .add_token(By::Keeper, owner, token, label, now())
            .await
            .map_err(DataDirError::Store)?;
        if !store
            .all_workspaces()
            .await
            .map_err(DataDirError::Store)?
            .is_empty()
        {
            return Ok(());
        }
        let workspace_id = ids::workspace();
        let create = Change::CreateWorkspace {
            workspace_id,
            name: FIRST_WORKSPACE.to_owned(),
        };
        // Two servers that begin at once make one workspace.
        let key = self.server.as_ref().map(|_| IdempotencyKey {
            scope: "init".to_owned(),
            key: FIRST_WORKSPACE.to_owned(),
        });
        // Who makes a workspace owns it.
        let write = Write {
            actor: Actor::User { user_id: owner },
            at: now(),
            request_id: "init".to_owned(),
            key,
            chain: Chain::default(),
            change: create,
        };
        store.write(write).await.map_err(DataDirError::Store)?;
        Ok(())
    }

    /// Writes a file that is not there yet; says whether it did.
    fn write_new(&self, name: &str, text: &str, mode: u32) -> Result<bool, DataDirError> {
        let path = self.file(name);
        if path.symlink_metadata().is_ok() {
            return Ok(false);
        }
        let placed = self
            .beside(text, mode)
            .and_then(|file| Ok(file.persist_noclobber(&path)?));
        match placed {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(fault(&path, error)),
        }
    }

    /// Writes a file whole, for nobody else's eyes.
    fn write_private(&self, name: &str, text: &str) -> Result<(), DataDirError> {
        let path = self.file(name);
        let placed = self
            .beside(&format!("{text}\n"), 0o600)
            .and_then(|file| Ok(file.persist(&path)?));
        match placed {
            Ok(_) => Ok(()),
            Err(error) => Err(fault(&path, error)),
        }
    }

    /// A file without its name yet: a process that dies leaves a file whole or not at all.
    fn beside(&self, text: &str, mode: u32) -> std::io::Result<tempfile::NamedTempFile> {
        let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(mode))?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        Ok(file)
    }
}

/// With the path, which the error of the system does not say.
fn fault(path: &Path, error: std::io::Error) -> DataDirError {
    let path = path.to_owned();
    DataDirError::File { path, error }
}
