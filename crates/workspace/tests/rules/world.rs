//! A store with one workspace, an engine on it, a clock of its own, and actions that do what the test says.

use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bonded_host::{CancellationToken, Clock};
use bonded_kernel::{Millis, NoteId, RuleId, RunId, UserId, WorkspaceId};
use bonded_workspace::config::{HostSurroundings, WorkspaceConfig};
use bonded_workspace::store::{
    CommittedWrite, Page, RunFilter, WorkspaceError, WorkspaceStore, Write,
};
use bonded_workspace::{
    Actions, Engine, EngineSettings, Firing, Performed, Performs, PlainActions,
};
use bonded_workspace_rules::{
    Actor, AutomationRun, Chain, Change, Code, NewNote, NoteEdit, NoteWrite, RuleDraft, RunStatus,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::place;

pub(crate) const WORKSPACE: WorkspaceId = WorkspaceId::from_bytes([1; 16]);
const OWNER: UserId = UserId::from_bytes([2; 16]);
/// 2026-01-01T00:00:00Z
pub(crate) const NEW_YEAR: u64 = 1_767_225_600_000;

/// A clock that stands still until it is set.
pub(crate) struct SetClock(watch::Sender<u64>);

impl SetClock {
    pub(crate) fn forward(&self, ms: u64) {
        self.0.send_modify(|now| *now += ms);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Millis {
        Millis(*self.0.borrow())
    }

    fn sleep_until(&self, at: Millis) -> BoxFuture<'static, ()> {
        let mut now = self.0.subscribe();
        Box::pin(async move {
            // A clock that is gone wakes nobody.
            if now.wait_for(|now| *now >= at.0).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

type Conduct = dyn Fn(&Firing, CancellationToken) -> BoxFuture<'static, Performed> + Send + Sync;

/// What actions do, and what they were asked.
pub(crate) struct Conducted {
    conduct: Box<Conduct>,
    pub(crate) begun: watch::Sender<Vec<Firing>>,
    /// With whether nobody else used what they used alone.
    pub(crate) abandoned: Mutex<Vec<(RunId, bool)>>,
}

impl Conducted {
    fn perform(&self, firing: &Firing, cancel: CancellationToken) -> BoxFuture<'static, Performed> {
        self.begun.send_modify(|begun| begun.push(firing.clone()));
        (self.conduct)(firing, cancel)
    }

    fn forget(&self, run: &RunId, is_alone: bool) -> BoxFuture<'static, ()> {
        let mut abandoned = self.abandoned.lock().expect("nobody panics");
        abandoned.push((run.clone(), is_alone));
        Box::pin(std::future::ready(()))
    }
}

impl<A: Sync> Performs<A> for Conducted {
    fn run<'a>(
        &'a self,
        firing: &'a Firing,
        _: &'a A,
        cancel: CancellationToken,
    ) -> BoxFuture<'a, Performed> {
        self.perform(firing, cancel)
    }

    fn abandon<'a>(&'a self, run: &'a RunId, is_alone: bool) -> BoxFuture<'a, ()> {
        self.forget(run, is_alone)
    }
}

pub(crate) struct World {
    pub(crate) store: Arc<WorkspaceStore>,
    pub(crate) clock: Arc<SetClock>,
    pub(crate) conducted: Arc<Conducted>,
    pub(crate) concurrent_runs: usize,
    /// In the place of the conducted ones.
    pub(crate) actions: Option<Actions>,
    /// What the engine says, where it may say anything.
    pub(crate) told: Option<Arc<Mutex<Vec<String>>>>,
    pub(crate) dir: TempDir,
    /// Where rules may send to.
    pub(crate) webhooks: Vec<String>,
    running: Option<(CancellationToken, JoinHandle<()>)>,
}

/// A run that ends at once, and well.
pub(crate) fn at_once(_: &Firing, _: CancellationToken) -> BoxFuture<'static, Performed> {
    Box::pin(std::future::ready(Performed::succeeded(json!({}))))
}

/// A run that goes on until it is cancelled.
pub(crate) fn until_cancelled(
    _: &Firing,
    cancel: CancellationToken,
) -> BoxFuture<'static, Performed> {
    Box::pin(async move {
        cancel.cancelled().await;
        Performed::cancelled(Code::Cancelled, "as was asked")
    })
}

/// A server whose rules may use the directory `agents` beside its data directory.
pub(crate) fn around(dir: &Path) -> HostSurroundings {
    around_with(dir, &[])
}

