//! A session: a run with an editor before it, and what a prompt makes of it.
//!
//! A prompt is driven by a task of its own, so that an editor which does not read holds up nothing but itself. What it is
//! shown comes from the log, after the fact is durable.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_host::agent::AgentTools;
use bonded_host::changes::recorded::Records;
use bonded_host::keeping::{self, Keeper};
use bonded_host::shapes::text::{brief, short_id};
use bonded_host::{CancellationToken, Goal, Host, HostError, PendingReview, RunResult};
use bonded_kernel::{Entry, Event, GoalGiven, Run, RunId, TerminationKind};
use bonded_mcp::RpcFault;
use bonded_state::Store;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::connection::Editor;
use super::permission::{self, PermissionAnswer};
use super::projection::LogProjection;
use super::prompt::EditorGoal;
use super::spoken::Spoken;
use super::wire;
use crate::error::{CliError, Code};
use crate::review::Standing;
use crate::settings::RunSetup;

/// How much of the first prompt names the session in a list.
pub(super) const TITLE_CHARS: usize = 80;

/// What an editor is told once whose tool servers are not started.
const SERVERS_UNUSED: &str = "The tool servers that this editor is configured with are not used here: bonded starts those of its own configuration alone.\n\n";

/// One session.
pub(super) struct Session {
    pub(super) id: RunId,
    pub(super) store: Arc<dyn Store>,
    pub(super) host: Host,
    pub(super) tools: Arc<AgentTools>,
    pub(super) editor: Arc<Editor>,
    pub(super) spoken: Arc<Spoken>,
    pub(super) records: Option<Records>,
    pub(super) standing: AsyncMutex<Standing>,
    pub(super) cancel: Mutex<CancellationToken>,
    /// Held by the prompt that is under way.
    pub(super) turn: AsyncMutex<Turn>,
}

/// What prompts of a session hand on to each other.
pub(super) struct Turn {
    /// For a session that no prompt was given yet.
    pub(super) setup: Option<Box<RunSetup>>,
    pub(super) projection: LogProjection,
    /// The sequence number of the last entry that was shown.
    pub(super) seen: u64,
    pub(super) has_unused_servers: bool,
}

impl Session {
    /// Stops the prompt that is under way, where one is.
    pub(super) fn cancel(&self) {
        let cancel = self.cancel.lock();
        cancel.unwrap_or_else(PoisonError::into_inner).cancel();
    }

    /// Carries a prompt out, to the answer or wherever it ends.
    pub(super) async fn prompt(self: Arc<Self>, asked: EditorGoal) -> Result<Value, RpcFault> {
        let Ok(mut turn) = self.turn.try_lock() else {
            let message =
                "a prompt of this session is under way; wait for it, or send session/cancel";
            return Err(RpcFault::invalid_request(message));
        };
        let cancel = CancellationToken::new();
        *self.cancel.lock().unwrap_or_else(PoisonError::into_inner) = cancel.clone();
        if std::mem::take(&mut turn.has_unused_servers) {
            let note = wire::chunk("agent_message_chunk", SERVERS_UNUSED);
            self.update(note).await;
        }
        let title = brief(&asked.text, TITLE_CHARS);
        let is_first = turn.setup.is_some();
        let run = Box::pin(self.drive(&mut turn, asked, &cancel)).await;
        if is_first && run.is_ok() {
            let update = json!({ "sessionUpdate": "session_info_update", "title": title });
            self.update(update).await;
        }
        match run {
            Ok(run) => self.conclude(&turn, &run).await,
            Err(error) => Err(wire::fault(&error)),
        }
    }

    /// What is kept outside of the store is written whether the prompt succeeds or not.
    async fn drive(
        self: &Arc<Self>,
        turn: &mut Turn,
        asked: EditorGoal,
        cancel: &CancellationToken,
    ) -> Result<Run, CliError> {
        let kept = match &turn.setup {
            Some(setup) => setup.kept().cloned(),
            None => keeping::kept(&*self.store, &self.id).await?.map(|it| it.0),
        };
        let keeper = Keeper::new(self.store.clone());
        keeper.refuse_cut(&self.id, kept.as_ref()).await?;
        let following = keeper.follow(&self.id, kept.as_ref())?;
        let driven = self.see_through(turn, asked, cancel).await;
        following.settle().await;
        driven
    }

