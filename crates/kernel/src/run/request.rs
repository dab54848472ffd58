//! The next request of a run: what goes with it, what it will hold at least, and what identifies it.

use super::{Run, RunPhase};
use crate::batch;
use crate::context::DROPPED;
use crate::event::Digest;
use crate::hash::Hash;
use crate::model::{Offer, Request};
use crate::profile::TurnView;
use crate::prompt::{self, Brief};
use crate::text::Text;
use crate::tokens::CALL_TOKENS;

/// What the notice of a retry, or the answer to a report that was found wanting, holds at most.
const RETRY_TOKENS: u64 = 640;

impl Run {
    fn view(&self, turn: u32) -> TurnView<'_> {
        TurnView {
            config: self.config(),
            catalog: self.catalog(),
            found: &self.found,
            turn,
            last_turn: self.last_turn.turn,
            is_last: self.is_last(turn),
            is_forced: self.last_turn.is_forced,
        }
    }

    /// What goes with a request of this turn.
    pub(crate) fn brief(&self, turn: u32) -> Brief {
        let notices = self.dialogue.notices.clone();
        self.profile().brief(&self.view(turn), notices)
    }

    /// The tokens that the last turn will need besides the conversation: its instructions, its tools, one
    /// retry, and a stub for each call of the turn before it.
    pub(crate) fn last_turn_tokens(&self, turn: u32) -> u64 {
        let config = self.config();
        let last = TurnView {
            is_last: true,
            ..self.view(turn)
        };
        let (offer, instructions) = self.profile().last_request(&last);
        let tags = instructions.map_or(0, |it| self.meter.text_tokens(&it));
        // A reply of so many tokens holds no more calls than these.
        let calls_max = u64::from(config.output_tokens_max) / CALL_TOKENS + 1;
        let uncounted = 1 + u64::from(config.own_tools.progress);
        let shown_max = prompt::refused_shown_max(&config.limits) as u64;
        let answers = (shown_max + uncounted).min(calls_max);
        let stubs = answers.saturating_mul(self.stub_tokens());
        let instruction = self.meter.text_tokens(prompt::REPORT_NOW_FULL);
        [tags, self.meter.schema.of(offer), RETRY_TOKENS, instruction]
            .into_iter()
            .fold(stubs, u64::saturating_add)
    }

    /// What the answers to the calls that come after the one that is up add at least.
    pub(crate) fn stubs_tokens(&self) -> u64 {
        self.stub_tokens()
            .saturating_mul(self.phase.calls_after() as u64)
    }

    /// What a stub takes at most.
    fn stub_tokens(&self) -> u64 {
        let stub = match self.config().own_tools.batch {
            true => batch::longest_stub(),
            false => DROPPED.into(),
        };
        self.meter.text_tokens(&self.profile().longest_stub(stub))
    }

    /// The system text of the requests of this turn.
    fn system_now(&self) -> &Text {
        self.standing.system().unwrap_or(self.system())
    }

    /// Identifies the request that the run would send to a target with this much room for the reply.
    pub(crate) fn digest(&self, target: u32, output_tokens: u64, brief: &Brief) -> Digest {
        let mut bytes = Vec::with_capacity(256);
        bytes.extend_from_slice(self.dialogue.conversation.digest().as_bytes());
        bytes.extend_from_slice(self.catalog().hash().as_bytes());
        prompt::write_part(&mut bytes, self.system_now().digest_bytes());
        bytes.extend_from_slice(&target.to_le_bytes());
        bytes.extend_from_slice(&output_tokens.to_le_bytes());
        for notice in &brief.notices {
            prompt::write_part(&mut bytes, notice.as_bytes());
        }
        if brief.offer != Offer::All {
            bytes.push(brief.offer as u8);
        }
        if let Some(found) = self.found.hash() {
            bytes.extend_from_slice(found.as_bytes());
        }
        Hash::of(&bytes).into()
    }
}

/// The request of the attempt under way, or `None` when the run is not asking.
pub fn request(run: &Run) -> Option<Request<'_>> {
    let RunPhase::Asking {
        attempt,
        target,
        reserved,
    } = run.phase
    else {
        return None;
    };
    let config = run.config();
    let target = run.target(target)?;
    let Brief { notices, offer } = run.brief(run.turn);
    Some(run.sums_up(Request {
        target,
        system: run.system_now(),
        messages: run.messages(),
        notices,
        catalog: run.catalog(),
        offer,
        found: &run.found,
        output_tokens_max: u32::try_from(reserved.output).unwrap_or(config.output_tokens_max),
        temperature: target.sampling.temperature.or(config.temperature),
        turn: run.turn,
        attempt,
        ordinal: run.spend().requests,
    }))
}
