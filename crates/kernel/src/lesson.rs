//! What is learned from a refusal: a service that says which parameter it does not take is asked again without it.
//!
//! The words are a stranger's, so they decide nothing but this: which of the things that were sent, and that can be
//! left out or said otherwise without changing what the person bounded, is said otherwise. Each lesson is learned once
//! for a target, and few for each: a service that refuses now this and now that is an ordinary failure soon.

mod words;

use serde::{Deserialize, Serialize};

use crate::accepts::{
    Accepts, CallIds, Effort, OutputLimitField, PenaltyField, Reasoning, SignedThoughts,
    SystemRole, ThinkingForm, ThoughtReturn,
};
use crate::config::{Dialect, Target, ToolChoice, WindowSource};
use crate::edition::Edition;
use words::Words;

/// More than any service has to say about one request.
const LESSONS_MAX: usize = 8;

/// So many windows are learned of one target.
const WINDOWS_MAX: usize = 2;

/// A message that names more of what was sent than this names nothing.
const NAMED_MAX: usize = 3;

/// How a target is spoken to from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lesson {
    /// It is not sent any more.
    LeaveOut(Parameter),
    /// A field of `custom` is not sent any more.
    LeaveOutCustom(String),
    /// The bound of a reply stands in this field.
    OutputLimit(OutputLimitField),
    /// Thoughts are asked for in this form.
    Thinking(ThinkingForm),
    /// These are the efforts that can be asked for.
    Efforts(Vec<Effort>),
    /// It is asked on this route.
    Route(Dialect),
    /// Thoughts go back in this form.
    ThoughtReturn(ThoughtReturn),
    /// Signed thoughts go back so.
    SignedThoughts(SignedThoughts),
    /// The system text is said in this role.
    SystemRole(SystemRole),
    /// Messages of one side are one message.
    Alternate,
    /// Nobody speaks right after the answers of tools.
    NoUserAfterTool,
    /// A conversation with calls in it always names tools.
    CallsNeedTools,
    /// The ids of calls have this form.
    CallIds(CallIds),
    /// It takes so many tokens and no more.
    Window {
        /// What the provider says that it takes.
        tokens: u64,
        /// What the request held that taught it, as the provider counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sent: Option<u64>,
    },
}

/// What the targets of a run taught so far, and how they are spoken to by now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lessons(Vec<(u32, Lesson, Target)>);

impl Lessons {
    /// Whether a lesson is new, and one more may be learned.
    pub(crate) fn takes(&self, index: u32, lesson: &Lesson) -> bool {
        let mut own = self.0.iter().filter(|(target, ..)| *target == index);
        if let Lesson::Window { tokens, .. } = lesson {
            let mut windows = own.filter_map(|(_, learned, _)| learned.window());
            // It only shrinks: who names now this and now that is not asked for ever.
            return windows.clone().count() < WINDOWS_MAX && windows.all(|known| *tokens < known);
        }
        own.clone().count() < LESSONS_MAX && own.all(|(_, learned, _)| learned != lesson)
    }

    /// Whether the window of a target was learned.
    pub(crate) fn has_window(&self) -> bool {
        self.0
            .iter()
            .any(|(_, lesson, _)| lesson.window().is_some())
    }

    pub(crate) fn add(&mut self, index: u32, lesson: Lesson, taught: Target) {
        self.0.push((index, lesson, taught));
    }

    /// A target after its last lesson.
    pub(crate) fn taught(&self, index: u32) -> Option<&Target> {
        let mut latest = self.0.iter().rev();
        latest
            .find(|(target, ..)| *target == index)
            .map(|(_, _, taught)| taught)
    }
}

