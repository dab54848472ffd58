//! How much a model reasons. To say nothing and to say "none" are two things.
//!
//! A level is a word that each provider translates; a number of tokens counts more than a level.
//! Nothing said means that nothing is sent, and the provider does what it does.

/// From little to much, and compared so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasoningLevel {
    /// As little as the model can.
    Minimal,
    /// The first of the three levels that most providers have.
    Low,
    /// The second of them.
    Medium,
    /// The third of them, and the last that a configuration may translate.
    High,
    /// More than high, where a model has it.
    XHigh,
    /// As much as the model can.
    Max,
}

impl ReasoningLevel {
    /// The words for them.
    pub(crate) const WORDS: [(&'static str, Self); 6] = [
        ("minimal", Self::Minimal),
        ("low", Self::Low),
        ("medium", Self::Medium),
        ("high", Self::High),
        ("xhigh", Self::XHigh),
        ("max", Self::Max),
    ];

    /// Without regard to case.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        let is_meant = |(known, _): &&(&str, Self)| known.eq_ignore_ascii_case(word);
        let known = Self::WORDS.iter().find(is_meant);
        known.map(|(_, level)| *level)
    }
}

/// What all sources together say of the level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// Nothing is sent; the provider does what it does.
    #[default]
    ProviderDefault,
    /// Somebody said that there shall be none.
    Off,
    /// Somebody named one.
    Level(ReasoningLevel),
}

/// What all sources together say of the number of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningTokens {
    /// Nobody said one: the level decides.
    #[default]
    NotGiven,
    /// Somebody said none, which switches reasoning off.
    Off,
    /// At least one.
    Tokens(u64),
}

/// The explicit value that goes beside a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningValue {
    /// None was given: the level, or the provider, says enough.
    Unset,
    /// Reasoning is switched off.
    Null,
    /// So many, whatever the level is.
    Tokens(u64),
}

impl ReasoningValue {
    /// Off in either of the two is off.
    pub(crate) fn of(reasoning: Reasoning, tokens: ReasoningTokens) -> Self {
        match (reasoning, tokens) {
            (Reasoning::Off, _) | (_, ReasoningTokens::Off) => Self::Null,
            (_, ReasoningTokens::NotGiven) => Self::Unset,
            (_, ReasoningTokens::Tokens(tokens)) => Self::Tokens(tokens),
        }
    }
}
