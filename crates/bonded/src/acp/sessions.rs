//! The sessions of an editor: begun, loaded, listed and closed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_host::changes::records_of;
use bonded_host::shapes::text::brief;
use bonded_host::trust::Stance;
use bonded_host::{CancellationToken, Host, off_the_runtime};
use bonded_kernel::{GoalRefused, Run, RunId};
use bonded_mcp::RpcFault;
use bonded_mcp::message::Params;
use bonded_state::{ListFilter, Store};
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::connection::Editor;
use super::projection::LogProjection;
use super::prompt;
use super::spoken::Spoken;
use super::turn::{Session, TITLE_CHARS, Turn, same_dir};
use super::wire::{self, ListSessions, NamedSession, NewSession, OldSession, PromptRequest};
use crate::agents::{self, Verbosity};
use crate::args::AcpArgs;
use crate::error::{CliError, Code};
use crate::review::Standing;
use crate::settings::{self, RunSetup, SetupRequest};

/// How many sessions may be open at once.
const SESSIONS_MAX: usize = 64;

/// How many sessions a list names.
const LISTED_MAX: usize = 200;

/// What sessions are begun with.
pub(crate) struct SessionSettings {
    pub(crate) args: AcpArgs,
    pub(crate) store: Arc<dyn Store>,
    /// What no "always" reaches.
    pub(crate) store_file: PathBuf,
}

/// All sessions of this process.
pub(crate) struct Sessions {
    settings: SessionSettings,
    open: Mutex<BTreeMap<String, Arc<Session>>>,
}

impl Sessions {
    pub(crate) fn new(settings: SessionSettings) -> Self {
        Self {
            settings,
            open: Mutex::default(),
        }
    }

    /// A session that has no prompt yet. Nothing is written: a session without a prompt is not kept.
    pub(super) async fn begin(
        &self,
        editor: &Arc<Editor>,
        asked: NewSession,
    ) -> Result<Value, RpcFault> {
        self.check_room()?;
        let dir = absolute(&asked.cwd)?;
        // Files are read, and a disk may be slow.
        let setup = off_the_runtime(|| self.setup(&dir)).map_err(|error| wire::fault(&error))?;
        let store = self.settings.store.clone();
        let workplace = setup.workplace.clone();
        let dir = workplace.dir.clone();
        let verbosity = Verbosity::of(&setup.options);
        let parts = agents::host(store, workplace, verbosity);
        let id = Host::draw_id();
        let projection = LogProjection::new(id.clone(), &dir);
        let turn = Turn {
            setup: Some(Box::new(setup)),
            projection,
            seen: 0,
            has_unused_servers: !asked.mcp_servers.is_empty(),
        };
        let session = self.session(editor, id.clone(), parts, turn);
        self.open().insert(id.to_string(), Arc::new(session));
        Ok(json!({ "sessionId": id.as_str() }))
    }

    /// What the command line and the configuration of a directory say.
    fn setup(&self, dir: &Path) -> Result<RunSetup, CliError> {
        let args = &self.settings.args;
        settings::prepare(&SetupRequest {
            dir: Some(dir),
            held: &[],
            agent_file: args.agent_file.as_deref(),
            system: args.system.as_deref(),
            reads_instructions: !args.no_agents_md,
            offers_skills: true,
            agent: &args.agent,
            model: &args.model,
            limits: &args.limits,
            streams: true,
            converses: true,
            asks: !args.no_ask,
        })
    }

    fn session(
        &self,
        editor: &Arc<Editor>,
        id: RunId,
        (mut host, tools): (Host, Arc<bonded_host::agent::AgentTools>),
        turn: Turn,
    ) -> Session {
        let spoken = Arc::new(Spoken::of(id.clone()));
        host.live = Some(spoken.clone());
        let store = self.settings.store.clone();
        Session {
            records: records_of(&*store),
            standing: AsyncMutex::new(Standing::new(vec![self.settings.store_file.clone()])),
            cancel: Mutex::new(CancellationToken::new()),
            turn: AsyncMutex::new(turn),
            editor: editor.clone(),
            id,
            store,
            host,
            tools,
            spoken,
        }
    }

    /// A session of before, with everything that was said in it.
    pub(super) async fn load(
        &self,
        editor: &Arc<Editor>,
        asked: OldSession,
    ) -> Result<Value, RpcFault> {
        let session = self.found(editor, asked, true).await?;
        let mut turn = session.turn.lock().await;
        let shown = session.show_new(&mut turn).await;
        shown.map_err(|error| wire::fault(&error))?;
        turn.projection.tell_goals(false);
        drop(turn);
        self.open().insert(session.id.to_string(), session);
        Ok(json!({}))
    }

    /// The same for an editor that shows it still.
    pub(super) async fn resume(
        &self,
        editor: &Arc<Editor>,
        asked: OldSession,
    ) -> Result<Value, RpcFault> {
        let session = self.found(editor, asked, false).await?;
        self.open().insert(session.id.to_string(), session);
        Ok(json!({}))
    }

