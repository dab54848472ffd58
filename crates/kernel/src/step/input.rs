//! What goes into a step.

use std::sync::Arc;

use crate::decode::looped::RecordedReply;
use crate::event::GoalGiven;
use crate::hash::Hash;
use crate::mask::Mask;
use crate::memory::MemoryEdit;
use crate::model::{Failure, Reply};
use crate::policy::Verdict;
use crate::run::ToolOutput;
use crate::text::Text;

/// What came of an effect, or from outside. Unchecked.
#[derive(Clone, Debug)]
pub enum Input {
    /// The reply to the attempt that `turn` and `attempt` name; a late one is ignored.
    Reply {
        /// As [`Effect::Ask`](super::Effect::Ask) named it.
        turn: u32,
        /// As [`Effect::Ask`](super::Effect::Ask) named it.
        attempt: u32,
        /// As the provider gave it.
        reply: Box<Reply>,
    },
    /// A reply in which the mask finds a secret. What the model wrote is executed; what is kept is masked.
    SecretReply {
        /// As [`Effect::Ask`](super::Effect::Ask) named it.
        turn: u32,
        /// As [`Effect::Ask`](super::Effect::Ask) named it.
        attempt: u32,
        /// As the provider gave it, secrets included.
        reply: Box<Reply>,
        /// What finds the secrets of the run in a text.
        mask: Arc<Mask>,
    },
    /// The attempt that `turn` and `attempt` name got no reply; a late failure is ignored.
    Failed {
        /// As [`Effect::Ask`](super::Effect::Ask) named it.
        turn: u32,
        /// As [`Effect::Ask`](super::Effect::Ask) named it.
        attempt: u32,
        /// Masked already: it goes into the log as it is.
        failure: Box<Failure>,
    },
    /// What the call that `turn` and `call` name returned; a late one is ignored.
    ToolReturned {
        /// That of the [`Invocation`](super::Invocation).
        turn: u32,
        /// That of the [`Invocation`](super::Invocation).
        call: u32,
        /// Masked and cut already.
        output: Box<ToolOutput>,
    },
    /// What a person said of the call that `turn` and `call` name; ignored where it does not wait.
    Reviewed {
        /// That of the [`WaitingCall`](crate::WaitingCall).
        turn: u32,
        /// That of the [`WaitingCall`](crate::WaitingCall).
        call: u32,
        /// What the person looked at: another call is not judged by it.
        digest: Option<Hash>,
        /// A long reason is shortened.
        verdict: Verdict,
        /// Who said it, as far as the surface knows.
        by: String,
    },
    /// A person says something to a run that is at work; one that has ended does not hear it.
    Said {
        /// As it was typed.
        text: Text,
    },
    /// The next goal of a run that has ended; ignored where [`Run::takes`](crate::Run::takes) refuses it.
    Goal(Box<GoalGiven>),
    /// A person changed the memory of a run that works in loops.
    MemoryEdited(MemoryEdit),
    /// A reply as a log has it that keeps no replies: only an audit has one.
    Recorded {
        /// That of the attempt under way.
        turn: u32,
        /// That of the attempt under way.
        attempt: u32,
        /// What the log has of it.
        reply: Box<RecordedReply>,
    },
    /// What the host must do for the run and cannot; the code is stable.
    HostFailed {
        /// The `code` of the termination.
        code: String,
        /// The reason of the termination.
        message: String,
    },
    /// The time of an [`Effect::Wait`](super::Effect::Wait) has come.
    Woke,
    /// A process takes the run up that another left: whatever was under way then is not any more.
    Resumed,
    /// Somebody wants the run to end now; what is under way is recorded as interrupted.
    Cancel {
        /// The reason of the termination.
        reason: String,
    },
    /// The same for a run that no process drives: the time since its last entry is not its own.
    CancelLeft {
        /// The reason of the termination.
        reason: String,
    },
    /// [`Run::deadline`](crate::Run::deadline) has passed.
    DeadlineReached,
    /// The code that drove the run, or a tool, panicked.
    Panicked {
        /// What the panic said; the reason of the termination begins with `panic:`.
        message: String,
    },
}
