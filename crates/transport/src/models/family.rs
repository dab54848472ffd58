//! Families of models by their names: what each takes, whoever runs it.
//!
//! The first row that fits counts, so a family's older and special models stand before the rest of it, and the last row
//! of a family is what its newest models take: a name that nobody knew when this was written is taken for one of those.

use bonded_kernel::{
    Accepts, CallIds, Effort, ImageInput, OutputLimitField, SignedThoughts, ThinkingForm,
    ThoughtReturn,
};

use super::glob;

/// What a family takes.
#[derive(Debug)]
pub struct Family {
    /// Names without their maker, in lower case, with `*` and `?`.
    pub names: &'static [&'static str],
    /// The day on which the row was last held against what its maker says and its SDK has.
    pub as_of: &'static str,
    sampling: Samples,
    thinking: ThinkingForm,
    efforts: &'static [Effort],
    thinks_unasked: bool,
    output_limit: OutputLimitField,
    thought_return: ThoughtReturn,
    /// Whether a call can be demanded.
    tool_choice_required: bool,
    /// Whether its templates take messages in any order of sides.
    any_order: bool,
    signed_thoughts: SignedThoughts,
    /// What the ids of calls may look like, whoever runs it.
    call_ids: CallIds,
    /// How much all of it takes in: no more than the smallest of its models, because a name that nobody knows may be that
    /// one's. A model that is listed by its own name has the window that is listed.
    pub window: Option<u64>,
    /// Whether images are taken, and what they count for, as its maker says.
    images: ImageInput,
}

/// What of the settings of sampling is taken.
#[derive(Clone, Copy, Debug)]
enum Samples {
    All,
    /// Up to one, and not with `top_p`.
    OneOfTwo,
    None,
}

impl Family {
    /// By the bare name, so that a family is the same one behind every router and in every region.
    pub(super) fn of(model: &str) -> Option<&'static Self> {
        let name = bare(model);
        let fits = |family: &&Self| family.names.iter().any(|it| glob::fits(it, &name));
        FAMILIES.iter().find(fits)
    }

    /// It comes before what the service says of itself, so that a service can take away what its copy of a
    /// model does not take.
    pub(crate) fn describe(&self, accepts: &mut Accepts) {
        match self.sampling {
            Samples::All => {}
            Samples::OneOfTwo => {
                accepts.temperature_max = Some(1.0);
                accepts.temperature_with_top_p = false;
            }
            Samples::None => {
                accepts.temperature_max = None;
                accepts.top_p = false;
                accepts.top_k = false;
            }
        }
        accepts.thinking = self.thinking;
        accepts.efforts = self.efforts.to_vec();
        accepts.thinks_unasked = self.thinks_unasked;
        accepts.output_limit = self.output_limit;
        accepts.thought_return = self.thought_return;
        accepts.tool_choice_required = self.tool_choice_required;
        accepts.alternates = !self.any_order;
        accepts.user_after_tool = self.any_order;
        accepts.signed_thoughts = self.signed_thoughts;
        accepts.call_ids = self.call_ids;
        accepts.images = self.images;
    }
}

/// A model's name without its maker, its region and its service's ornaments.
pub(crate) fn bare(model: &str) -> String {
    let model = model.to_ascii_lowercase();
    let name = model
        .rsplit_once('/')
        .map_or(model.as_str(), |(_, name)| name);
    // `us.anthropic.claude-…` of one service, `anthropic.claude-…@…` of another.
    match name.find("claude-") {
        Some(at) => name[at..].to_owned(),
        None => name.to_owned(),
    }
}

use Effort::{High, Low, Max, Medium, Minimal, None as NoEffort, XHigh};

