//! `bonded verify`: the chain of a log, held against what is known of it elsewhere; or receipts.
//!
//! The chain shows that no entry of a log was changed. It cannot show that entries are missing at the end, or that
//! the whole log was written anew, since whoever can do that can compute hashes too. So each log is held against
//! witnesses outside of it: heads that somebody kept, ledgers, snapshots and receipts. A log that agrees with none
//! because there is none is not called whole: it was not compared, which has an exit code of its own. With `--all`
//! also runs are found that witnesses name and the store has not.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::changes::{self, CheckedRecord};
use bonded_host::witness::{Claim, Log};
use bonded_kernel::{RunFiles, RunId};
use bonded_state::{ListFilter, Store};
use bonded_work::{Archive, KnownKeys, WorkError, Workshop, claim_of_item};
use serde::Serialize;

use super::verify_receipt;
use crate::args::VerifyArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};
use bonded_host::keeping;
use bonded_host::keeping::claims::{self, LastLines};
use bonded_host::shapes::text::counted;

/// Every run is looked at before it ends, and each has its line: one that is bad hides no other.
pub(crate) async fn verify(args: &VerifyArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    if verify_receipt::is_meant(args) {
        return verify_receipt::verify(args, store).await;
    }
    let (store, mut runs) = match args.named.as_slice() {
        [] => (settings::open_store_to_read(store)?, vec![]),
        [first, others @ ..] => {
            let (store, first) = settings::find_run_to_read(store, first).await?;
            let mut runs = vec![first];
            for named in others {
                runs.push(settings::find_run(&*store, named).await?);
            }
            (store, runs)
        }
    };
    let mut witnesses = Witnesses::open(args, &*store, &runs)?;
    if args.all {
        runs = all(&*store).await?;
        witnesses.read_all(&runs).await?;
    }
    let mut seen = Tally::default();
    for id in &runs {
        let found = witnesses.look(id).await?;
        tell(args, id, &found);
        seen.count(&found);
    }
    for gone in witnesses.gone(&runs) {
        tell(args, &gone.0, &gone.1);
        seen.count(&gone.1);
    }
    for fault in &witnesses.faults {
        tell_fault(args, fault);
    }
    seen.faults = witnesses.faults.len();
    seen.conclude()
}

async fn all(store: &dyn Store) -> Result<Vec<RunId>, CliError> {
    let listed = store.list(ListFilter::default()).await?;
    Ok(listed.into_iter().map(|listed| listed.run).collect())
}

/// What came of looking at a run.
enum RunFinding {
    /// It agrees with everything that is known of it, and so does the record of its changes, where it has one.
    Whole(Box<Log>, Vec<Claim>, Option<CheckedRecord>),
    /// It does not.
    Tampered(Box<Log>, Vec<String>),
    /// Entries are not what their hashes say, or are not the log of one run.
    Damaged(String),
    /// Something names the run, and there is none.
    Gone(String),
}

impl RunFinding {
    /// The word for programs. `whole` needs a witness that counts.
    fn outcome(&self) -> &'static str {
        match self {
            Self::Whole(_, claims, _) if claims.iter().any(Claim::counts) => "whole",
            Self::Whole(..) => "not_compared",
            Self::Tampered(..) => "tampered",
            Self::Damaged(_) => "damaged",
            Self::Gone(_) => "gone",
        }
    }
}

/// What there is to hold runs against.
/// What is read once is kept: many runs share one ledger.
struct Witnesses<'a> {
    store: &'a dyn Store,
    /// A ledger may hold lines of other stores, which this keeps apart.
    store_file: PathBuf,
    workshop: Workshop,
    /// The keys in whose name receipts of this store speak.
    known: KnownKeys,
    /// Named on the command line.
    kept: RunFiles,
    /// From `--head` and `--heads`: what the person kept elsewhere is the strongest witness.
    heads: BTreeMap<RunId, Vec<Claim>>,
    /// The last line that each ledger has of each run. One that cannot be read is empty here, and a fault.
    ledgers: BTreeMap<PathBuf, LastLines>,
    /// Every receipt beside the store, once it was read.
    archive: Option<BTreeMap<RunId, Vec<Claim>>>,
    /// What is wrong beside the store and belongs to no run.
    faults: Vec<String>,
}

