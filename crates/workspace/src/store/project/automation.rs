//! The rows of rules, runs and operations.
//!
//! Rules and operations are kept whole as JSON, with columns beside it for what is asked for; runs have a column for
//! each field. A deleted rule keeps its row, because its runs name it.

use bonded_kernel::OperationId;
use bonded_workspace_rules::{
    AutomationRun, Operation, OperationFact, OperationStatus, Rule, RuleFact, RunFact, RunFinished,
    RunQueued, RunStatus, StoredEvent,
};
use rusqlite::params;
use serde_json::Value;

use super::Projection;
use crate::store::codes::{json, time, word};
use crate::store::error::StoreFault;

impl Projection<'_> {
    /// The columns `enabled` and `deleted` are what lists and the engine ask for.
    pub(super) fn project_rule(&self, fact: RuleFact<'_>) -> Result<(), StoreFault> {
        match fact {
            RuleFact::Created(rule) => self.insert_rule(rule),
            RuleFact::Updated(rule) => {
                self.connection.execute(
                    "UPDATE rule SET enabled = ?2, body = ?3 WHERE id = ?1",
                    params![rule.rule_id.as_bytes(), rule.draft.enabled, json(rule)?],
                )?;
                Ok(())
            }
            RuleFact::Deleted(rule_id) => {
                self.connection.execute(
                    "UPDATE rule SET deleted = 1 WHERE id = ?1",
                    [rule_id.as_bytes()],
                )?;
                Ok(())
            }
        }
    }

    /// Moves the run of the view on and writes it.
    pub(super) fn project_run(
        &mut self,
        stored: &StoredEvent,
        fact: RunFact<'_>,
    ) -> Result<(), StoreFault> {
        let status = fact.status();
        match fact {
            RunFact::Queued(queued) => self.insert_run(stored, queued),
            RunFact::Running => self.move_run(stored, status, None),
            RunFact::Succeeded(finished)
            | RunFact::Failed(finished)
            | RunFact::Cancelled(finished) => self.move_run(stored, status, Some(finished)),
        }
    }

    /// The decision goes into the body too, so that it is read back whole.
    pub(super) fn project_operation(
        &mut self,
        stored: &StoredEvent,
        fact: OperationFact<'_>,
    ) -> Result<(), StoreFault> {
        match fact {
            OperationFact::Proposed(operation) => self.insert_operation(operation),
            OperationFact::Applied {
                operation_id,
                was_edited,
            } => {
                if let Some(operation) = &mut self.loaded.view.operation {
                    operation.was_edited = was_edited;
                }
                self.decide_operation(stored, operation_id, OperationStatus::Applied, None)
            }
            OperationFact::Rejected {
                operation_id,
                reject_reason,
            } => {
                let reason = reject_reason.map(str::to_owned);
                self.decide_operation(stored, operation_id, OperationStatus::Rejected, reason)
            }
        }
    }

    /// The id is unique: a rule that is there was refused before.
    fn insert_rule(&self, rule: &Rule) -> Result<(), StoreFault> {
        self.connection.execute(
            "INSERT INTO rule (id, workspace, enabled, deleted, body) VALUES (?1, ?2, ?3, 0, ?4)",
            params![
                rule.rule_id.as_bytes(),
                self.loaded.workspace_key,
                rule.draft.enabled,
                json(rule)?,
            ],
        )?;
        Ok(())
    }

    /// The run of the view becomes this one, so that the outcome of the change shows it.
    fn insert_run(&mut self, stored: &StoredEvent, queued: &RunQueued) -> Result<(), StoreFault> {
        let run = AutomationRun {
            run_id: queued.run_id.clone(),
            rule_id: queued.rule_id,
            workspace_id: stored.workspace_id,
            triggering_event_id: queued.triggering_event_id,
            status: RunStatus::Queued,
            depth: queued.depth,
            request: queued.request.clone(),
            queued_at: stored.at,
            started_at: None,
            finished_at: None,
            error_code: None,
            result_json: Value::Null,
            audit: None,
        };
        self.connection
            .execute("INSERT INTO run (id, rule, workspace, event, status, depth, queued_at, result, request) \
                 VALUES (?1, ?2, ?3, ?4, 'queued', ?5, ?6, 'null', ?7)", params![
                run.run_id.as_str(),
                run.rule_id.as_bytes(),
                self.loaded.workspace_key,
                run.triggering_event_id.as_bytes(),
                run.depth,
                time(run.queued_at),
                run.request,
            ])?;
        self.loaded.view.run = Some(run);
        Ok(())
    }

    /// A step that is no end begins the run. An event about a run that the view has not is damage.
    fn move_run(
        &mut self,
        stored: &StoredEvent,
        status: RunStatus,
        finished: Option<&RunFinished>,
    ) -> Result<(), StoreFault> {
        let missing = || StoreFault::Damaged("an event is about a run that is not there".into());
        let run = self.loaded.view.run.as_mut().ok_or_else(missing)?;
        run.status = status;
        match finished {
            None => run.started_at = Some(stored.at),
            Some(finished) => {
                run.finished_at = Some(stored.at);
                run.error_code.clone_from(&finished.error_code);
                run.result_json.clone_from(&finished.result_json);
                run.audit.clone_from(&finished.audit);
            }
        }
        let audit = run.audit.as_ref().map(json).transpose()?;
        self.connection
            .execute("UPDATE run SET status = ?2, started_at = ?3, finished_at = ?4, error_code = ?5, result = ?6, audit = ?7 \
                 WHERE id = ?1", params![
                run.run_id.as_str(),
                status.as_str(),
                run.started_at.map(time),
                run.finished_at.map(time),
                run.error_code,
                json(&run.result_json)?,
                audit,
            ])?;
        Ok(())
    }

    /// The place is its index among the operations of the run.
    fn insert_operation(&mut self, operation: &Operation) -> Result<(), StoreFault> {
        self.connection
            .execute("INSERT INTO operation (id, run, workspace, place, status, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)", params![
                operation.operation_id.as_bytes(),
                operation.run_id.as_str(),
                self.loaded.workspace_key,
                operation.operation_index,
                word(&operation.status)?,
                json(operation)?,
            ])?;
        Ok(())
    }

    /// Who decided and when come from the event, so that a review cannot claim either.
    fn decide_operation(
        &mut self,
        stored: &StoredEvent,
        id: OperationId,
        status: OperationStatus,
        reject_reason: Option<String>,
    ) -> Result<(), StoreFault> {
        let missing =
            || StoreFault::Damaged("an event is about an operation that is not there".into());
        let operation = self.loaded.view.operation.as_mut().ok_or_else(missing)?;
        operation.status = status;
        operation.reject_reason = reject_reason;
        operation.decided_at = Some(stored.at);
        operation.decided_by = Some(stored.actor.clone());
        self.connection.execute(
            "UPDATE operation SET status = ?2, body = ?3 WHERE id = ?1",
            params![id.as_bytes(), word(&status)?, json(operation)?],
        )?;
        Ok(())
    }
}
