//! What a model, and the service that runs it, accept of what can be said to them.
//!
//! Resolved when a run starts, from a table of families and from the configuration, and kept in the log: a run that is
//! taken up by a later build speaks as it did. What a service refuses meanwhile is learned.

use serde::{Deserialize, Serialize};

use crate::image::ImageInput;

/// What most services take at most.
const TEMPERATURE_MAX: f64 = 2.0;
/// What nobody knows is said as it was asked for; that there is no thought at all is a word that few models have.
const DEFAULT_EFFORTS: [Effort; 6] = [
    Effort::Minimal,
    Effort::Low,
    Effort::Medium,
    Effort::High,
    Effort::XHigh,
    Effort::Max,
];

/// What is accepted. The default is what most servers that speak chat completions take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Accepts {
    /// The highest temperature; none where it must not be said.
    #[serde(skip_serializing_if = "is_highest")]
    pub temperature_max: Option<f64>,
    /// Whether `top_p` may be sent.
    #[serde(skip_serializing_if = "is_true")]
    pub top_p: bool,
    /// Whether `top_k` may be sent.
    #[serde(skip_serializing_if = "is_true")]
    pub top_k: bool,
    /// Whether a temperature and a `top_p` may stand in one request. Where not, the temperature stands.
    #[serde(skip_serializing_if = "is_true")]
    pub temperature_with_top_p: bool,
    /// Where a penalty for repetitions goes, if anywhere.
    #[serde(skip_serializing_if = "is_default")]
    pub penalty: PenaltyField,
    /// Where the bound of a reply goes.
    #[serde(skip_serializing_if = "is_default")]
    pub output_limit: OutputLimitField,
    /// In which form thoughts are asked for.
    #[serde(skip_serializing_if = "is_default")]
    pub thinking: ThinkingForm,
    /// The efforts that can be asked for, from the least to the most; empty where none can be named.
    #[serde(skip_serializing_if = "are_default_efforts")]
    pub efforts: Vec<Effort>,
    /// Whether the model thinks where nobody asks it to, so that its thoughts can be asked for.
    #[serde(skip_serializing_if = "is_false")]
    pub thinks_unasked: bool,
    /// Whether a call can be demanded.
    #[serde(skip_serializing_if = "is_true")]
    pub tool_choice_required: bool,
    /// The role in which the system text is sent.
    #[serde(skip_serializing_if = "is_default")]
    pub system_role: SystemRole,
    /// Whether messages of one side must be one message.
    #[serde(skip_serializing_if = "is_false")]
    pub alternates: bool,
    /// Whether a person may speak right after the answers of tools.
    #[serde(skip_serializing_if = "is_true")]
    pub user_after_tool: bool,
    /// How plain thoughts go back to the service with the next request.
    #[serde(skip_serializing_if = "is_default")]
    pub thought_return: ThoughtReturn,
    /// How signed thoughts go back to it.
    #[serde(skip_serializing_if = "is_default")]
    pub signed_thoughts: SignedThoughts,
    /// Whether a conversation with calls in it must name tools, even where none is offered any more.
    #[serde(skip_serializing_if = "is_false")]
    pub calls_need_tools: bool,
    /// The form that ids of calls must have.
    #[serde(skip_serializing_if = "is_default")]
    pub call_ids: CallIds,
    /// Whether a stream can be asked to tell its usage.
    #[serde(skip_serializing_if = "is_true")]
    pub stream_usage: bool,
    /// Whether `parallel_tool_calls` may be sent.
    #[serde(skip_serializing_if = "is_true")]
    pub parallel_tool_calls: bool,
    /// Whether `prompt_cache_key` may be sent.
    #[serde(skip_serializing_if = "is_true")]
    pub prompt_cache_key: bool,
    /// Whether `service_tier` may be sent.
    #[serde(skip_serializing_if = "is_true")]
    pub service_tier: bool,
    /// Fields of `custom` that were refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refused_custom: Vec<String>,
    /// Whether images are taken, and what they count for.
    #[serde(skip_serializing_if = "ImageInput::is_unknown")]
    pub images: ImageInput,
}

impl Default for Accepts {
    fn default() -> Self {
        Self {
            temperature_max: Some(TEMPERATURE_MAX),
            top_p: true,
            top_k: true,
            temperature_with_top_p: true,
            penalty: PenaltyField::default(),
            output_limit: OutputLimitField::default(),
            thinking: ThinkingForm::default(),
            efforts: DEFAULT_EFFORTS.to_vec(),
            thinks_unasked: false,
            tool_choice_required: true,
            system_role: SystemRole::default(),
            alternates: false,
            user_after_tool: true,
            thought_return: ThoughtReturn::default(),
            signed_thoughts: SignedThoughts::default(),
            calls_need_tools: false,
            call_ids: CallIds::default(),
            stream_usage: true,
            parallel_tool_calls: true,
            prompt_cache_key: true,
            service_tier: true,
            refused_custom: vec![],
            images: ImageInput::default(),
        }
    }
}

impl Accepts {
    /// Whether what is said hangs together; the error says what does not.
    pub fn check(&self) -> Result<(), String> {
        if self
            .temperature_max
            .is_some_and(|max| !max.is_finite() || max < 0.0)
        {
            return Err("the highest temperature is not a number from 0".into());
        }
        if !self.efforts.is_sorted_by(|a, b| a < b) {
            return Err("the efforts do not go from the least to the most, each once".into());
        }
        let by_effort = matches!(self.thinking, ThinkingForm::Adaptive | ThinkingForm::Level);
        if by_effort && self.efforts.is_empty() {
            return Err("thoughts are asked for by an effort, and there is none".into());
        }
        if self.thinking == ThinkingForm::None && !self.efforts.is_empty() {
            return Err("there are efforts, and thoughts cannot be asked for".into());
        }
        Ok(())
    }