impl<'a> Witnesses<'a> {
    /// The heads of the command line belong to the runs that it names, by place.
    fn open(args: &VerifyArgs, store: &'a dyn Store, runs: &[RunId]) -> Result<Self, CliError> {
        let store_file = claims::store_file(store);
        let workshop = Workshop::beside(&store_file);
        let path = |path: &Option<PathBuf>| {
            let path = path.as_ref()?;
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            Some(path.to_string_lossy().into_owned())
        };
        let mut witnesses = Self {
            store,
            known: KnownKeys::of(&workshop),
            workshop,
            store_file,
            kept: RunFiles {
                ledger: path(&args.billing_file),
                snapshots: path(&args.sessions_dir),
            },
            heads: BTreeMap::new(),
            ledgers: BTreeMap::new(),
            archive: None,
            faults: vec![],
        };
        if let Some(file) = &args.heads {
            witnesses.heads = claims::of_heads(file).map_err(|why| bad_heads(file, &why))?;
        }
        for (head, run) in args.head.iter().zip(runs) {
            let claim = Claim {
                source: "--head".into(),
                entries: None,
                hash: Some(*head),
                is_end: false,
                signer: None,
            };
            witnesses.heads.entry(run.clone()).or_default().push(claim);
        }
        Ok(witnesses)
    }

    /// Reads every ledger that a run of the store names, and every receipt.
    async fn read_all(&mut self, runs: &[RunId]) -> Result<(), CliError> {
        let archive = Archive::read(&self.workshop, &self.known).map_err(WorkError::from)?;
        self.faults.extend(archive.faults);
        self.archive = Some(archive.claims);
        for run in runs {
            // A damaged log is met again when it is looked at.
            if let Ok(Some((kept, _))) = keeping::kept(self.store, run).await {
                self.read_ledger(kept.ledger.as_deref());
            }
        }
        let named = self.kept.ledger.clone();
        self.read_ledger(named.as_deref());
        Ok(())
    }

    /// Once for each path, however many runs name it.
    fn read_ledger(&mut self, ledger: Option<&str>) {
        let Some(path) = ledger.map(PathBuf::from) else {
            return;
        };
        if self.ledgers.contains_key(&path) {
            return;
        }
        let lines = claims::of_ledger(&path, &self.store_file).unwrap_or_else(|error| {
            let fault = format!("the ledger {} cannot be read: {error}", path.display());
            self.faults.push(fault);
            LastLines::new()
        });
        self.ledgers.insert(path, lines);
    }

    /// Holds a run against all that is said of it.
    /// A store that fails is an error; a log that is broken is a finding, so that the others are looked at.
    async fn look(&mut self, id: &RunId) -> Result<RunFinding, CliError> {
        let log = match Log::load(self.store, id).await {
            Ok(log) => log,
            Err(error) => {
                let error = CliError::from(error);
                let is_damaged = error.code == Code::BrokenLog;
                return match is_damaged {
                    true => Ok(RunFinding::Damaged(error.message().to_owned())),
                    false => Err(error),
                };
            }
        };
        let (claims, mut faults) = self.claims(id, &log).await?;
        faults.extend(claims.iter().filter_map(|claim| log.contradiction(claim)));
        let record = match changes::check(self.store, id).await? {
            None => None,
            Some(Ok(record)) => Some(record),
            Some(Err(fault)) => {
                faults.push(fault);
                None
            }
        };
        Ok(match faults.is_empty() {
            true => RunFinding::Whole(Box::new(log), claims, record),
            false => RunFinding::Tampered(Box::new(log), faults),
        })
    }

    /// Without `--all` only the receipt of the run's own item is read: an archive may be large. The paths come from
    /// the log itself and from the command line; a log that was written anew may name none, so that what the person
    /// names counts too.
    async fn claims(
        &mut self,
        id: &RunId,
        log: &Log,
    ) -> Result<(Vec<Claim>, Vec<String>), CliError> {
        let mut claims = self.heads.get(id).cloned().unwrap_or_default();
        let mut faults = vec![];
        let config = log.run.config();
        match (&self.archive, &config.item) {
            (Some(archive), _) => claims.extend(archive.get(id).cloned().unwrap_or_default()),
            (None, Some(item)) => {
                let claim = claim_of_item(&self.workshop, &item.plan, &item.item, &self.known);
                match claim.map_err(WorkError::from)? {
                    Some(Ok((run, claim))) if run == *id => claims.push(claim),
                    Some(Err(fault)) => faults.push(fault),
                    _ => {}
                }
            }
            _ => {}
        }
        // The accounts of agents that are called are with those of the run that they are called for.
        let own = config.kept.as_deref().cloned().unwrap_or_default();
        let first = config.parent.as_ref().map(|parent| &parent.origin);
        let above = match first {
            Some(first) => keeping::kept(self.store, first).await.unwrap_or_default(),
            None => None,
        };
        let above = above.unwrap_or_default().0;
        for kept in [own, above, self.kept.clone()] {
            self.read_ledger(kept.ledger.as_deref());
            if let Some(dir) = &kept.snapshots {
                match claims::of_snapshot(Path::new(dir), id) {
                    Ok(claim) => claims.extend(claim),
                    // What the system keeps back may be whole.
                    Err(error) if error.raw_os_error().is_some() => {
                        faults.push(format!("the snapshot in {dir} cannot be read: {error}"));
                    }
                    Err(error) => faults.push(format!("the snapshot in {dir} is damaged: {error}")),
                }
            }
        }
        claims.extend(self.ledgers.values().filter_map(|it| it.get(id).cloned()));
        claims.dedup();
        Ok((claims, faults))
    }

