//! How much the next request holds, in tokens: what is estimated, what the providers counted, and how far apart the two are.

use crate::context::{self, Context, Projection, RequestExtras};
use crate::event::{Answer, RunStarted};
use crate::image::Image;
use crate::image_weights::ImageWeights;
use crate::model::{Message, Offer};
use crate::text::Text;
use crate::tokens::{Gauge, MESSAGE_TOKENS};
use crate::tool::{Catalog, ToolSpec, is_terminal};
use crate::tool_search::FoundTools;

use super::outputs::Output;

/// The measure of a run's requests.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) context: Context,
    pub(crate) gauge: Gauge,
    pub(crate) schema: SchemaTokens,
    /// The target of the request under way, and what it was estimated at.
    estimate: Option<(u32, u64)>,
    /// What images count for.
    images: ImageWeights,
    /// The output that was estimated last, which comes to the conversation next: a long text is gone through once.
    weighed: Option<(Text, u64)>,
}

/// The tokens of the tools, by what is offered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SchemaTokens {
    all: u64,
    terminal: u64,
}

impl SchemaTokens {
    pub(crate) fn of(self, offer: Offer) -> u64 {
        match offer {
            Offer::All => self.all,
            Offer::WithoutTerminal => self.all.saturating_sub(self.terminal),
            Offer::TerminalOnly => self.terminal,
            Offer::None => 0,
        }
    }
}

impl Meter {
    pub(super) fn begin(started: &RunStarted, catalog: &Catalog) -> Self {
        let gauge = Gauge::of(&started.config, started.counted.is_some());
        let (context, schema) = match context::is_guarded(&started.config) {
            true => seed(started, catalog, &gauge),
            false => (Context::default(), SchemaTokens::default()),
        };
        Self {
            context,
            gauge,
            schema,
            images: ImageWeights::of(&started.config),
            estimate: None,
            weighed: None,
        }
    }

    /// Notes what an output was estimated at.
    pub(crate) fn weighed(&mut self, output: &Text, tokens: u64) {
        self.weighed = Some((output.clone(), tokens));
    }

    /// What the answer to a call adds to the next request.
    pub(super) fn answer_tokens(&mut self, message: &Message) -> u64 {
        let weighed = self.weighed.take();
        match (message, weighed) {
            (Message::Tool { text, .. }, Some((output, tokens))) if *text == output => {
                MESSAGE_TOKENS + tokens + self.images.of_message(message)
            }
            _ => self.message_tokens(message),
        }
    }

    pub(super) fn message_tokens(&self, message: &Message) -> u64 {
        context::message_tokens(&self.gauge, message) + self.images.of_message(message)
    }

    /// What images are counted for.
    pub(crate) fn images_tokens(&self, images: &[Image]) -> u64 {
        self.images.tokens(images)
    }

    pub(super) fn text_tokens(&self, text: &str) -> u64 {
        context::text_tokens(&self.gauge, text)
    }

    /// What messages are estimated at.
    pub(super) fn messages_tokens(&self, messages: &[Message]) -> u64 {
        let messages = messages.iter();
        messages.map(|message| self.message_tokens(message)).sum()
    }

    /// How much more a text is estimated at than what it holds.
    pub(super) fn estimate_beyond(&self, whole: &str, part: &str) -> u64 {
        let part = self.gauge.estimate(part);
        self.gauge.estimate(whole).saturating_sub(part)
    }

