//! Windows that are learned while a run is under way: what it has said is counted from then on, and held against them.

use super::{Run, seed};
use crate::config::Target;
use crate::context::{self, Asked, Context};

impl Run {
    /// The targets as they are spoken to by now.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &Target> {
        (0..self.config().targets.len() as u32).filter_map(|index| self.target(index))
    }

    /// Whether the window of a target is known, from the beginning or by now.
    pub(crate) fn is_guarded(&self) -> bool {
        context::is_guarded(self.config()) || self.lessons.has_window()
    }

    /// A provider refused a request because its window takes no more than so many tokens. It counted what it was sent, or
    /// it was more than the window.
    pub(super) fn window_learned(
        &mut self,
        target: u32,
        tokens: u64,
        sent: Option<u64>,
        was_guarded: bool,
    ) {
        if !was_guarded {
            self.count_anew();
        }
        let asked = Asked {
            gauge: &self.gauge,
            more: 0,
            schema: self.schema.of(self.brief(self.turn).offer),
        };
        let projection = self.context.project(asked, target as usize);
        let estimated = self.context.whole(asked);
        if let (Some(sent), Some(estimated)) = (sent, estimated) {
            self.gauge.counted(target, estimated, sent);
        }
        let held = sent.unwrap_or_else(|| projection.tokens().max(tokens.saturating_add(1)));
        self.outputs_counted();
        let schema = projection.schema;
        self.context.corrected(held.saturating_sub(schema));
        self.attempts.learned_window();
    }

    /// Counts what a run has said that nobody counted.
    fn count_anew(&mut self) {
        let (_, schema) = seed(&self.started, &self.catalog, &self.gauge);
        let messages = self.conversation.messages().iter();
        let said: u64 = messages.map(|it| self.message_tokens(it)).sum();
        let mut context = Context::default();
        let system = context::text_tokens(&self.gauge, &self.started.system);
        context.said(system.saturating_add(said));
        (self.context, self.schema) = (context, schema);
    }
}
