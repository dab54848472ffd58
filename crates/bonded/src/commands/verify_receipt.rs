//! `bonded verify RECEIPT.json`: receipts, without the network, and without a store where there is none.
//!
//! A receipt is checked from the inside out: its own hashes and signature, then receipts with each other, then the
//! tree and the logs, where they are at hand. A signature shows only that the receipt is whole; who signed it must
//! be known from elsewhere, so that an unknown key is not compared rather than good.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::regular;
use bonded_host::witness::{Claim, Log, Signer};
use bonded_kernel::Hash;
use bonded_work::key::{KEY_FILE_BYTES_MAX, PublicKey};
use bonded_work::tree::tree_of;
use bonded_work::{KnownKeys, Workshop, open_receipt};
use bonded_work_rules::{
    Change, ItemId, LevelReceipt, Receipt, Tree, WorkStatus, verify_chain, verify_level,
    verify_level_items,
};
use serde::Serialize;
use serde_json::Value;

use crate::args::VerifyArgs;
use crate::error::{CliError, Code};
use crate::{output, settings};

/// Far more than any receipt takes.
const RECEIPT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Whether the command line speaks of receipts: a run's id is no file, and has no path in it.
pub(crate) fn is_meant(args: &VerifyArgs) -> bool {
    let is_file = |named: &String| named.contains('/') || named.ends_with(".json");
    args.key.is_some() || args.tree.is_some() || args.named.iter().any(is_file)
}

/// Nothing is printed before everything was checked: a line about one receipt would be taken for the whole.
pub(crate) async fn verify(args: &VerifyArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    let demanded = args.key.as_deref().map(read_key).transpose()?;
    let is_server = settings::store_address(store)?.is_some();
    let path = settings::store_path(store).ok();
    let path = path.filter(|it| is_server || it.is_file());
    let workshop = path.as_deref().map(Workshop::beside);
    let known = workshop.as_ref().map(KnownKeys::of).unwrap_or_default();
    let known = known.and(demanded);
    let (mut texts, mut receipts, mut signers, mut levels) = (vec![], vec![], vec![], vec![]);
    for named in &args.named {
        let file = Path::new(named);
        let text = read(file)?;
        if is_level(&text) {
            let level = verify_level(&text).map_err(|fault| bad(file, &fault.to_string()))?;
            levels.push((PathBuf::from(file), level));
        } else {
            let (receipt, key) = checked(file, &text, demanded.as_ref())?;
            signers.push(known.signer(&key));
            receipts.push(receipt);
            texts.push(text);
        }
    }
    check_together(&levels, &receipts, &texts)?;
    if let Some(tree) = &args.tree {
        check_tree(tree, &receipts)?;
    }
    if let Some(workshop) = &workshop {
        check_logs(store, workshop, &receipts, &texts).await?;
    }
    let both = receipts.iter().zip(&signers);
    both.for_each(|(receipt, signer)| tell(args, receipt, signer));
    levels.iter().for_each(|(_, level)| tell_level(args, level));
    match signers.iter().any(|it| !it.is_known) || receipts.is_empty() {
        false => Ok(ExitCode::SUCCESS),
        true => Err(stranger()),
    }
}

/// Whoever can write a file can make a key and sign with it.
fn stranger() -> CliError {
    let message = "no fault was found, but the signing key is unknown";
    CliError::new(Code::NotCompared, message).hint(
        "name the key of the expected signer: --key FILE; beside their store it is ed25519.pub",
    )
}

/// In whose name a receipt speaks.
pub(super) fn signed_by(signer: &Signer) -> String {
    let id = &signer.key_id;
    match signer.is_known {
        true => format!("signed by the known key {id}"),
        false => format!("signed by key {id}, which is UNKNOWN here"),
    }
}

/// Holds the logs that this store has against what the receipts say of them. A receipt that this store's own key has
/// signed is of a run of this store: it must be there.
/// Of another store's receipt the run may be missing here. If it is there, it must agree.
async fn check_logs(
    store: Option<&Path>,
    workshop: &Workshop,
    receipts: &[Receipt],
    texts: &[String],
) -> Result<(), CliError> {
    let own = KnownKeys::of(workshop);
    let store = settings::open_store_to_read(store)?;
    for (receipt, text) in receipts.iter().zip(texts) {
        let Some(run) = &receipt.outcome.run else {
            continue;
        };
        let is_own = open_receipt(text).is_ok_and(|(_, key)| own.has(&key));
        let claim = Claim {
            source: format!("the receipt of item {}", receipt.outcome.work_item.id),
            entries: None,
            hash: Some(run.event_head),
            is_end: run.termination.is_some(),
            signer: None,
        };
        let wrong = match store.head(&run.run_id).await? {
            Some(_) => Log::load(&*store, &run.run_id).await?.contradiction(&claim),
            None if is_own => Some(format!(
                "{} names run {}, which is missing",
                claim.source, run.run_id
            )),
            None => None,
        };
        if let Some(wrong) = wrong {
            return Err(CliError::new(Code::Tampered, wrong));
        }
    }
    Ok(())
}

/// Reads the file of one receipt, and checks all that it says of itself.
pub(crate) fn read_receipt(file: &Path) -> Result<Receipt, CliError> {
    checked(file, &read(file)?, None).map(|(receipt, _)| receipt)
}

