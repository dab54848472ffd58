//! How much changed: what admission counts, and of which kind it is.

use std::collections::BTreeSet;

use bonded_kernel::Hash;
use serde::{Deserialize, Serialize};

use super::change::Change;
use super::path::TreePath;

/// Changes by what they change. Of a tree of files, views and invariants are never part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deltas {
    /// Files.
    pub delta_o: Vec<Change>,
    /// Views of the state.
    pub delta_pi: Vec<Change>,
    /// What agents are and how they are set up.
    pub delta_lambda: Vec<Change>,
    /// What must hold.
    pub delta_q: Vec<Change>,
}

impl Deltas {
    /// Sorts changes by what they are changes of.
    pub fn new(changes: Vec<Change>) -> Self {
        let (delta_lambda, delta_o) = changes.into_iter().partition(|it| is_law(&it.path));
        Self {
            delta_o,
            delta_lambda,
            ..Self::default()
        }
    }

    /// Every change, sorted by its path.
    pub fn changes(&self) -> Vec<&Change> {
        let Self {
            delta_o,
            delta_pi,
            delta_lambda,
            delta_q,
        } = self;
        let lists = [delta_o, delta_pi, delta_lambda, delta_q];
        let mut changes: Vec<&Change> = lists.into_iter().flatten().collect();
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        changes
    }

    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.changes().is_empty()
    }

    /// Names what was changed and from what, whoever did it and when: equal work has equal hashes.
    pub fn content_hash(&self, before: Hash) -> Hash {
        #[derive(Serialize)]
        struct HashedContent<'a> {
            before: Hash,
            changes: Vec<&'a Change>,
        }
        super::canonical::hash_of(&HashedContent {
            before,
            changes: self.changes(),
        })
    }
}

/// Whether a file says what agents are.
fn is_law(path: &TreePath) -> bool {
    let name = path.names().next_back().unwrap_or_default();
    name.ends_with(b".ai") || name == b".ai-agent.json" || name == b".ai-agent.env"
}

/// What a run has used of its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Paths at which something other than a directory came, went or changed.
    pub files_touched: u64,
    /// Calls that were begun, those of called agents among them.
    pub tool_ops: u64,
    /// Those, and directories that changed by themselves.
    pub delta_size: u64,
}

impl Footprint {
    /// Counts changes. What a directory implies is not counted twice.
    pub fn new<'a>(changes: impl IntoIterator<Item = &'a Change>, tool_ops: u64) -> Self {
        let changes: Vec<&Change> = changes.into_iter().collect();
        let paths: BTreeSet<&[u8]> = changes.iter().map(|it| it.path.as_bytes()).collect();
        let files: BTreeSet<&TreePath> = changes
            .iter()
            .filter(|it| !it.is_of_directory())
            .map(|it| &it.path)
            .collect();
        let alone = changes
            .iter()
            .filter(|it| it.is_of_directory() && !is_implied(it, &paths));
        let files_touched = files.len() as u64;
        Self {
            files_touched,
            tool_ops,
            delta_size: files_touched + alone.count() as u64,
        }
    }
}

/// Whether a directory only came or went with what lies below it.
pub(super) fn is_implied(change: &Change, paths: &BTreeSet<&[u8]>) -> bool {
    if !change.is_of_directory() || !(change.created() || change.deleted()) {
        return false;
    }
    let below = [change.path.as_bytes(), b"/"].concat();
    let next = paths.range(below.as_slice()..).next();
    next.is_some_and(|path| path.starts_with(&below))
}
