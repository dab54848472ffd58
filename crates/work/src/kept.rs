//! What is kept of plans and their items, for those who only look: nothing is made, mended or removed.

use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::PathBuf;

use bonded_host::document::parse_document;
use bonded_kernel::Hash;
use bonded_work_rules::{
    Change, EarlierAttempt, ItemId, PlanContext, Receipt, RunResult, TestReport, WorkPlan,
    WorkStatus,
};
use serde_json::Value;

use crate::files::read_if_there;
use crate::plan::{AttemptOutcome, ItemAttempt, PlanId, PlanRecord, RECEIPT, Tests, Workshop};
use crate::publish::SealedItem;
use crate::tree::KeptContents;

/// A plan as it was started.
#[derive(Debug)]
pub struct KeptPlan {
    /// What it was started with.
    pub record: PlanRecord,
    /// Its items.
    pub plan: WorkPlan,
    /// Whether nothing of it is left to do.
    pub has_ended: bool,
}

impl KeptPlan {
    /// Nothing where there is no such plan. A record that is not whole is an error that says so.
    pub fn read(workshop: &Workshop, id: &PlanId) -> io::Result<Option<Self>> {
        let Some(record) = PlanRecord::read(workshop, id)? else {
            return Ok(None);
        };
        let damaged = |why: String| {
            let message = format!("the record of plan {id} is damaged: {why}");
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let value = parse_document(&record.plan).map_err(|bad| damaged(bad.to_string()))?;
        let context = PlanContext {
            root: record.root.to_str(),
            // What it waited for was there when it began, or it is blocked by it.
            done: &dependencies(&value),
            defaults: record.defaults,
        };
        let plan = WorkPlan::from_value(&value, &context).map_err(|faults| {
            let first = faults.first().map(ToString::to_string);
            damaged(first.unwrap_or_default())
        })?;
        Ok(Some(Self {
            has_ended: record.has_ended(workshop),
            plan,
            record,
        }))
    }
}

/// Everything that an item of the plan depends on.
fn dependencies(plan: &Value) -> BTreeSet<ItemId> {
    let items = plan
        .as_array()
        .map_or(std::slice::from_ref(plan), Vec::as_slice);
    let lists = items
        .iter()
        .filter_map(|item| item["dependencies"].as_array());
    let ids = lists.flatten().filter_map(Value::as_str);
    ids.filter_map(|id| ItemId::new(id).ok()).collect()
}

/// How far an item has come, as far as files say it.
#[derive(Debug)]
pub enum KeptItem {
    /// Nothing but what the log of its run says.
    Begun {
        /// Whether what its run left was admitted, and its tests began.
        is_tested: bool,
    },
    /// It ended in its copy, and is neither published nor refused for good.
    Ended(Box<EndedItem>),
    /// It has its receipt.
    Sealed(Box<SealedOutcome>),
}

/// What an item came to in its copy.
#[derive(Debug)]
pub struct EndedItem {
    /// How it ended.
    pub status: WorkStatus,
    /// Why it failed or took too long, or was not admitted.
    pub why: Option<String>,
    /// What its run changed in the copy, published or not.
    pub changes: Vec<Change>,
    /// What its tests said, and printed.
    pub tests: Option<(TestReport, String)>,
    /// What came of it before it was begun again.
    pub earlier_attempts: Vec<EarlierAttempt>,
}

/// What an item came to in the end.
#[derive(Debug)]
pub struct SealedOutcome {
    /// What it came to.
    pub ended: EndedItem,
    /// What it had come to in its copy, where that is still known: a success may not have been published.
    pub in_copy: Option<WorkStatus>,
    pub receipt: Box<Receipt>,
    pub result: RunResult,
    pub receipt_file: PathBuf,
}

impl KeptItem {
    /// Of an item that has not begun nothing is known.
    pub fn read(workshop: &Workshop, plan: &PlanId, item: &ItemId) -> io::Result<Self> {
        let dir = workshop.item_dir(plan, item);
        let outcome = AttemptOutcome::read(&dir)?;
        if let Some(SealedItem { receipt, result }) = SealedItem::read(&dir)? {
            return Ok(Self::Sealed(Box::new(SealedOutcome {
                in_copy: outcome.as_ref().map(|it| it.status),
                ended: sealed(&receipt, &result, outcome),
                receipt,
                result,
                receipt_file: dir.join(RECEIPT),
            })));
        }
        if let Some(outcome) = outcome {
            return Ok(Self::Ended(Box::new(outcome.into())));
        }
        let attempt = ItemAttempt::read(&dir)?;
        Ok(Self::Begun {
            is_tested: attempt.is_some_and(|it| it.admitted.is_some()),
        })
    }
}

/// What was published is what the receipt says; of what was not, the outcome alone knows.
fn sealed(receipt: &Receipt, result: &RunResult, outcome: Option<AttemptOutcome>) -> EndedItem {
    let sealed = &receipt.outcome;
    let left = outcome.map_or_else(Vec::new, |it| EndedItem::from(it).changes);
    let published: Vec<Change> = sealed.deltas.changes().into_iter().cloned().collect();
    let output = result.test_output.clone().unwrap_or_default();
    EndedItem {
        status: sealed.status,
        why: sealed
            .error
            .clone()
            .or_else(|| sealed.denial_reason.clone()),
        changes: match sealed.status {
            WorkStatus::Success => published,
            WorkStatus::Failure | WorkStatus::Denied | WorkStatus::Timeout => left,
        },
        tests: sealed.tests.clone().map(|report| (report, output)),
        earlier_attempts: sealed.earlier_attempts.clone(),
    }
}

impl From<AttemptOutcome> for EndedItem {
    fn from(outcome: AttemptOutcome) -> Self {
        let deltas = outcome.capsule.map(|capsule| capsule.deltas);
        let changes = deltas.iter().flat_map(|deltas| deltas.changes());
        let tests = outcome.tests.map(|tests| {
            let Tests { report, output } = *tests;
            (report, output)
        });
        Self {
            status: outcome.status,
            why: outcome.error.or(outcome.denial_reason),
            changes: changes.cloned().collect(),
            tests,
            earlier_attempts: outcome.earlier_attempts,
        }
    }
}

impl SealedOutcome {
    /// The text of the receipt's file, byte for byte.
    pub fn receipt_text(&self) -> io::Result<Option<String>> {
        let bytes = read_if_there(&self.receipt_file)?;
        let text = bytes.map(String::from_utf8).transpose();
        text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

impl Workshop {
    /// A content that items began or ended with; nothing where it is longer than `bytes_max` or is not kept any more.
    pub fn content(&self, hash: Hash, bytes_max: u64) -> Option<Vec<u8>> {
        let mut reader = KeptContents::look(self.dir()).read(hash).ok()?;
        if reader.bytes_left() > bytes_max {
            return None;
        }
        let mut content = vec![];
        reader.read_to_end(&mut content).ok()?;
        Some(content)
    }
}
