//! The ids of calls that a client executes.
//!
//! An id names the run and the place of the call in it, so that whoever brings the result finds the run in the store,
//! also after a restart, and in another process. It ends in a seal over that, the caller's token and the run's nonce:
//! nobody makes one up, and one that another caller was given opens nothing.

use bonded_kernel::{Hash, Invocation, Run, RunId};
use subtle::ConstantTimeEq as _;

use super::access::Caller;

/// As OpenAI's ids of calls begin.
const PREFIX: &str = "call_";
/// Hexadecimal digits of the seal.
const SEAL_DIGITS: usize = 32;

/// What an id of a call says, before its seal is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CallHandle {
    pub(super) run: RunId,
    pub(super) turn: u32,
    pub(super) call: u32,
    seal: String,
}

impl CallHandle {
    /// The id by which a caller is told of a call of a run.
    pub(super) fn write(caller: Caller, run: &Run, call: &Invocation) -> String {
        let (turn, call) = (call.turn(), call.call());
        let seal = seal(caller, run, turn, call);
        format!("{PREFIX}{}_{turn}_{call}_{seal}", run.id())
    }

    /// `None` for an id that is not of ours.
    pub(super) fn parse(id: &str) -> Option<Self> {
        let mut parts = id.strip_prefix(PREFIX)?.rsplitn(4, '_');
        let (seal, call, turn, run) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            run: RunId::new(run).ok()?,
            turn: turn.parse().ok()?,
            call: call.parse().ok()?,
            seal: seal.to_owned(),
        })
    }

    /// Whether this caller was told of this place in this run.
    pub(super) fn is_of(&self, caller: Caller, run: &Run) -> bool {
        let expected = seal(caller, run, self.turn, self.call);
        let is_sealed = expected.as_bytes().ct_eq(self.seal.as_bytes());
        self.run == *run.id() && bool::from(is_sealed)
    }

    /// Where in the run it is.
    pub(super) fn place(&self) -> (u32, u32) {
        (self.turn, self.call)
    }
}

/// The hash of a token is known to nobody but its holder and the server. Every part has its length before it.
fn seal(caller: Caller, run: &Run, turn: u32, call: u32) -> String {
    let agent = run.config().agent.as_ref();
    let nonce = agent.map_or("", |agent| agent.nonce.as_str());
    let mut bytes = b"bonded call of a client 1".to_vec();
    bytes.extend_from_slice(caller.0.as_bytes());
    for part in [run.id().as_str(), nonce] {
        bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        bytes.extend_from_slice(part.as_bytes());
    }
    bytes.extend_from_slice(&turn.to_le_bytes());
    bytes.extend_from_slice(&call.to_le_bytes());
    Hash::of(&bytes)
        .to_string()
        .chars()
        .take(SEAL_DIGITS)
        .collect()
}

#[cfg(test)]
mod tests {
    use bonded_kernel::{Catalog, Millis, RunConfig, RunStarted, Target, start};

    use super::*;

    fn run(id: &str) -> Run {
        let config = RunConfig::new("/tmp", vec![Target::new("p", "http://127.0.0.1:9", "m")]);
        let catalog = Catalog::of_run([], &config).expect("no tool is as good as any");
        let started = RunStarted::new("goal".into(), "".into(), config, catalog);
        start(RunId::new(id).expect("it is an id"), Millis(1), started).0
    }

    fn caller(token: &str) -> Caller {
        Caller(Hash::of(token.as_bytes()))
    }

    /// The id that a caller is given for a call; an invocation can only be made by the kernel.
    fn id(token: &str, run: &Run, turn: u32, call: u32) -> String {
        let seal = seal(caller(token), run, turn, call);
        format!("{PREFIX}{}_{turn}_{call}_{seal}", run.id())
    }

    #[test]
    fn an_id_opens_its_own_call_for_its_own_caller_and_nothing_else() {
        let (mine, other) = (run("r_1-a"), run("r_2"));
        let handle = CallHandle::parse(&id("t", &mine, 3, 1)).expect("it is of ours");
        assert_eq!((handle.run.as_str(), handle.place()), ("r_1-a", (3, 1)));
        assert!(handle.is_of(caller("t"), &mine));
        assert!(!handle.is_of(caller("u"), &mine));
        assert!(!handle.is_of(caller("t"), &other));
        let of_other_place = id("t", &mine, 3, 1).replacen("_3_1_", "_3_2_", 1);
        let forged = CallHandle::parse(&of_other_place).expect("it has the form");
        assert!(!forged.is_of(caller("t"), &mine));
    }

    #[test]
    fn what_is_no_id_of_ours_is_none() {
        for id in [
            "",
            "call_",
            "call_abc",
            "call_1_2_3",
            "call__1_2_ff",
            "toolu_r_1_2_ff",
            "call_r_x_2_ff",
        ] {
            let parsed = CallHandle::parse(id);
            assert!(parsed.is_none(), "{id}: {parsed:?}");
        }
    }
}
