//! A workspace with a rule, and runs of the agent that it fires, whose model plays a script.

use std::path::PathBuf;
use std::sync::Arc;

use bonded_host::{CancellationToken, Clock, Host, SystemClock, WorkdirTools};
use bonded_kernel::{
    self as kernel, Effect, Entry, EventId, Input, Mask, Millis, NoteId, Reply, RuleId, Run, RunId,
    RunStarted, ToolOutput, UserId, WorkspaceId,
};
use bonded_state::{MemoryStore, Store as _};
use bonded_tools::Registry;
use bonded_transport::Providers;
use bonded_workspace::Firing;
use bonded_workspace::config::WorkspaceConfig;
use bonded_workspace::keeper::{Keeper, KeeperError, LoopOrder};
use bonded_workspace::records::LoopTools;
use bonded_workspace::store::{NoteFilter, NoteSort, Page, WorkspaceStore, Write, WriteOutcome};
use bonded_workspace_rules::{
    Action, Actor, Chain, Change, Fire, LoopAction, LoopDefaults, NewNote, Note, NoteEdit,
    NoteWrite, RuleDraft, Trigger,
};
use serde_json::{Value, json};

pub(crate) const HERE: WorkspaceId = WorkspaceId::from_bytes([1; 16]);
pub(crate) const ELSEWHERE: WorkspaceId = WorkspaceId::from_bytes([2; 16]);
const RULE: RuleId = RuleId::from_bytes([3; 16]);
const OWNER: UserId = UserId::from_bytes([4; 16]);

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) notes: Arc<WorkspaceStore>,
    pub(crate) log: Arc<MemoryStore>,
    pub(crate) action: LoopAction,
    pub(crate) clock: Arc<dyn Clock>,
}

pub(crate) async fn world() -> World {
    let dir = tempfile::tempdir().expect("a directory");
    let prompt = json!({
        "agent_name": "kjxlkj-agent",
        "version": "2026-02-15",
        "segments": [{ "condition": "default", "prompt": "Output XML instructions only." }]
    });
    std::fs::write(dir.path().join("agent-prompt.json"), prompt.to_string()).expect("a prompt");
    let notes = WorkspaceStore::open(&dir.path().join("workspace.db")).expect("a store");
    let mut action = LoopAction::from_defaults(HERE, &LoopDefaults::default());
    action.provider.provider_kind = "script".into();
    action.provider.base_url = Some("script.jsonl".into());
    action.pace.loop_delay_ms = 0;
    action.pace.idle_delay_ms = 0;
    let world = World {
        dir,
        notes: Arc::new(notes),
        log: Arc::new(MemoryStore::new()),
        action,
        clock: Arc::new(SystemClock::new()),
    };
    for (workspace_id, name) in [(HERE, "here"), (ELSEWHERE, "elsewhere")] {
        let name = name.into();
        world
            .write(Change::CreateWorkspace { workspace_id, name })
            .await;
    }
    let draft = RuleDraft {
        name: None,
        workspace_id: HERE,
        trigger: Trigger::Manual,
        condition_json: json!({}),
        action_json: json!({ "kind": "kjxlkj_agent" }),
        enabled: true,
        schedule: None,
        max_chain_depth: 3,
    };
    world
        .write(Change::CreateRule {
            rule_id: RULE,
            draft: Box::new(draft),
        })
        .await;
    world
}

impl World {
    /// A person's write.
    pub(crate) async fn write(&self, change: Change) -> WriteOutcome {
        let write = Write {
            actor: Actor::User { user_id: OWNER },
            at: Millis(1_700_000_000_000),
            request_id: "r".into(),
            key: None,
            chain: Chain::default(),
            change,
        };
        let written = self.notes.write(write).await;
        written.expect("the owner may write").outcome
    }

    pub(crate) async fn note(&self, byte: u8, workspace_id: WorkspaceId, title: &str) -> NoteId {
        let note_id = NoteId::from_bytes([byte; 16]);
        self.write(Change::CreateNote(NewNote {
            note_id,
            workspace_id,
            title: Some(title.into()),
            markdown: format!("about {title}"),
            note_kind: None,
            access_scope: Default::default(),
            keywords: vec![],
            metadata: Default::default(),
        }))
        .await;
        note_id
    }

