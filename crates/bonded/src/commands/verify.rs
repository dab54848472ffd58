//! `bonded verify`: the chain of a log, held against what is known of it elsewhere; or receipts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::witness::{Claim, Log};
use bonded_kernel::{Kept, RunId};
use bonded_state::{ListFilter, Store};
use bonded_work::{Archive, KnownKeys, WorkError, Workshop, claim_of_item};
use serde_json::{Value, json};

use super::verify_receipt;
use crate::args::VerifyArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};
use bonded_host::keeping;
use bonded_host::keeping::claims::{self, LastLines};

pub(crate) async fn verify(args: &VerifyArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    if verify_receipt::is_meant(args) {
        return verify_receipt::verify(args, store).await;
    }
    let store = settings::open_store_to_read(store)?;
    let mut runs = vec![];
    for named in &args.named {
        runs.push(settings::find_run(&*store, named).await?);
    }
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
    /// It agrees with everything that is known of it.
    Whole(Box<Log>, Vec<Claim>),
    /// It does not.
    Tampered(Box<Log>, Vec<String>),
    /// Entries are not what their hashes say, or are not the log of one run.
    Damaged(String),
    /// Something names the run, and there is none.
    Gone(String),
}

impl RunFinding {
    fn outcome(&self) -> &'static str {
        match self {
            Self::Whole(_, claims) if claims.iter().any(Claim::counts) => "whole",
            Self::Whole(..) => "not_compared",
            Self::Tampered(..) => "tampered",
            Self::Damaged(_) => "damaged",
            Self::Gone(_) => "gone",
        }
    }
}

/// What there is to hold runs against.
struct Witnesses<'a> {
    store: &'a dyn Store,
    store_file: PathBuf,
    workshop: Workshop,
    known: KnownKeys,
    /// Named on the command line.
    kept: Kept,
    heads: BTreeMap<RunId, Vec<Claim>>,
    ledgers: BTreeMap<PathBuf, LastLines>,
    /// Every receipt beside the store, once it was read.
    archive: Option<BTreeMap<RunId, Vec<Claim>>>,
    faults: Vec<String>,
}

impl<'a> Witnesses<'a> {
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
            kept: Kept {
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
    async fn look(&mut self, id: &RunId) -> Result<RunFinding, CliError> {
        let log = match Log::load(self.store, id).await {
            Ok(log) => log,
            Err(error) => {
                let error = CliError::from(error);
                return match error.code {
                    Code::BrokenLog => Ok(RunFinding::Damaged(error.message().to_owned())),
                    _ => Err(error),
                };
            }
        };
        let (claims, mut faults) = self.claims(id, &log).await?;
        faults.extend(claims.iter().filter_map(|claim| log.contradiction(claim)));
        Ok(match faults.is_empty() {
            true => RunFinding::Whole(Box::new(log), claims),
            false => RunFinding::Tampered(Box::new(log), faults),
        })
    }

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
    fn count(&mut self, found: &RunFinding) {
        self.runs += 1;
        let (count, why) = match found {
            RunFinding::Damaged(why) => (&mut self.damaged, Some(why.clone())),
            RunFinding::Tampered(_, faults) => (&mut self.tampered, faults.first().cloned()),
            RunFinding::Gone(source) => {
                let why = format!("{source} names it, and the store has no such run");
                (&mut self.gone, Some(why))
            }
            RunFinding::Whole(_, claims) if !claims.iter().any(Claim::counts) => {
                (&mut self.not_compared, None)
            }
            RunFinding::Whole(..) => return,
        };
        *count += 1;
        self.first = self.first.take().or(why);
    }

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
                    "of {runs} runs {damaged} are damaged, {} are not what is known of them, {} are gone; {} other \
                     faults beside the store",
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
            1 if runs == 1 => Err(not_compared("nothing outside the log says how it ends")),
            some => Err(not_compared(&format!(
                "of {some} of {runs} runs nothing outside their logs says how they end"
            ))),
        }
    }
}

/// No fault was found, and a log that was cut at its end would look the same.
pub(super) fn not_compared(why: &str) -> CliError {
    CliError::new(Code::NotCompared, why)
        .hint("keep heads where nobody can change them: bonded verify --all --json > FILE")
        .hint("and compare: bonded verify --all --heads FILE, or bonded verify RUN --head HASH")
}

fn tell(args: &VerifyArgs, id: &RunId, found: &RunFinding) {
    output::stdout(&match args.json {
        true => as_json(id, found).to_string(),
        false => as_text(id, found),
    });
}

fn tell_fault(args: &VerifyArgs, fault: &str) {
    output::stdout(&match args.json {
        true => json!({ "verified": false, "outcome": "tampered", "error": fault }).to_string(),
        false => format!("TAMPERED: {fault}"),
    });
}

fn as_json(id: &RunId, found: &RunFinding) -> Value {
    let outcome = found.outcome();
    let mut value = json!({
        "runId": id.as_str(),
        "verified": outcome == "whole",
        "outcome": outcome,
    });
    match found {
        RunFinding::Whole(log, _) | RunFinding::Tampered(log, _) => {
            let head = log.run.head();
            value["entries"] = head.seq.into();
            value["head"] = head.hash.to_string().into();
            let end = log.run.termination().map(|it| it.kind.as_str());
            value["termination"] = end.into();
        }
        RunFinding::Damaged(why) => value["error"] = why.as_str().into(),
        RunFinding::Gone(source) => value["error"] = format!("gone: {source} names it").into(),
    }
    match found {
        RunFinding::Whole(_, claims) => {
            value["comparedWith"] = claims.iter().map(claim_value).collect();
        }
        RunFinding::Tampered(_, faults) => value["error"] = faults.join("; ").into(),
        _ => {}
    }
    value
}

fn claim_value(claim: &Claim) -> Value {
    let mut value = json!({ "source": claim.source });
    if let Some(signer) = &claim.signer {
        value["signer"] = signer.key_id.as_str().into();
        value["signerIsKnown"] = signer.is_known.into();
    }
    value
}

fn as_text(id: &RunId, found: &RunFinding) -> String {
    match found {
        RunFinding::Whole(log, claims) => {
            let compared: Vec<String> = claims.iter().map(claim_text).collect();
            let compared = match compared.is_empty() {
                true => "compared with NOTHING".into(),
                false => format!("compared with {}", compared.join("; ")),
            };
            format!("run {id}: {}, {compared}", log_text(log))
        }
        RunFinding::Tampered(log, faults) => {
            format!(
                "run {id}: TAMPERED: {}; {}",
                faults.join("; "),
                log_text(log)
            )
        }
        RunFinding::Damaged(why) => format!("run {id}: DAMAGED: {why}"),
        RunFinding::Gone(source) => format!("run {id}: GONE: {source} names it"),
    }
}

fn log_text(log: &Log) -> String {
    let head = log.run.head();
    let end = log.run.termination();
    let end = end.map_or_else(
        || "not ended".into(),
        |it| format!("ended: {}", it.kind.as_str()),
    );
    let (entries, hash) = (head.seq, head.hash);
    format!("{entries} entries, chain whole, {end}, head {hash}")
}

fn claim_text(claim: &Claim) -> String {
    match &claim.signer {
        None => claim.source.clone(),
        Some(signer) => format!("{}, {}", claim.source, verify_receipt::signed_by(signer)),
    }
}