    /// The effort that is nearest to what was asked for: the same, else the next less, else the least.
    pub fn effort(&self, wanted: Effort) -> Option<Effort> {
        let less = self.efforts.iter().rev().find(|it| **it <= wanted);
        // Nobody who asks for thoughts asks for none.
        let less = less.filter(|it| **it != Effort::None || wanted == Effort::None);
        let least = self.efforts.iter().find(|it| **it > Effort::None);
        less.or(least).copied()
    }
}

/// How much a model is asked to think, in the words that services have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No thoughts at all; few models have a word for it.
    None,
    /// The least that is still thought: 1,024 tokens where a number is wanted.
    Minimal,
    /// 2,048 tokens where a number is wanted.
    Low,
    /// 8,192 tokens where a number is wanted.
    Medium,
    /// 16,384 tokens where a number is wanted.
    High,
    /// 32,768 tokens where a number is wanted.
    XHigh,
    /// 65,536 tokens where a number is wanted.
    Max,
}

impl Effort {
    /// From the least to the most.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
        Self::Max,
    ];

    /// The word that services and the log have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The tokens of thought that an effort stands for where a number is wanted.
    pub fn tokens(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Minimal => 1024,
            Self::Low => 2048,
            Self::Medium => 8192,
            Self::High => 16_384,
            Self::XHigh => 32_768,
            Self::Max => 65_536,
        }
    }
}

/// How much a model thinks before it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// The model is asked not to think; the same as [`Effort::None`].
    Off,
    /// See [`Effort::Minimal`]; each of these words stands for the effort of its name.
    Minimal,
    /// See [`Effort::Low`].
    Low,
    /// See [`Effort::Medium`].
    Medium,
    /// See [`Effort::High`].
    High,
    /// See [`Effort::XHigh`].
    #[serde(rename = "xhigh")]
    XHigh,
    /// See [`Effort::Max`].
    Max,
    /// So many tokens of thought at most.
    Tokens(u32),
}

impl From<Reasoning> for Effort {
    /// For a number of tokens, the effort that stands for the nearest number.
    fn from(reasoning: Reasoning) -> Self {
        match reasoning {
            Reasoning::Off => Self::None,
            Reasoning::Minimal => Self::Minimal,
            Reasoning::Low => Self::Low,
            Reasoning::Medium => Self::Medium,
            Reasoning::High => Self::High,
            Reasoning::XHigh => Self::XHigh,
            Reasoning::Max => Self::Max,
            Reasoning::Tokens(0) => Self::None,
            // Nobody who asks for a few tokens of thought asks for none.
            Reasoning::Tokens(tokens) => Self::ALL[1..]
                .iter()
                .copied()
                .min_by_key(|effort| effort.tokens().abs_diff(tokens))
                .unwrap_or(Self::High),
        }
    }
}

/// How thoughts are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingForm {
    /// By an effort: `reasoning_effort`, or `reasoning.effort` of the responses.
    #[default]
    Effort,
    /// By an effort beside `thinking: adaptive`.
    Adaptive,
    /// By a number of tokens.
    Budget,
    /// By a level: `thinkingLevel`.
    Level,
    /// As a router takes it: `reasoning`, with an effort or a number.
    Routed,
    /// `thinking` is switched on or off.
    Switch,
    /// Not at all.
    None,
}

/// The field that bounds a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputLimitField {
    /// `max_tokens`, which most servers take.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which models that think want instead.
    MaxCompletionTokens,
}

/// The field that a penalty for repetitions stands in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PenaltyField {
    /// `repetition_penalty`, which most servers of open models take.
    #[default]
    RepetitionPenalty,
    /// `repeat_penalty`, as llama.cpp and its relatives call it.
    RepeatPenalty,
    /// There is no such field: a penalty is not sent.
    None,
}

/// Who says the system text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SystemRole {
    /// `system`, the word that nearly all services know.
    #[default]
    System,
    /// `developer`, where a service refuses `system` for its newer models.
    Developer,
}

/// How a thought that came in a message of its own field goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThoughtReturn {
    /// It is left out.
    #[default]
    None,
    /// As `reasoning_content`.
    Content,
    /// As `reasoning_details`.
    Details,
}

/// What becomes of thoughts that the service has signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignedThoughts {
    /// They go back as they came.
    #[default]
    Kept,
    /// They go back, and the service is told to pass over those before which something has changed since. It would
    /// refuse the request otherwise, and notices are shown once.
    Bound,
    /// They are left out.
    LeftOut,
}

/// What the id of a call may look like. Calls that another provider named are sent under ids that are made for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallIds {
    /// Whatever a provider gave. Some read in it what they wrote there.
    #[default]
    AsGiven,
    /// At most forty bytes.
    Short,
    /// Nine letters and digits.
    Nine,
}

fn is_highest(value: &Option<f64>) -> bool {
    *value == Some(TEMPERATURE_MAX)
}

fn are_default_efforts(efforts: &[Effort]) -> bool {
    efforts == DEFAULT_EFFORTS
}

fn is_true(value: &bool) -> bool {
    *value
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