    /// Drives the run, asks about each call that it comes to wait for, and drives it on.
    async fn see_through(
        self: &Arc<Self>,
        turn: &mut Turn,
        asked: EditorGoal,
        cancel: &CancellationToken,
    ) -> Result<Run, CliError> {
        let first = match turn.setup.is_some() {
            true => self.begin(turn, asked, cancel)?,
            false => self.pursue(turn, asked, cancel).await?,
        };
        let mut run = self.followed(turn, first).await?;
        while let Some(waits) = PendingReview::of(&*self.store, &run).await? {
            let asks = Arc::new(self.host.load(&waits.run).await?);
            let answer = tokio::select! {
                biased;
                () = cancel.cancelled() => PermissionAnswer::Cancelled,
                () = self.host.interrupt.cancelled() => return Ok(run),
                answer = permission::ask(&self.editor, self.id.as_str(), &self.standing, &asks, &waits) => answer,
                () = self.moves_on(&asks) => PermissionAnswer::Changed,
            };
            match answer {
                PermissionAnswer::Verdict { verdict, by } => {
                    // Where somebody else has answered first, that counts.
                    let _reviewed = self.host.review(&waits, verdict, &by).await?;
                }
                PermissionAnswer::Cancelled => {
                    run = self
                        .host
                        .cancel_waiting(&self.id, "cancelled in the editor")
                        .await?;
                    self.show_new(turn).await?;
                    break;
                }
                PermissionAnswer::Changed => {
                    let is_same = self.host.load(&waits.run).await?.head() == asks.head();
                    if is_same {
                        continue;
                    }
                }
            }
            let (session, token) = (self.clone(), cancel.clone());
            let resumed = Box::pin(async move { session.host.resume(&session.id, token).await });
            run = self.followed(turn, resumed).await?;
        }
        Ok(run)
    }

    /// The first prompt begins the run.
    fn begin(
        self: &Arc<Self>,
        turn: &Turn,
        asked: EditorGoal,
        cancel: &CancellationToken,
    ) -> Result<Driving, CliError> {
        let setup = turn.setup.as_ref();
        let setup = setup.ok_or_else(|| CliError::new(Code::Internal, "the session has begun"))?;
        setup.check(&asked.text)?;
        let goal = Goal {
            images: asked.images,
            ..setup.checked_goal(asked.text)
        };
        let (session, token) = (self.clone(), cancel.clone());
        Ok(Box::pin(async move {
            session.host.run(session.id.clone(), goal, token).await
        }))
    }

    /// Any other prompt is the next goal of the run. What was interrupted before is ended first: a person who says something
    /// new does not wait for something old.
    async fn pursue(
        self: &Arc<Self>,
        turn: &mut Turn,
        asked: EditorGoal,
        cancel: &CancellationToken,
    ) -> Result<Driving, CliError> {
        if !asked.images.is_empty() {
            let message = "only the first prompt of a session can bring images";
            let hint = "begin a new session, or name the image's file";
            return Err(CliError::new(Code::BadGoal, message).hint(hint));
        }
        let mut run = self.host.load(&self.id).await?;
        if run.termination().is_none() {
            let why = "interrupted, and another prompt came";
            run = self.host.cancel_waiting(&self.id, why).await?;
            self.show_new(turn).await?;
        }
        if let Err(why) = run.takes_goal() {
            let message = format!(
                "session {} takes no other prompt: {why}",
                short_id(&self.id)
            );
            return Err(CliError::new(Code::CannotContinue, message).hint("begin a new session"));
        }
        let given = GoalGiven::new(asked.text, run.config_begun_with().limits.clone());
        let (session, token) = (self.clone(), cancel.clone());
        Ok(Box::pin(async move {
            session.host.pursue(&session.id, given, token).await
        }))
    }

