//! How much a model reasons. To say nothing and to say "none" are two things.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasoningLevel {
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl ReasoningLevel {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "minimal" => Some(Self::Minimal),
            "low" => Some(Self::Low),
            "medium" => Some(Self::Medium),
            "high" => Some(Self::High),
            "xhigh" => Some(Self::XHigh),
            "max" => Some(Self::Max),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// Nothing is sent; the provider does what it does.
    #[default]
    ProviderDefault,
    Off,
    Level(ReasoningLevel),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningTokens {
    #[default]
    NotGiven,
    Off,
    Tokens(u64),
}

/// The explicit value that goes beside a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningValue {
    /// None was given: the level, or the provider, says enough.
    Unset,
    /// Reasoning is switched off.
    Null,
    Tokens(u64),
}

impl ReasoningValue {
    pub(crate) fn of(reasoning: Reasoning, tokens: ReasoningTokens) -> Self {
        match (reasoning, tokens) {
            (Reasoning::Off, _) | (_, ReasoningTokens::Off) => Self::Null,
            (_, ReasoningTokens::NotGiven) => Self::Unset,
            (_, ReasoningTokens::Tokens(tokens)) => Self::Tokens(tokens),
        }
    }
}