    /// The runs that something names and that are not there.
    fn gone(&self, runs: &[RunId]) -> Vec<(RunId, RunFinding)> {
        let mut gone: BTreeMap<RunId, RunFinding> = BTreeMap::new();
        let runs: BTreeSet<&RunId> = runs.iter().collect();
        let of_archive = self.archive.iter().flatten();
        let of_archive =
            of_archive.flat_map(|(run, claims)| claims.iter().map(move |it| (run, it)));
        let of_heads = self.heads.iter();
        let of_heads = of_heads.flat_map(|(run, claims)| claims.iter().map(move |it| (run, it)));
        let of_ledgers = self.ledgers.values().flatten();
        // Without --all only what was named is looked at.
        let named = of_archive.chain(of_heads).chain(of_ledgers);
        for (run, claim) in named.filter(|_| self.archive.is_some()) {
            if !runs.contains(run) {
                let found = RunFinding::Gone(claim.source.clone());
                gone.entry(run.clone()).or_insert(found);
            }
        }
        gone.into_iter().collect()
    }
}

fn bad_heads(file: &Path, why: &str) -> CliError {
    CliError::new(Code::Usage, format!("--heads {}: {why}", file.display()))
}

/// How many runs came to what.
/// The first reason is kept for the message, where only one run was looked at.
#[derive(Default)]
struct Tally {
    runs: usize,
    damaged: usize,
    tampered: usize,
    gone: usize,
    not_compared: usize,
    faults: usize,
    first: Option<String>,
}

impl Tally {
    /// A run that is whole and was compared counts as a run and nothing else.
    fn count(&mut self, found: &RunFinding) {
        self.runs += 1;
        let (count, why) = match found {
            RunFinding::Damaged(why) => (&mut self.damaged, Some(why.clone())),
            RunFinding::Tampered(_, faults) => (&mut self.tampered, faults.first().cloned()),
            RunFinding::Gone(source) => {
                let why = format!("{source} names it, but the store has no such run");
                (&mut self.gone, Some(why))
            }
            RunFinding::Whole(_, claims, _) if !claims.iter().any(Claim::counts) => {
                (&mut self.not_compared, None)
            }
            RunFinding::Whole(..) => return,
        };
        *count += 1;
        self.first = self.first.take().or(why);
    }

    /// Damage outweighs everything, then contradiction, then what was not compared.
    fn conclude(self) -> Result<ExitCode, CliError> {
        let Self { runs, damaged, .. } = self;
        let bad = damaged + self.tampered + self.gone;
        if bad + self.faults > 0 {
            let message = match (runs, self.first) {
                (1, Some(why)) => why,
                _ if damaged == bad && self.faults == 0 => {
                    format!("{damaged} of {runs} logs are damaged")
                }
                _ => format!(
                    "of {runs} runs {damaged} are damaged, {} conflict with other evidence, {} are missing; {} other faults beside the store",
                    self.tampered, self.gone, self.faults
                ),
            };
            let code = match damaged > 0 {
                true => Code::BrokenLog,
                false => Code::Tampered,
            };
            return Err(CliError::new(code, message));
        }
        match self.not_compared {
            0 => Ok(ExitCode::SUCCESS),
            1 if runs == 1 => Err(not_compared(
                "there is nothing outside the log to compare its end with",
            )),
            some => Err(not_compared(&format!(
                "for {some} of {runs} runs there is nothing outside the log to compare its end with"
            ))),
        }
    }
}

/// No fault was found, and a log that was cut at its end would look the same.
pub(super) fn not_compared(why: &str) -> CliError {
    CliError::new(Code::NotCompared, why)
        .hint("keep heads where they cannot be changed: bonded verify --all --json > FILE")
        .hint("and compare: bonded verify --all --heads FILE, or bonded verify RUN --head HASH")
}

fn tell(args: &VerifyArgs, id: &RunId, found: &RunFinding) {
    match args.json {
        true => output::object(&VerifiedRun::of(id, found)),
        false => output::prose(&as_text(id, found)),
    }
}

