//! What goes into a step.

use std::sync::Arc;

use crate::decode::looped::RecordedReply;
use crate::hash::Hash;
use crate::mask::Mask;
use crate::memory::MemoryEdit;
use crate::model::{Failure, Reply};
use crate::policy::Verdict;
use crate::run::ToolOutput;

/// What came of an effect, or from outside. Unchecked.
#[derive(Clone, Debug)]
pub enum Input {
    /// The reply to the attempt that `turn` and `attempt` name; a late one is ignored.
    Reply {
        turn: u32,
        attempt: u32,
        reply: Box<Reply>,
    },
    /// A reply in which the mask finds a secret. What the model wrote is executed; what is kept is masked.
    SecretReply {
        turn: u32,
        attempt: u32,
        reply: Box<Reply>,
        mask: Arc<Mask>,
    },
    Failed {
        turn: u32,
        attempt: u32,
        failure: Box<Failure>,
    },
    /// What the call that `turn` and `call` name returned; a late one is ignored.
    ToolReturned {
        turn: u32,
        call: u32,
        output: Box<ToolOutput>,
    },
    /// What a person said of the call that `turn` and `call` name; ignored where it does not wait.
    Reviewed {
        turn: u32,
        call: u32,
        /// What the person looked at: another call is not judged by it.
        digest: Option<Hash>,
        verdict: Verdict,
        by: String,
    },
    /// A person changed the memory of a run that works in loops.
    MemoryEdited(MemoryEdit),
    /// A reply as a log has it that keeps no replies: only an audit has one.
    Recorded {
        turn: u32,
        attempt: u32,
        reply: Box<RecordedReply>,
    },
    /// What the host must do for the run and cannot; the code is stable.
    HostFailed {
        code: String,
        message: String,
    },
    /// The time of an [`Effect::Wait`](super::Effect::Wait) has come.
    Woke,
    /// A process takes the run up that another left: whatever was under way then is not any more.
    Resumed,
    Cancel {
        reason: String,
    },
    /// The same for a run that no process drives: the time since its last entry is not its own.
    CancelLeft {
        reason: String,
    },
    /// [`Run::deadline`](crate::Run::deadline) has passed.
    DeadlineReached,
    /// The code that drove the run, or a tool, panicked.
    Panicked {
        message: String,
    },
}