/// What can be left out of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// `temperature`.
    Temperature,
    /// `top_p`.
    TopP,
    /// `top_k`.
    TopK,
    /// The penalty for repetitions, in whichever field it stands.
    Penalty,
    /// Whatever asks for thoughts.
    Thinking,
    /// The demand that a tool be called.
    ToolChoice,
    /// Whether several calls may stand in one reply.
    ParallelToolCalls,
    /// What requests that begin alike have in common.
    PromptCacheKey,
    /// The class of service.
    ServiceTier,
    /// The wish that a stream tell its usage.
    StreamUsage,
    /// The marks up to which the provider is to keep a request.
    Caching,
}

impl Parameter {
    const ALL: [Self; 11] = [
        Self::Temperature,
        Self::TopP,
        Self::TopK,
        Self::Penalty,
        Self::Thinking,
        Self::ToolChoice,
        Self::ParallelToolCalls,
        Self::PromptCacheKey,
        Self::ServiceTier,
        Self::StreamUsage,
        Self::Caching,
    ];

    /// As people know it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::TopP => "top_p",
            Self::TopK => "top_k",
            Self::Penalty => "repetition penalty",
            Self::Thinking => "reasoning",
            Self::ToolChoice => "tool_choice",
            Self::ParallelToolCalls => "parallel_tool_calls",
            Self::PromptCacheKey => "prompt_cache_key",
            Self::ServiceTier => "service_tier",
            Self::StreamUsage => "stream_options",
            Self::Caching => "cache_control",
        }
    }

    /// What services call it.
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Temperature => &["temperature"],
            Self::TopP => &["top_p", "topp"],
            Self::TopK => &["top_k", "topk"],
            Self::Penalty => &["repetition_penalty", "repeat_penalty"],
            Self::Thinking => &[
                "reasoning_effort",
                "reasoning",
                "thinking",
                "thinking_config",
                "thinkingconfig",
                "thinkinglevel",
                "thinking_level",
                "thinkingbudget",
                "thinking_budget",
                "budget_tokens",
                "output_config",
                "effort",
            ],
            Self::ToolChoice => &["tool_choice", "toolconfig", "tool_config"],
            Self::ParallelToolCalls => &["parallel_tool_calls", "disable_parallel_tool_use"],
            Self::PromptCacheKey => &["prompt_cache_key"],
            Self::ServiceTier => &["service_tier"],
            Self::StreamUsage => &["stream_options", "include_usage"],
            Self::Caching => &["cache_control"],
        }
    }

    /// Whether it stands in a request to this target.
    fn is_sent(self, target: &Target, accepts: &Accepts, temperature: Option<f64>) -> bool {
        let sampling = &target.sampling;
        match self {
            Self::Temperature => temperature.is_some() && accepts.temperature_max.is_some(),
            Self::TopP => sampling.top_p.is_some() && accepts.top_p,
            Self::TopK => sampling.top_k.is_some() && accepts.top_k,
            Self::Penalty => {
                sampling.repeat_penalty.is_some() && accepts.penalty != PenaltyField::None
            }
            Self::Thinking => {
                sampling.reasoning.is_some() && accepts.thinking != ThinkingForm::None
            }
            Self::ToolChoice => {
                sampling.tool_choice == Some(ToolChoice::Required) && accepts.tool_choice_required
            }
            Self::ParallelToolCalls => {
                sampling.parallel_tool_calls.is_some() && accepts.parallel_tool_calls
            }
            Self::PromptCacheKey => sampling.prompt_cache_key.is_some() && accepts.prompt_cache_key,
            Self::ServiceTier => sampling.service_tier.is_some() && accepts.service_tier,
            Self::StreamUsage => target.stream && accepts.stream_usage,
            Self::Caching => sampling.caching && target.dialect == Dialect::Messages,
        }
    }
}

impl Lesson {
    /// What a refusal teaches about a target, if anything that would change the next request to it.
    pub(crate) fn of(
        message: &str,
        target: &Target,
        temperature: Option<f64>,
        edition: Edition,
    ) -> Option<Self> {
        let accepts = target.accepts.as_deref()?;
        let words = Words::of(message);
        let lesson = form(&words, target, accepts)
            .or_else(|| efforts(&words, target, accepts))
            .or_else(|| left_out(&words, target, accepts, temperature, edition))?;
        let mut taught = target.clone();
        lesson.teach(&mut taught);
        (taught != *target).then_some(lesson)
    }

