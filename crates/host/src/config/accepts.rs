//! What a configuration says of what a model accepts: it counts more than what is known of the model.
//!
//! It is for models and servers that nobody here knows, or that changed. A provider's entry holds for
//! all of its models, and a model's own entry counts more, field by field.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use bonded_kernel::{
    Accepts, CallIds, Effort, ImageInput, OutputLimitField, PenaltyField, SignedThoughts,
    SystemRole, ThinkingForm, ThoughtReturn,
};

use super::ConfigError;
use super::entry::ConfigEntry;

/// The values that are said; `None` leaves what is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AcceptsConfig {
    /// Another model's name: what is known of that one is taken for this one.
    pub like: Option<String>,
    temperature: Option<bool>,
    temperature_max: Option<f64>,
    top_p: Option<bool>,
    top_k: Option<bool>,
    temperature_with_top_p: Option<bool>,
    penalty: Option<PenaltyField>,
    output_limit: Option<OutputLimitField>,
    thinking: Option<ThinkingForm>,
    efforts: Option<Vec<Effort>>,
    tool_choice_required: Option<bool>,
    system_role: Option<SystemRole>,
    alternates: Option<bool>,
    user_after_tool: Option<bool>,
    thought_return: Option<ThoughtReturn>,
    signed_thoughts: Option<SignedThoughts>,
    calls_need_tools: Option<bool>,
    call_ids: Option<CallIds>,
    stream_usage: Option<bool>,
    parallel_tool_calls: Option<bool>,
    prompt_cache_key: Option<bool>,
    service_tier: Option<bool>,
    images: Option<bool>,
}

/// Words of the configuration and what they mean; so with the tables below.
pub(super) const PENALTIES: [(&str, PenaltyField); 3] = [
    ("repetition_penalty", PenaltyField::RepetitionPenalty),
    ("repeat_penalty", PenaltyField::RepeatPenalty),
    ("none", PenaltyField::None),
];
pub(super) const OUTPUT_LIMITS: [(&str, OutputLimitField); 2] = [
    ("max_tokens", OutputLimitField::MaxTokens),
    (
        "max_completion_tokens",
        OutputLimitField::MaxCompletionTokens,
    ),
];
pub(super) const THINKING: [(&str, ThinkingForm); 7] = [
    ("effort", ThinkingForm::Effort),
    ("adaptive", ThinkingForm::Adaptive),
    ("budget", ThinkingForm::Budget),
    ("level", ThinkingForm::Level),
    ("routed", ThinkingForm::Routed),
    ("switch", ThinkingForm::Switch),
    ("none", ThinkingForm::None),
];
pub(super) const ROLES: [(&str, SystemRole); 2] = [
    ("system", SystemRole::System),
    ("developer", SystemRole::Developer),
];
pub(super) const RETURNS: [(&str, ThoughtReturn); 3] = [
    ("none", ThoughtReturn::None),
    ("reasoning_content", ThoughtReturn::Content),
    ("reasoning_details", ThoughtReturn::Details),
];
pub(super) const SIGNED: [(&str, SignedThoughts); 3] = [
    ("kept", SignedThoughts::Kept),
    ("bound", SignedThoughts::Bound),
    ("left_out", SignedThoughts::LeftOut),
];

pub(super) const CALL_IDS: [(&str, CallIds); 3] = [
    ("as_given", CallIds::AsGiven),
    ("short", CallIds::Short),
    ("nine", CallIds::Nine),
];

impl AcceptsConfig {
    /// A word that is none of the table's is a problem and says nothing.
    pub(super) fn read(entry: &ConfigEntry<'_>, problems: &mut Vec<ConfigError>) -> Self {
        Self {
            like: entry.text("like"),
            temperature: entry.flag("temperature"),
            temperature_max: entry.real("temperatureMax"),
            top_p: entry.flag("topP"),
            top_k: entry.flag("topK"),
            temperature_with_top_p: entry.flag("temperatureWithTopP"),
            penalty: entry.word("penalty", &PENALTIES, problems),
            output_limit: entry.word("outputLimit", &OUTPUT_LIMITS, problems),
            thinking: entry.word("thinking", &THINKING, problems),
            efforts: efforts(entry, problems),
            tool_choice_required: entry.flag("toolChoiceRequired"),
            system_role: entry.word("systemRole", &ROLES, problems),
            alternates: entry.flag("alternates"),
            user_after_tool: entry.flag("userAfterTool"),
            thought_return: entry.word("thoughtReturn", &RETURNS, problems),
            signed_thoughts: entry.word("signedThoughts", &SIGNED, problems),
            calls_need_tools: entry.flag("callsNeedTools"),
            call_ids: entry.word("callIds", &CALL_IDS, problems),
            stream_usage: entry.flag("streamUsage"),
            parallel_tool_calls: entry.flag("parallelToolCalls"),
            prompt_cache_key: entry.flag("promptCacheKey"),
            service_tier: entry.flag("serviceTier"),
            images: entry.flag("images"),
        }
    }

