//! The name of one execution of a plan, and the names that follow from it.

use std::fmt;

use bonded_kernel::{Hash, RUN_ID_BYTES_MAX, RunId};
use bonded_work_rules::ItemId;
use serde::{Deserialize, Serialize};

/// Names one execution of a plan.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct PlanId(String);

/// Why a text names no execution of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{id:?} is not a plan id, which has twelve hexadecimal digits")]
pub struct BadPlanId {
    /// What was written, cut to 80 letters.
    pub id: String,
}

impl PlanId {
    const DIGITS: usize = 12;

    /// Takes twelve hexadecimal digits.
    pub fn new(id: &str) -> Result<Self, BadPlanId> {
        let well_formed = id.len() == Self::DIGITS && id.bytes().all(|b| b.is_ascii_hexdigit());
        match well_formed {
            true => Ok(Self(id.to_owned())),
            false => Err(BadPlanId {
                id: id.chars().take(80).collect(),
            }),
        }
    }

    /// A new one, at random.
    pub fn draw() -> Self {
        let drawn = uuid::Uuid::new_v4().simple().to_string();
        Self(drawn.chars().take(Self::DIGITS).collect())
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The run of an item: always the same one, so that a restart finds it. An item whose copy was lost begins
    /// again under another number.
    ///
    /// Ids of items may be longer than a run's may be; then a hash stands for the item, since the id must still
    /// follow from plan and item.
    pub(crate) fn run_of(&self, item: &ItemId, attempt: u32) -> RunId {
        let number = match attempt {
            1 => String::new(),
            again => format!(".{again}"),
        };
        let readable = format!("{}.{item}{number}", self.0);
        let id = match readable.len() <= RUN_ID_BYTES_MAX {
            true => readable,
            false => {
                let name = Hash::of(item.as_str().as_bytes()).to_string();
                format!("{}.{}{number}", self.0, &name[..32])
            }
        };
        RunId::new(&id)
            .expect("a plan's id begins with a digit or letter, and the rest is of both ids")
    }
}

impl TryFrom<String> for PlanId {
    type Error = BadPlanId;

    fn try_from(id: String) -> Result<Self, BadPlanId> {
        Self::new(&id)
    }
}

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
