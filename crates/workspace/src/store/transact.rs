//! A write inside its transaction: decided, appended and projected.
//!
//! Everything that one write needs happens in the transaction of the writer: the view that decides, the events and the
//! rows that follow. So two writes can never both be decided by the same state.

use super::connection::Connection;
use bonded_kernel::{EventId, Millis, RuleId, WorkspaceId};
use bonded_workspace_rules::{
    Actor, AutomationRun, CLOCK_CORRECTED_MS, Chain, Change, Fire, Refused, StoredEvent,
    WorkspaceEvent, decide,
};
use rusqlite::params;

use super::codes::{count, json, number, time};
use super::error::StoreFault;
use super::members::check_can_join;
use super::project::Projection;
use super::transaction::Transaction;
use super::views::{self, LoadedView};
use super::watched_stream::{self, WatchedStream};
use super::write::{CommittedWrite, Write, WriteOutcome};
use super::{blobs, rows};

/// So many writes at once touch more of the file than the writer keeps in memory. Who makes them makes more, so it keeps
/// more from then on.
const MANY: usize = 1000;

/// So much then, in KiB.
const MANY_CACHE_KIB: i64 = 64 << 10;

impl Transaction<'_> {
    /// The answer of an earlier write is looked for before anything is decided, because the state that it was decided
    /// with is gone.
    pub(super) fn write(&mut self, write: &Write) -> Result<CommittedWrite, StoreFault> {
        let Some(key) = &write.key else {
            return self.make(write);
        };
        let fingerprint = write.change.fingerprint();
        if let Some(written) = self.answered(key, fingerprint.as_bytes())? {
            return Ok(written);
        }
        let first_row = watched_stream::head(self.connection, WatchedStream::All)? + 1;
        let written = self.make(write)?;
        self.remember(key, fingerprint.as_bytes(), write.at, first_row, &written)?;
        Ok(written)
    }

    /// One fault of the store takes all of them back; a refusal concerns its own write alone.
    pub(super) fn write_all(
        &mut self,
        writes: &[Write],
    ) -> Result<Vec<Result<CommittedWrite, Refused>>, StoreFault> {
        if writes.len() >= MANY {
            self.connection.keep_more(MANY_CACHE_KIB)?;
        }
        // The kernel refuses before anything is written, so that no savepoint is needed.
        let one = |write| match self.write(write) {
            Ok(written) => Ok(Ok(written)),
            Err(StoreFault::Refused(refused)) => Ok(Err(*refused)),
            Err(fault) => Err(fault),
        };
        writes.iter().map(one).collect()
    }

    /// What only the engine may say is refused for everybody else. The position and the firings are written together:
    /// neither is there without the other.
    fn make(&mut self, write: &Write) -> Result<CommittedWrite, StoreFault> {
        let considers = matches!(
            write.change,
            Change::Considered { .. } | Change::ConsideredSchedule { .. }
        );
        if considers && write.actor != Actor::System {
            return Err(Refused::bad("only the engine says how far it has looked").into());
        }
        if let Change::Considered {
            after,
            row,
            firings,
        } = &write.change
        {
            self.move_cursor(*after, *row)?;
            return self.fire_all(write, firings);
        }
        if let Change::ConsideredSchedule {
            rule_id,
            until,
            firings,
        } = &write.change
        {
            self.move_schedule(*rule_id, *until)?;
            return self.fire_all(write, firings);
        }
        self.make_one(write)
    }

    /// Whether a new member is somebody who can be one is asked after the decision, because accounts are no part of the
    /// view.
    fn make_one(&mut self, write: &Write) -> Result<CommittedWrite, StoreFault> {
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
        Ok(CommittedWrite {
            events,
            outcome: projection.outcome(&write.change)?,
            replayed: is_known_run,
        })
    }

    /// The long text first, then the row of a new note, then the event, then what follows from it: each refers to the
    /// one before.
    fn append(
        &mut self,
        write: &Write,
        workspace_id: WorkspaceId,
        projection: &mut Projection<'_>,
        mut event: WorkspaceEvent,
    ) -> Result<StoredEvent, StoreFault> {
        if let Some(markdown) = event.markdown_mut() {
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
            .insert(WatchedStream::Workspace(workspace_id), event_seq);
        self.heads.insert(WatchedStream::All, row);
        Ok(stored)
    }

    /// Gives the row, which is the place of the event among those of all workspaces.
    fn insert(
        &self,
        stored: &StoredEvent,
        body: &str,
        request_id: &str,
        projection: &Projection<'_>,
        note_key: Option<i64>,
    ) -> Result<u64, StoreFault> {
        let row = self.connection
            .insert("row", "INSERT INTO event (id, workspace, seq, at, note, version, depth, cause, request_id, actor, body) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)", params![
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
        Ok(count(row))
    }

    /// Two engines that look at the same events exclude each other here.
    fn move_cursor(&self, after: u64, row: u64) -> Result<(), StoreFault> {
        let found = cursor(self.connection)?;
        if found != after || row < after {
            return Err(Refused::CursorMoved {
                expected: after,
                found,
            }
            .into());
        }
        self.connection.execute(
            "INSERT INTO cursor (name, value) VALUES ('events', ?1) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [number(row)],
        )?;
        Ok(())
    }

    /// A clock that was set back does not bring back instants that were considered, unless it had been wrong by a day.
    fn move_schedule(&self, rule: RuleId, until: Millis) -> Result<(), StoreFault> {
        self.connection.execute(
            "INSERT INTO schedule (rule, until) VALUES (?1, ?2) \
                 ON CONFLICT (rule) DO UPDATE SET until = CASE \
                 WHEN schedule.until - excluded.until >= ?3 OR excluded.until > schedule.until \
                 THEN excluded.until ELSE schedule.until END",
            params![rule.as_bytes(), time(until), number(CLOCK_CORRECTED_MS)],
        )?;
        Ok(())
    }

    /// Queues runs. What cannot be queued, because its rule or its workspace has gone meanwhile, is left out.
    fn fire_all(&mut self, write: &Write, firings: &[Fire]) -> Result<CommittedWrite, StoreFault> {
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
                    if let WriteOutcome::Run(run) = written.outcome {
                        runs.push(*run);
                    }
                }
                Err(StoreFault::Refused(_)) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(CommittedWrite {
            events,
            outcome: WriteOutcome::Runs(runs),
            replayed: false,
        })
    }
}

/// Where the events of a change belong.
fn workspace_of(loaded: &LoadedView, change: &Change) -> WorkspaceId {
    match (&loaded.view.workspace, change) {
        (Some(workspace), _) => workspace.workspace_id,
        (None, Change::CreateWorkspace { workspace_id, .. }) => *workspace_id,
        // The kernel refuses every other change without a workspace.
        (None, _) => WorkspaceId::from_bytes([0; 16]),
    }
}

/// A queued run stands in the chain of what made its rule fire.
fn chain_of(event: &WorkspaceEvent, chain: Chain) -> Chain {
    let WorkspaceEvent::AutomationQueued(queued) = event else {
        return chain;
    };
    Chain {
        depth: queued.depth,
        cause: Some(queued.triggering_event_id),
    }
}

/// The row up to which the rule engine has looked at events.
pub(super) fn cursor(connection: Connection<'_>) -> Result<u64, StoreFault> {
    let sql = "SELECT value FROM cursor WHERE name = 'events'";
    let found = rows::one(connection, sql, params![], |row| Ok(count(row.get(0)?)))?;
    Ok(found.unwrap_or(0))
}