/// It has no run: the object for programs therefore has no id.
fn tell_fault(args: &VerifyArgs, fault: &str) {
    match args.json {
        true => output::object(&VerifiedRun {
            outcome: "tampered",
            error: Some(fault.to_owned()),
            ..VerifiedRun::default()
        }),
        false => output::stdout(&format!("TAMPERED: {fault}")),
    }
}

/// What is known of a run, for programs. These lines are also what `--heads` reads: what it needs of them must stay.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct VerifiedRun<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a RunId>,
    verified: bool,
    outcome: &'static str,
    #[serde(flatten)]
    log: Option<LogAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_with: Option<Vec<ClaimAnswer<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<RecordAnswer>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Only of a log that can be read.
#[derive(Serialize)]
struct LogAnswer {
    entries: u64,
    head: String,
    /// Null while the run has not ended.
    termination: Option<&'static str>,
}

/// The record of what the run changed.
#[derive(Serialize)]
struct RecordAnswer {
    recorded: usize,
    undos: usize,
    redos: usize,
}

impl RecordAnswer {
    fn of(record: &CheckedRecord) -> Self {
        Self {
            recorded: record.changes,
            undos: record.undos,
            redos: record.redos,
        }
    }
}

/// Something that the log agrees with.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClaimAnswer<'a> {
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signer_is_known: Option<bool>,
}

impl<'a> VerifiedRun<'a> {
    fn of(id: &'a RunId, found: &'a RunFinding) -> Self {
        let outcome = found.outcome();
        let answer = Self {
            run_id: Some(id),
            verified: outcome == "whole",
            outcome,
            ..Self::default()
        };
        match found {
            RunFinding::Whole(log, claims, record) => Self {
                log: Some(LogAnswer::of(log)),
                changes: record.as_ref().map(RecordAnswer::of),
                compared_with: Some(claims.iter().map(ClaimAnswer::of).collect()),
                ..answer
            },
            RunFinding::Tampered(log, faults) => Self {
                log: Some(LogAnswer::of(log)),
                error: Some(faults.join("; ")),
                ..answer
            },
            RunFinding::Damaged(why) => Self {
                error: Some(why.clone()),
                ..answer
            },
            RunFinding::Gone(source) => Self {
                error: Some(format!("missing: {source} names it")),
                ..answer
            },
        }
    }
}

impl LogAnswer {
    fn of(log: &Log) -> Self {
        let head = log.run.head();
        Self {
            entries: head.seq,
            head: head.hash.to_string(),
            termination: log.run.termination().map(|it| it.kind.as_str()),
        }
    }
}

impl<'a> ClaimAnswer<'a> {
    fn of(claim: &'a Claim) -> Self {
        let signer = claim.signer.as_ref();
        Self {
            source: &claim.source,
            signer: signer.map(|it| it.key_id.as_str()),
            signer_is_known: signer.map(|it| it.is_known),
        }
    }
}

fn as_text(id: &RunId, found: &RunFinding) -> String {
    match found {
        RunFinding::Whole(log, claims, record) => {
            let record = record.as_ref().map(record_text).unwrap_or_default();
            let compared: Vec<String> = claims.iter().map(claim_text).collect();
            let compared = match compared.is_empty() {
                true => "compared with NOTHING".into(),
                false => format!("compared with {}", compared.join("; ")),
            };
            format!("run {id}: {}{record}, {compared}", log_text(log))
        }
        RunFinding::Tampered(log, faults) => {
            format!(
                "run {id}: TAMPERED: {}; {}",
                faults.join("; "),
                log_text(log)
            )
        }
        RunFinding::Damaged(why) => format!("run {id}: DAMAGED: {why}"),
        RunFinding::Gone(source) => format!("run {id}: MISSING: {source} names it"),
    }
}

/// What the log says of itself; what others say comes after it.
fn log_text(log: &Log) -> String {
    let head = log.run.head();
    let end = log.run.termination();
    let end = end.map_or_else(
        || "not ended".into(),
        |it| format!("ended: {}", it.kind.as_str()),
    );
    let (entries, hash) = (head.seq, head.hash);
    format!("log intact: {entries} entries, {end}, head {hash}")
}

/// What the record of its changes says beside the log.
fn record_text(record: &CheckedRecord) -> String {
    let CheckedRecord {
        changes,
        undos,
        redos,
    } = record;
    let undone = match (undos, redos) {
        (0, _) => String::new(),
        (undos, 0) => format!(", undone {undos} times"),
        (undos, redos) => format!(", undone {undos} times, redone {redos} times"),
    };
    let changes = counted(*changes, "change");
    format!(", record of {changes} intact{undone}")
}

fn claim_text(claim: &Claim) -> String {
    match &claim.signer {
        None => claim.source.clone(),
        Some(signer) => format!("{}, {}", claim.source, verify_receipt::signed_by(signer)),
    }
}
