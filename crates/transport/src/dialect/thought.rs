//! How much a model is asked to think, in tokens or in words.

use bonded_kernel::{Effort, Reasoning};

/// The tokens of thought that a level stands for; 0 is none.
pub(super) fn tokens_of(reasoning: Reasoning) -> u32 {
    match reasoning {
        Reasoning::Tokens(tokens) => tokens,
        level => Effort::from(level).tokens(),
    }
}

/// The tokens of thought within a reply of so many at most: a quarter is left to say something.
pub(super) fn budget_of(reasoning: Reasoning, output_tokens_max: u32) -> u32 {
    tokens_of(reasoning).min(output_tokens_max - output_tokens_max.div_ceil(4))
}

/// The word for a level, and for a number of tokens the word whose level is nearest.
pub(super) fn effort_of(reasoning: Reasoning) -> &'static str {
    Effort::from(reasoning).as_str()
}

/// Whether this is a model of OpenAI that always thinks. Such models refuse to be told a temperature.
pub(super) fn always_thinks(model: &str) -> bool {
    let model = model.strip_prefix("openai/").unwrap_or(model);
    let numbered = |prefix: &str| {
        let rest = model.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let chats = model.contains("-chat");
    numbered("o")
        || (numbered("gpt-")
            && !model.starts_with("gpt-3")
            && !model.starts_with("gpt-4")
            && !chats)
}

#[cfg(test)]
mod tests {
    use Reasoning::*;

    use super::*;

    #[test]
    fn a_number_of_tokens_is_the_word_whose_level_is_nearest() {
        let cases = [
            (Off, "none"),
            (Tokens(0), "none"),
            (Tokens(1), "minimal"),
            (Minimal, "minimal"),
            (Low, "low"),
            (Tokens(3000), "low"),
            (Tokens(8000), "medium"),
            (Medium, "medium"),
            (High, "high"),
            (Tokens(u32::MAX), "max"),
        ];
        for (reasoning, word) in cases {
            assert_eq!(effort_of(reasoning), word, "{reasoning:?}");
        }
    }

    #[test]
    fn thought_leaves_room_for_words() {
        for output_tokens_max in [0, 1, 3, 4, 100, 4096, 65_536, u32::MAX] {
            let budget = budget_of(High, output_tokens_max);
            assert!(budget < output_tokens_max.max(1) && budget <= Effort::High.tokens());
        }
        assert_eq!(budget_of(High, 4096), 3072);
    }

    #[test]
    fn models_that_always_think_are_known_by_their_names() {
        let thinks = [
            "o1",
            "o3-mini",
            "o4-mini-2025",
            "gpt-5",
            "gpt-5.1-codex",
            "openai/gpt-5-mini",
        ];
        let does_not = [
            "gpt-4o",
            "gpt-4.1",
            "gpt-3.5-turbo",
            "gpt-5-chat-latest",
            "gpt-oss-20b",
            "olmo",
            "m-1",
            "",
        ];
        assert!(thinks.into_iter().all(always_thinks));
        assert!(!does_not.into_iter().any(always_thinks));
    }
}
