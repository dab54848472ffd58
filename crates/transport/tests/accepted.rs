//! What the messages and the gemini dialect say of sampling and of thoughts, by what a model accepts.

mod common;

use bonded_kernel::{
    Accepts, Dialect, Effort, Offer, Reasoning, SignedThoughts, ThinkingForm, ToolChoice,
};
use common::{Conversation, assistant, encoded, signed, tool, user};
use serde_json::{Value, json};

const EFFORTS: [Effort; 5] = [
    Effort::Low,
    Effort::Medium,
    Effort::High,
    Effort::XHigh,
    Effort::Max,
];

fn conversation(dialect: Dialect, accepts: Accepts) -> Conversation {
    let mut conversation = Conversation::with("local", "http://localhost/v1");
    conversation.target.dialect = dialect;
    conversation.target.accepts = Some(Box::new(accepts));
    conversation.output_tokens_max = 32_768;
    conversation
}

/// Everything that can be asked for.
fn ask_for_all(conversation: &mut Conversation) {
    conversation.temperature = Some(1.5);
    let sampling = &mut conversation.target.sampling;
    sampling.top_p = Some(0.85);
    sampling.top_k = Some(40);
    sampling.tool_choice = Some(ToolChoice::Required);
}

/// The body without what is always there.
fn settings(conversation: &Conversation) -> Value {
    let mut body = encoded(conversation);
    let fields = body.as_object_mut().expect("an object");
    for common in ["model", "max_tokens", "messages", "system", "tools"] {
        fields.remove(common);
    }
    body
}

#[test]
fn messages_sampling_is_what_was_asked_for_and_is_accepted() {
    let accepts = Accepts::default;
    let any = json!({"type": "any"});
    let cases = [
        (
            accepts(),
            json!({"temperature": 1.5, "top_p": 0.85, "top_k": 40, "tool_choice": any}),
        ),
        (
            Accepts {
                temperature_max: Some(1.0),
                temperature_with_top_p: false,
                ..accepts()
            },
            json!({"temperature": 1.0, "top_k": 40, "tool_choice": any}),
        ),
        (
            Accepts {
                temperature_max: None,
                temperature_with_top_p: false,
                top_k: false,
                ..accepts()
            },
            json!({"top_p": 0.85, "tool_choice": any}),
        ),
        (
            Accepts {
                temperature_max: None,
                top_p: false,
                top_k: false,
                tool_choice_required: false,
                ..accepts()
            },
            json!({"tool_choice": {"type": "auto"}}),
        ),
    ];
    for (accepts, expected) in cases {
        let mut conversation = conversation(Dialect::Messages, accepts);
        assert_eq!(settings(&conversation), json!({}), "nobody has asked");
        ask_for_all(&mut conversation);
        assert_eq!(settings(&conversation), expected);
    }
}

/// One call at a time, and a tier that the service has.
fn ask_for_tier(conversation: &mut Conversation, tier: &str) {
    let sampling = &mut conversation.target.sampling;
    sampling.parallel_tool_calls = Some(false);
    sampling.prompt_cache_key = Some("k".into());
    sampling.service_tier = Some(tier.into());
}

#[test]
fn messages_calls_come_one_by_one_and_in_the_tier_that_was_asked_for() {
    const TIER: &str = "standard_only";
    let one = |kind: &str| json!({"type": kind, "disable_parallel_tool_use": true});
    let refuses = Accepts {
        parallel_tool_calls: false,
        service_tier: false,
        ..Accepts::default()
    };
    let mut it = conversation(Dialect::Messages, Accepts::default());
    ask_for_tier(&mut it, TIER);
    let tier = json!(TIER);
    assert_eq!(
        settings(&it),
        json!({"tool_choice": one("auto"), "service_tier": tier})
    );
    it.target.sampling.tool_choice = Some(ToolChoice::Required);
    assert_eq!(
        settings(&it),
        json!({"tool_choice": one("any"), "service_tier": tier})
    );
    // Several at a time is how it is anyway.
    it.target.sampling.parallel_tool_calls = Some(true);
    it.target.sampling.tool_choice = None;
    assert_eq!(settings(&it), json!({"service_tier": tier}));
    let mut it = conversation(Dialect::Messages, refuses);
    ask_for_tier(&mut it, TIER);
    assert_eq!(settings(&it), json!({}));
    // A choice between tools is refused where there are none.
    let mut it = conversation(Dialect::Messages, Accepts::default());
    it.offer = Offer::None;
    ask_for_tier(&mut it, TIER);
    assert_eq!(settings(&it), json!({"service_tier": tier}));
}