/// What most models that think take. Every row goes out from this or from one of those below, and says only
/// where it differs.
const DEFAULTS: Family = Family {
    names: &[],
    as_of: "2026-11-16",
    sampling: Samples::All,
    thinking: ThinkingForm::Effort,
    efforts: &[Low, Medium, High],
    thinks_unasked: false,
    output_limit: OutputLimitField::MaxTokens,
    thought_return: ThoughtReturn::None,
    tool_choice_required: true,
    any_order: true,
    signed_thoughts: SignedThoughts::Kept,
    call_ids: CallIds::AsGiven,
    window: None,
    images: ImageInput::Unknown,
};

/// Models that do not think, or cannot be told how much.
const SILENT: Family = Family {
    thinking: ThinkingForm::None,
    efforts: &[],
    ..DEFAULTS
};

/// OpenAI's models that think take neither a temperature nor `max_tokens`, wherever they run.
const OPENAI: Family = Family {
    images: PATCHES,
    sampling: Samples::None,
    call_ids: CallIds::Short,
    thinks_unasked: true,
    output_limit: OutputLimitField::MaxCompletionTokens,
    ..DEFAULTS
};

/// No image is taken.
const BLIND: ImageInput = ImageInput::None;

/// OpenAI's models up to the fifth generation, but for the small ones.
const TILES: ImageInput = ImageInput::Tiles {
    base: 85,
    tile: 170,
};
const TILES_5: ImageInput = ImageInput::Tiles {
    base: 70,
    tile: 140,
};
const TILES_O: ImageInput = ImageInput::Tiles {
    base: 75,
    tile: 150,
};
const TILES_4O_MINI: ImageInput = ImageInput::Tiles {
    base: 2_833,
    tile: 5_667,
};

/// OpenAI's small models, which count a patch for more than a token, and its newest.
const PATCHES_MINI: ImageInput = ImageInput::Patches {
    most: 1_536,
    percent: 162,
};
const PATCHES_O4_MINI: ImageInput = ImageInput::Patches {
    most: 1_536,
    percent: 172,
};
const PATCHES_NANO: ImageInput = ImageInput::Patches {
    most: 1_536,
    percent: 246,
};
const PATCHES: ImageInput = ImageInput::Patches {
    most: 2_500,
    percent: 100,
};

/// Anthropic's models, and those of them that look closer.
const AREA: ImageInput = ImageInput::Area {
    pixels: 750,
    most: 1_600,
};
const LARGE_AREA: ImageInput = ImageInput::Area {
    pixels: 750,
    most: 4_784,
};

/// Google's models from the third generation on.
const LEVEL: ImageInput = ImageInput::Same { tokens: 1_120 };

/// The newest of Anthropic: they think when they see fit and take no setting of sampling.
const CLAUDE: Family = Family {
    images: LARGE_AREA,
    sampling: Samples::None,
    thinking: ThinkingForm::Adaptive,
    efforts: &[Low, Medium, High, XHigh, Max],
    window: Some(200_000),
    ..DEFAULTS
};

/// The newest of Google: they take levels of thinking. The window is that of the smallest one.
const GEMINI: Family = Family {
    images: LEVEL,
    thinking: ThinkingForm::Level,
    efforts: &[Minimal, Low, Medium, High],
    window: Some(131_072),
    ..DEFAULTS
};