    /// Whether an answer with this status can teach it: a refusal of the request, and what some say in its place.
    pub(crate) fn is_taught_by(&self, status: u16) -> bool {
        match self {
            // A model that is elsewhere is not found.
            Self::Route(_) => matches!(status, 400 | 404 | 422),
            // A template that raises an error breaks a server of one's own.
            Self::Alternate | Self::NoUserAfterTool => matches!(status, 400 | 422 | 500),
            Self::LeaveOut(_)
            | Self::LeaveOutCustom(_)
            | Self::OutputLimit(_)
            | Self::Thinking(_)
            | Self::Efforts(_)
            | Self::ThoughtReturn(_)
            | Self::SignedThoughts(_)
            | Self::SystemRole(_)
            | Self::CallsNeedTools
            | Self::CallIds(_)
            | Self::Window { .. } => matches!(status, 400 | 422),
        }
    }

    /// The window that it teaches.
    fn window(&self) -> Option<u64> {
        let Self::Window { tokens, .. } = self else {
            return None;
        };
        Some(*tokens)
    }

    /// Changes how a target is spoken to.
    pub(crate) fn teach(&self, target: &mut Target) {
        if let Self::Route(dialect) = self {
            target.dialect = *dialect;
            return;
        }
        if let Self::LeaveOut(Parameter::Caching) = self {
            target.sampling.caching = false;
            return;
        }
        if let Self::Window { tokens, .. } = self {
            target.window = Some(target.window_of(*tokens));
            target.window_source = Some(WindowSource::Learned);
            return;
        }
        let accepts = target.accepts.get_or_insert_default();
        match self {
            Self::LeaveOut(parameter) => accepts.leave_out(*parameter),
            Self::LeaveOutCustom(field) => accepts.refused_custom.push(field.clone()),
            Self::OutputLimit(field) => accepts.output_limit = *field,
            Self::Thinking(form) => accepts.thinking = *form,
            Self::Efforts(efforts) => accepts.efforts.clone_from(efforts),
            Self::ThoughtReturn(form) => accepts.thought_return = *form,
            Self::SignedThoughts(form) => accepts.signed_thoughts = *form,
            Self::SystemRole(role) => accepts.system_role = *role,
            Self::Alternate => accepts.alternates = true,
            Self::NoUserAfterTool => accepts.user_after_tool = false,
            Self::CallsNeedTools => accepts.calls_need_tools = true,
            Self::CallIds(form) => accepts.call_ids = *form,
            Self::Route(_) | Self::Window { .. } => {}
        }
    }
}

impl std::fmt::Display for Lesson {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LeaveOut(parameter) => write!(f, "{} is left out", parameter.as_str()),
            Self::LeaveOutCustom(field) => write!(f, "the custom field {field:?} is left out"),
            Self::OutputLimit(OutputLimitField::MaxTokens) => f.write_str("max_tokens is sent"),
            Self::OutputLimit(OutputLimitField::MaxCompletionTokens) => {
                f.write_str("max_completion_tokens is sent")
            }
            Self::Thinking(ThinkingForm::Adaptive) => {
                f.write_str("thoughts are asked for by an effort")
            }
            Self::Thinking(_) => f.write_str("thoughts are asked for in another form"),
            Self::Efforts(efforts) => {
                let words: Vec<&str> = efforts.iter().map(|it| it.as_str()).collect();
                write!(f, "the efforts are {}", words.join(", "))
            }
            Self::Route(Dialect::Responses) => f.write_str("it is asked through responses"),
            Self::Route(_) => f.write_str("it is asked through chat completions"),
            Self::ThoughtReturn(_) => f.write_str("its thoughts are sent back"),
            Self::SignedThoughts(_) => f.write_str("its thoughts are not sent back"),
            Self::SystemRole(_) => f.write_str("the system text is said in another role"),
            Self::Alternate => f.write_str("messages of one side are joined"),
            Self::NoUserAfterTool => f.write_str("notices stand in the answers of tools"),
            Self::CallsNeedTools => f.write_str("tools are always named"),
            Self::CallIds(_) => f.write_str("calls have ids of another form"),
            Self::Window { tokens, .. } => write!(f, "its window has {tokens} tokens"),
        }
    }
}

