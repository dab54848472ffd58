use super::*;
use crate::config::Sampling;

fn target(dialect: Dialect, accepts: Accepts) -> Target {
    Target {
        dialect,
        stream: true,
        sampling: Sampling {
            top_p: Some(0.9),
            top_k: Some(40),
            reasoning: Some(Reasoning::Minimal),
            ..Sampling::default()
        },
        accepts: Some(Box::new(accepts)),
        custom: serde_json::from_str(r#"{"safe_prompt":true}"#).expect("it is JSON"),
        ..Target::new("p", "http://h/v1", "m")
    }
}

fn budgeted() -> Accepts {
    Accepts {
        thinking: ThinkingForm::Budget,
        ..Accepts::default()
    }
}

#[test]
fn what_services_are_known_to_say_teaches_what_they_mean() {
    use crate::accepts::SignedThoughts as Signed;
    use Dialect::{Chat, Gemini, Messages};
    use Lesson::*;
    let defaults = Accepts::default;
    let minimal = || Accepts {
        efforts: Effort::ALL.to_vec(),
        ..Accepts::default()
    };
    let cases = [
        (
            Messages,
            budgeted(),
            "status 400: `temperature` is deprecated for this model.",
            Some(LeaveOut(Parameter::Temperature)),
        ),
        (
            Messages,
            budgeted(),
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
            Some(LeaveOut(Parameter::TopP)),
        ),
        (
            Messages,
            budgeted(),
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.",
            Some(Thinking(ThinkingForm::Adaptive)),
        ),
        (
            Messages,
            budgeted(),
            "top_k: Extra inputs are not permitted",
            Some(LeaveOut(Parameter::TopK)),
        ),
        (
            Chat,
            defaults(),
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            Some(OutputLimit(OutputLimitField::MaxCompletionTokens)),
        ),
        (
            Chat,
            Accepts {
                output_limit: OutputLimitField::MaxCompletionTokens,
                ..defaults()
            },
            "422: body.max_completion_tokens: Extra inputs are not permitted",
            Some(OutputLimit(OutputLimitField::MaxTokens)),
        ),
        (
            Chat,
            minimal(),
            "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', 'medium', and 'high'.",
            Some(Efforts(vec![
                Effort::None,
                Effort::Low,
                Effort::Medium,
                Effort::High,
            ])),
        ),
        (
            Chat,
            defaults(),
            "Function tools with reasoning_effort are not supported for gpt-5.5 in /v1/chat/completions. Please use /v1/responses instead or set reasoning_effort to 'none'.",
            Some(Route(Dialect::Responses)),
        ),
        (
            Chat,
            defaults(),
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
            Some(ThoughtReturn(super::ThoughtReturn::Content)),
        ),
        (
            Chat,
            defaults(),
            "Conversation roles must alternate user/assistant/user/assistant/...",
            Some(Alternate),
        ),
        (
            Chat,
            Accepts {
                alternates: true,
                ..defaults()
            },
            "Conversation roles must alternate user/assistant/user/assistant/...",
            Some(NoUserAfterTool),
        ),
        (
            Chat,
            defaults(),
            "Unexpected role 'user' after role 'tool'",
            Some(NoUserAfterTool),
        ),
        (
            Chat,
            defaults(),
            "Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.",
            Some(CallIds(super::CallIds::Nine)),
        ),
        (
            Chat,
            defaults(),
            "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 44 instead.",
            Some(CallIds(super::CallIds::Short)),
        ),
        (
            Chat,
            defaults(),
            "Unrecognized request argument supplied: reasoning_effort",
            Some(LeaveOut(Parameter::Thinking)),
        ),
        (
            Chat,
            defaults(),
            "Unknown field: safe_prompt",
            Some(LeaveOutCustom("safe_prompt".into())),
        ),
        (
            Chat,
            defaults(),
            "stream_options is not supported",
            Some(LeaveOut(Parameter::StreamUsage)),
        ),
        (
            Gemini,
            budgeted(),
            "Thinking budget is not supported; use thinking_level instead",
            Some(Thinking(ThinkingForm::Level)),
        ),
        (Chat, defaults(), "the model is overloaded", None),
        (Chat, defaults(), "", None),
        (
            Chat,
            defaults(),
            "invalid: temperature, top_p, top_k, reasoning_effort, safe_prompt",
            None,
        ),
        (
            Chat,
            defaults(),
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            None,
        ),
        (Chat, defaults(), "max_tokens must be at most 4096", None),
        (
            Chat,
            defaults(),
            "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions.",
            Some(Route(Dialect::Responses)),
        ),
        (
            Chat,
            defaults(),
            "This model is only supported in v1/responses and not in v1/chat/completions.",
            Some(Route(Dialect::Responses)),
        ),
        (
            Chat,
            Accepts {
                alternates: true,
                ..defaults()
            },
            "Jinja Exception: conversation roles must alternate user and assistant roles",
            Some(NoUserAfterTool),
        ),
        (
            Messages,
            defaults(),
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation.",
            Some(SignedThoughts(Signed::LeftOut)),
        ),
        (
            Messages,
            Accepts {
                signed_thoughts: Signed::Bound,
                ..budgeted()
            },
            "thinking.adaptive.block_binding: Extra inputs are not permitted",
            Some(SignedThoughts(Signed::LeftOut)),
        ),
        // A word that is called like a field is not the field.
        (
            Chat,
            defaults(),
            "The upstream's safe_prompt check failed; tool use is not supported",
            None,
        ),
        (
            Chat,
            defaults(),
            "body.safe_prompt: Extra inputs are not permitted",
            Some(LeaveOutCustom("safe_prompt".into())),
        ),
        // What was not sent is not what was refused.
        (Chat, defaults(), "service_tier is not supported", None),
        (Chat, defaults(), "temperatures differ", None),
    ];
    for (dialect, accepts, message, expected) in cases {
        let lesson = Lesson::of(
            message,
            &target(dialect, accepts),
            Some(0.0),
            Edition::NEWEST,
        );
        assert_eq!(lesson, expected, "{message}");
    }
}

#[test]
fn a_lesson_changes_what_is_sent_and_is_learned_once() {
    let mut target = target(Dialect::Messages, budgeted());
    let message = "`temperature` is deprecated for this model.";
    let lesson = Lesson::of(message, &target, Some(0.0), Edition::NEWEST).expect("it is sent");
    lesson.teach(&mut target);
    assert_eq!(
        Lesson::of(message, &target, Some(0.0), Edition::NEWEST),
        None
    );
    assert_eq!(Lesson::of(message, &target, None, Edition::NEWEST), None);
}

#[test]
fn a_log_of_an_older_format_learns_nothing() {
    let mut target = target(Dialect::Chat, Accepts::default());
    target.accepts = None;
    assert_eq!(
        Lesson::of(
            "temperature is deprecated",
            &target,
            Some(0.0),
            Edition::NEWEST
        ),
        None
    );
}

#[test]
fn whatever_is_said_teaches_so_few_things_that_it_ends() {
    let words = [
        "temperature",
        "top_p",
        "use /v1/responses",
        "max_tokens is invalid",
        "max_completion_tokens is invalid",
        "thinking adaptive",
        "budget_tokens",
        "reasoning_effort must be one of low high",
        "must alternate",
        "after role tool",
        "tool call id with a length of 9",
        "tool_calls maximum length 40",
        "developer",
        "reasoning_content passed back",
        "safe_prompt",
        "stream_options",
    ];
    let mut target = target(Dialect::Chat, budgeted());
    let mut learned: Vec<Lesson> = vec![];
    for round in 0..200 {
        let message = words[round * 5 % words.len()];
        if let Some(lesson) = Lesson::of(message, &target, Some(0.0), Edition::NEWEST) {
            if learned.contains(&lesson) {
                continue;
            }
            lesson.teach(&mut target);
            learned.push(lesson);
        }
    }
    assert!(
        learned.len() > 4 && learned.len() < words.len() + 4,
        "{learned:?}"
    );
}
