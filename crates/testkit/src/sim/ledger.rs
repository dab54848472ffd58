//! What really happened in a world, written down beside the log so that the two can be compared.

use std::collections::BTreeMap;

use bonded_kernel::{Head, Target, Usage};

/// One execution of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The call's idempotency key.
    pub key: String,
    pub turn: u32,
    pub call: u32,
    pub tool: String,
    pub arguments: String,
    /// How far the log went when the execution began.
    pub log_seq: u64,
    /// What the tool said after its effect; `None` where it never came so far.
    pub output: Option<String>,
}

/// One request that left for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub turn: u32,
    pub attempt: u32,
    /// The target as it was spoken to.
    pub target: Target,
    pub output_tokens_max: u32,
    /// How far the log went when the request was sent.
    pub log_seq: u64,
    /// The tokens that it held, as an honest provider counts.
    pub held_tokens: u64,
    /// What its target's window takes, the reply and the buffer left out; `None` where it is not known.
    pub room_tokens: Option<u64>,
    /// The tools that the provider was told of.
    pub offered: Vec<String>,
    /// What the provider says that it used; `None` where it says nothing, or failed.
    pub usage: Option<Usage>,
}

/// Where a process can die.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    BeforeAppend,
    AfterAppend,
    InRequest,
    InToolBeforeEffect,
    InToolAfterEffect,
    /// Anywhere, at a time: in a wait, a delay, a hanging request, a slow tool.
    AtATime,
}

impl Place {
    pub const ALL: [Self; 6] = [
        Self::BeforeAppend,
        Self::AfterAppend,
        Self::InRequest,
        Self::InToolBeforeEffect,
        Self::InToolAfterEffect,
        Self::AtATime,
    ];
}

/// The counters of one world, or of many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub worlds: u64,
    /// Where a process might have died, whether or not it did.
    pub places: u64,
    pub crashes: BTreeMap<Place, u64>,
    pub resumes: u64,
    pub failures: u64,
    pub turns: u64,
    pub entries: u64,
    pub executions: u64,
    pub requests: u64,
    pub cancels: u64,
    pub panics: u64,
    /// Runs of agents.
    pub agents: u64,
    /// What happened only to agents or under policies, by its name.
    pub feats: BTreeMap<&'static str, u64>,
    /// How the runs ended.
    pub endings: BTreeMap<&'static str, u64>,
}

impl Tally {
    pub fn crashes_total(&self) -> u64 {
        self.crashes.values().sum()
    }

    pub fn add(&mut self, other: &Self) {
        self.worlds += other.worlds;
        self.places += other.places;
        self.resumes += other.resumes;
        self.failures += other.failures;
        self.turns += other.turns;
        self.entries += other.entries;
        self.executions += other.executions;
        self.requests += other.requests;
        self.cancels += other.cancels;
        self.panics += other.panics;
        for (place, count) in &other.crashes {
            *self.crashes.entry(*place).or_default() += count;
        }
        self.agents += other.agents;
        for (feat, count) in &other.feats {
            *self.feats.entry(feat).or_default() += count;
        }
        for (kind, count) in &other.endings {
            *self.endings.entry(kind).or_default() += count;
        }
    }
}

/// Everything that is written down while a world goes on.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) executions: Vec<Execution>,
    pub(crate) sent: Vec<Sent>,
    pub(crate) acknowledged: Vec<Head>,
    pub(crate) complaints: Vec<String>,
    pub(crate) tally: Tally,
    /// What the tools changed: `put` by key, `push` in order.
    pub(crate) stored: BTreeMap<String, String>,
    pub(crate) pushed: Vec<String>,
}

impl Ledger {
    /// How often this call was executed so far.
    pub(crate) fn times(&self, key: &str) -> usize {
        let same = self.executions.iter().filter(|one| one.key == key);
        same.count()
    }
}
