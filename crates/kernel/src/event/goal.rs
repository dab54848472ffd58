//! What a run that had ended is given to go on with.

use serde::{Deserialize, Serialize};

use crate::config::{Limits, OverallLimits, Target};
use crate::policy::Policy;
use crate::text::Text;

/// The next goal of a run. What it does not name holds as it did before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalGiven {
    /// What is asked now. Blank only where a person said something that the model has not heard: then that is the goal.
    pub goal: Text,
    /// What may be used for this goal, counted from here. What the run may use over all its goals holds besides.
    pub limits: Limits,
    /// What may be used over all goals from here on, those before included, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overall: Option<OverallLimits>,
    /// The models that are asked from here on, where they are others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<Target>>,
    /// What may be done without asking from here on, where that is something else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Box<Policy>>,
    /// Whether the model is asked first for a summary of what was said, which takes its place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sums_up: bool,
}

impl GoalGiven {
    /// A goal that changes nothing but what is asked and what may be used for it.
    pub fn new(goal: impl Into<Text>, limits: Limits) -> Self {
        Self {
            goal: goal.into(),
            limits,
            overall: None,
            targets: None,
            policy: None,
            sums_up: false,
        }
    }
}
