//! Windows that are learned while a run is under way: what it has said is counted from then on, and held against them.

use super::{Run, seed};
use crate::config::Target;
use crate::context::{self, Context};
use crate::prompt;

impl Run {
    /// The targets as they are spoken to by now.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        (0..self.config().targets.len() as u32).filter_map(|index| self.target(index))
    }

    /// Whether the window of a target is known, from the beginning or by now.
    pub(crate) fn is_guarded(&self) -> bool {
        context::is_guarded(self.config()) || self.lessons.has_window()
    }

    /// The provider of a target refused a request because its window takes no more than so many tokens. It counted what it
    /// was sent, or that was more than the window.
    pub(super) fn window_learned(
        &mut self,
        index: u32,
        tokens: u64,
        sent: Option<u64>,
        was_guarded: bool,
    ) {
        if !was_guarded {
            self.count_anew();
        }
        if let (Some((target, estimated)), Some(sent)) = (self.asked.take(), sent) {
            self.gauge.counted(target, estimated, sent);
        }
        let schema = self.schema.of(prompt::brief(self, self.turn).offer);
        let schema = self.gauge.room(index as usize, schema);
        let held = sent.unwrap_or(tokens.saturating_add(1));
        self.context.corrected(held.saturating_sub(schema));
        self.outputs_counted();
        self.attempts.learned_window();
    }

    /// Counts what a run has said that nobody counted.
    fn count_anew(&mut self) {
        let (_, schema) = seed(&self.started, &self.catalog, &self.gauge);
        let mut context = Context::default();
        context.said(context::text_tokens(&self.gauge, &self.started.system));
        for message in self.conversation.messages() {
            context.said(self.message_tokens(message));
        }
        (self.context, self.schema) = (context, schema);
    }
}
