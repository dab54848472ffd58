//! Rules, their runs, and what those left for a person.
//!
//! Only reading: everything here was written by changes that were decided. Each query has an index, so that its cost
//! does not grow with the store.

use super::connection::Connection;
use bonded_kernel::{EventId, Millis, OperationId, RuleId, RunId, WorkspaceId};
use bonded_workspace_rules::{AutomationRun, Operation, Rule, RunStatus, StoredEvent};
use rusqlite::params;

use super::codes::{at, count, number, time};
use super::error::{StoreFault, WorkspaceError};
use super::notes::Page;
use super::rows::{self, StoredRule};
use super::workspace_store::WorkspaceStore;
use super::{transact, views};

/// Which runs to list; absent means any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Runs of one workspace.
    pub workspace: Option<WorkspaceId>,
    /// Runs of one rule.
    pub rule: Option<RuleId>,
    /// Runs with one status.
    pub status: Option<RunStatus>,
    /// Which part of the list.
    pub page: Page,
}

/// What waits of one rule.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedRuns {
    /// Names who made the workspace: somebody with many workspaces is one person.
    pub whose: String,
    /// The rule that they are runs of.
    pub rule_id: RuleId,
    /// The first ones, in the order in which they were queued.
    pub runs: Vec<AutomationRun>,
}

impl WorkspaceStore {
    /// The rules of a workspace, the oldest first.
    pub async fn rules(&self, workspace: WorkspaceId) -> Result<Vec<Rule>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!(
                "{} WHERE workspace = (SELECT key FROM workspace WHERE id = ?1) AND deleted = 0 ORDER BY key",
                rows::RULE
            );
            rows::all(connection, &sql, [workspace.as_bytes()], |row| {
                Ok(rows::rule(row)?.rule)
            })
        })
        .await
    }

    /// A rule, also one that was deleted: its runs refer to it.
    pub async fn rule(&self, rule: RuleId) -> Result<Option<StoredRule>, WorkspaceError> {
        self.read(move |connection| views::rule(connection, rule))
            .await
    }

    /// The rules of all workspaces that may fire.
    pub async fn enabled_rules(&self) -> Result<Vec<Rule>, WorkspaceError> {
        self.read(|connection| {
            let sql = "SELECT body, deleted FROM rule JOIN workspace ON workspace.key = rule.workspace \
                 WHERE enabled = 1 AND deleted = 0 AND workspace.state = 'active' ORDER BY rule.key";
            rows::all(connection, sql, params![], |row| Ok(rows::rule(row)?.rule))
        })
        .await
    }

    /// Runs, those that were queued last first.
    pub async fn runs(&self, filter: RunFilter) -> Result<Vec<AutomationRun>, WorkspaceError> {
        self.read(move |connection| runs(connection, &filter)).await
    }

    /// The runs that have this status, those that were queued first before the others.
    pub async fn runs_in_order(
        &self,
        status: RunStatus,
        limit: u64,
    ) -> Result<Vec<AutomationRun>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!("{} WHERE status = ?1 ORDER BY run.key LIMIT ?2", rows::RUN);
            let parameters = params![status.as_str(), number(limit)];
            rows::all(connection, &sql, parameters, rows::run)
        })
        .await
    }

    /// The first queued runs of each rule that has any, and whose its workspace is. No rule's runs keep those of another
    /// from being seen, however many they are.
    pub async fn queued_by_rule(&self, each: u64) -> Result<Vec<QueuedRuns>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT queued.workspace, queued.rule, event.actor FROM \
                 (SELECT DISTINCT workspace, rule FROM run WHERE status = 'queued') AS queued \
                 JOIN event ON event.workspace = queued.workspace AND event.seq = 1";
            let rules = rows::all(connection, sql, params![], |row| {
                let rule = RuleId::from_bytes(row.get(1)?);
                Ok((row.get::<i64>(0)?, rule, row.get::<String>(2)?))
            })?;
            let sql = format!(
                "{} WHERE status = 'queued' AND run.workspace = ?1 AND run.rule = ?2 \
                 ORDER BY run.key LIMIT ?3",
                rows::RUN
            );
            let queued = |(workspace, rule_id, whose): (i64, RuleId, String)| {
                let parameters = params![workspace, rule_id.as_bytes(), number(each)];
                let runs = rows::all(connection, &sql, parameters, rows::run)?;
                Ok(QueuedRuns {
                    whose,
                    rule_id,
                    runs,
                })
            };
            rules.into_iter().map(queued).collect()
        })
        .await
    }

    /// The runs that were cancelled at this moment or later, after they had begun.
    pub async fn cancelled_since(&self, at: Millis) -> Result<Vec<AutomationRun>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!(
                "{} WHERE status = 'cancelled' AND started_at IS NOT NULL AND finished_at >= ?1 ORDER BY run.key",
                rows::RUN
            );
            rows::all(connection, &sql, [time(at)], rows::run)
        })
        .await
    }

    /// The run with this id.
    pub async fn run(&self, run: RunId) -> Result<Option<AutomationRun>, WorkspaceError> {
        self.read(move |connection| views::run(connection, &run))
            .await
    }

    /// The run that this event, or this instant, made this rule queue.
    pub async fn run_of(
        &self,
        rule: RuleId,
        event: EventId,
    ) -> Result<Option<AutomationRun>, WorkspaceError> {
        self.read(move |connection| views::run_of(connection, rule, event))
            .await
    }

    /// Whether a run of the rule has not ended.
    pub async fn has_open_run(&self, rule: RuleId) -> Result<bool, WorkspaceError> {
        self.read(move |connection| {
            let sql =
                "SELECT 1 FROM run WHERE rule = ?1 AND status IN ('queued', 'running') LIMIT 1";
            let found = rows::one(connection, sql, [rule.as_bytes()], |_| Ok(()))?;
            Ok(found.is_some())
        })
        .await
    }

    /// What a run proposed, in order.
    pub async fn operations(&self, run: RunId) -> Result<Vec<Operation>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!("{} WHERE run = ?1 ORDER BY place", rows::OPERATION);
            rows::all(connection, &sql, [run.as_str()], rows::operation)
        })
        .await
    }

    /// The operation with this id.
    pub async fn operation(&self, id: OperationId) -> Result<Option<Operation>, WorkspaceError> {
        self.read(move |connection| views::operation(connection, id))
            .await
    }

    /// What waits for a person's judgement in a workspace, the oldest first.
    pub async fn pending_operations(
        &self,
        workspace: WorkspaceId,
        page: Page,
    ) -> Result<Vec<Operation>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!(
                "{} WHERE workspace = (SELECT key FROM workspace WHERE id = ?1) AND status = 'pending' \
                 ORDER BY key LIMIT ?2 OFFSET ?3",
                rows::OPERATION
            );
            let parameters = params![workspace.as_bytes(), number(page.limit), number(page.offset)];
            rows::all(connection, &sql, parameters, rows::operation)
        })
        .await
    }

    /// How much waits for a person's judgement in a workspace.
    pub async fn pending_count(&self, workspace: WorkspaceId) -> Result<u64, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT count(*) FROM operation \
                 WHERE workspace = (SELECT key FROM workspace WHERE id = ?1) AND status = 'pending'";
            let found = rows::one(connection, sql, [workspace.as_bytes()], |row| {
                Ok(count(row.get(0)?))
            })?;
            Ok(found.unwrap_or(0))
        })
        .await
    }

    /// The events with which issues were recorded, the last first.
    pub async fn issues(
        &self,
        workspace: WorkspaceId,
        page: Page,
    ) -> Result<Vec<StoredEvent>, WorkspaceError> {
        self.read(move |connection| {
            let sql = format!(
                "{} JOIN issue ON issue.event = event.row \
                 WHERE issue.workspace = (SELECT key FROM workspace WHERE id = ?1) \
                 ORDER BY issue.event DESC LIMIT ?2 OFFSET ?3",
                rows::EVENT
            );
            let parameters = params![
                workspace.as_bytes(),
                number(page.limit),
                number(page.offset)
            ];
            rows::all(connection, &sql, parameters, |row| {
                Ok(rows::event(connection, row)?.1)
            })
        })
        .await
    }

    /// The row up to which the rule engine has looked at events.
    pub async fn considered_row(&self) -> Result<u64, WorkspaceError> {
        self.read(transact::cursor).await
    }

    /// The time up to which the rule engine has looked at a rule's schedule.
    pub async fn considered_until(&self, rule: RuleId) -> Result<Option<Millis>, WorkspaceError> {
        self.read(move |connection| {
            let sql = "SELECT until FROM schedule WHERE rule = ?1";
            rows::one(connection, sql, [rule.as_bytes()], |row| {
                Ok(at(row.get(0)?))
            })
        })
        .await
    }
}

