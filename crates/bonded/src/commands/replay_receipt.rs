//! `bonded replay --receipt`: a work item worked off again.

use std::path::Path;
use std::process::ExitCode;

use bonded_host::trust::Stance;
use bonded_work::{Asked, ReplayError, Replayed, Workshop, replay_item};
use bonded_work_rules::Receipt;
use serde_json::json;

use super::verify_receipt::read_receipt;
use crate::args::ReplayArgs;
use crate::error::{CliError, Code};
use crate::{output, settings, signals};

/// More paths than this are counted, not named.
const PATHS_SHOWN_MAX: usize = 10;

pub(crate) async fn replay(
    args: &ReplayArgs,
    file: &Path,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let receipt = read_receipt(file)?;
    let store_file = settings::store_path(store)?;
    let workshop = Workshop::beside(&std::path::absolute(&store_file).unwrap_or(store_file));
    let (host, tools) = settings::host(settings::open_existing_store(store)?, Stance::Refuse);
    let asked = match args.live {
        true => Asked::Model,
        false => Asked::Recording,
    };
    let cancel = signals::cancel_on_signal();
    let replayed = Box::pin(replay_item(host, &workshop, &receipt, asked, cancel)).await;
    tools.stop().await;
    let replayed = replayed?;
    tell(args, &receipt, &replayed);
    match replayed.is_equal() {
        true => Ok(ExitCode::SUCCESS),
        false => Err(different(&receipt, &replayed)),
    }
}

fn tell(args: &ReplayArgs, receipt: &Receipt, replayed: &Replayed) {
    let item = &receipt.outcome.work_item.id;
    if args.json {
        let result = json!({
            "work_item_id": item,
            "equal": replayed.is_equal(),
            "expected_hash": replayed.expected,
            "output_hash": replayed.found,
            "differs": replayed.differs,
            "termination": replayed.ended,
        });
        output::stdout(&result.to_string());
    } else if replayed.is_equal() {
        let found = replayed.found;
        output::stdout(&format!(
            "item {item}: replayed, and the state is the same: {found}"
        ));
    }
}

fn different(receipt: &Receipt, replayed: &Replayed) -> CliError {
    let item = &receipt.outcome.work_item.id;
    let message = format!(
        "item {item}: the replay ended in another state ({})",
        replayed.ended
    );
    let paths = replayed.differs.iter().take(PATHS_SHOWN_MAX);
    let paths: Vec<String> = paths.map(ToString::to_string).collect();
    CliError::new(Code::ReplayDiffers, message)
        .hint(format!("expected: {}", replayed.expected))
        .hint(format!("found:    {}", replayed.found))
        .hint(format!(
            "{} paths differ: {}",
            replayed.differs.len(),
            paths.join(", ")
        ))
}

impl From<ReplayError> for CliError {
    fn from(error: ReplayError) -> Self {
        let code = match error {
            ReplayError::Work(error) => return error.into(),
            ReplayError::NeverRan | ReplayError::OtherState => Code::BadReceipt,
            ReplayError::UnknownPlan { .. } => Code::UnknownPlan,
            ReplayError::NoLog { .. } => Code::UnknownRun,
        };
        Self::new(code, error.to_string())
    }
}