impl Accepts {
    fn leave_out(&mut self, parameter: Parameter) {
        match parameter {
            Parameter::Temperature => self.temperature_max = None,
            Parameter::TopP => self.top_p = false,
            Parameter::TopK => self.top_k = false,
            Parameter::Penalty => self.penalty = PenaltyField::None,
            Parameter::Thinking => self.thinking = ThinkingForm::None,
            Parameter::ToolChoice => self.tool_choice_required = false,
            Parameter::ParallelToolCalls => self.parallel_tool_calls = false,
            Parameter::PromptCacheKey => self.prompt_cache_key = false,
            Parameter::ServiceTier => self.service_tier = false,
            Parameter::StreamUsage => self.stream_usage = false,
            Parameter::Caching => {}
        }
    }
}

/// The form that a message names: another field, another route, another order.
fn form(words: &Words, target: &Target, accepts: &Accepts) -> Option<Lesson> {
    let is_chat = target.dialect == Dialect::Chat;
    if is_chat && refuses_the_route(words) {
        return Some(Lesson::Route(Dialect::Responses));
    }
    if is_chat && words.names("reasoning_content") && words.says("passed back") {
        return Some(Lesson::ThoughtReturn(ThoughtReturn::Content));
    }
    if is_chat && (words.says("must alternate") || words.says("should alternate")) {
        // Templates do not count calls and answers: whoever speaks after those speaks after a person.
        return Some(match accepts.alternates {
            false => Lesson::Alternate,
            true => Lesson::NoUserAfterTool,
        });
    }
    if is_chat && (words.says("after role tool") || words.says("after tool")) {
        return Some(Lesson::NoUserAfterTool);
    }
    if is_chat && words.names("tools") && words.says("tool calling") && words.says("without") {
        return Some(Lesson::CallsNeedTools);
    }
    if is_chat && words.says("tool call id") && words.says("length of 9") {
        return Some(Lesson::CallIds(CallIds::Nine));
    }
    if is_chat && words.says("tool_calls") && words.says("maximum length 40") {
        return Some(Lesson::CallIds(CallIds::Short));
    }
    if is_chat && words.names("developer") && accepts.system_role == SystemRole::Developer {
        return Some(Lesson::SystemRole(SystemRole::System));
    }
    if target.dialect == Dialect::Messages && refuses_thoughts(words, accepts) {
        return Some(Lesson::SignedThoughts(SignedThoughts::LeftOut));
    }
    output_limit(words, target, accepts).or_else(|| thinking(words, target, accepts))
}

/// Whether a message says that this model, or its tools, are not for chat completions.
fn refuses_the_route(words: &Words) -> bool {
    let names_other = words.says("/responses") && (words.says("use") || words.says("only support"));
    names_other || words.says("not supported") && words.says("in /v1/chat/completions")
}

/// Whether a message refuses thoughts that came from the service itself, or the word on those that no longer fit.
fn refuses_thoughts(words: &Words, accepts: &Accepts) -> bool {
    let is_word = accepts.signed_thoughts == SignedThoughts::Bound && words.says("block_binding");
    words.says("bound to a different conversation") || is_word && words.refuses()
}