    async fn found(
        &self,
        editor: &Arc<Editor>,
        asked: OldSession,
        tells_goals: bool,
    ) -> Result<Arc<Session>, RpcFault> {
        self.check_room()?;
        if let Some(open) = self.open().get(&asked.session_id)
            && open.turn.try_lock().is_err()
        {
            let message = "a prompt of this session is under way";
            return Err(RpcFault::invalid_request(message));
        }
        let dir = absolute(&asked.cwd)?;
        let found = self.run_of(&asked.session_id, &dir).await;
        let run = found.map_err(|error| wire::fault(&error))?;
        let run = run.ok_or_else(|| wire::no_session(&asked.session_id))?;
        let dir = PathBuf::from(&run.config().dir);
        let store = self.settings.store.clone();
        let parts = settings::host(store, Stance::Refuse);
        let mut projection = LogProjection::new(run.id().clone(), &dir);
        projection.tell_goals(tells_goals);
        let turn = Turn {
            setup: None,
            projection,
            seen: if tells_goals { 0 } else { run.head().seq },
            has_unused_servers: !asked.mcp_servers.is_empty(),
        };
        Ok(Arc::new(self.session(
            editor,
            run.id().clone(),
            parts,
            turn,
        )))
    }

    /// The run of a session, if it is one of the directory that can take another prompt.
    async fn run_of(&self, id: &str, dir: &Path) -> Result<Option<Run>, CliError> {
        let store = &self.settings.store;
        let Ok(id) = RunId::new(id) else {
            return Ok(None);
        };
        if store.head(&id).await?.is_none() {
            return Ok(None);
        }
        let run = bonded_host::load_run(&**store, &id).await?;
        let dir = settings::working_directory(Some(dir))?;
        if !same_dir(&run, Path::new(&dir)) {
            let message = format!(
                "the session works in {}, and not in {dir}",
                run.config().dir
            );
            return Err(CliError::new(Code::CannotContinue, message));
        }
        match run.takes_goal() {
            // What is under way, or was, is ended by the next prompt.
            Ok(()) | Err(GoalRefused::NotEnded) => {}
            Err(why) => {
                let message = format!("the session takes no other prompt: {why}");
                return Err(CliError::new(Code::CannotContinue, message));
            }
        }
        settings::refuse_looser_than_configured(run.config())?;
        Ok(Some(run))
    }

    /// The sessions of a directory, the newest first.
    pub(super) async fn list(&self, asked: ListSessions) -> Result<Value, RpcFault> {
        if asked.cursor.is_some() {
            return Err(RpcFault::invalid_params(
                "there is no such cursor: lists come whole",
            ));
        }
        let dir = match &asked.cwd {
            Some(cwd) => {
                let dir = settings::working_directory(Some(&absolute(cwd)?));
                Some(dir.map_err(|error| wire::fault(&error))?)
            }
            None => None,
        };
        let filter = ListFilter {
            prefix: None,
            limit: usize::MAX,
        };
        let listed = self.settings.store.list(filter).await;
        let listed = listed.map_err(|error| wire::fault(&error.into()))?;
        let sessions = listed.iter().filter_map(|it| {
            let started = it.ends.as_ref().ok()?.first.event.started()?;
            let config = &started.config;
            let is_here = dir.as_ref().is_none_or(|dir| config.dir == *dir);
            let is_one =
                config.conversation && is_here && settings::is_begun_by_hand(it, &config.dir);
            is_one.then(|| {
                json!({
                    "sessionId": it.run.as_str(),
                    "cwd": config.dir,
                    "title": brief(&started.goal, TITLE_CHARS),
                })
            })
        });
        let sessions: Vec<Value> = sessions.take(LISTED_MAX).collect();
        Ok(json!({ "sessions": sessions }))
    }

    /// Stops what is under way and lets go of the session. It is in the store, and can be loaded again.
    pub(super) async fn close(&self, asked: &NamedSession) -> Result<Value, RpcFault> {
        let session = self.open().remove(&asked.session_id);
        let session = session.ok_or_else(|| wire::no_session(&asked.session_id))?;
        session.cancel();
        drop(session.turn.lock().await);
        session.tools.stop().await;
        Ok(json!({}))
    }

    pub(super) async fn prompt(&self, asked: PromptRequest) -> Result<Value, RpcFault> {
        let session = self.open().get(&asked.session_id).cloned();
        let session = session.ok_or_else(|| wire::no_session(&asked.session_id))?;
        session.prompt(prompt::asked(asked.prompt)?).await
    }

    /// Takes a notification in; one that is not known here is passed over, as the protocol has it.
    pub(super) fn hear(&self, method: &str, params: &Params) {
        if method == "session/cancel"
            && let Some(id) = params.get("sessionId").and_then(Value::as_str)
            && let Some(session) = self.open().get(id)
        {
            session.cancel();
        }
    }

    /// Stops the tools of all sessions.
    pub(super) async fn end(&self) {
        let open = std::mem::take(&mut *self.open());
        for session in open.into_values() {
            session.tools.stop().await;
        }
    }

    fn check_room(&self) -> Result<(), RpcFault> {
        match self.open().len() < SESSIONS_MAX {
            true => Ok(()),
            false => Err(RpcFault::invalid_request(format!(
                "{SESSIONS_MAX} sessions are open; close one: session/close"
            ))),
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The directory of a session is said whole: nobody knows what this process was started in.
fn absolute(cwd: &str) -> Result<PathBuf, RpcFault> {
    let path = PathBuf::from(cwd);
    match path.is_absolute() {
        true => Ok(path),
        false => Err(RpcFault::invalid_params("cwd is not an absolute path")),
    }
}
