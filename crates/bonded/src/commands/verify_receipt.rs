//! `bonded verify RECEIPT.json`: receipts, without a store and without the network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bonded_host::work::key::PublicKey;
use bonded_host::work::tree::tree_of;
use bonded_kernel::work::{
    LevelReceipt, Receipt, Tree, open_signed_receipt, verify_chain, verify_level,
    verify_level_items,
};
use serde_json::{Value, json};

use crate::args::VerifyArgs;
use crate::error::{CliError, Code};
use crate::output;

/// Far more than any receipt takes.
const RECEIPT_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// Whether the command line speaks of receipts: a run's id is no file, and has no path in it.
pub(crate) fn is_meant(args: &VerifyArgs) -> bool {
    let is_file = |named: &String| named.contains('/') || named.ends_with(".json");
    args.key.is_some() || args.tree.is_some() || args.named.iter().any(is_file)
}

pub(crate) fn verify(args: &VerifyArgs) -> Result<ExitCode, CliError> {
    let demanded = args.key.as_deref().map(read_key).transpose()?;
    let (mut texts, mut receipts, mut levels) = (vec![], vec![], vec![]);
    for named in &args.named {
        let file = Path::new(named);
        let text = read(file)?;
        if is_level(&text) {
            let level = verify_level(&text).map_err(|fault| bad(file, &fault.to_string()))?;
            levels.push((PathBuf::from(file), level));
        } else {
            receipts.push(checked(file, &text, demanded.as_ref())?);
            texts.push(text);
        }
    }
    check_together(&levels, &receipts, &texts)?;
    if let Some(tree) = &args.tree {
        check_tree(tree, &receipts)?;
    }
    receipts.iter().for_each(|receipt| tell(args, receipt));
    levels.iter().for_each(|(_, level)| tell_level(args, level));
    Ok(ExitCode::SUCCESS)
}

/// Reads the file of one receipt, and checks all that it says of itself.
pub(crate) fn read_receipt(file: &Path, demanded: Option<&PublicKey>) -> Result<Receipt, CliError> {
    checked(file, &read(file)?, demanded)
}

fn checked(file: &Path, text: &str, demanded: Option<&PublicKey>) -> Result<Receipt, CliError> {
    let is_good = |pem: &str, id: &str, bytes: &[u8], signature: &[u8]| {
        let key = PublicKey::from_pem(pem);
        key.is_ok_and(|key| {
            let is_meant = demanded.is_none_or(|demanded| *demanded == key);
            // A key that is written otherwise, or named otherwise than it is, is a changed byte.
            let is_written_so = key.to_pem() == pem && key.id() == id;
            is_meant && is_written_so && key.verify(bytes, signature)
        })
    };
    open_signed_receipt(text, is_good).map_err(|fault| bad(file, &fault.to_string()))
}

fn read(file: &Path) -> Result<String, CliError> {
    let unreadable = |why: &str| {
        let message = format!("the receipt {} cannot be read: {why}", file.display());
        CliError::new(Code::Usage, message)
    };
    let size = fs::metadata(file).map_err(|error| unreadable(&error.to_string()))?;
    if size.len() > RECEIPT_BYTES_MAX {
        return Err(unreadable("it is far too large for a receipt"));
    }
    fs::read_to_string(file).map_err(|error| unreadable(&error.to_string()))
}

fn read_key(file: &Path) -> Result<PublicKey, CliError> {
    let bad = |why: String| CliError::new(Code::Usage, format!("--key {}: {why}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    PublicKey::from_pem(&text).map_err(|error| bad(error.to_string()))
}

fn bad(file: &Path, why: &str) -> CliError {
    CliError::new(Code::BadReceipt, format!("{}: {why}", file.display()))
}

fn is_level(text: &str) -> bool {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    value.get("merkle_root").is_some()
}

/// Receipts of one level are held against it; others must follow each other.
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
                let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
                CliError::new(
                    Code::BadReceipt,
                    format!("the chain is broken: {}", told.join("; ")),
                )
            })
        }
        _ => Ok(()),
    }
}

fn check_tree(root: &Path, receipts: &[Receipt]) -> Result<(), CliError> {
    let tree: Tree = tree_of(root)?;
    for receipt in receipts {
        let changes = receipt.outcome.deltas.changes();
        let other = changes.iter().find(|it| tree.node(&it.path) != it.after);
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

fn tell(args: &VerifyArgs, receipt: &Receipt) {
    let outcome = &receipt.outcome;
    output::stdout(&match args.json {
        true => json!({
            "verified": true,
            "work_item_id": outcome.work_item.id,
            "status": outcome.status,
            "receipt_hash": receipt.receipt_hash,
            "before_hash": outcome.before_hash,
            "after_hash": outcome.after_hash,
        })
        .to_string(),
        false => format!(
            "item {}: {}, receipt {} is whole and signed",
            outcome.work_item.id,
            outcome.status.as_str(),
            receipt.receipt_hash
        ),
    });
}

fn tell_level(args: &VerifyArgs, level: &LevelReceipt) {
    output::stdout(&match args.json {
        true => json!({ "verified": true, "level": level.level, "merkle_root": level.merkle_root })
            .to_string(),
        false => format!(
            "level {}: {} items, root {} is theirs",
            level.level,
            level.items.len(),
            level.merkle_root
        ),
    });
}