fn output_limit(words: &Words, target: &Target, accepts: &Accepts) -> Option<Lesson> {
    const NAMES: [&str; 2] = ["max_tokens", "max_completion_tokens"];
    let (sent, named, other) = match accepts.output_limit {
        OutputLimitField::MaxTokens => (NAMES[0], NAMES[1], OutputLimitField::MaxCompletionTokens),
        OutputLimitField::MaxCompletionTokens => (NAMES[1], NAMES[0], OutputLimitField::MaxTokens),
    };
    // A value that is too high is not a field that is unknown: a server that knows only the one would not bound the
    // reply by the other.
    let refused = words.names(sent) && (words.names(named) || words.knows_not());
    (target.dialect == Dialect::Chat && refused).then_some(Lesson::OutputLimit(other))
}

fn thinking(words: &Words, target: &Target, accepts: &Accepts) -> Option<Lesson> {
    target
        .sampling
        .reasoning
        .filter(|it| *it != Reasoning::Off)?;
    let form = match accepts.thinking {
        ThinkingForm::Budget if words.names("adaptive") => ThinkingForm::Adaptive,
        ThinkingForm::Adaptive if words.names("budget_tokens") => ThinkingForm::Budget,
        ThinkingForm::Budget if words.names("thinking_level") || words.names("thinkinglevel") => {
            ThinkingForm::Level
        }
        ThinkingForm::Level if words.names("thinking_budget") || words.names("thinkingbudget") => {
            ThinkingForm::Budget
        }
        ThinkingForm::Effort
        | ThinkingForm::Adaptive
        | ThinkingForm::Budget
        | ThinkingForm::Level
        | ThinkingForm::Routed
        | ThinkingForm::Switch
        | ThinkingForm::None => return None,
    };
    Some(Lesson::Thinking(form))
}

/// The efforts that a message lists, where it refuses the one that was asked for.
fn efforts(words: &Words, target: &Target, accepts: &Accepts) -> Option<Lesson> {
    let wanted = Effort::from(target.sampling.reasoning?);
    let sent = accepts.effort(wanted)?;
    let about = Parameter::Thinking.names().iter().any(|it| words.names(it));
    if !about || !words.refuses() {
        return None;
    }
    let listed = words.listed();
    let efforts: Vec<Effort> = Effort::ALL
        .into_iter()
        .filter(|effort| *effort != sent && listed.contains(&effort.as_str()))
        .collect();
    (!efforts.is_empty()).then_some(Lesson::Efforts(efforts))
}

/// The first of what was sent that a message names.
fn left_out(
    words: &Words,
    target: &Target,
    accepts: &Accepts,
    temperature: Option<f64>,
    edition: Edition,
) -> Option<Lesson> {
    let sent = Parameter::ALL
        .into_iter()
        .filter(|it| it.is_sent(target, accepts, temperature));
    let mut named: Vec<(usize, Lesson)> = sent
        .filter_map(|it| Some((words.place_of(it.names())?, Lesson::LeaveOut(it))))
        .collect();
    // What a person added may be what a service is to keep to: it goes only where the service does not know it.
    let is_unknown = |field: &&String| !edition.keeps_custom() || words.knows_no(field);
    let custom = target
        .custom
        .keys()
        .filter(|field| !accepts.refused_custom.contains(field))
        .filter(is_unknown);
    named.extend(custom.filter_map(|field| {
        let place = words.place_of(&[field.as_str()])?;
        Some((place, Lesson::LeaveOutCustom(field.clone())))
    }));
    if named.len() > NAMED_MAX {
        return None;
    }
    let is_both = |lesson: &Lesson| *lesson == Lesson::LeaveOut(Parameter::TopP);
    // Of the two that exclude one another, the temperature stands.
    if named.len() > 1 && words.says("both") && named.iter().any(|(_, it)| is_both(it)) {
        return Some(Lesson::LeaveOut(Parameter::TopP));
    }
    named
        .into_iter()
        .min_by_key(|(place, _)| *place)
        .map(|(_, lesson)| lesson)
}

#[cfg(test)]
mod tests;
