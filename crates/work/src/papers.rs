//! The files that an item leaves behind, written together.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bonded_work_rules::{
    Receipt, ResultFiles, RunResult, WorkStatus, seal_envelope, signed_receipt, statement,
};
use serde::{Deserialize, Serialize};

use super::files::{read_json, write_durably};
use super::history::{History, Remembered};
use super::key::SigningKey;
use super::plan_id::PlanId;
use super::room::Room;

pub const RECEIPT: &str = "RECEIPT.json";
/// One DSSE envelope a line, as tools for in-toto expect it.
pub const ENVELOPE: &str = "receipt.intoto.jsonl";
pub const REPLAY: &str = "replay.sh";
pub const TESTS: &str = "tests.log";
pub const RESULT: &str = "RESULT.json";

/// Everything that is written down when an item is sealed. It goes into the publish journal first, so that a crash
/// loses none of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Papers {
    pub(super) dir: PathBuf,
    files: BTreeMap<String, String>,
    pub(super) receipt: Box<Receipt>,
    pub(super) result: RunResult,
    pub(super) plan: PlanId,
}

/// What papers are drawn up with.
#[derive(Clone, Copy)]
pub(super) struct Drawn<'a> {
    pub(super) dir: &'a Path,
    pub(super) root: &'a Path,
    pub(super) plan: &'a PlanId,
    pub(super) key: &'a SigningKey,
    /// For the replay script.
    pub(super) program: &'a Path,
    pub(super) store: &'a Path,
}

impl Papers {
    pub(super) fn new(drawn: Drawn<'_>, receipt: Receipt, test_output: Option<String>) -> Self {
        let Drawn {
            dir,
            root,
            plan,
            key,
            ..
        } = drawn;
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
            files.insert(REPLAY.to_owned(), script_text(drawn));
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
    pub(super) fn take_room(&self) -> io::Result<Room> {
        const OTHERS_BYTES: usize = 64 * 1024;
        let files: usize = self.files.values().map(String::len).sum();
        // The result holds the receipt once more.
        Room::take(&self.dir, 2 * files + OTHERS_BYTES)
    }

    /// Writes everything, the result last: where it is, all else is too. Doing it again changes nothing.
    pub(super) fn write(&self, history: &mut History) -> io::Result<()> {
        for (name, text) in &self.files {
            write_durably(&self.dir.join(name), text.as_bytes())?;
        }
        if self.files.contains_key(REPLAY) {
            make_executable(&self.dir.join(REPLAY))?;
        }
        history.add(Remembered::of(&self.receipt)?)?;
        let sealed = serde_json::to_vec(&Sealed {
            receipt: self.receipt.clone(),
            result: self.result.clone(),
        })?;
        write_durably(&self.dir.join(RESULT), &sealed)
    }
}

/// What is read again when a plan is resumed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sealed {
    pub(super) receipt: Box<Receipt>,
    pub(super) result: RunResult,
}

impl Sealed {
    /// Nothing where the item is not sealed.
    pub(super) fn read(item_dir: &Path) -> io::Result<Option<Self>> {
        read_json(&item_dir.join(RESULT))
    }
}

fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))
}

/// A script that needs nothing but this program and its store.
fn script_text(drawn: Drawn<'_>) -> String {
    let quoted = |path: &Path| {
        let text = path.to_string_lossy().replace('\'', r"'\''");
        format!("'{text}'")
    };
    format!(
        "#!/bin/sh\n\
         # Restores the state that the item began with in a scratch directory, gives the recorded replies of the\n\
         # model to the real tools again, and compares the state that comes of it with the receipt. Exits with 1\n\
         # if they differ. With --live the model is asked anew.\n\
         set -eu\n\
         here=$(CDPATH= cd -- \"$(dirname -- \"$0\")\" && pwd)\n\
         program=${{BONDED:-{program}}}\n\
         [ -x \"$program\" ] || program=bonded\n\
         exec \"$program\" replay --store {store} --receipt \"$here/{RECEIPT}\" \"$@\"\n",
        program = quoted(drawn.program),
        store = quoted(drawn.store),
    )
}