    /// What comes to the conversation in a request that offers these tools.
    pub(super) fn extras(&self, more: u64, offer: Offer) -> RequestExtras<'_> {
        RequestExtras {
            gauge: &self.gauge,
            more,
            schema: self.schema.of(offer),
        }
    }

    /// A request is sent to a target that was estimated at so much, where that is known.
    pub(super) fn sent(&mut self, target: u32, estimated: Option<u64>) {
        self.estimate = estimated.map(|estimated| (target, estimated));
    }

    /// Beside what the provider counted for a request, estimates show how far they are off.
    pub(super) fn compare(&mut self, answer: &Answer) {
        if let (Some((target, estimated)), Some(usage)) = (self.estimate.take(), &answer.usage) {
            self.gauge.counted(target, estimated, usage.input);
        }
    }

    /// An output stands no more in the conversation.
    pub(super) fn taken_out(&mut self, output: &Output) {
        let estimated = output.estimated(&self.gauge);
        let saved = output.saved_tokens(&self.gauge);
        match (&self.gauge, output.is_counted()) {
            (Gauge::Bytewise, _) => self.context.remove_pending_first(saved),
            (Gauge::Measured { .. }, true) => self.context.uncounted(estimated, saved),
            (Gauge::Measured { .. }, false) => self.context.remove(estimated),
        }
    }

    /// The next request holds this and nothing of what was said before.
    pub(super) fn restart(&mut self, system: &str, message: &Message) {
        let tokens = self.text_tokens(system) + self.message_tokens(message);
        self.context = Context::default();
        self.context.add(tokens);
    }

    /// Counts what a run has said that nobody counted.
    pub(super) fn count_anew(
        &mut self,
        started: &RunStarted,
        catalog: &Catalog,
        found: &FoundTools,
        messages: &[Message],
    ) {
        let (_, schema) = seed(started, catalog, &self.gauge);
        self.context = self.estimated(&started.system, messages);
        self.schema = schema;
        let found = catalog
            .specs()
            .filter(|spec| spec.deferred && found.shows(spec));
        found.for_each(|spec| self.found(spec));
    }

    /// A tool is sent from now on that was not.
    pub(super) fn found(&mut self, spec: &ToolSpec) {
        if self.schema.all > 0 {
            self.schema.all += spec_tokens(&self.gauge, spec);
        }
    }

    /// Estimates the context: no provider has counted this conversation.
    pub(super) fn estimate_anew(&mut self, system: &Text, messages: &[Message]) {
        let mut context = self.estimated(system, messages);
        let thinks = |message: &Message| matches!(message, Message::Assistant { reasoning, signed, .. } if !reasoning.is_empty() || signed.is_some());
        if messages.iter().any(thinks) {
            context.thought();
        }
        self.context = context;
    }

    fn estimated(&self, system: &Text, messages: &[Message]) -> Context {
        let mut context = Context::default();
        let tokens = self.messages_tokens(messages);
        context.add(tokens.saturating_add(self.text_tokens(system)));
        context
    }

    /// A provider refused a request because its window takes no more than so many tokens. It counted what it was sent, or
    /// it was more than the window.
    pub(super) fn refused(&mut self, target: u32, offer: Offer, tokens: u64, sent: Option<u64>) {
        let extras = self.extras(0, offer);
        let projection: Projection = self.context.project(extras, target as usize);
        let estimated = self.context.whole(extras);
        if let (Some(sent), Some(estimated)) = (sent, estimated) {
            self.gauge.counted(target, estimated, sent);
        }
        let held = sent.unwrap_or_else(|| projection.tokens().max(tokens.saturating_add(1)));
        self.context
            .corrected(held.saturating_sub(projection.schema));
    }
}

/// What the first request holds, as the host counted or as it is estimated.
fn seed(started: &RunStarted, catalog: &Catalog, gauge: &Gauge) -> (Context, SchemaTokens) {
    let estimate = |text: &str| gauge.estimate(text);
    let mut context = Context::default();
    let message = |text: &str| context::text_tokens(gauge, text);
    let conversation = || message(&started.system) + message(&started.goal);
    let counted = started.counted;
    context.add(counted.map_or_else(conversation, |it| it.conversation));
    context.add(ImageWeights::of(&started.config).tokens(&started.images));
    let terminal = catalog.specs().find(|spec| is_terminal(&spec.name));
    let terminal = terminal.map_or(0, |spec| spec_tokens(gauge, spec));
    let all = counted.map_or_else(|| estimate(&catalog.sent_at_first()), |it| it.schema);
    (context, SchemaTokens { all, terminal })
}

fn spec_tokens(gauge: &Gauge, spec: &ToolSpec) -> u64 {
    let parts = [&*spec.name, &*spec.description, &*spec.schema.to_string()];
    parts.into_iter().map(|part| gauge.estimate(part)).sum()
}
