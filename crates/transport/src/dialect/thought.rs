//! How much a model is asked to think, in tokens.

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

#[cfg(test)]
mod tests {
    use Reasoning::*;

    use super::*;

    #[test]
    fn thought_leaves_room_for_words() {
        for output_tokens_max in [0, 1, 3, 4, 100, 4096, 65_536, u32::MAX] {
            let budget = budget_of(High, output_tokens_max);
            assert!(budget < output_tokens_max.max(1) && budget <= Effort::High.tokens());
        }
        assert_eq!(budget_of(High, 4096), 3072);
    }
}
