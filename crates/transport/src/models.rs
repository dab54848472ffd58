//! What is known of models and of the services that run them: a table, by the model's name and the service's.

use std::borrow::Cow;

use bonded_kernel::{
    Accepts, Dialect, Effort, OutputLimitField, PenaltyField, Target, ThinkingForm, ThoughtReturn,
};

/// What the model of a target and its service accept: as the run has it, else as it is known here.
pub fn accepted_by(target: &Target) -> Cow<'_, Accepts> {
    match &target.accepts {
        Some(accepts) => Cow::Borrowed(accepts),
        None => Cow::Owned(known(target)),
    }
}

/// What is known here of a target's model and service.
pub fn known(target: &Target) -> Accepts {
    let common = Accepts {
        efforts: Effort::ALL.to_vec(),
        ..Accepts::default()
    };
    let responds = target.dialect == Dialect::Responses;
    match target.family() {
        family if family == "openai" || responds => {
            let thinks = always_thinks(&target.model);
            Accepts {
                temperature_max: common.temperature_max.filter(|_| !thinks),
                top_p: !thinks,
                top_k: false,
                penalty: PenaltyField::None,
                output_limit: OutputLimitField::MaxCompletionTokens,
                thinks_unasked: thinks,
                ..common
            }
        }
        "openrouter" => Accepts {
            thinking: ThinkingForm::Routed,
            thought_return: ThoughtReturn::Details,
            ..common
        },
        "ollama" | "llamacpp" | "lmstudio" => Accepts {
            penalty: PenaltyField::RepeatPenalty,
            ..common
        },
        _ => common,
    }
}

/// Whether this is a model of OpenAI that always thinks. Such models refuse to be told a temperature.
fn always_thinks(model: &str) -> bool {
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
    use super::*;

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
