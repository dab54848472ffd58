//! What ledgers, snapshots and kept heads say of logs: the end of a log can be cut off so that nothing in it shows it,
//! and what is kept elsewhere tells.
//!
//! A claim is only as good as the place that it comes from: whoever can cut a log and a ledger on the
//! same machine cuts both. Heads that were kept elsewhere help against that.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read as _};
use std::path::Path;

use crate::HostError;
use crate::regular;
use crate::witness::{Claim, Log};
use bonded_kernel::{Hash, RunFiles, RunId};
use bonded_state::Store;
use flate2::read::GzDecoder;
use serde::Deserialize;

use crate::keeping::ledger::{self, LINE_BYTES_MAX};
use crate::keeping::snapshot;

/// Far more than any snapshot takes.
const SNAPSHOT_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// A million heads as `verify --json` prints them.
const HEADS_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// The newest account of each run that a ledger has of a store.
pub type LastLines = BTreeMap<RunId, Claim>;

/// The fields of a ledger's line that speak of the log.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ClaimLine {
    txn_id: String,
    seq: u64,
    entry_hash: Option<Hash>,
    store: Option<String>,
}

/// What a ledger says of the runs of a store. Nothing where there is no ledger.
pub fn of_ledger(ledger: &Path, store: &Path) -> io::Result<LastLines> {
    let mut last = LastLines::new();
    let file = match regular::open(ledger) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(last),
        opened => opened?,
    };
    let mut reader = ledger::reader(&file)?;
    let mut line = vec![];
    while regular::take_line(&mut reader, &mut line, LINE_BYTES_MAX)?.bytes > 0 {
        if let Some((run, claim)) = read_line(&line, ledger, store)
            && last.get(&run).is_none_or(|it| it.entries <= claim.entries)
        {
            last.insert(run, claim);
        }
    }
    Ok(last)
}

/// What one line says; nothing for one that was cut short, or that is of another store's run.
fn read_line(line: &[u8], ledger: &Path, store: &Path) -> Option<(RunId, Claim)> {
    let line: ClaimLine = serde_json::from_slice(line).ok()?;
    // Lines of older builds name no store, and could be anybody's.
    line.store.filter(|it| Path::new(it) == store)?;
    let claim = Claim {
        source: format!("the ledger {}", ledger.display()),
        entries: Some(line.seq),
        hash: line.entry_hash,
        is_end: false,
        signer: None,
    };
    Some((RunId::new(&line.txn_id).ok()?, claim))
}

/// The fields of a snapshot that speak of the log; either may be missing.
#[derive(Deserialize)]
struct Snapshot {
    entries: Option<u64>,
    head: Option<Hash>,
}

/// What the snapshot of a run says of it. Nothing where there is none.
pub fn of_snapshot(dir: &Path, run: &RunId) -> io::Result<Option<Claim>> {
    let path = snapshot::path(dir, run);
    let file = match regular::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let unpacked = GzDecoder::new(BufReader::new(file)).take(SNAPSHOT_BYTES_MAX);
    let read: Snapshot = serde_json::from_reader(BufReader::new(unpacked))?;
    Ok(Some(Claim {
        source: format!("the snapshot {}", path.display()),
        entries: read.entries,
        hash: read.head,
        is_end: true,
        signer: None,
    }))
}

/// The file of a store, as ledgers name it.
pub fn store_file(store: &dyn Store) -> std::path::PathBuf {
    store.files().into_iter().next().unwrap_or_default()
}

/// Everything that is said of a run where it is kept.
pub fn of_kept(store: &Path, run: &RunId, kept: &RunFiles) -> io::Result<Vec<Claim>> {
    let mut claims = vec![];
    if let Some(ledger) = &kept.ledger {
        claims.extend(of_ledger(Path::new(ledger), store)?.remove(run));
    }
    if let Some(dir) = &kept.snapshots {
        claims.extend(of_snapshot(Path::new(dir), run)?);
    }
    Ok(claims)
}

/// Refuses to go on with a run whose log was cut: what was done since would be done again.
pub async fn refuse_cut(
    store: &dyn Store,
    run: &RunId,
    kept: Option<&RunFiles>,
) -> Result<(), HostError> {
    let Some(kept) = kept else {
        return Ok(());
    };
    if store.head(run).await?.is_none() {
        return Ok(());
    }
    // What cannot be read says nothing; whoever verifies the run is told.
    let claims = of_kept(&store_file(store), run, kept).unwrap_or_default();
    if claims.is_empty() {
        return Ok(());
    }
    let log = Log::load(store, run).await?;
    let found = claims.iter().find_map(|claim| log.contradiction(claim));
    match found {
        None => Ok(()),
        Some(why) => Err(HostError::Cut {
            run: run.clone(),
            why,
        }),
    }
}

/// The heads that somebody kept, by run: lines of `RUN HEAD`, or what `verify --json` printed.
///
/// One bad line makes the whole file unusable: whoever kept it wants to know.
pub fn of_heads(file: &Path) -> Result<BTreeMap<RunId, Vec<Claim>>, String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Printed {
        run_id: String,
        entries: Option<u64>,
        head: Hash,
        termination: Option<String>,
    }
    let text = regular::read_text(file, HEADS_BYTES_MAX).map_err(|error| error.to_string())?;
    let mut heads: BTreeMap<RunId, Vec<Claim>> = BTreeMap::new();
    let written = text.lines().enumerate();
    let written = written.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    for (at, line) in written {
        let bad = || {
            format!(
                "line {}: neither `RUN HEAD` nor an object of `verify --json`",
                at + 1
            )
        };
        let (run, entries, hash, is_end) = match line.split_whitespace().collect::<Vec<_>>()[..] {
            [run, head] if !line.starts_with('{') => (
                run.to_owned(),
                None,
                head.parse().map_err(|_| bad())?,
                false,
            ),
            _ => {
                let read: Printed = serde_json::from_str(line).map_err(|_| bad())?;
                (
                    read.run_id,
                    read.entries,
                    read.head,
                    read.termination.is_some(),
                )
            }
        };
        let claim = Claim {
            source: format!("{}:{}", file.display(), at + 1),
            entries,
            hash: Some(hash),
            is_end,
            signer: None,
        };
        let run = RunId::new(&run).map_err(|_| bad())?;
        heads.entry(run).or_default().push(claim);
    }
    Ok(heads)
}
