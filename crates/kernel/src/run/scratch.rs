//! What is at hand of the reply that is acted upon, and stands neither in its calls nor in the conversation.

use std::collections::BTreeMap;

use crate::batch::BatchResults;
use crate::event::Call;
use crate::image::Image;
use crate::text::Text;

/// What the calls of one reply need until they have ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyScratch {
    /// The results of the batch whose members run.
    pub(crate) gathered: BatchResults,
    /// The images that its members gave.
    pub(crate) gathered_images: Vec<Image>,
    /// The arguments of this turn's calls that held a secret, by the calls' places, as the model wrote them. They
    /// are in no log: a run that is replayed has none.
    pub(crate) unkept: BTreeMap<usize, Text>,
}

impl ReplyScratch {
    /// Whether the arguments of a call are at hand as the model wrote them. Those that held a secret are known
    /// to the process alone that got the reply.
    pub(crate) fn has_arguments(&self, at: usize, call: &Call) -> bool {
        !call.masked || self.unkept.contains_key(&at)
    }

    /// The arguments of a call, as the model wrote them where they are at hand.
    pub(crate) fn arguments<'a>(&'a self, at: usize, call: &'a Call) -> &'a Text {
        self.unkept.get(&at).unwrap_or(&call.arguments)
    }
}