#[test]
fn gemini_has_a_tier_and_no_word_for_calls_one_by_one() {
    let mut it = conversation(Dialect::Gemini, Accepts::default());
    let plain = encoded(&it);
    ask_for_tier(&mut it, "flex");
    let mut expected = plain;
    expected["serviceTier"] = json!("flex");
    assert_eq!(encoded(&it), expected);
}

#[test]
fn messages_thoughts_are_asked_for_in_the_form_that_the_model_takes() {
    use Reasoning::*;
    let adaptive = |efforts: &[Effort]| Accepts {
        thinking: ThinkingForm::Adaptive,
        efforts: efforts.to_vec(),
        ..Accepts::default()
    };
    let thinks = |effort: &str| {
        json!({"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort},
            "tool_choice": {"type": "auto"}})
    };
    let all = adaptive(&EFFORTS);
    let can_stop = adaptive(&[&[Effort::None], &EFFORTS[..]].concat());
    let older = adaptive(&EFFORTS[..3]);
    let silent = Accepts {
        thinking: ThinkingForm::None,
        ..Accepts::default()
    };
    let sampled =
        json!({"temperature": 1.5, "top_p": 0.85, "top_k": 40, "tool_choice": {"type": "any"}});
    let with = |more: Value| {
        let mut all = sampled.clone();
        let fields = all.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        all
    };
    let cases = [
        (&all, Minimal, thinks("low")),
        (&all, Low, thinks("low")),
        (&all, High, thinks("high")),
        (&all, XHigh, thinks("xhigh")),
        (&all, Max, thinks("max")),
        (&all, Tokens(9000), thinks("medium")),
        (&older, Max, thinks("high")),
        (&can_stop, Low, thinks("low")),
        (
            &can_stop,
            Off,
            with(json!({"thinking": {"type": "disabled"}})),
        ),
        // It cannot be kept from thinking, and refuses to be told so.
        (&all, Off, with(json!({"output_config": {"effort": "low"}}))),
        (&silent, High, sampled.clone()),
        (&silent, Off, sampled.clone()),
    ];
    for (accepts, reasoning, expected) in cases {
        let mut conversation = conversation(Dialect::Messages, accepts.clone());
        ask_for_all(&mut conversation);
        conversation.target.sampling.reasoning = Some(reasoning);
        assert_eq!(settings(&conversation), expected, "{reasoning:?}");
    }
}

#[test]
fn a_model_that_decides_itself_goes_on_thinking_after_calls_without_a_thought() {
    const CALL: [(&str, &str, &str); 1] = [("c1", "read", "{}")];
    const FOREIGN: &str = r#"{"dialect":"responses","items":[{"type":"reasoning"}]}"#;
    let accepts = Accepts {
        thinking: ThinkingForm::Adaptive,
        efforts: EFFORTS.to_vec(),
        ..Accepts::default()
    };
    for called in [assistant("", &CALL), signed("", FOREIGN, &CALL)] {
        let mut conversation = conversation(Dialect::Messages, accepts.clone());
        conversation.target.sampling.reasoning = Some(Reasoning::High);
        conversation.messages = vec![user("a"), called, tool("c1", "one")];
        let body = encoded(&conversation);
        assert_eq!(body["thinking"]["type"], "adaptive");
        assert_eq!(body["messages"][1]["content"][0]["type"], "tool_use");
    }
}