/// Conditions are put together from fixed texts; values are always parameters.
fn runs(connection: Connection<'_>, filter: &RunFilter) -> Result<Vec<AutomationRun>, StoreFault> {
    let mut conditions = Vec::new();
    let mut parameters: Vec<Box<dyn rusqlite::ToSql>> = vec![
        Box::new(number(filter.page.limit)),
        Box::new(number(filter.page.offset)),
    ];
    if let Some(workspace) = filter.workspace {
        let Some(key) = rows::workspace_key(connection, workspace)? else {
            return Ok(vec![]);
        };
        parameters.push(Box::new(key));
        conditions.push(format!("run.workspace = ?{}", parameters.len()));
    }
    if let Some(rule) = filter.rule {
        parameters.push(Box::new(*rule.as_bytes()));
        conditions.push(format!("rule = ?{}", parameters.len()));
    }
    if let Some(status) = filter.status {
        parameters.push(Box::new(status.as_str()));
        conditions.push(format!("status = ?{}", parameters.len()));
    }
    let condition = match conditions.as_slice() {
        [] => String::new(),
        conditions => format!("WHERE {}", conditions.join(" AND ")),
    };
    let sql = format!(
        "{} {condition} ORDER BY run.key DESC LIMIT ?1 OFFSET ?2",
        rows::RUN
    );
    rows::all(connection, &sql, parameters, rows::run)
}
