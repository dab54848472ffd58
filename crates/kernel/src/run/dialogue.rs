//! What a run has said and was told, as its next request shows it: the messages, and the notices that go with them once.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::summary::Summaries;
use crate::image::Image;
use crate::model::Message;
use crate::prompt::{self, Conversation};
use crate::text::Text;

/// The messages of a run, and what is shown beside them.
#[derive(Clone, Debug)]
pub(crate) struct Dialogue {
    pub(crate) conversation: Conversation,
    /// What the next request says besides, and no later one.
    pub(super) notices: Vec<Arc<str>>,
    /// Replies in a row that were of no use.
    useless: u32,
    /// The message with which the last turn begins, where it goes on. What follows stands in the next request alone: the
    /// next reply takes its place.
    exchange: Option<usize>,
    pub(super) summaries: Summaries,
    /// What a person said that no request has shown yet.
    pub(super) said: Vec<Text>,
}

impl Dialogue {
    pub(super) fn begin(goal: &Text, images: &[Image]) -> Self {
        let mut conversation = Conversation::default();
        conversation.push(Message::user(goal.clone()).with_images(images));
        Self {
            conversation,
            notices: vec![],
            useless: 0,
            exchange: None,
            summaries: Summaries::default(),
            said: vec![],
        }
    }

    pub(super) fn messages(&self) -> &[Message] {
        self.conversation.messages()
    }

    /// Whether the last turn goes on.
    pub(super) fn has_exchange(&self) -> bool {
        self.exchange.is_some()
    }

    /// What is said from now on stands in the next request alone.
    pub(super) fn begin_exchange(&mut self) {
        self.exchange = Some(self.messages().len());
    }

    /// What was said in the last turn stays.
    pub(super) fn end_exchange(&mut self) {
        self.exchange = None;
    }

    /// Takes out what the reply before this one left in the last turn.
    pub(super) fn take_exchange(&mut self) -> Vec<Message> {
        let first = self.exchange.take();
        first.map_or(vec![], |first| self.conversation.truncate(first))
    }

    /// Notes that a reply was of no use. The request after it is another one, though the same notice goes with it.
    pub(super) fn was_useless(&mut self, varies_requests: bool) {
        self.useless = self.useless.saturating_add(1);
        if self.useless > 1 && varies_requests {
            self.notices.push(prompt::again(self.useless));
        }
    }

    pub(super) fn was_useful(&mut self) {
        self.useless = 0;
    }

    /// What was said stays, and nothing is added to it any more.
    pub(super) fn close(&mut self) {
        self.notices.clear();
        self.useless = 0;
        self.exchange = None;
        self.summaries.close();
    }

    /// The calls of the last reply that nothing came of.
    pub(super) fn calls_without_answer(&self) -> Vec<Arc<str>> {
        let mut answered = BTreeSet::new();
        for message in self.messages().iter().rev() {
            match message {
                Message::User { .. } => {}
                Message::Tool { call_id, .. } => {
                    answered.insert(call_id);
                }
                Message::Assistant { calls, .. } => {
                    let ids = calls.iter().map(|call| &call.id);
                    return ids.filter(|id| !answered.contains(id)).cloned().collect();
                }
            }
        }
        vec![]
    }
}
