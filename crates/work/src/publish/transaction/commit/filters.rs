//! Filters that git would run. A repository's own configuration names programs, and whoever made the repository
//! wrote it: those do not run. What the person has set up for all repositories is theirs, and does.

use std::collections::BTreeSet;
use std::io;

use bonded_work_rules::{Change, TreePath};

use super::super::commit_error::CommitError;
use super::super::git::{Git, Setting};

/// Who wrote these settings: the person, for all repositories or just now, or whoever runs the machine.
const TRUSTED: [&[u8]; 3] = [b"system", b"global", b"command"];
/// What a driver of filters may have, and the value with which it does nothing.
const OF_A_DRIVER: [(&str, &str); 4] = [
    ("clean", ""),
    ("smudge", ""),
    ("process", ""),
    ("required", "false"),
];

/// The drivers of filters that a repository's own configuration sets or changes.
pub(super) struct OwnFilters {
    drivers: BTreeSet<Vec<u8>>,
}

impl OwnFilters {
    /// A driver that is set in both places counts as the repository's: its settings would be mixed.
    pub(super) fn of(git: Git<'_>) -> Result<Self, CommitError> {
        let words = ["config", "--show-scope", "--name-only", "-z"];
        let asked = git.command(words).arg("--get-regexp").arg(r"^filter\.");
        let answer = asked.maybe(&mut io::empty())?.unwrap_or_default();
        let mut fields = answer.split(|&byte| byte == 0);
        let mut drivers = BTreeSet::new();
        while let (Some(scope), Some(key)) = (fields.next(), fields.next()) {
            let driver = key
                .strip_prefix(b"filter.")
                .and_then(|rest| rest.rsplitn(2, |&byte| byte == b'.').nth(1));
            if let Some(driver) = driver.filter(|_| !TRUSTED.contains(&scope)) {
                drivers.insert(driver.to_vec());
            }
        }
        Ok(Self { drivers })
    }

    /// Settings under which none of them does anything.
    pub(super) fn off(&self) -> Vec<Setting> {
        let of_driver = |driver: &Vec<u8>| {
            let driver = driver.clone();
            OF_A_DRIVER.map(|(name, value)| Setting {
                key: [b"filter.", &*driver, b".", name.as_bytes()].concat(),
                value,
            })
        };
        self.drivers.iter().flat_map(of_driver).collect()
    }

    /// Those of the changed paths for which one of them would have to run.
    pub(super) fn needed_for(
        &self,
        git: Git<'_>,
        changes: &[&Change],
    ) -> Result<BTreeSet<TreePath>, CommitError> {
        if self.drivers.is_empty() {
            return Ok(BTreeSet::new());
        }
        let mut paths = vec![];
        for change in changes.iter().filter(|change| !change.deleted()) {
            paths.extend_from_slice(change.path.as_bytes());
            paths.push(0);
        }
        let command = git.command(["check-attr", "-z", "--stdin", "filter"]);
        let answer = command.answer(&mut paths.as_slice())?;
        let mut fields = answer.split(|&byte| byte == 0);
        let mut needed = BTreeSet::new();
        while let (Some(path), Some(_), Some(driver)) =
            (fields.next(), fields.next(), fields.next())
        {
            if self.drivers.contains(driver) {
                needed.extend(TreePath::new(path).ok());
            }
        }
        Ok(needed)
    }
}
