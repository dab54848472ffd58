//! Snapshots: the whole result of a run as one compressed file, for whoever keeps runs outside the store.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bonded_host::RunResult;
use bonded_host::accounting::accounts;
use bonded_kernel::{Run, RunId};
use bonded_state::{Store, StoreError};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::render::result;
use crate::{output, private};

/// Writes the snapshot of a run. The run itself is safe in the store, so a snapshot that cannot be written
/// is a warning.
pub(crate) async fn write(store: &dyn Store, run: &Run, dir: &Path) -> Result<(), StoreError> {
    let Some(ended) = RunResult::of(run) else {
        return Ok(());
    };
    let booked = accounts(store, run.id()).await?;
    let whole = result::whole(run, &ended, run.last_at(), &booked);
    let (entries, head) = (run.head().seq, run.head().hash);
    let text = format!(
        r#"{{"version":1,"reason":"final","entries":{entries},"head":"{head}","result":{whole}}}"#
    );
    let file = path(dir, run.id());
    let name = file.display().to_string();
    let dir = dir.to_owned();
    let replaced = tokio::task::spawn_blocking(move || replace(&text, &dir, &file)).await;
    let why = match replaced {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    output::stderr(&format!("warning: cannot write the snapshot {name}: {why}"));
    Ok(())
}

/// The file of a run's snapshot.
pub(crate) fn path(dir: &Path, run: &RunId) -> PathBuf {
    dir.join(format!("{run}.json.gz"))
}

/// A reader finds the whole file or none.
fn replace(text: &str, dir: &Path, file: &Path) -> std::io::Result<()> {
    private::make_dir(dir)?;
    let mut packed = GzEncoder::new(
        tempfile::NamedTempFile::new_in(dir)?,
        Compression::default(),
    );
    packed.write_all(text.as_bytes())?;
    let written = packed.finish()?;
    written.as_file().sync_data()?;
    written.persist(file)?;
    Ok(())
}