    /// These values, and where they are silent, others.
    pub(super) fn over(self, other: Self) -> Self {
        Self {
            like: self.like.or(other.like),
            temperature: self.temperature.or(other.temperature),
            temperature_max: self.temperature_max.or(other.temperature_max),
            top_p: self.top_p.or(other.top_p),
            top_k: self.top_k.or(other.top_k),
            temperature_with_top_p: self.temperature_with_top_p.or(other.temperature_with_top_p),
            penalty: self.penalty.or(other.penalty),
            output_limit: self.output_limit.or(other.output_limit),
            thinking: self.thinking.or(other.thinking),
            efforts: self.efforts.or(other.efforts),
            tool_choice_required: self.tool_choice_required.or(other.tool_choice_required),
            system_role: self.system_role.or(other.system_role),
            alternates: self.alternates.or(other.alternates),
            user_after_tool: self.user_after_tool.or(other.user_after_tool),
            thought_return: self.thought_return.or(other.thought_return),
            signed_thoughts: self.signed_thoughts.or(other.signed_thoughts),
            calls_need_tools: self.calls_need_tools.or(other.calls_need_tools),
            call_ids: self.call_ids.or(other.call_ids),
            stream_usage: self.stream_usage.or(other.stream_usage),
            parallel_tool_calls: self.parallel_tool_calls.or(other.parallel_tool_calls),
            prompt_cache_key: self.prompt_cache_key.or(other.prompt_cache_key),
            service_tier: self.service_tier.or(other.service_tier),
            images: self.images.or(other.images),
        }
    }

    /// What is known, changed by what is said; the error says what contradicts itself.
    pub fn applied_to(&self, mut accepts: Accepts) -> Result<Accepts, String> {
        fn set<T: Clone>(place: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                place.clone_from(value);
            }
        }
        match (self.temperature, self.temperature_max) {
            (Some(false), Some(_)) => {
                return Err("a maximum temperature is set, but temperature is not accepted".into());
            }
            (Some(false), None) => accepts.temperature_max = None,
            (_, Some(max)) => accepts.temperature_max = Some(max),
            (Some(true), None) => {
                accepts.temperature_max = accepts
                    .temperature_max
                    .or(Accepts::default().temperature_max);
            }
            (None, None) => {}
        }
        set(&mut accepts.top_p, &self.top_p);
        set(&mut accepts.top_k, &self.top_k);
        set(
            &mut accepts.temperature_with_top_p,
            &self.temperature_with_top_p,
        );
        set(&mut accepts.penalty, &self.penalty);
        set(&mut accepts.output_limit, &self.output_limit);
        if let Some(form) = self.thinking {
            accepts.thinking = form;
            // What is known of efforts belongs to the form that is known.
            match form {
                ThinkingForm::None => accepts.efforts.clear(),
                ThinkingForm::Effort
                | ThinkingForm::Adaptive
                | ThinkingForm::Budget
                | ThinkingForm::Level
                | ThinkingForm::Routed
                | ThinkingForm::Switch => {
                    if accepts.efforts.is_empty() {
                        accepts.efforts = Accepts::default().efforts;
                    }
                }
            }
        }
        set(&mut accepts.efforts, &self.efforts);
        set(
            &mut accepts.tool_choice_required,
            &self.tool_choice_required,
        );
        set(&mut accepts.system_role, &self.system_role);
        set(&mut accepts.alternates, &self.alternates);
        set(&mut accepts.user_after_tool, &self.user_after_tool);
        set(&mut accepts.thought_return, &self.thought_return);
        set(&mut accepts.signed_thoughts, &self.signed_thoughts);
        set(&mut accepts.calls_need_tools, &self.calls_need_tools);
        set(&mut accepts.call_ids, &self.call_ids);
        set(&mut accepts.stream_usage, &self.stream_usage);
        set(&mut accepts.parallel_tool_calls, &self.parallel_tool_calls);
        set(&mut accepts.prompt_cache_key, &self.prompt_cache_key);
        set(&mut accepts.service_tier, &self.service_tier);
        match self.images {
            Some(false) => accepts.images = ImageInput::None,
            // What one counts for is not known of a model that was not known to take any.
            Some(true) if !accepts.images.may_take() => accepts.images = ImageInput::Unknown,
            Some(true) | None => {}
        }
        accepts.check()?;
        Ok(accepts)
    }
}

/// One unknown word makes the whole list unusable: half a list would send an effort that was not meant.
fn efforts(entry: &ConfigEntry<'_>, problems: &mut Vec<ConfigError>) -> Option<Vec<Effort>> {
    entry.value("efforts")?;
    let words = entry.texts("efforts");
    let of = |word: &String| Effort::ALL.into_iter().find(|it| it.as_str() == word);
    let efforts: Option<Vec<Effort>> = words.iter().map(of).collect();
    if efforts.is_none() {
        let names = Effort::ALL.map(Effort::as_str).join(", ");
        problems.push(entry.wrong("efforts", format!("a list of {names}")));
    }
    efforts
}
