//! Which skills a run offers, as a person says it: what the configuration and errors know of skills.

/// The tool that reads skills.
pub const SKILL_TOOL: &str = "skill";

/// Which skills a run offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SkillChoice {
    /// No skill.
    #[default]
    None,
    /// All that are found and trusted.
    All,
    /// Those of these names; one that cannot be offered is an error.
    Named(Vec<String>),
}

impl SkillChoice {
    /// As an option has it: names, or one of the words `all` and `none`.
    pub fn of(words: Vec<String>) -> Self {
        if words.iter().any(|word| word == "all") {
            return Self::All;
        }
        match words.iter().all(|word| word == "none") {
            true => Self::None,
            false => Self::Named(words),
        }
    }

    /// Whether a skill of this name is one of them.
    pub(crate) fn wants(&self, name: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Named(names) => names.iter().any(|it| it == name),
        }
    }
}

/// A skill that was asked for by its name and cannot be offered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the skill {name:?} cannot be offered: {why}")]
pub struct UnusableSkill {
    pub name: String,
    pub why: String,
}
