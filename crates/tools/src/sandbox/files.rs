//! Which files a command may read and write, enforced by Landlock.
//!
//! Landlock only ever allows: nothing can be taken back out of a tree that was allowed. Where mounts cover what
//! is hidden, the whole tree may therefore be allowed for reading, and Landlock is the second wall behind them.
//! Where there are no mounts it is the only wall: what is hidden or protected is then spared by allowing
//! everything around it, entry by entry.
//!
//! What does not exist is passed over, and so is what cannot be opened. Both are refused afterwards, because no
//! rule allows them.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, RestrictionStatus, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};

use super::devices;
use super::order::{Order, Walls};
use super::scratch::tmp;

/// What is asked for; an older kernel gives what it has.
const NEWEST: ABI = ABI::V7;

/// How many entries a directory may have before those that are spared are not sorted out any more.
///
/// What comes after them is not allowed at all: a directory of that size costs a program some of its files,
/// never the hiding.
const ENTRIES_MAX: usize = 10_000;

/// Takes from this process and all that come of it what the order does not allow.
pub(super) fn restrict(order: &Order) -> Result<(), String> {
    apply(order).map_err(|error| format!("could not restrict the access to files: {error}"))
}

/// Without walls, names can be listed everywhere and contents be read only around what is hidden. A place that
/// is shown, or the working directory, is added by itself, since the home that it lies in was left out as a
/// whole. Devices are named one by one, with the right to control them: without it a program
/// that opens its terminal could not set it.
fn apply(order: &Order) -> Result<(), RulesetError> {
    let read = AccessFs::from_read(NEWEST);
    let all = AccessFs::from_all(NEWEST);
    let root = [PathBuf::from("/")];
    let mut writable = order.writable();
    let mut rules = ruleset(order.network)?;
    if order.walls == Walls::None {
        // Nothing covers what is hidden, so that its neighbours are allowed one by one. Names are no secret.
        rules = allow(rules, &root, AccessFs::ReadDir.into())?;
        rules = allow(rules, &around(Path::new("/"), &order.hidden), read)?;
        let seen = order.shown.iter().chain([&order.workdir]);
        let seen: Vec<PathBuf> = seen.flat_map(|dir| inside(dir, &order.hidden)).collect();
        rules = allow(rules, &seen, read)?;
        let spared: Vec<PathBuf> = [&order.hidden[..], &order.protected].concat();
        writable = writable
            .iter()
            .flat_map(|dir| inside(dir, &spared))
            .collect();
    } else {
        rules = allow(rules, &root, read)?;
        writable.push(devices::DEVICES.into());
    }
    writable.push(tmp(&order.scratch));
    writable.push(order.home.seen.clone());
    rules = allow(rules, &writable, all)?;
    let device_access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
    let device_access = device_access | AccessFs::IoctlDev;
    rules = allow(rules, &devices::HARMLESS.map(PathBuf::from), device_access)?;
    rules.restrict_self().map(drop)
}

/// Whatever is handled and not allowed later is refused. Without a network no rule is ever added for
/// connections, so that none can be made; the scopes keep signals and abstract sockets within the sandbox.
fn ruleset(network: bool) -> Result<RulesetCreated, RulesetError> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    let rules = match network {
        true => rules,
        false => rules.handle_access(AccessNet::from_all(NEWEST))?,
    };
    rules.create()
}

fn allow(
    rules: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    rules.add_rules(path_beneath_rules(paths, access))
}

/// The same for a place that is shown although it lies in what is spared.
fn inside(dir: &Path, spared: &[PathBuf]) -> Vec<PathBuf> {
    let spared = spared.iter().filter(|path| !dir.starts_with(path));
    around(dir, &spared.cloned().collect::<Vec<_>>())
}

/// The largest parts of a tree that hold none of the spared paths.
///
/// It descends only into directories on the way to something spared, so that the number of rules grows with the
/// entries beside those ways and not with the tree. What is made there later is not allowed.
fn around(root: &Path, spared: &[PathBuf]) -> Vec<PathBuf> {
    if spared.iter().any(|path| root.starts_with(path)) {
        return vec![];
    }
    if !spared.iter().any(|path| path.starts_with(root)) {
        return vec![root.to_owned()];
    }
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries
        .take(ENTRIES_MAX)
        // A link leads to where the rules of its target hold.
        .filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()))
        .flat_map(|entry| around(&entry.path(), spared))
        .collect()
}

/// Restricts this process for good, to see what the kernel has; 0 is nothing.
///
/// It is called in the process that probes and is thrown away. Asking the kernel alone would not tell whether
/// the restriction takes hold here.
pub(super) fn version() -> u32 {
    let status = ruleset(false).and_then(RulesetCreated::restrict_self);
    match status {
        Ok(RestrictionStatus {
            landlock: LandlockStatus::Available { effective_abi, .. },
            ..
        }) => effective_abi as u32,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_allowed_around_what_is_spared() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let root = temp.path();
        for dir in ["a/b/c", "a/d", "e"] {
            std::fs::create_dir_all(root.join(dir)).expect("it can be made");
        }
        let around_some = |spared: &[&str]| {
            let spared: Vec<PathBuf> = spared.iter().map(|path| root.join(path)).collect();
            let mut found: Vec<String> = around(root, &spared)
                .iter()
                .map(|path| {
                    path.strip_prefix(root)
                        .expect("it is inside")
                        .display()
                        .to_string()
                })
                .collect();
            found.sort();
            found
        };
        assert_eq!(around_some(&[]), [""]);
        assert_eq!(around_some(&["a/b"]), ["a/d", "e"]);
        assert_eq!(around_some(&["a/b/c", "e"]), ["a/d"]);
        assert_eq!(around_some(&["a/b/missing"]), ["a/b/c", "a/d", "e"]);
        assert!(around_some(&[""]).is_empty());
    }
}