/// All families.
#[rustfmt::skip]
pub static FAMILIES: &[Family] = &[
    // Anthropic
    Family { names: &["claude-3-7*", "claude-3.7*"], images: AREA, sampling: Samples::All, thinking: ThinkingForm::Budget, efforts: &[], ..CLAUDE },
    Family { names: &["claude-3*"], images: AREA, sampling: Samples::All, thinking: ThinkingForm::None, efforts: &[], ..CLAUDE },
    Family { names: &["claude-2*", "claude-instant*"], images: BLIND, sampling: Samples::All, thinking: ThinkingForm::None, efforts: &[], window: Some(100_000), ..CLAUDE },
    Family { names: &["claude-haiku-4*"], images: AREA, sampling: Samples::OneOfTwo, thinking: ThinkingForm::Budget, efforts: &[], ..CLAUDE },
    Family { names: &["claude-opus-4", "claude-opus-4-20*", "claude-opus-4@*", "claude-opus-4-0*", "claude-opus-4?1*", "claude-4-opus*"], images: AREA, sampling: Samples::OneOfTwo, thinking: ThinkingForm::Budget, efforts: &[], ..CLAUDE },
    Family { names: &["claude-sonnet-4", "claude-sonnet-4-20*", "claude-sonnet-4@*", "claude-sonnet-4-0*", "claude-sonnet-4?5*", "claude-4-sonnet*"], images: AREA, sampling: Samples::OneOfTwo, thinking: ThinkingForm::Budget, efforts: &[], ..CLAUDE },
    Family { names: &["claude-opus-4?5*"], images: AREA, sampling: Samples::OneOfTwo, thinking: ThinkingForm::Budget, efforts: &[], ..CLAUDE },
    Family { names: &["claude-opus-4?6*"], images: AREA, sampling: Samples::OneOfTwo, efforts: &[NoEffort, Low, Medium, High, Max], ..CLAUDE },
    Family { names: &["claude-sonnet-4?6*"], images: AREA, sampling: Samples::OneOfTwo, efforts: &[NoEffort, Low, Medium, High, Max], ..CLAUDE },
    Family { names: &["claude-opus-4?7*", "claude-opus-4?8*"], efforts: &[NoEffort, Low, Medium, High, XHigh, Max], ..CLAUDE },
    Family { names: &["claude-opus-5", "claude-opus-5-20*", "claude-opus-5@*", "claude-sonnet-5", "claude-sonnet-5-20*", "claude-sonnet-5@*"], efforts: &[NoEffort, Low, Medium, High, XHigh, Max], window: Some(1_000_000), ..CLAUDE },
    Family { names: &["claude-opus-5*", "claude-sonnet-5*", "claude-fable-5?1*", "claude-fable-5?2*"], signed_thoughts: SignedThoughts::Bound, tool_choice_required: false, ..CLAUDE },
    Family { names: &["claude-fable-5", "claude-fable-5-20*", "claude-fable-5@*", "claude-mythos-5", "claude-mythos-5-20*", "claude-mythos-5@*", "claude-haiku-5", "claude-haiku-5-20*", "claude-haiku-5@*"], tool_choice_required: false, ..CLAUDE },
    Family { names: &["claude-*"], signed_thoughts: SignedThoughts::Bound, tool_choice_required: false, ..CLAUDE },
    // OpenAI
    Family { names: &["gpt-oss*"], images: BLIND, window: Some(131_072), ..DEFAULTS },
    Family { names: &["o1-mini*", "o1-preview*"], images: BLIND, thinking: ThinkingForm::None, efforts: &[], window: Some(128_000), ..OPENAI },
    Family { names: &["o3-mini*"], images: BLIND, window: Some(200_000), ..OPENAI },
    Family { names: &["o4-mini*"], images: PATCHES_O4_MINI, window: Some(200_000), ..OPENAI },
    Family { names: &["o1", "o1-20*", "o1-pro*", "o3", "o3-20*", "o3-pro*"], images: TILES_O, window: Some(200_000), ..OPENAI },
    Family { names: &["o?-*", "codex-*"], images: ImageInput::Unknown, window: Some(128_000), ..OPENAI },
    Family { names: &["gpt-5-chat*"], images: TILES_5, window: Some(128_000), output_limit: OutputLimitField::MaxCompletionTokens, ..SILENT },
    Family { names: &["gpt-5.?-chat*"], efforts: &[Medium], window: Some(128_000), ..OPENAI },
    Family { names: &["gpt-5-pro*"], images: TILES_5, efforts: &[High], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5-codex*"], images: TILES_5, window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5-mini*"], images: PATCHES_MINI, efforts: &[Minimal, Low, Medium, High], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5-nano*"], images: PATCHES_NANO, efforts: &[Minimal, Low, Medium, High], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5", "gpt-5-20*"], images: TILES_5, efforts: &[Minimal, Low, Medium, High], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5.1-codex-max*"], images: TILES_5, efforts: &[Low, Medium, High, XHigh], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5.1-codex*"], images: TILES_5, window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5.1*"], images: TILES_5, efforts: &[NoEffort, Low, Medium, High], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5.?-pro*"], efforts: &[Medium, High, XHigh], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5.?-codex*"], efforts: &[Low, Medium, High, XHigh], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-5.?", "gpt-5.?-*"], efforts: &[NoEffort, Low, Medium, High, XHigh], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-4.1-mini*"], images: PATCHES_MINI, window: Some(1_000_000), ..SILENT },
    Family { names: &["gpt-4.1-nano*"], images: PATCHES_NANO, window: Some(1_000_000), ..SILENT },
    Family { names: &["gpt-4.1*"], images: TILES, window: Some(1_000_000), ..SILENT },
    Family { names: &["gpt-4o-mini*"], images: TILES_4O_MINI, window: Some(128_000), ..SILENT },
    Family { names: &["gpt-4o*", "chatgpt-4o*"], images: TILES, window: Some(128_000), ..SILENT },
    Family { names: &["gpt-4-turbo*", "gpt-4-1106*", "gpt-4-0125*"], window: Some(128_000), ..SILENT },
    Family { names: &["gpt-4-32k*"], images: BLIND, window: Some(32_000), ..SILENT },
    Family { names: &["gpt-4*"], images: BLIND, window: Some(8_192), ..SILENT },
    Family { names: &["gpt-3.5-turbo", "gpt-3.5-turbo-0125", "gpt-3.5-turbo-1106", "gpt-3.5-turbo-16k*"], images: BLIND, window: Some(16_385), ..SILENT },
    Family { names: &["gpt-3.5*"], images: BLIND, window: Some(4_096), ..SILENT },
    Family { names: &["gpt-6-astra*"], efforts: &[Low, Medium, High, XHigh], window: Some(272_000), ..OPENAI },
    Family { names: &["gpt-*"], efforts: &[NoEffort, Low, Medium, High, XHigh], window: Some(128_000), ..OPENAI },
    // Google
    Family { names: &["gemma*"], any_order: false, ..SILENT },
    Family { names: &["gemini-*-tts*"], images: BLIND, thinking: ThinkingForm::None, efforts: &[], window: Some(8_192), ..GEMINI },
    Family { names: &["gemini-1.5*", "gemini-2.0*"], images: ImageInput::Squares, thinking: ThinkingForm::None, efforts: &[], window: Some(1_000_000), ..GEMINI },
    Family { names: &["gemini-1*"], images: ImageInput::Unknown, thinking: ThinkingForm::None, efforts: &[], window: Some(32_768), ..GEMINI },
    Family { names: &["gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite"], images: ImageInput::Squares, thinking: ThinkingForm::Budget, efforts: &[], window: Some(1_000_000), ..GEMINI },
    Family { names: &["gemini-2.5*"], images: ImageInput::Squares, thinking: ThinkingForm::Budget, efforts: &[], ..GEMINI },
    Family { names: &["gemini-3.7*"], efforts: &[Low, Medium, High], ..GEMINI },
    Family { names: &["gemini-3-pro*"], efforts: &[Low, High], ..GEMINI },
    Family { names: &["gemini-*pro*"], efforts: &[Low, Medium, High], ..GEMINI },
    Family { names: &["gemini-*"], ..GEMINI },
    // DeepSeek and others whose thoughts have to come back with the calls that followed them
    Family { names: &["deepseek-chat*"], images: BLIND, thinking: ThinkingForm::Switch, efforts: &[], thought_return: ThoughtReturn::Content, window: Some(64_000), ..DEFAULTS },
    Family { names: &["deepseek-r1*"], images: BLIND, thinking: ThinkingForm::None, efforts: &[], window: Some(64_000), ..DEFAULTS },
    Family { names: &["deepseek-v3*", "deepseek-coder*"], images: BLIND, thinking: ThinkingForm::Switch, efforts: &[], thought_return: ThoughtReturn::Content, window: Some(64_000), ..DEFAULTS },
    Family { names: &["deepseek-reasoner*"], images: BLIND, thinking: ThinkingForm::Switch, efforts: &[], thought_return: ThoughtReturn::Content, tool_choice_required: false, window: Some(64_000), ..DEFAULTS },
    Family { names: &["deepseek*"], thinking: ThinkingForm::Switch, efforts: &[Low, High, Max], thought_return: ThoughtReturn::Content, tool_choice_required: false, window: Some(64_000), ..DEFAULTS },
    Family { names: &["glm-4.5*", "glm-4.6*", "glm-4.7*", "glm-5", "glm-5-*", "glm-5.1*"], thinking: ThinkingForm::Switch, efforts: &[], thought_return: ThoughtReturn::Content, tool_choice_required: false, window: Some(128_000), ..DEFAULTS },
    Family { names: &["glm-5.2*"], thinking: ThinkingForm::Switch, efforts: &[High, Max], thought_return: ThoughtReturn::Content, tool_choice_required: false, window: Some(128_000), ..DEFAULTS },
    Family { names: &["glm-5*"], efforts: &[Low, High, Max], thought_return: ThoughtReturn::Content, tool_choice_required: false, window: Some(128_000), ..DEFAULTS },
    Family { names: &["kimi-k2.5*", "kimi-k2.6*"], sampling: Samples::None, thinking: ThinkingForm::Switch, efforts: &[], thought_return: ThoughtReturn::Content, window: Some(131_072), ..DEFAULTS },
    Family { names: &["kimi-k3*"], sampling: Samples::None, efforts: &[Low, High, Max], thought_return: ThoughtReturn::Content, window: Some(131_072), ..DEFAULTS },
    Family { names: &["kimi-k2-*", "kimi-k2"], images: BLIND, thinking: ThinkingForm::None, efforts: &[], thought_return: ThoughtReturn::Content, window: Some(131_072), ..DEFAULTS },
    Family { names: &["kimi-*"], sampling: Samples::None, thinking: ThinkingForm::None, efforts: &[], thought_return: ThoughtReturn::Content, window: Some(131_072), ..DEFAULTS },
    // Mistral
    Family { names: &["mistral-tiny*", "mistral-small", "open-mi*", "mixtral*", "voxtral*"], any_order: false, call_ids: CallIds::Nine, window: Some(32_000), ..SILENT },
    Family { names: &["magistral*", "mistral*", "ministral*", "codestral*", "devstral*", "pixtral*"], any_order: false, call_ids: CallIds::Nine, window: Some(128_000), ..SILENT },
    // xAI
    Family { names: &["grok-4.3*"], efforts: &[NoEffort, Low, Medium, High], window: Some(256_000), ..DEFAULTS },
    Family { names: &["grok-4.6*"], efforts: &[Low, Medium, High], window: Some(256_000), ..DEFAULTS },
    Family { names: &["grok-3-mini*"], images: BLIND, efforts: &[Low, High], window: Some(131_072), ..DEFAULTS },
    Family { names: &["grok-2*"], window: Some(32_768), ..SILENT },
    Family { names: &["grok-3*"], images: BLIND, window: Some(131_072), ..SILENT },
    Family { names: &["grok-*"], window: Some(256_000), ..SILENT },
    // Meta and Alibaba, as servers of one's own and services that run open models take them
    Family { names: &["llama*", "meta-llama*", "qwen2*", "qwen-2*"], ..SILENT },
];
