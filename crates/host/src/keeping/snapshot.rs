//! Snapshots: the whole result of a run as one compressed file, for whoever keeps runs outside the store.
//!
//! It is written once the run has ended, in one step. It names the head of the log, so that it can bear
//! witness of it later.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::RunResult;
use crate::accounting::accounts;
use bonded_kernel::{Run, RunId};
use bonded_state::{Store, StoreError};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::private::HeldDir;
use crate::shapes::result;

/// The directory of snapshots, opened before agents work.
#[derive(Clone, Debug)]
pub struct Snapshots {
    path: PathBuf,
    /// Why it cannot be opened is told when a run has ended: the run itself is safe in the store.
    dir: Arc<Result<HeldDir, String>>,
}

impl Snapshots {
    /// Makes the directory where it is missing. It never fails: why it cannot be used is told when a
    /// snapshot is written.
    pub fn open(path: &Path) -> Self {
        let dir = HeldDir::make(path).map_err(|error| error.to_string());
        Self {
            path: path.to_owned(),
            dir: Arc::new(dir),
        }
    }
}

/// Writes the snapshot of a run. The run itself is safe in the store, so a snapshot that cannot be written
/// is a warning.
pub async fn write(store: &dyn Store, run: &Run, dir: &Snapshots) -> Result<(), StoreError> {
    let Some(ended) = RunResult::of(run) else {
        return Ok(());
    };
    let booked = accounts(store, run.id()).await?;
    let whole = result::whole(run, &ended, run.last_at(), &booked);
    let (entries, head) = (run.head().seq, run.head().hash);
    let text = format!(
        r#"{{"version":1,"reason":"final","entries":{entries},"head":"{head}","result":{whole}}}"#
    );
    let name = path(&dir.path, run.id()).display().to_string();
    let (dir, file) = (dir.dir.clone(), file_name(run.id()));
    let replaced = tokio::task::spawn_blocking(move || replace(&text, &dir, &file)).await;
    let why = match replaced {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(error) => error.to_string(),
    };
    tracing::warn!("warning: cannot write the snapshot {name}: {why}");
    Ok(())
}

/// The file of a run's snapshot.
pub fn path(dir: &Path, run: &RunId) -> PathBuf {
    dir.join(file_name(run))
}

fn file_name(run: &RunId) -> String {
    format!("{run}.json.gz")
}

/// A reader finds the whole file or none.
fn replace(text: &str, dir: &Result<HeldDir, String>, file: &str) -> Result<(), String> {
    let dir = dir.as_ref().map_err(Clone::clone)?;
    let replaced = dir.replace(file, |file| {
        let mut packed = GzEncoder::new(file, Compression::default());
        packed.write_all(text.as_bytes())?;
        packed.finish().map(drop)
    });
    replaced.map_err(|error| error.to_string())
}
