//! The files that an item leaves behind, written together.
//!
//! The texts of all files are made before anything is written and are carried in the journal: a process that
//! recovers writes exactly what the one that died would have, with the same signature and the same time.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bonded_work_rules::{
    Receipt, ResultFiles, RunResult, WorkStatus, seal_envelope, signed_receipt, statement,
};
use serde::{Deserialize, Serialize};

use super::disk_reservation::DiskReservation;
use crate::files::{read_json, write_durably};
use crate::plan::key::SigningKey;
use crate::plan::{ENVELOPE, History, HistoryLine, PlanId, RECEIPT, REPLAY, RESULT, TESTS};

/// Everything that is written down when an item is sealed. It goes into the publish journal first, so that a crash
/// loses none of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ItemFiles {
    pub(crate) dir: PathBuf,
    files: BTreeMap<String, String>,
    pub(crate) receipt: Box<Receipt>,
    pub(crate) result: RunResult,
    pub(crate) plan: PlanId,
}

/// What the files of an item are made from, beside its receipt.
#[derive(Clone, Copy)]
pub(crate) struct SealContext<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) root: &'a Path,
    pub(crate) plan: &'a PlanId,
    pub(crate) key: &'a SigningKey,
    /// For the replay script.
    pub(crate) program: &'a Path,
    pub(crate) store: &'a Path,
}

impl ItemFiles {
    /// A script for a replay is made only for an item that succeeded. The result names it where there is one.
    pub(crate) fn new(
        context: SealContext<'_>,
        receipt: Receipt,
        test_output: Option<String>,
    ) -> Self {
        let SealContext {
            dir,
            root,
            plan,
            key,
            ..
        } = context;
        let path = |name: &str| dir.join(name).to_string_lossy().into_owned();
        let has_script = receipt.outcome.status == WorkStatus::Success;
        let script = has_script.then(|| path(REPLAY));
        let files = ResultFiles {
            root: &root.to_string_lossy(),
            receipt: &path(RECEIPT),
            replay_script: script.as_deref(),
        };
        let result = RunResult::new(&receipt, files, test_output.clone());
        let public = key.public();
        let envelope = seal_envelope(&statement(&receipt), public.id(), |bytes| key.sign(bytes));
        let line = serde_json::to_string(&envelope).unwrap_or_default();
        let mut files = BTreeMap::from([
            (
                RECEIPT.to_owned(),
                signed_receipt(&receipt, &envelope, &public.to_pem()),
            ),
            (ENVELOPE.to_owned(), format!("{line}\n")),
        ]);
        files.extend(test_output.map(|output| (TESTS.to_owned(), output)));
        if has_script {
            files.insert(REPLAY.to_owned(), script_text(context));
        }
        Self {
            dir: dir.to_owned(),
            files,
            receipt: Box::new(receipt),
            result,
            plan: plan.clone(),
        }
    }

    /// Takes as much room as writing takes, and that of the level's receipt.
    pub(crate) fn reserve_space(&self) -> io::Result<DiskReservation> {
        const OTHERS_BYTES: usize = 64 * 1024;
        let files: usize = self.files.values().map(String::len).sum();
        // The result holds the receipt once more.
        DiskReservation::take(&self.dir, 2 * files + OTHERS_BYTES)
    }

    /// Writes everything, the result last: where it is, all else is too. Doing it again changes nothing.
    ///
    /// The line of the history comes after the receipt that it names and before the result, which says that all
    /// is there.
    pub(crate) fn write(&self, history: &mut History) -> io::Result<()> {
        for (name, text) in &self.files {
            write_durably(&self.dir.join(name), text.as_bytes())?;
        }
        if self.files.contains_key(REPLAY) {
            make_executable(&self.dir.join(REPLAY))?;
        }
        history.add(HistoryLine::of(&self.receipt)?)?;
        let sealed = serde_json::to_vec(&SealedItem {
            receipt: self.receipt.clone(),
            result: self.result.clone(),
        })?;
        write_durably(&self.dir.join(RESULT), &sealed)
    }
}

/// What is read again when a plan is resumed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SealedItem {
    pub(crate) receipt: Box<Receipt>,
    pub(crate) result: RunResult,
}

impl SealedItem {
    /// Nothing where the item is not sealed.
    pub(crate) fn read(item_dir: &Path) -> io::Result<Option<Self>> {
        read_json(&item_dir.join(RESULT))
    }
}

/// For its owner alone, as all else here.
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

/// A script that needs nothing but this program and its store.
///
/// Paths are quoted for the shell, whatever is in them. A variable can name another program, and one that is
/// gone is looked for in the path.
fn script_text(context: SealContext<'_>) -> String {
    let quoted = |path: &Path| {
        let text = path.to_string_lossy().replace('\'', r"'\''");
        format!("'{text}'")
    };
    format!(
        "#!/bin/sh\n\
         # Restores the state that the item began with in a scratch directory, gives the recorded replies of the\n\
         # model to the real tools again, and compares the state that comes of it with the receipt. Exits with 1\n\
         # if they differ. With --live the model is asked again.\n\
         set -eu\n\
         here=$(CDPATH= cd -- \"$(dirname -- \"$0\")\" && pwd)\n\
         program=${{BONDED:-{program}}}\n\
         [ -x \"$program\" ] || program=bonded\n\
         exec \"$program\" replay --store {store} --receipt \"$here/{RECEIPT}\" \"$@\"\n",
        program = quoted(context.program),
        store = quoted(context.store),
    )
}
