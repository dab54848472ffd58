//! Work items, in the words of their files: what is asked, of whom, after what, and within which limits.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::declared::DeclaredPath;

/// The longest id of a work item.
pub const ITEM_ID_BYTES_MAX: usize = 128;

/// The ids that [`ItemId::new`] takes, for editors.
pub(super) const ITEM_ID_PATTERN: &str = "^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$";

/// The names that [`AgentId::new`] takes, for editors.
pub(super) const AGENT_ID_PATTERN: &str = "^agent-[0-9]$";

/// Names a work item. It names directories too, so it is nothing that a path could not hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ItemId(Arc<str>);

/// Why a text cannot name a work item.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{id:?} cannot be an id: 1 to {ITEM_ID_BYTES_MAX} letters, digits, '.', '_' or '-', not beginning with '.' or '-'"
)]
pub struct BadItemId {
    /// What was written, cut to the longest id.
    pub id: String,
}

impl ItemId {
    /// Refuses what no directory could be named.
    pub fn new(id: &str) -> Result<Self, BadItemId> {
        let well_formed = (1..=ITEM_ID_BYTES_MAX).contains(&id.len())
            && !id.starts_with(['.', '-'])
            && id
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        match well_formed {
            true => Ok(Self(id.into())),
            false => Err(BadItemId {
                id: id.chars().take(ITEM_ID_BYTES_MAX).collect(),
            }),
        }
    }

    /// The id as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ItemId {
    type Error = BadItemId;

    fn try_from(id: String) -> Result<Self, BadItemId> {
        Self::new(&id)
    }
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// So that ids can be looked up by their text.
impl std::borrow::Borrow<str> for ItemId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// One of the ten agents, `agent-0` to `agent-9`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(u8);

/// Why a text names no agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{agent:?} is not an agent; use agent-0 to agent-9")]
pub struct BadAgentId {
    /// What was written, cut to the longest id.
    pub agent: String,
}

impl AgentId {
    /// Takes `agent-0` to `agent-9` and nothing else.
    pub fn new(agent: &str) -> Result<Self, BadAgentId> {
        let digit = agent.strip_prefix("agent-").map(str::as_bytes);
        match digit {
            Some([digit @ b'0'..=b'9']) => Ok(Self(digit - b'0')),
            _ => Err(BadAgentId {
                agent: agent.chars().take(ITEM_ID_BYTES_MAX).collect(),
            }),
        }
    }

    /// 0 to 9.
    pub fn number(self) -> u8 {
        self.0
    }
}

impl TryFrom<String> for AgentId {
    type Error = BadAgentId;

    fn try_from(agent: String) -> Result<Self, BadAgentId> {
        Self::new(&agent)
    }
}

impl From<AgentId> for String {
    fn from(agent: AgentId) -> Self {
        agent.to_string()
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "agent-{}", self.0)
    }
}

/// What is asked. Made by [`WorkPlan::from_value`](super::WorkPlan::from_value), which checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItem {
    /// Names it in its plan, and its directory.
    pub id: ItemId,
    /// Who works on it.
    pub agent_id: AgentId,
    /// What is asked, in words.
    pub description: String,
    /// What must have succeeded first.
    #[serde(default)]
    pub dependencies: Vec<ItemId>,
    /// What it may do at most.
    #[serde(default)]
    pub constraints: Constraints,
    /// What somebody expects of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// What must be there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_files: Option<Vec<DeclaredPath>>,
    /// All that may be changed, where it is given; each plain path among them must be there afterwards.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_files: Option<Vec<DeclaredPath>>,
    /// What must exit with 0 in the item's copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_command: Option<String>,
    /// A pass needs at least so many tests that were run and passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_expected: Option<u64>,
    /// How often it is begun again where it fails or takes too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
}

/// An item is begun again so often at most.
pub const RETRIES_MAX: u64 = 10;

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What an item may do at most. At the bound is within it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraints {
    /// Files that came, went or changed.
    pub max_files: u64,
    /// Calls of tools.
    pub max_tool_ops: u64,
    /// Files, and directories that changed by themselves.
    pub max_delta_size: u64,
    /// From its beginning to the end of its tests.
    pub timeout_ms: u64,
}

impl Default for Constraints {
    fn default() -> Self {
        Self {
            max_files: 10,
            max_tool_ops: 50,
            max_delta_size: 100,
            timeout_ms: 300_000,
        }
    }
}

impl Constraints {
    /// The limits that go by a name, for items that do not say their own.
    pub const PRESETS: [(&'static str, Self); 3] = [
        (
            "default",
            Self {
                max_files: 10,
                max_tool_ops: 50,
                max_delta_size: 100,
                timeout_ms: 300_000,
            },
        ),
        (
            "production",
            Self {
                max_files: 50,
                max_tool_ops: 100,
                max_delta_size: 500,
                timeout_ms: 3_600_000,
            },
        ),
        (
            "strict",
            Self {
                max_files: 5,
                max_tool_ops: 10,
                max_delta_size: 50,
                timeout_ms: 300_000,
            },
        ),
    ];

    /// The limits of that name; nothing where it is none.
    pub fn preset(name: &str) -> Option<Self> {
        let mut presets = Self::PRESETS.into_iter();
        presets
            .find(|(known, _)| *known == name)
            .map(|(_, constraints)| constraints)
    }
}

/// What somebody expects of an item. It is kept and shown; nothing is enforced by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// How long it may take.
    pub time_estimate_ms: u64,
    /// How hard it may be.
    pub complexity: Complexity,
}

/// How hard an item is thought to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Complexity {
    /// A small change.
    Low,
    /// Something in between.
    Medium,
    /// A change that needs thought.
    High,
}

impl Complexity {
    /// The words that plans use.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
    ];

    /// Takes the words that plans use.
    pub fn parse(word: &str) -> Option<Self> {
        let known = Self::WORDS.iter().find(|(known, _)| *known == word);
        known.map(|(_, complexity)| *complexity)
    }
}
