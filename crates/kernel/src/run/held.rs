//! How the events of a policy change a run: calls that wait for a person or are denied, and the mark that
//! untrusted data leaves.

use super::{Phase, Review, Run, ToolOutput};
use crate::event::{Call, Outcome, ToolFinished};
use crate::own_tools::OwnTool;
use crate::policy::Verdict;
use crate::text::Text;
use crate::time::Millis;

/// What the model is shown for a call that the policy denies in a marked run.
pub(super) const UNTRUSTED: &str = "(tool failed: denied by policy: this tool changes something, and untrusted data has entered the run)";

/// What the model is shown for a call whose arguments are not known any more as it wrote them.
pub(super) const NOT_KEPT: &str = "(tool failed: not executed: the arguments hold a secret, and secrets are not kept while a run waits for a person or is taken up again; call again, or name the secret's variable or file instead of the secret)";

impl Run {
    /// Whether the arguments of a call are at hand as the model wrote them. Those that held a secret are known
    /// to the process alone that got the reply.
    pub(crate) fn has_arguments(&self, at: usize, call: &Call) -> bool {
        !call.masked || self.unkept.contains_key(&at)
    }

    /// A process takes the run up. One that waits for a person goes on waiting.
    pub(super) fn taken_up(&mut self, at: Millis) {
        self.unkept.clear();
        if let Phase::Acting { under_way, .. } = &mut self.phase {
            under_way.taken_up = true;
        }
        self.watch.resume(at);
        if self.waiting_call().is_some() {
            self.watch.pause();
        }
    }

    pub(super) fn review_asked(&mut self, why: &Text) {
        self.review = Review::Asked { why: why.clone() };
        self.watch.pause();
    }

    pub(super) fn reviewed(&mut self, verdict: &Verdict) {
        if self.waiting_call().is_none() {
            return;
        }
        match verdict {
            Verdict::Approved => self.review = Review::Approved,
            Verdict::Denied { reason } if reason.trim().is_empty() => {
                self.denied("(tool failed: denied by a person)".into());
            }
            Verdict::Denied { reason } => {
                self.denied(format!("(tool failed: denied by a person: {reason})").into());
            }
        }
    }

    /// Passes the call that is up next over, and tells the model why. To try the same again and again is
    /// no progress.
    pub(super) fn denied(&mut self, text: Text) {
        let Phase::Acting { calls, at, .. } = &self.phase else {
            return;
        };
        let (calls, at) = (calls.clone(), *at);
        if let Some(call) = calls.get(at) {
            self.progress.finished(call, Outcome::Failed, &text);
            self.refuse(call, text);
        }
        self.pass(calls, at);
    }

    /// The first output that nobody vouches for marks the run, for good.
    pub(super) fn mark(&mut self, finished: &ToolFinished) {
        let is_own = self.config().own_tools.of(&finished.tool).is_some();
        let policy = self.config().policy.as_ref().filter(|_| !is_own);
        let is_untrusted = policy.is_some_and(|it| it.is_untrusted(&finished.tool));
        if self.marked_by.is_none() && (is_untrusted || finished.marked) {
            self.marked_by = Some(finished.tool.clone());
        }
    }

    /// What the model is shown of an output, and its tokens where the host counted them. What the kernel
    /// itself says of a call is not enclosed.
    pub(super) fn shown(&self, call: &Call, finished: &ToolFinished) -> (Text, Option<u64>) {
        let output = &finished.output;
        let is_own = finished.is_dropped() || finished.outcome == Outcome::Interrupted;
        // What the host counted is the whole.
        let counted = finished.tokens.filter(|_| finished.dropped.is_none());
        let counted = counted.or(finished.tokens.filter(|_| finished.is_dropped()));
        if is_own || self.config().policy.is_none() {
            return (output.clone(), counted);
        }
        let shown = self.enclosed(call, output, finished.marked);
        let more = self.estimate_beyond(&shown, output);
        let tokens = counted.map(|tokens| tokens.saturating_add(more));
        (shown, tokens)
    }

    /// What the block around an output takes, where it is shown in one.
    pub(super) fn block_tokens(&self, call: &Call, output: &ToolOutput) -> u64 {
        if self.config().policy.is_none() {
            return 0;
        }
        let text = output.text.as_str().into();
        let shown = self.enclosed(call, &text, output.marked);
        self.estimate_beyond(&shown, &text)
    }

    /// How much more a text is estimated at than what it holds.
    fn estimate_beyond(&self, whole: &str, part: &str) -> u64 {
        let part = self.gauge.estimate(part);
        self.gauge.estimate(whole).saturating_sub(part)
    }

    /// The output of a call, in a block where nobody vouches for it. The results of a batch hold the blocks
    /// of its members; a page of an output may be of any that was read.
    fn enclosed(&self, call: &Call, output: &Text, marked: bool) -> Text {
        let Some(policy) = &self.config().policy else {
            return output.clone();
        };
        let is_untrusted = match self.config().own_tools.of(&call.tool) {
            None => marked || policy.is_untrusted(&call.tool),
            Some(OwnTool::Output) => self.marked_by.is_some(),
            Some(OwnTool::Batch | OwnTool::Progress) => false,
        };
        match is_untrusted {
            true => policy.enclose(&call.tool, output).into(),
            false => output.clone(),
        }
    }
}