/// With a key that is demanded, any other is a fault: not merely one that nobody knows.
fn checked(
    file: &Path,
    text: &str,
    demanded: Option<&PublicKey>,
) -> Result<(Receipt, PublicKey), CliError> {
    let opened = open_receipt(text).map_err(|fault| bad(file, &fault.to_string()))?;
    match demanded.is_none_or(|demanded| *demanded == opened.1) {
        true => Ok(opened),
        false => {
            let why = format!("it was signed by another key: {}", opened.1.id());
            Err(bad(file, &why))
        }
    }
}

fn read(file: &Path) -> Result<String, CliError> {
    let unreadable = |why: &str| {
        let message = format!("the receipt {} cannot be read: {why}", file.display());
        CliError::new(Code::Usage, message)
    };
    let text = regular::read_text(file, RECEIPT_BYTES_MAX);
    text.map_err(|error| unreadable(&error.to_string()))
}

/// A public key as PEM, within the same bound as a key file of ours.
fn read_key(file: &Path) -> Result<PublicKey, CliError> {
    let bad = |why: String| CliError::new(Code::Usage, format!("--key {}: {why}", file.display()));
    let text =
        regular::read_text(file, KEY_FILE_BYTES_MAX).map_err(|error| bad(error.to_string()))?;
    PublicKey::from_pem(&text).map_err(|error| bad(error.to_string()))
}

fn bad(file: &Path, why: &str) -> CliError {
    CliError::new(Code::BadReceipt, format!("{}: {why}", file.display()))
}

/// By the field that only a level has. What is no JSON is none, and is refused as a receipt.
fn is_level(text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    value.get("merkle_root").is_some()
}

/// Receipts of one level are held against it; others must follow each other.
/// A level takes its items in the order of their ids, so that the order on the command line does not matter; a
/// chain is checked in the order in which it is given.
fn check_together(
    levels: &[(PathBuf, LevelReceipt)],
    receipts: &[Receipt],
    texts: &[String],
) -> Result<(), CliError> {
    match levels {
        [(file, level)] if !receipts.is_empty() => {
            let mut sorted = receipts.to_vec();
            sorted.sort_by(|a, b| a.outcome.work_item.id.cmp(&b.outcome.work_item.id));
            verify_level_items(level, &sorted).map_err(|fault| bad(file, &fault.to_string()))
        }
        [] if receipts.len() > 1 => {
            let chain = verify_chain(texts.iter().map(String::as_str));
            chain.map(drop).map_err(|faults| {
                let messages: Vec<String> = faults.iter().map(ToString::to_string).collect();
                CliError::new(
                    Code::BadReceipt,
                    format!("the chain is broken: {}", messages.join("; ")),
                )
            })
        }
        _ => Ok(()),
    }
}

/// Only what the receipts say: other files of the tree are none of their business. A merged file is compared with
/// what the merge made of it.
fn check_tree(root: &Path, receipts: &[Receipt]) -> Result<(), CliError> {
    let tree: Tree = tree_of(root)?;
    for receipt in receipts {
        let (changes, merged) = (receipt.outcome.deltas.changes(), &receipt.outcome.merged);
        // Where lines of another item are in a file too, the file is what both made of it.
        let is_merged = |change: &Change| merged.iter().any(|it| it.path == change.path);
        let own = changes.into_iter().filter(|it| !is_merged(it));
        let mut became = own.chain(merged);
        let other = became.find(|it| tree.node(&it.path) != it.after);
        if let Some(change) = other {
            let item = &receipt.outcome.work_item.id;
            let message = format!(
                "{} is not what the receipt of item {item} says: {}",
                root.display(),
                change.path
            );
            return Err(CliError::new(Code::BadReceipt, message));
        }
    }
    Ok(())
}

/// For programs, as the one that follows.
#[derive(Serialize)]
struct ReceiptAnswer<'a> {
    verified: bool,
    outcome: &'static str,
    signer: &'a str,
    signer_is_known: bool,
    work_item_id: &'a ItemId,
    status: WorkStatus,
    receipt_hash: Hash,
    before_hash: Hash,
    after_hash: Hash,
}

#[derive(Serialize)]
struct LevelAnswer {
    verified: bool,
    level: u64,
    merkle_root: Hash,
}

/// `verified` needs both: a receipt that is whole, and a key that somebody vouches for.
fn tell(args: &VerifyArgs, receipt: &Receipt, signer: &Signer) {
    let outcome = &receipt.outcome;
    if args.json {
        return output::object(&ReceiptAnswer {
            verified: signer.is_known,
            outcome: if signer.is_known {
                "whole"
            } else {
                "not_compared"
            },
            signer: &signer.key_id,
            signer_is_known: signer.is_known,
            work_item_id: &outcome.work_item.id,
            status: outcome.status,
            receipt_hash: receipt.receipt_hash,
            before_hash: outcome.before_hash,
            after_hash: outcome.after_hash,
        });
    }
    output::stdout(&format!(
        "item {}: {}, receipt {} is intact, {}",
        outcome.work_item.id,
        outcome.status.as_str(),
        receipt.receipt_hash,
        signed_by(signer)
    ));
}

fn tell_level(args: &VerifyArgs, level: &LevelReceipt) {
    if args.json {
        return output::object(&LevelAnswer {
            verified: true,
            level: level.level,
            merkle_root: level.merkle_root,
        });
    }
    output::stdout(&format!(
        "level {}: {} items, root {} matches",
        level.level,
        level.items.len(),
        level.merkle_root
    ));
}
