//! What is left after the storm: as the server showed it at last, and as it lies in the files.

use std::collections::BTreeMap;

use bonded_host::load_run;
use bonded_kernel::{Entry, Millis, Run, RunId, WorkspaceId};
use bonded_state::{SqliteStore, Store as _};
use bonded_workspace::store::WorkspaceStore;
use bonded_workspace_rules::StoredEvent;
use rusqlite::{Connection, OpenFlags};
use serde_json::Value;

use crate::notes::{Acknowledged, Kept};
use crate::place::Place;
use crate::rules::{Kind, World, text};
use crate::server::Shared;

const EVENTS_AT_ONCE: usize = 500;

pub(crate) struct Remains {
    pub(crate) place: Place,
    pub(crate) world: World,
    pub(crate) told: Vec<Acknowledged>,
    /// Since when the schedule was in force, until when surely, and when it surely was not any more.
    pub(crate) scheduled: (Millis, Millis, Millis),
    pub(crate) sent_again: u64,
    /// Every note over the API, with its metadata.
    pub(crate) notes: BTreeMap<String, (Kept, Value)>,
    /// Every run of a rule over the API.
    pub(crate) runs: Vec<Value>,
    pub(crate) events: BTreeMap<WorkspaceId, Vec<StoredEvent>>,
    /// How many events each request left.
    pub(crate) left: BTreeMap<String, u32>,
    /// The runs that have a log.
    pub(crate) logs: BTreeMap<String, (Run, Vec<Entry>)>,
}

impl Remains {
    /// What a server shows.
    pub(crate) fn seen(
        place: Place,
        shared: &Shared,
        world: World,
        told: Vec<Acknowledged>,
    ) -> Self {
        let (mut notes, mut runs) = (BTreeMap::new(), vec![]);
        for workspace in &world.workspaces {
            let path = format!("/api/notes?workspace_id={workspace}&include_deleted=true");
            for listed in shared.list(&path, "notes") {
                let id = text(&listed["note_id"]);
                let mut note = shared.get(&format!("/api/notes/{id}"));
                let metadata = note["metadata"].take();
                notes.insert(id, (Kept::shown(&note), metadata));
            }
            let path = format!("/api/automation/runs?workspace_id={workspace}");
            runs.extend(shared.list(&path, "runs"));
        }
        Self {
            place,
            world,
            told,
            scheduled: (Millis(0), Millis(0), Millis(0)),
            sent_again: shared.sent_again.load(std::sync::atomic::Ordering::Relaxed),
            notes,
            runs,
            events: BTreeMap::new(),
            left: BTreeMap::new(),
            logs: BTreeMap::new(),
        }
    }

    /// The kind of rule that a run is of.
    pub(crate) fn kind_of(&self, run: &Value) -> Kind {
        let mut rules = self.world.rules.iter();
        let rule = rules.find(|it| run["rule_id"] == it.rule_id.to_string());
        rule.expect("every run has a rule").kind
    }

    /// Reads the files, once nobody serves them.
    pub(crate) fn read(&mut self) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime
            .expect("a runtime can be made")
            .block_on(self.read_stores());
        let file = self.place.path("data/workspace.db");
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .expect("the file can be opened");
        let mut counted = connection
            .prepare("SELECT request_id, count(*) FROM event GROUP BY request_id")
            .expect("there are events");
        let rows = counted.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let rows = rows.expect("they can be counted");
        self.left = rows.collect::<Result<_, _>>().expect("they can be read");
    }

    async fn read_stores(&mut self) {
        let file = self.place.path("data/workspace.db");
        let store = WorkspaceStore::open_existing(&file).expect("the store opens");
        for workspace in &self.world.workspaces {
            let workspace: WorkspaceId = workspace.parse().expect("an id");
            let events = all_events(&store, workspace).await;
            self.events.insert(workspace, events);
        }
        let logs = SqliteStore::open_existing(&self.place.path("store.db"));
        let logs = logs.expect("the logs open");
        for run in &self.runs {
            let name = text(&run["run_id"]);
            let id = RunId::new(&name).expect("the name of a run");
            if logs.head(&id).await.expect("logs can be read").is_none() {
                continue;
            }
            let loaded = load_run(&logs, &id).await.expect("the log is whole");
            let entries = logs.load(&id, 0).await.expect("the log is there");
            self.logs.insert(name, (loaded, entries));
        }
    }
}

async fn all_events(store: &WorkspaceStore, workspace: WorkspaceId) -> Vec<StoredEvent> {
    let mut all: Vec<StoredEvent> = vec![];
    loop {
        let after = all.last().map_or(0, |it| it.event_seq);
        let more = store.events(workspace, after, EVENTS_AT_ONCE).await;
        let more = more.expect("events can be read");
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}