    /// Shows what comes while the run is driven, and all of it at the end.
    async fn followed(
        self: &Arc<Self>,
        turn: &mut Turn,
        driving: Driving,
    ) -> Result<Run, CliError> {
        let mut driving = tokio::spawn(driving);
        let driven = loop {
            tokio::select! {
                biased;
                driven = &mut driving => break driven,
                // Whatever the store says to who only watches, the run goes on.
                changed = self.store.changed(&self.id, turn.seen) => match changed {
                    Ok(()) => self.show_new(turn).await?,
                    Err(_) => break (&mut driving).await,
                },
                () = self.spoken.news() => self.show_spoken(turn).await,
            }
        };
        // What its tools wait for is durable from the first entry on.
        if self.store.head(&self.id).await?.is_some() {
            turn.setup = None;
            self.show_new(turn).await?;
        }
        match driven {
            Ok(run) => Ok(run?),
            Err(_) => Err(CliError::new(Code::Internal, "the run's task ended early")),
        }
    }

    /// Shows the entries that came since.
    pub(super) async fn show_new(&self, turn: &mut Turn) -> Result<(), CliError> {
        let entries = self.store.load(&self.id, turn.seen).await?;
        let record = match entries.iter().any(may_have_changed) {
            // A record that cannot be read is told of by those who ask for it.
            true => self
                .records
                .as_ref()
                .and_then(|it| it.of_run(&self.id).ok()?),
            false => None,
        };
        for entry in &entries {
            for update in turn.projection.entry(entry, record.as_ref()) {
                self.update(update).await;
            }
            turn.seen = entry.seq;
        }
        self.show_spoken(turn).await;
        Ok(())
    }

    async fn show_spoken(&self, turn: &mut Turn) {
        for (place, text) in self.spoken.take() {
            if let Some(update) = turn.projection.piece(place, text) {
                self.update(update).await;
            }
        }
    }

    async fn update(&self, update: Value) {
        self.editor.update(self.id.as_str(), update).await;
    }

    /// Resolves when the log of a run that waits goes on without us.
    async fn moves_on(&self, run: &Run) {
        let known = run.head();
        loop {
            if self.store.changed(run.id(), known.seq).await.is_err() {
                return std::future::pending().await;
            }
            if let Ok(Some(head)) = self.store.head(run.id()).await
                && head != known
            {
                return;
            }
        }
    }

    /// How the prompt ended, in the protocol's words; what they do not say is said in ours.
    async fn conclude(&self, turn: &Turn, run: &Run) -> Result<Value, RpcFault> {
        let id = short_id(run.id());
        let Some(result) = RunResult::of(run) else {
            let message = format!("the run was let go of; continue: bonded resume {id}");
            return Err(RpcFault::internal(message));
        };
        let stopped = |why: &str| format!("\n\nStopped: {why}");
        let reason = result.reason.as_str();
        let (stop, words) = match result.termination {
            TerminationKind::Done | TerminationKind::Blocked => {
                let answer = result.answer(run);
                let is_shown = answer.trim() == turn.projection.last().trim();
                ("end_turn", (!is_shown).then_some(answer))
            }
            TerminationKind::Cancelled => ("cancelled", None),
            TerminationKind::TurnsExhausted => ("max_turn_requests", Some(stopped(reason))),
            TerminationKind::BudgetExhausted => ("max_tokens", Some(stopped(reason))),
            TerminationKind::TimedOut | TerminationKind::NoProgress => {
                ("end_turn", Some(stopped(reason)))
            }
            TerminationKind::Fatal | TerminationKind::Denied => {
                return Err(RpcFault::internal(reason));
            }
        };
        if let Some(words) = words {
            self.update(wire::chunk("agent_message_chunk", &words))
                .await;
        }
        Ok(json!({ "stopReason": stop }))
    }
}

/// A run on its way, as a task of its own.
type Driving = BoxFuture<'static, Result<Run, HostError>>;

fn may_have_changed(entry: &Entry) -> bool {
    matches!(&entry.event, Event::ToolFinished(finished) if matches!(&*finished.tool, "append" | "edit" | "write"))
}

/// Where a session's tools work, as it is recorded.
pub(super) fn same_dir(run: &Run, dir: &Path) -> bool {
    Path::new(&run.config().dir) == dir
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}
