//! Writes that may be asked for again, and what they came to.
//!
//! A client that heard no answer asks again with the same key and gets the same answer, without a second write. The
//! answer is kept in the transaction of the write, so that there is never one without the other. A key with another
//! change behind it is refused.

use bonded_kernel::{Millis, NoteId, OperationId, RunId};
use bonded_workspace_rules::Refused;
use rusqlite::params;
use serde::{Deserialize, Serialize};

use super::codes::{json, number, time};
use super::error::StoreFault;
use super::transaction::Transaction;
use super::write::{CommittedWrite, IdempotencyKey, WriteOutcome};
use super::{notes, rows, views};

/// How long an answer is remembered at least.
const ANSWER_KEPT_MS: u64 = 48 * 60 * 60 * 1000;

/// How many old answers are forgotten with each new one.
const FORGOTTEN_MAX: i64 = 16;

/// What is remembered of an outcome. What can be read again is not written twice.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswerRecord {
    Note { note_id: NoteId, version: u64 },
    Run { run_id: RunId },
    Operation { operation_id: OperationId },
    Other(WriteOutcome),
}

impl Transaction<'_> {
    /// What the write with this key came to.
    pub(super) fn answered(
        &self,
        key: &IdempotencyKey,
        fingerprint: &[u8],
    ) -> Result<Option<CommittedWrite>, StoreFault> {
        let sql = "SELECT fingerprint, first_row, rows, outcome FROM answer WHERE scope = ?1 AND key = ?2";
        let found = rows::one(self.connection, sql, [&key.scope, &key.key], |row| {
            let (known, first, rows): (Vec<u8>, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((known, first, rows, row.get::<String>(3)?))
        })?;
        let Some((known, first_row, rows, outcome)) = found else {
            return Ok(None);
        };
        if known != fingerprint {
            return Err(Refused::bad(
                "the idempotency key was used for another request; use a new one",
            )
            .into());
        }
        let sql = format!(
            "{} WHERE event.row >= ?1 AND event.row < ?1 + ?2 ORDER BY event.row",
            rows::EVENT
        );
        let events = rows::all(self.connection, &sql, [first_row, rows], |row| {
            Ok(rows::event(self.connection, row)?.1)
        })?;
        Ok(Some(CommittedWrite {
            events,
            outcome: self.recall(serde_json::from_str(&outcome)?)?,
            replayed: true,
        }))
    }

    /// A note comes back in the version that the write made; a run or an operation comes back as it stands.
    fn recall(&self, remembered: AnswerRecord) -> Result<WriteOutcome, StoreFault> {
        let found = match remembered {
            AnswerRecord::Note { note_id, version } => {
                notes::note_at(self.connection, note_id, version)?
                    .map(|note| WriteOutcome::Note(Box::new(note)))
            }
            AnswerRecord::Run { run_id } => {
                views::run(self.connection, &run_id)?.map(|run| WriteOutcome::Run(Box::new(run)))
            }
            AnswerRecord::Operation { operation_id } => {
                views::operation(self.connection, operation_id)?
                    .map(|operation| WriteOutcome::Operation(Box::new(operation)))
            }
            AnswerRecord::Other(outcome) => Some(outcome),
        };
        found.ok_or_else(|| StoreFault::Damaged("what a write came to is missing".into()))
    }

    /// A few old answers go with every new one, so that no write has to clear many and the table stays small.
    pub(super) fn remember(
        &self,
        key: &IdempotencyKey,
        fingerprint: &[u8],
        at: Millis,
        first_row: u64,
        written: &CommittedWrite,
    ) -> Result<(), StoreFault> {
        let remembered = match &written.outcome {
            WriteOutcome::Note(note) => AnswerRecord::Note {
                note_id: note.note_id,
                version: note.version,
            },
            WriteOutcome::Run(run) => AnswerRecord::Run {
                run_id: run.run_id.clone(),
            },
            WriteOutcome::Operation(operation) => AnswerRecord::Operation {
                operation_id: operation.operation_id,
            },
            outcome @ (WriteOutcome::Workspace(_)
            | WriteOutcome::Member { .. }
            | WriteOutcome::Rule(_)
            | WriteOutcome::Runs(_)
            | WriteOutcome::Done) => AnswerRecord::Other(outcome.clone()),
        };
        self.connection.execute(
            "INSERT INTO answer (scope, key, fingerprint, at, first_row, rows, outcome) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                key.scope,
                key.key,
                fingerprint,
                time(at),
                number(first_row),
                number(written.events.len() as u64),
                json(&remembered)?,
            ],
        )?;
        self.connection.execute(
            "DELETE FROM answer WHERE (scope, key) IN \
                 (SELECT scope, key FROM answer WHERE at < ?1 ORDER BY at LIMIT ?2)",
            params![number(at.0.saturating_sub(ANSWER_KEPT_MS)), FORGOTTEN_MAX],
        )?;
        Ok(())
    }
}