    /// A person changes a note.
    pub(crate) async fn edit(&self, note_id: NoteId, markdown: &str) {
        let note = self.read(note_id).await;
        self.write(Change::UpdateNote(NoteWrite {
            note_id,
            base_version: note.version,
            edit: NoteEdit {
                markdown: Some(markdown.into()),
                ..NoteEdit::default()
            },
        }))
        .await;
    }

    pub(crate) async fn read(&self, note: NoteId) -> Note {
        let note = self.notes.note(note).await.expect("it reads");
        note.expect("it is there")
    }

    /// The notes of the workspace that the agent made.
    pub(crate) async fn made(&self) -> Vec<Note> {
        let filter = NoteFilter {
            workspace: HERE,
            note_kind: None,
            keyword: None,
            folder: None,
            include_deleted: false,
            sort: NoteSort::Title,
            page: Page::default(),
        };
        let listed = self.notes.notes(filter).await.expect("it reads");
        let mut made = vec![];
        for note in listed {
            if note.metadata.contains_key("created_by_agent") {
                made.push(self.read(note.note_id).await);
            }
        }
        made
    }

    fn host(&self) -> Arc<Host> {
        let clock = self.clock.clone();
        Arc::new(Host {
            store: self.log.clone(),
            transport: Arc::new(Providers::from_variables(|_: &str| None)),
            tools: Arc::new(LoopTools {
                store: self.notes.clone(),
                clock: clock.clone(),
                log: self.log.clone(),
                others: Arc::new(WorkdirTools::default()),
            }),
            clock,
            children: None,
            secrets: Arc::default(),
            live: None,
            watch: None,
            interrupt: CancellationToken::new(),
            drain: CancellationToken::new(),
        })
    }

    pub(crate) fn keeper(&self) -> Keeper {
        let mut config = WorkspaceConfig::default();
        config.automation.allowed_providers = vec!["script=script.jsonl".to_owned()];
        let around = config.surroundings(self.dir.path()).with_first(Some(HERE));
        Keeper::new(self.host(), Arc::new(around))
    }

    pub(crate) fn order(&self, run: &str) -> LoopOrder {
        LoopOrder {
            run_id: RunId::new(run).expect("a name"),
            rule_id: RULE,
            action: self.action.clone(),
            request: "tidy up".into(),
            whose: "user:ana".into(),
        }
    }

    /// Fires the rule and lets the agent say this, one reply after the other.
    pub(crate) async fn run(&self, run: &str, replies: &[&str]) -> Run {
        let ran = self.try_run(run, replies).await;
        ran.expect("the run ends")
    }

    pub(crate) async fn try_run(&self, run: &str, replies: &[&str]) -> Result<Run, KeeperError> {
        self.script(replies);
        self.fire(run).await;
        let cancel = CancellationToken::new();
        self.keeper().drive(self.order(run), cancel).await
    }

    /// What the model will say.
    pub(crate) fn script(&self, replies: &[&str]) {
        let lines = replies
            .iter()
            .map(|said| json!({ "text": said }).to_string());
        let script: Vec<String> = lines.collect();
        let path = self.dir.path().join("script.jsonl");
        std::fs::write(path, script.join("\n")).expect("a script");
    }

    pub(crate) async fn fire(&self, run: &str) {
        self.write(Change::Fire(Fire {
            run_id: RunId::new(run).expect("a name"),
            rule_id: RULE,
            triggering_event_id: EventId::derived(&[run.as_bytes()]),
            depth: 1,
            request: None,
        }))
        .await;
    }

    /// A run that was fired, as the engine hands it on.
    pub(crate) async fn firing(&self, run: &str) -> Firing {
        let id = RunId::new(run).expect("a name");
        let rules = self.notes.rules(HERE).await.expect("it reads");
        Firing {
            run: self
                .notes
                .run(id)
                .await
                .expect("it reads")
                .expect("it was fired"),
            rule: rules.into_iter().next().expect("the rule of the world"),
            action: Action::Loop(Box::new(self.action.clone())),
            event: None,
            note: None,
            whose: "user:ana".into(),
        }
    }

