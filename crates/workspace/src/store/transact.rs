//! A write inside its transaction: decided, appended and projected.

use std::collections::BTreeMap;

use bonded_kernel::{EventId, Millis, RuleId, WorkspaceId};
use bonded_workspace_rules::{
    Actor, AutomationRun, CLOCK_CORRECTED_MS, Chain, Change, Fire, Refused, StoredEvent,
    WorkspaceEvent, decide,
};
use rusqlite::{Connection, params};

use super::codes::{count, json, number, time};
use super::error::Fault;
use super::members::check_can_join;
use super::project::Projection;
use super::streams::Stream;
use super::views::{self, Loaded};
use super::words::Waiting;
use super::{Outcome, Write, Written, blobs, rows};

/// So many writes at once touch more of the file than the writer keeps in memory. Who makes them makes more, so it keeps
/// more from then on.
const MANY: usize = 1000;

/// So much then, in KiB.
const MANY_CACHE_KIB: i64 = 64 << 10;

/// One transaction of the writer.
#[derive(Debug)]
pub(super) struct Transaction<'a> {
    pub(super) connection: &'a Connection,
    /// How far the streams go that were written to.
    heads: BTreeMap<Stream, u64>,
    words: Waiting,
}

/// What a transaction had come to when a job began.
#[derive(Debug)]
pub(super) struct Mark {
    heads: BTreeMap<Stream, u64>,
    words: usize,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self {
            connection,
            heads: BTreeMap::new(),
            words: Waiting::default(),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            heads: self.heads.clone(),
            words: self.words.len(),
        }
    }

    /// Forgets what was made since. The rows are taken back by whoever has the savepoint.
    pub(super) fn back_to(&mut self, mark: Mark) {
        self.heads = mark.heads;
        self.words.truncate(mark.words);
    }

    /// Writes what was left for the end, and says how far the streams go.
    pub(super) fn finish(self) -> Result<BTreeMap<Stream, u64>, Fault> {
        self.words.write(self.connection)?;
        Ok(self.heads)
    }

    pub(super) fn write(&mut self, write: &Write) -> Result<Written, Fault> {
        let Some(key) = &write.key else {
            return self.make(write);
        };
        let fingerprint = write.change.fingerprint();
        if let Some(written) = self.answered(key, fingerprint.as_bytes())? {
            return Ok(written);
        }
        let first_row = super::streams::head(self.connection, Stream::All)? + 1;
        let written = self.make(write)?;
        self.remember(key, fingerprint.as_bytes(), write.at, first_row, &written)?;
        Ok(written)
    }

    pub(super) fn write_all(
        &mut self,
        writes: &[Write],
    ) -> Result<Vec<Result<Written, Refused>>, Fault> {
        if writes.len() >= MANY {
            let cache = -MANY_CACHE_KIB;
            self.connection.pragma_update(None, "cache_size", cache)?;
        }
        // The kernel refuses before anything is written, so that no savepoint is needed.
        let one = |write| match self.write(write) {
            Ok(written) => Ok(Ok(written)),
            Err(Fault::Refused(refused)) => Ok(Err(*refused)),
            Err(fault) => Err(fault),
        };
        writes.iter().map(one).collect()
    }

    fn make(&mut self, write: &Write) -> Result<Written, Fault> {
        let considers = matches!(
            write.change,
            Change::Considered { .. } | Change::ConsideredSchedule { .. }
        );
        if considers && write.actor != Actor::System {
            return Err(Refused::bad("only the engine says how far it has looked").into());
        }
        match &write.change {
            Change::Considered {
                after,
                row,
                firings,
            } => {
                self.move_cursor(*after, *row)?;
                self.fire_all(write, firings)
            }
            Change::ConsideredSchedule {
                rule_id,
                until,
                firings,
            } => {
                self.move_schedule(*rule_id, *until)?;
                self.fire_all(write, firings)
            }
            Change::CreateWorkspace { .. }
            | Change::CreateNote(_)
            | Change::CreateRule { .. }
            | Change::UpdateRule { .. }
            | Change::Propose { .. }
            | Change::UpdateWorkspace { .. }
            | Change::SetMember { .. }
            | Change::RemoveMember { .. }
            | Change::UpdateNote(_)
            | Change::DeleteNote { .. }
            | Change::UndeleteNote { .. }
            | Change::SetMetadata { .. }
            | Change::DeleteMetadata { .. }
            | Change::DeleteRule { .. }
            | Change::Fire(_)
            | Change::MoveRun { .. }
            | Change::Review { .. }
            | Change::RecordIssue { .. } => self.make_one(write),
        }
    }

    fn make_one(&mut self, write: &Write) -> Result<Written, Fault> {
        let loaded = views::load(self.connection, &write.change, &write.actor)?;
        let decided = decide(&loaded.view, &write.change, &write.actor, write.at)?;
        if let (Change::SetMember { user_id, .. }, false) = (&write.change, decided.is_empty()) {
            check_can_join(self.connection, *user_id)?;
        }
        let is_known_run = matches!(write.change, Change::Fire(_)) && decided.is_empty();
        let workspace = workspace_of(&loaded, &write.change);
        let mut projection = Projection::new(self.connection, loaded);
        let mut events = Vec::with_capacity(decided.len());
        for event in decided {
            let stored = self.append(write, workspace, &mut projection, event)?;
            events.push(stored);
        }
        Ok(Written {
            events,
            outcome: projection.outcome(&write.change)?,
            replayed: is_known_run,
        })
    }

    fn append(
        &mut self,
        write: &Write,
        workspace_id: WorkspaceId,
        projection: &mut Projection<'_>,
        event: WorkspaceEvent,
    ) -> Result<StoredEvent, Fault> {
        if let Some(markdown) = event.markdown() {
            blobs::keep(self.connection, markdown)?;
        }
        let body = json(&event)?;
        let event_seq = projection.next_seq();
        let stored = StoredEvent {
            event_id: EventId::of_event(workspace_id, event_seq, write.at, body.as_bytes()),
            workspace_id,
            event_seq,
            at: write.at,
            actor: write.actor.clone(),
            note_id: event.note_id(),
            version: projection.next_version(&event),
            chain: chain_of(&event, write.chain),
            event,
        };
        let note_key = projection.prepare(&stored)?;
        let row = self.insert(&stored, &body, &write.request_id, projection, note_key)?;
        projection.project(&stored, row, &mut self.words)?;
        self.heads
            .insert(Stream::Workspace(workspace_id), event_seq);
        self.heads.insert(Stream::All, row);
        Ok(stored)
    }

    fn insert(
        &self,
        stored: &StoredEvent,
        body: &str,
        request_id: &str,
        projection: &Projection<'_>,
        note_key: Option<i64>,
    ) -> Result<u64, Fault> {
        self.connection
            .prepare_cached(
                "INSERT INTO event (id, workspace, seq, at, note, version, depth, cause, request_id, actor, body) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                stored.event_id.as_bytes(),
                projection.workspace_key(),
                number(stored.event_seq),
                time(stored.at),
                note_key,
                stored.version.map(number),
                stored.chain.depth,
                stored.chain.cause.as_ref().map(EventId::as_bytes),
                request_id,
                json(&stored.actor)?,
                body,
            ])?;
        Ok(count(self.connection.last_insert_rowid()))
    }

    /// Two engines that look at the same events exclude each other here.
    fn move_cursor(&self, after: u64, row: u64) -> Result<(), Fault> {
        let found = cursor(self.connection)?;
        if found != after || row < after {
            return Err(Refused::CursorMoved {
                expected: after,
                found,
            }
            .into());
        }
        self.connection
            .prepare_cached("INSERT OR REPLACE INTO cursor (name, value) VALUES ('events', ?1)")?
            .execute([number(row)])?;
        Ok(())
    }

    /// A clock that was set back does not bring back instants that were considered, unless it had been wrong by a day.
    fn move_schedule(&self, rule: RuleId, until: Millis) -> Result<(), Fault> {
        self.connection
            .prepare_cached(
                "INSERT INTO schedule (rule, until) VALUES (?1, ?2) \
                 ON CONFLICT (rule) DO UPDATE SET until = \
                 iif(until - excluded.until >= ?3, excluded.until, max(until, excluded.until))",
            )?
            .execute(params![
                rule.as_bytes(),
                time(until),
                number(CLOCK_CORRECTED_MS)
            ])?;
        Ok(())
    }

    /// Queues runs. What cannot be queued, because its rule or its workspace has gone meanwhile, is left out.
    fn fire_all(&mut self, write: &Write, firings: &[Fire]) -> Result<Written, Fault> {
        let (mut events, mut runs) = (Vec::new(), Vec::<AutomationRun>::new());
        for fire in firings {
            let one = Write {
                key: None,
                change: Change::Fire(fire.clone()),
                ..write.clone()
            };
            match self.make_one(&one) {
                Ok(written) => {
                    events.extend(written.events);
                    if let Outcome::Run(run) = written.outcome {
                        runs.push(*run);
                    }
                }
                Err(Fault::Refused(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(Written {
            events,
            outcome: Outcome::Runs(runs),
            replayed: false,
        })
    }
}

/// Where the events of a change belong.
fn workspace_of(loaded: &Loaded, change: &Change) -> WorkspaceId {
    match (&loaded.view.workspace, change) {
        (Some(workspace), _) => workspace.workspace_id,
        (None, Change::CreateWorkspace { workspace_id, .. }) => *workspace_id,
        // The kernel refuses every other change without a workspace.
        (None, _) => WorkspaceId::from_bytes([0; 16]),
    }
}

/// A queued run stands in the chain of what made its rule fire.
fn chain_of(event: &WorkspaceEvent, chain: Chain) -> Chain {
    match event {
        WorkspaceEvent::AutomationQueued(queued) => Chain {
            depth: queued.depth,
            cause: Some(queued.triggering_event_id),
        },
        WorkspaceEvent::WorkspaceCreated { .. }
        | WorkspaceEvent::WorkspaceUpdated { .. }
        | WorkspaceEvent::MemberSet(_)
        | WorkspaceEvent::MemberRemoved { .. }
        | WorkspaceEvent::NoteCreated(_)
        | WorkspaceEvent::NoteUpdated(_)
        | WorkspaceEvent::NoteTitleChanged { .. }
        | WorkspaceEvent::NoteDeleted { .. }
        | WorkspaceEvent::NoteUndeleted { .. }
        | WorkspaceEvent::NoteMetadataSet { .. }
        | WorkspaceEvent::NoteMetadataDeleted { .. }
        | WorkspaceEvent::RuleCreated { .. }
        | WorkspaceEvent::RuleUpdated { .. }
        | WorkspaceEvent::RuleDeleted { .. }
        | WorkspaceEvent::AutomationRunning { .. }
        | WorkspaceEvent::AutomationSucceeded(_)
        | WorkspaceEvent::AutomationFailed(_)
        | WorkspaceEvent::AutomationCancelled(_)
        | WorkspaceEvent::OperationProposed(_)
        | WorkspaceEvent::OperationApplied { .. }
        | WorkspaceEvent::OperationRejected { .. }
        | WorkspaceEvent::IssueRecorded(_) => chain,
    }
}

/// The row up to which the rule engine has looked at events.
pub(super) fn cursor(connection: &Connection) -> Result<u64, Fault> {
    let sql = "SELECT value FROM cursor WHERE name = 'events'";
    let found = rows::one(connection, sql, [], |row| Ok(count(row.get(0)?)))?;
    Ok(found.unwrap_or(0))
}