/// The same for a server that lets rules send to these addresses.
pub(crate) fn around_with(dir: &Path, webhooks: &[String]) -> HostSurroundings {
    for name in ["data", "agents"] {
        std::fs::create_dir_all(dir.join(name)).expect("a directory");
    }
    let mut config = WorkspaceConfig::default();
    let agents = vec!["../agents".to_owned()];
    config.automation.allowed_dirs = [("*".to_owned(), agents)].into();
    config.automation.allowed_webhooks = webhooks.to_vec();
    config.surroundings(&dir.join("data"))
}

impl World {
    pub(crate) async fn new(
        conduct: impl Fn(&Firing, CancellationToken) -> BoxFuture<'static, Performed>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let dir = TempDir::new().expect("a directory");
        let world = Self {
            store: Arc::new(place::open(dir.path()).await),
            clock: Arc::new(SetClock(watch::Sender::new(NEW_YEAR))),
            conducted: Arc::new(Conducted {
                conduct: Box::new(conduct),
                begun: watch::Sender::default(),
                abandoned: Mutex::default(),
            }),
            concurrent_runs: 4,
            actions: None,
            told: None,
            dir,
            webhooks: vec![],
            running: None,
        };
        let workspace_id = WORKSPACE;
        let name = "home".into();
        world
            .write(Change::CreateWorkspace { workspace_id, name })
            .await;
        world
    }

    pub(crate) fn start(&mut self) -> Engine {
        let engine = Engine::new(EngineSettings {
            store: self.store.clone(),
            clock: self.clock.clone(),
            surroundings: Arc::new(self.around()),
            actions: self.actions.clone().unwrap_or_else(|| Actions {
                loops: Some(self.conducted.clone()),
                runs: Some(self.conducted.clone()),
                work: None,
                plain: Some(self.plain()),
                webhooks: None,
            }),
            concurrent_runs: self.concurrent_runs,
            tell: match self.told.clone() {
                Some(told) => Arc::new(move |message| {
                    told.lock().expect("nobody panics").push(message.to_owned());
                }),
                None => Arc::new(|message| panic!("{message}")),
            },
        });
        let stop = CancellationToken::new();
        let until = stop.clone();
        let started = engine.clone();
        let task = tokio::spawn(async move { engine.run(until).await });
        self.running = Some((stop, task));
        started
    }

    /// Stops the engine as the end of its process would: whatever it did is let go.
    pub(crate) async fn stop(&mut self) {
        if let Some((stop, task)) = self.running.take() {
            stop.cancel();
            task.await.expect("the engine does not panic");
            // What it had asked of the store may still be written, which the end of a process would not let happen: a
            // write that is refused comes after all of that.
            let (after, row, firings) = (u64::MAX, 0, vec![]);
            let last = self.by_system(Change::Considered {
                after,
                row,
                firings,
            });
            last.await.expect_err("it is refused");
        }
    }

    async fn by_system(&self, change: Change) -> Result<CommittedWrite, WorkspaceError> {
        let write = Write {
            actor: Actor::System,
            at: self.clock.now(),
            request_id: "test".into(),
            key: None,
            chain: Chain::default(),
            change,
        };
        self.store.write(write).await
    }

    pub(crate) async fn write(&self, change: Change) -> CommittedWrite {
        self.write_at_depth(change, 0).await
    }

    /// A change by somebody else.
    pub(crate) async fn write_as(
        &self,
        user_id: UserId,
        change: Change,
    ) -> Result<CommittedWrite, WorkspaceError> {
        let write = Write {
            actor: Actor::User { user_id },
            at: self.clock.now(),
            request_id: "test".into(),
            key: None,
            chain: Chain::default(),
            change,
        };
        self.store.write(write).await
    }

    pub(crate) async fn write_at_depth(&self, change: Change, depth: u32) -> CommittedWrite {
        let write = Write {
            actor: Actor::User { user_id: OWNER },
            at: self.clock.now(),
            request_id: "test".into(),
            key: None,
            chain: Chain { depth, cause: None },
            change,
        };
        self.store.write(write).await.expect("the store writes")
    }

    /// Makes a rule of what is written over the usual one.
    pub(crate) async fn rule(&self, number: u8, over: &Value) -> RuleId {
        let rule_id = RuleId::from_bytes([number; 16]);
        let draft = Box::new(self.draft(over));
        self.write(Change::CreateRule { rule_id, draft }).await;
        rule_id
    }