    /// The tools of run-1 as a process has them that has just taken it up.
    pub(crate) async fn tools(&self) -> Arc<Registry> {
        let goal = self
            .keeper()
            .goal(&self.order("run-1"))
            .await
            .expect("a goal");
        let opened = self.host().tools.open(&goal.config).await;
        opened.expect("the tools open")
    }

    /// Makes the first call of the first turn of run-1.
    pub(crate) async fn call(
        &self,
        registry: &Registry,
        tool: &str,
        arguments: &Value,
    ) -> ToolOutput {
        self.call_in(1, registry, tool, arguments).await
    }

    /// The same in a later turn; those before it did nothing.
    pub(crate) async fn call_in(
        &self,
        turn: u32,
        registry: &Registry,
        tool: &str,
        arguments: &Value,
    ) -> ToolOutput {
        let goal = self
            .keeper()
            .goal(&self.order("run-1"))
            .await
            .expect("a goal");
        let (text, system, config) = (goal.text, goal.system, goal.config);
        let started = RunStarted::new(text, system, config, registry.catalog().clone());
        let id = RunId::new("run-1").expect("a name");
        let (mut run, _first) = kernel::start(id, Millis(1), started);
        let nothing = |turn| format!("<ram_add><key>turn</key><value>{turn}</value></ram_add>");
        for number in 1..=turn {
            let reply = Reply {
                text: if number < turn {
                    nothing(number)
                } else {
                    written(tool, arguments)
                },
                ..Reply::default()
            };
            let input = Input::Reply {
                turn: number,
                attempt: 1,
                reply: Box::new(reply),
            };
            let _replied = kernel::step(&mut run, Millis(2), input);
            if number < turn {
                let _woken = kernel::step(&mut run, Millis(2), Input::Woke);
            }
        }
        let Effect::Invoke(invocation) = kernel::next(&run) else {
            unreachable!("{tool} is up");
        };
        registry.invoke(&invocation, &Mask::default()).await
    }

    pub(crate) async fn entries(&self, run: &str) -> Vec<Entry> {
        let id = RunId::new(run).expect("a name");
        self.log.load(&id, 0).await.expect("the log of a run")
    }

    /// What the tools of a run answered, in order.
    pub(crate) async fn outputs(&self, run: &str) -> Vec<(String, String)> {
        let entries = self.entries(run).await;
        let finished = entries.iter().filter_map(|entry| match &entry.event {
            bonded_kernel::Event::ToolFinished(it) => {
                Some((it.tool.to_string(), it.output.to_string()))
            }
            _ => None,
        });
        finished.collect()
    }

    pub(crate) fn memory_path(&self) -> PathBuf {
        self.dir.path().join("agent-kv-store.json")
    }

    pub(crate) fn memory(&self) -> Value {
        let text = std::fs::read(self.memory_path()).expect("the memory was written");
        serde_json::from_slice(&text).expect("JSON")
    }
}

fn written(tool: &str, arguments: &Value) -> String {
    let field = |(name, value): (&String, &Value)| match value {
        Value::Array(items) => {
            let ids: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            format!("<{name}>{}</{name}>", ids.join(","))
        }
        value => format!("<{name}>{}</{name}>", value.as_str().unwrap_or_default()),
    };
    let fields = arguments.as_object().expect("an object").iter().map(field);
    format!("<{tool}>{}</{tool}>", fields.collect::<String>())
}

pub(crate) const IDLE: &str = "<state_add><state>idle</state></state_add>";

pub(crate) fn add(value: &str) -> String {
    format!("<record_add><keywords>shed, tools</keywords><value>{value}</value></record_add>")
}

pub(crate) fn update(key: &str, value: &str) -> String {
    format!("<record_update><key>{key}</key><value>{value}</value></record_update>")
}

/// Reads notes by their ids.
pub(crate) fn read(notes: &[NoteId]) -> String {
    let ids: Vec<String> = notes.iter().map(NoteId::to_string).collect();
    format!(
        "<record_search><ids>{}</ids></record_search>",
        ids.join(",")
    )
}