#[test]
fn thoughts_that_no_longer_fit_are_passed_over_or_left_out() {
    const CALL: [(&str, &str, &str); 1] = [("c1", "read", "{}")];
    const OWN: &str =
        r#"{"dialect":"messages","items":[{"type":"thinking","thinking":"","signature":"s"}]}"#;
    let binding = json!({"prefix_mismatch_behavior": "drop_block"});
    let cases = [
        (SignedThoughts::Kept, None, None, "thinking"),
        (SignedThoughts::Bound, None, Some(&binding), "thinking"),
        (
            SignedThoughts::Bound,
            Some(Reasoning::Max),
            Some(&binding),
            "thinking",
        ),
        (
            SignedThoughts::LeftOut,
            Some(Reasoning::Max),
            None,
            "tool_use",
        ),
    ];
    for (signed_thoughts, reasoning, expected, begins) in cases {
        let accepts = Accepts {
            thinking: ThinkingForm::Adaptive,
            efforts: EFFORTS.to_vec(),
            signed_thoughts,
            ..Accepts::default()
        };
        let mut conversation = conversation(Dialect::Messages, accepts);
        conversation.target.sampling.reasoning = reasoning;
        conversation.messages = vec![user("a"), signed("", OWN, &CALL), tool("c1", "one")];
        let body = encoded(&conversation);
        assert_eq!(body["thinking"].get("block_binding"), expected);
        assert_eq!(body["messages"][1]["content"][0]["type"], begins);
    }
}

#[test]
fn gemini_thoughts_are_asked_for_by_a_level_or_by_a_budget() {
    use Reasoning::*;
    let level = |efforts: &[Effort]| Accepts {
        thinking: ThinkingForm::Level,
        efforts: efforts.to_vec(),
        ..Accepts::default()
    };
    let flash = level(&[Effort::Minimal, Effort::Low, Effort::Medium, Effort::High]);
    let pro = level(&[Effort::Low, Effort::High]);
    let budget = Accepts {
        thinking: ThinkingForm::Budget,
        ..Accepts::default()
    };
    let silent = Accepts {
        thinking: ThinkingForm::None,
        ..Accepts::default()
    };
    let at = |level: &str, shown: bool| json!({"thinkingLevel": level, "includeThoughts": shown});
    let cases = [
        (&flash, Off, at("MINIMAL", false)),
        (&flash, Minimal, at("MINIMAL", true)),
        (&flash, Medium, at("MEDIUM", true)),
        (&flash, Max, at("HIGH", true)),
        (&flash, Tokens(3000), at("LOW", true)),
        (&pro, Off, at("LOW", false)),
        (&pro, Medium, at("LOW", true)),
        (&pro, XHigh, at("HIGH", true)),
        (
            &budget,
            Tokens(3000),
            json!({"thinkingBudget": 3000, "includeThoughts": true}),
        ),
        (
            &budget,
            Off,
            json!({"thinkingBudget": 0, "includeThoughts": false}),
        ),
        (&silent, High, Value::Null),
    ];
    for (accepts, reasoning, expected) in cases {
        let mut conversation = conversation(Dialect::Gemini, accepts.clone());
        conversation.target.sampling.reasoning = Some(reasoning);
        let config = &encoded(&conversation)["generationConfig"];
        assert_eq!(config["thinkingConfig"], expected, "{reasoning:?}");
        assert_eq!(config.get("temperature"), None, "nobody has asked");
    }
}

#[test]
fn gemini_sampling_is_what_was_asked_for_and_is_accepted() {
    let accepts = Accepts {
        temperature_max: None,
        top_k: false,
        tool_choice_required: false,
        ..Accepts::default()
    };
    let mut conversation = conversation(Dialect::Gemini, accepts);
    ask_for_all(&mut conversation);
    let body = encoded(&conversation);
    let expected = json!({"maxOutputTokens": 32_768, "topP": 0.85});
    assert_eq!(body["generationConfig"], expected);
    let mode = &body["toolConfig"]["functionCallingConfig"]["mode"];
    assert_eq!(mode, "AUTO");
}