    pub(crate) fn draft(&self, over: &Value) -> RuleDraft {
        let mut written = json!({
            "workspace_id": WORKSPACE,
            "trigger": "workspace_event.note_changed",
            "action_json": { "kind": "run", "agent_file": "x.ai", "goal": "Do it" },
        });
        let over = over.as_object().cloned().unwrap_or_default();
        let fields = written.as_object_mut().expect("it is one");
        fields.extend(over);
        RuleDraft::check(&written, &self.around()).expect("the rule is well")
    }

    pub(crate) fn around(&self) -> HostSurroundings {
        around_with(self.dir.path(), &self.webhooks)
    }

    /// Whoever does what needs no model.
    pub(crate) fn plain(&self) -> Arc<PlainActions> {
        Arc::new(PlainActions {
            store: self.store.clone(),
            clock: self.clock.clone(),
        })
    }

    pub(crate) async fn note(&self, number: u8, title: &str) {
        self.note_at_depth(number, title, 0).await;
    }

    pub(crate) async fn note_at_depth(&self, number: u8, title: &str, depth: u32) {
        self.write_at_depth(new_note(number, title), depth).await;
    }

    pub(crate) async fn edit(&self, number: u8, base_version: u64, edit: NoteEdit) {
        let note_id = NoteId::from_bytes([number; 16]);
        let change = Change::UpdateNote(NoteWrite {
            note_id,
            base_version,
            edit,
        });
        self.write(change).await;
    }

    /// All runs, the first first.
    pub(crate) async fn runs(&self) -> Vec<AutomationRun> {
        let filter = RunFilter {
            page: Page {
                limit: 100_000,
                offset: 0,
            },
            ..RunFilter::default()
        };
        let mut runs = self.store.runs(filter).await.expect("the store reads");
        runs.reverse();
        runs
    }

    /// Waits until there are so many runs, and all of them have this status.
    pub(crate) async fn until_runs(&self, count: usize, status: RunStatus) -> Vec<AutomationRun> {
        self.until(|runs| runs.len() == count && runs.iter().all(|run| run.status == status))
            .await
    }

    pub(crate) async fn until(
        &self,
        holds: impl Fn(&[AutomationRun]) -> bool,
    ) -> Vec<AutomationRun> {
        let waiting = async {
            loop {
                let row = self.store.last_row().await.expect("the store reads");
                let runs = self.runs().await;
                if holds(&runs) {
                    return runs;
                }
                self.store.changed_any(row).await.expect("the store waits");
            }
        };
        match soon(waiting).await {
            Some(runs) => runs,
            None => {
                let runs = self.runs().await;
                let last = &runs[runs.len().saturating_sub(8)..];
                panic!(
                    "it never came to that: {} runs, at last {last:?}",
                    runs.len()
                );
            }
        }
    }

    /// Waits until so many runs were begun.
    pub(crate) async fn until_begun(&self, count: usize) -> Vec<Firing> {
        let mut begun = self.conducted.begun.subscribe();
        let waiting = async {
            begun
                .wait_for(|it| it.len() >= count)
                .await
                .map(|it| it.clone())
        };
        let begun = soon(waiting).await.expect("they begin");
        begun.expect("the world is there")
    }

    /// Waits until the engine has looked at everything that was written so far: it also sees a rule that is made now,
    /// and a note for that.
    pub(crate) async fn until_looked(&self) {
        self.until_looked_again(0).await;
    }

    /// The same, for the next time.
    pub(crate) async fn until_looked_again(&self, time: u8) {
        let title = format!("mark {time}");
        let over = json!({
            "trigger": "workspace_event.note_created",
            "condition_json": { "note.title": title },
        });
        let mark = self.rule(240 - time, &over).await;
        self.note(240 - time, &title).await;
        let is_mark = |run: &AutomationRun| run.rule_id == mark && run.status.has_ended();
        self.until(|runs| runs.iter().any(is_mark)).await;
    }

    pub(crate) fn pass(&self, ms: u64) {
        self.clock.0.send_modify(|now| *now += ms);
    }

    pub(crate) fn set_clock(&self, now: u64) {
        self.clock.0.send_replace(now);
    }
}

pub(crate) fn new_note(number: u8, title: &str) -> Change {
    Change::CreateNote(NewNote {
        note_id: NoteId::from_bytes([number; 16]),
        workspace_id: WORKSPACE,
        title: Some(title.into()),
        markdown: "text".into(),
        note_kind: None,
        access_scope: Default::default(),
        keywords: vec![],
        metadata: Default::default(),
    })
}

/// Nothing here takes long; what does never comes.
pub(crate) async fn soon<T>(waiting: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .ok()
}
