//! The capsule of a run: what its log and its copy of the tree say that it did, sealed with a hash.

use std::collections::BTreeSet;

use bonded_kernel::{
    BadLog, Entry, Event, Hash, Millis, RunId, RunStarted, SandboxConfig, Termination,
};
use serde::{Deserialize, Serialize};

use super::canonical::hash_of;
use super::change::Change;
use super::delta::{Deltas, Footprint};
use super::path::TreePath;
use super::trace::{TracedCall, tool_trace};
use super::tree::{Node, Tree};

/// What a run did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capsule {
    /// Whose log it is.
    pub run: RunId,
    /// The run that called this one, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<RunId>,
    /// When the log begins.
    pub started_at: Millis,
    /// When its last entry was made.
    pub ended_at: Millis,
    /// Why the run ended; absent while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub termination: Option<Termination>,
    /// The state of the tree that the run was given, and of its copy when it ended.
    pub before_hash: Hash,
    /// The state of the copy when the run had ended.
    pub after_hash: Hash,
    /// What lies between the two states.
    pub deltas: Deltas,
    /// The calls of the run and of the agents that it called.
    pub tool_trace: Vec<TracedCall>,
    /// The files among the changes, as a result names them.
    pub artifacts: Vec<Artifact>,
    /// What it used of its limits.
    pub footprint: Footprint,
    /// What the run was told it may do.
    pub policy_hash: Hash,
    /// Over the tools that the run had.
    pub tool_catalog_hash: Hash,
    /// What was demanded of the sandbox, where anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<Box<SandboxConfig>>,
    /// What held for the processes that calls started, each kind once.
    pub sandbox_held: BTreeSet<String>,
    /// The last entry of the log: it stands for all before it.
    pub event_head: Hash,
    /// Over the state before and the changes alone.
    pub content_hash: Hash,
    /// Over everything else here.
    pub capsule_hash: Hash,
}

/// A file that came, went or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// From the tree's root.
    pub path: TreePath,
    /// What happened to it.
    pub kind: ArtifactKind,
    /// Of the content, or of what a link points to; absent where neither is there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Hash>,
    /// How long its content is; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArtifactKind {
    /// It was not there before.
    Created,
    /// It was there, and is another now.
    Modified,
    /// It is gone.
    Deleted,
}

impl Capsule {
    /// Seals what a run did: `log` is its own, `children` are those of the agents that it called, whose calls
    /// count as its own.
    pub fn seal(
        log: &[Entry],
        children: &[&[Entry]],
        before: &Tree,
        after: &Tree,
    ) -> Result<Self, BadLog> {
        let (first, last) = log.first().zip(log.last()).ok_or(BadLog::Empty)?;
        let Event::RunStarted(started) = &first.event else {
            return Err(BadLog::NoStart);
        };
        let tool_trace = whole_trace(log, children);
        let changes = before.changes_to(after);
        let footprint = Footprint::new(&changes, tool_trace.len() as u64);
        let deltas = Deltas::new(changes);
        let artifacts = artifacts(deltas.changes());
        let mut capsule = Self {
            run: first.run.clone(),
            parent: started.config.parent.as_ref().map(|it| it.run.clone()),
            started_at: first.at,
            // A clock may go back.
            ended_at: last.at.max(first.at),
            termination: termination(last),
            before_hash: before.hash(),
            after_hash: after.hash(),
            content_hash: deltas.content_hash(before.hash()),
            deltas,
            tool_trace,
            artifacts,
            footprint,
            policy_hash: hash_of(&started.config.policy),
            tool_catalog_hash: started.catalog().map_or(Hash::ZERO, |it| it.hash()),
            sandbox: started.config.sandbox.clone(),
            sandbox_held: sandbox_held(log.iter().chain(children.iter().copied().flatten())),
            event_head: last.hash,
            capsule_hash: Hash::ZERO,
        };
        capsule.capsule_hash = capsule.computed_hash();
        Ok(capsule)
    }

    /// Whether nothing was changed since it was sealed.
    pub fn is_whole(&self) -> bool {
        self.capsule_hash == self.computed_hash()
            && self.content_hash == self.deltas.content_hash(self.before_hash)
    }

    fn computed_hash(&self) -> Hash {
        let unsealed = Self {
            capsule_hash: Hash::ZERO,
            ..self.clone()
        };
        hash_of(&unsealed)
    }
}

/// What a run was asked, as one text: what a hash of its prompt is taken of.
pub fn prompt_of(log: &[Entry]) -> Option<String> {
    let Event::RunStarted(started) = &log.first()?.event else {
        return None;
    };
    let RunStarted { goal, system, .. } = &**started;
    let prompt = serde_json::json!({ "goal": goal.as_str(), "system": system.as_str() });
    Some(super::canonical::canonical(&prompt))
}

fn whole_trace(log: &[Entry], children: &[&[Entry]]) -> Vec<TracedCall> {
    let of_children = children.iter().flat_map(|child| tool_trace(child));
    let mut trace: Vec<TracedCall> = tool_trace(log).into_iter().chain(of_children).collect();
    trace.sort_by_key(|call| call.started_at);
    trace
}

fn sandbox_held<'a>(log: impl Iterator<Item = &'a Entry>) -> BTreeSet<String> {
    let held = log.filter_map(|entry| {
        let Event::ToolFinished(finished) = &entry.event else {
            return None;
        };
        finished.sandbox.as_deref()
    });
    held.map(str::to_owned).collect()
}

fn termination(last: &Entry) -> Option<Termination> {
    let Event::RunEnded(ended) = &last.event else {
        return None;
    };
    Some(ended.termination.clone())
}

/// The files among changes, directories left out.
pub(super) fn artifacts<'a>(changes: impl IntoIterator<Item = &'a Change>) -> Vec<Artifact> {
    let files = changes.into_iter().filter(|it| !it.is_of_directory());
    files.map(artifact).collect()
}

fn artifact(change: &Change) -> Artifact {
    let (hash, bytes) = match &change.after {
        Some(Node::File { content, bytes, .. }) => (Some(*content), Some(*bytes)),
        Some(Node::Link { target }) => (Some(Hash::of(target)), Some(target.len() as u64)),
        Some(Node::Directory { .. } | Node::Special { .. }) | None => (None, None),
    };
    Artifact {
        path: change.path.clone(),
        kind: match (&change.before, &change.after) {
            (None, _) => ArtifactKind::Created,
            (_, None) => ArtifactKind::Deleted,
            (Some(_), Some(_)) => ArtifactKind::Modified,
        },
        hash,
        bytes,
    }
}
