//! What a client says that its calls returned.
//!
//! A call of a client's tool is recorded like any other and then handed out: the run is let go of, and waits in the store
//! with nobody who drives it. Whoever brings the results takes the run up with them, in whichever process; they enter the
//! log as the outputs of the calls, masked and cut like those of every tool.

use std::collections::BTreeMap;

use bonded_kernel::{self as kernel, Invocation, Mask, Run, RunId, ToolFinished, ToolOutput};
use bonded_tools::output_from_elsewhere;

use crate::error::HostError;
use crate::host::Host;

/// Stands between a result and the words that came with it.
const WORDS: &str = "\n\n[the user says meanwhile]\n";

/// What calls returned, by their turns and their places in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientResults {
    texts: BTreeMap<(u32, u32), String>,
    /// How long the run waited for them.
    pub(crate) waited_ms: u64,
}

impl ClientResults {
    /// Adds what a call returned.
    pub fn add(&mut self, turn: u32, call: u32, text: String) {
        self.texts.insert((turn, call), text);
    }

    /// Adds what the person at the client said meanwhile: the model reads it behind the last result.
    pub fn add_words(&mut self, words: &str) {
        if let Some(mut last) = self.texts.last_entry().filter(|_| !words.is_empty()) {
            let text = last.get_mut();
            text.push_str(WORDS);
            text.push_str(words);
        }
    }

    /// Whether nothing was returned.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Whether it is known what a call returned.
    pub(crate) fn has(&self, call: &Invocation) -> bool {
        self.texts.contains_key(&(call.turn(), call.call()))
    }

    /// The output that enters the log.
    pub(crate) fn output(&self, call: &Invocation, mask: &Mask) -> Option<ToolOutput> {
        let text = self.texts.get(&(call.turn(), call.call()))?;
        Some(output_from_elsewhere(call, text, mask, self.waited_ms))
    }

    /// Whether a run waits for results that are not among these.
    pub(crate) fn are_awaited(&self, run: &Run) -> bool {
        let calls = kernel::handed_out(run);
        calls.first().is_some_and(|call| !self.has(call))
    }
}

/// Whether a run waits for whoever asked for it to execute calls.
pub fn waits_for_client(run: &Run) -> bool {
    !kernel::handed_out(run).is_empty()
}

impl Host {
    /// Whether a text is what the log has as the output of a call: a result that is brought a second time is known by it.
    /// Words that came with it are not compared. Of an output that was cut the length alone is compared, and of one that
    /// left no room for itself nothing.
    pub fn is_recorded(&self, run: &Run, finished: &ToolFinished, text: &str) -> bool {
        let mask = self.secrets.mask_of(run.config());
        let text = mask.text(text);
        match (&finished.dropped, finished.cut_from_bytes) {
            (Some(_), _) => true,
            (None, Some(bytes)) => text.len() as u64 <= bytes,
            (None, None) => {
                let rest = finished.output.strip_prefix(&*text);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(WORDS))
            }
        }
    }

    /// Ends a run that waits for its client if its time is over; else it is returned as it is.
    pub async fn end_if_late(&self, id: &RunId) -> Result<Run, HostError> {
        self.interject(id, || kernel::Input::DeadlineReached).await
    }
}
