//! What a model accepts decides what it is told.

mod common;

use bonded_kernel::{
    Accepts, Dialect, Effort, Message, Offer, OutputLimitField, PenaltyField, Reasoning,
    SystemRole, ThinkingForm, ThoughtReturn, ToolChoice,
};
use bonded_transport::dialect::{self, ToolsCache};
use common::{Conversation, DIALECTS, assistant, encoded, signed, tool, user};
use proptest::prelude::*;
use serde_json::{Value, json};

const CALL: [(&str, &str, &str); 1] = [("c1", "read", "{}")];

/// A conversation with every setting, and a model that accepts what the caller says.
fn asked(dialect: Dialect, accepts: Accepts) -> Conversation {
    let mut it = Conversation::with("local", "http://localhost/v1");
    it.temperature = Some(1.5);
    it.target.dialect = dialect;
    it.target.stream = true;
    it.target.accepts = Some(Box::new(accepts));
    let sampling = &mut it.target.sampling;
    sampling.top_p = Some(0.9);
    sampling.top_k = Some(40);
    sampling.repeat_penalty = Some(1.1);
    sampling.tool_choice = Some(ToolChoice::Required);
    sampling.parallel_tool_calls = Some(false);
    sampling.prompt_cache_key = Some("k".into());
    sampling.service_tier = Some("flex".into());
    it
}

/// The body without the conversation and the tools.
fn settings(conversation: &Conversation) -> Value {
    let mut body = encoded(conversation);
    let fields = body.as_object_mut().expect("an object");
    for common in [
        "model",
        "messages",
        "tools",
        "input",
        "instructions",
        "store",
        "stream",
    ] {
        fields.remove(common);
    }
    body
}

/// What most servers take of [`asked`], changed by `difference`; `null` stands for a field that is not sent.
fn usual(dialect: Dialect, difference: &Value) -> Value {
    let mut usual = match dialect {
        Dialect::Chat => json!({
            "max_tokens": 256, "temperature": 1.5, "top_p": 0.9, "top_k": 40, "repetition_penalty": 1.1,
            "tool_choice": "required", "parallel_tool_calls": false, "prompt_cache_key": "k",
            "service_tier": "flex", "stream_options": {"include_usage": true},
        }),
        _ => json!({
            "max_output_tokens": 256, "temperature": 1.5, "top_p": 0.9, "tool_choice": "required",
            "parallel_tool_calls": false, "prompt_cache_key": "k", "service_tier": "flex",
        }),
    };
    let fields = usual.as_object_mut().expect("an object");
    for (field, value) in difference.as_object().expect("an object").clone() {
        match value {
            Value::Null => fields.remove(&field),
            value => fields.insert(field, value),
        };
    }
    usual
}

type Change = fn(&mut Accepts);

#[test]
fn a_setting_is_sent_only_where_it_is_accepted() {
    let both: [(Change, Value); 8] = [
        (|_| {}, json!({})),
        (
            |it| it.temperature_max = Some(1.0),
            json!({"temperature": 1.0}),
        ),
        (|it| it.temperature_max = None, json!({"temperature": null})),
        (
            |it| it.temperature_with_top_p = false,
            json!({"top_p": null}),
        ),
        (
            |it| {
                it.temperature_max = None;
                it.temperature_with_top_p = false;
            },
            json!({"temperature": null}),
        ),
        (
            |it| it.tool_choice_required = false,
            json!({"tool_choice": null}),
        ),
        (
            |it| it.parallel_tool_calls = false,
            json!({"parallel_tool_calls": null}),
        ),
        (
            |it| {
                it.prompt_cache_key = false;
                it.service_tier = false;
            },
            json!({"prompt_cache_key": null, "service_tier": null}),
        ),
    ];
    for dialect in [Dialect::Chat, Dialect::Responses] {
        for (change, difference) in &both {
            let mut accepts = Accepts::default();
            change(&mut accepts);
            let got = settings(&asked(dialect, accepts));
            assert_eq!(got, usual(dialect, difference), "{dialect:?}");
        }
    }
    let chat: [(Change, Value); 6] = [
        (|it| it.top_p = false, json!({"top_p": null})),
        (|it| it.top_k = false, json!({"top_k": null})),
        (
            |it| it.stream_usage = false,
            json!({"stream_options": null}),
        ),
        (
            |it| it.penalty = PenaltyField::None,
            json!({"repetition_penalty": null}),
        ),
        (
            |it| it.penalty = PenaltyField::RepeatPenalty,
            json!({"repetition_penalty": null, "repeat_penalty": 1.1}),
        ),
        (
            |it| it.output_limit = OutputLimitField::MaxCompletionTokens,
            json!({"max_tokens": null, "max_completion_tokens": 256}),
        ),
    ];
    for (change, difference) in chat {
        let mut accepts = Accepts::default();
        change(&mut accepts);
        let got = settings(&asked(Dialect::Chat, accepts));
        assert_eq!(got, usual(Dialect::Chat, &difference));
    }
}

#[test]
fn a_choice_between_tools_is_not_sent_where_there_are_none() {
    for dialect in [Dialect::Chat, Dialect::Responses] {
        let mut it = asked(dialect, Accepts::default());
        it.offer = Offer::None;
        let difference = json!({"tool_choice": null, "parallel_tool_calls": null});
        assert_eq!(settings(&it), usual(dialect, &difference), "{dialect:?}");
    }
}

/// What a request says about thoughts.
fn thinking(dialect: Dialect, accepts: Accepts, reasoning: Reasoning) -> Value {
    let mut it = Conversation::with("local", "http://localhost/v1");
    it.target.dialect = dialect;
    it.target.sampling.reasoning = Some(reasoning);
    it.target.accepts = Some(Box::new(accepts));
    let mut said = settings(&it);
    let fields = said.as_object_mut().expect("an object");
    fields.remove("max_tokens");
    fields.remove("max_output_tokens");
    said
}

#[test]
fn thoughts_are_asked_for_in_the_words_that_the_model_has() {
    use Effort as E;
    use Reasoning::*;
    use ThinkingForm as F;
    let all: &[E] = &E::ALL;
    let usual: &[E] = &[E::Low, E::Medium, E::High];
    let newer: &[E] = &[E::None, E::Low, E::Medium, E::High, E::XHigh];
    let cases: [(F, &[E], Reasoning, Value); 24] = [
        (F::Effort, usual, High, json!({"reasoning_effort": "high"})),
        (F::Effort, usual, Max, json!({"reasoning_effort": "high"})),
        (
            F::Effort,
            usual,
            Minimal,
            json!({"reasoning_effort": "low"}),
        ),
        (F::Effort, usual, Off, json!({})),
        (F::Effort, usual, Tokens(0), json!({})),
        (
            F::Effort,
            usual,
            Tokens(9000),
            json!({"reasoning_effort": "medium"}),
        ),
        (F::Effort, newer, Off, json!({"reasoning_effort": "none"})),
        (
            F::Effort,
            newer,
            Minimal,
            json!({"reasoning_effort": "low"}),
        ),
        (F::Effort, newer, Max, json!({"reasoning_effort": "xhigh"})),
        (F::Effort, &[], High, json!({})),
        (F::Adaptive, all, Max, json!({"reasoning_effort": "max"})),
        (
            F::Budget,
            usual,
            Tokens(3000),
            json!({"reasoning_effort": "low"}),
        ),
        (F::Level, usual, Low, json!({"reasoning_effort": "low"})),
        (F::None, all, High, json!({})),
        (F::Routed, all, Low, json!({"reasoning": {"effort": "low"}})),
        (
            F::Routed,
            all,
            Tokens(3000),
            json!({"reasoning": {"max_tokens": 3000}}),
        ),
        (
            F::Routed,
            all,
            Off,
            json!({"reasoning": {"enabled": false}}),
        ),
        (F::Routed, usual, Off, json!({})),
        (F::Routed, &[], High, json!({})),
        (
            F::Switch,
            &[],
            High,
            json!({"thinking": {"type": "enabled"}}),
        ),
        (
            F::Switch,
            &[],
            Off,
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            F::Switch,
            usual,
            Off,
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            F::Switch,
            all,
            Tokens(0),
            json!({"thinking": {"type": "disabled"}}),
        ),
        (
            F::Switch,
            &[E::Low, E::High, E::Max],
            Medium,
            json!({"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ),
    ];
    for (form, efforts, reasoning, expected) in cases {
        let accepts = Accepts {
            thinking: form,
            efforts: efforts.to_vec(),
            ..Accepts::default()
        };
        let said = thinking(Dialect::Chat, accepts, reasoning);
        assert_eq!(said, expected, "{form:?} {efforts:?} {reasoning:?}");
    }
}

#[test]
fn responses_ask_for_thoughts_by_effort_and_for_their_encrypted_form_where_there_are_some() {
    let with = |thinks_unasked, efforts: &[Effort]| Accepts {
        thinks_unasked,
        efforts: efforts.to_vec(),
        ..Accepts::default()
    };
    let usual = &[Effort::Low, Effort::Medium, Effort::High];
    let include = json!(["reasoning.encrypted_content"]);
    let high = json!({"reasoning": {"effort": "high", "summary": "auto"}, "include": include});
    let cases = [
        (with(false, usual), Reasoning::XHigh, high),
        (
            with(true, usual),
            Reasoning::Off,
            json!({"include": include}),
        ),
        (with(false, usual), Reasoning::Off, json!({})),
        (
            with(true, &Effort::ALL),
            Reasoning::Off,
            json!({"reasoning": {"effort": "none"}}),
        ),
        (with(false, &[]), Reasoning::High, json!({})),
        (
            Accepts {
                thinking: ThinkingForm::None,
                ..with(false, usual)
            },
            Reasoning::High,
            json!({}),
        ),
    ];
    for (accepts, reasoning, expected) in cases {
        let said = thinking(Dialect::Responses, accepts, reasoning);
        assert_eq!(said, expected, "{reasoning:?}");
    }
}

#[test]
fn fields_of_the_configuration_stand_in_every_body_and_ours_stay() {
    for (dialect, name) in DIALECTS {
        let mut it = Conversation::with("local", "http://localhost/v1");
        it.target.dialect = dialect;
        let plain = encoded(&it);
        let (taken, ours) = plain
            .as_object()
            .and_then(|fields| fields.iter().next())
            .map(|(field, value)| (field.clone(), value.clone()))
            .expect("a body has fields");
        it.target.custom = serde_json::from_value(json!({
            "a \"b\"": {"c": [1, null]}, "refused": 1, "zeta": "z", taken.as_str(): "not ours",
        }))
        .expect("an object");
        let body = encoded(&it);
        assert_eq!(body["a \"b\""], json!({"c": [1, null]}), "{name}");
        assert_eq!(body["zeta"], "z", "{name}");
        assert_eq!(body["refused"], 1, "{name}");
        assert_eq!(body[&taken], ours, "{name}");
        it.target.accepts = Some(Box::new(Accepts {
            refused_custom: vec!["refused".into(), "zeta".into()],
            ..dialect::known(&it.target)
        }));
        let body = encoded(&it);
        assert_eq!(
            (body.get("refused"), body.get("zeta")),
            (None, None),
            "{name}"
        );
        let fields = |body: &Value| body.as_object().map_or(0, serde_json::Map::len);
        assert_eq!(fields(&body), fields(&plain) + 1, "{name}");
    }
}

#[test]
fn fields_of_the_configuration_stand_within_objects_of_ours() {
    let mut it = Conversation::with("local", "http://localhost/v1");
    it.target.dialect = Dialect::Gemini;
    it.target.model = "gemini-2.5-flash".into();
    it.target.sampling.reasoning = Some(Reasoning::Low);
    let plain = encoded(&it);
    it.target.custom = serde_json::from_value(json!({ "generationConfig": {
        "seed": 7,
        "maxOutputTokens": 1,
        "thinkingConfig": { "includeThoughts": false, "other": [1] },
    } }))
    .expect("an object");
    let mut expected = plain.clone();
    expected["generationConfig"]["seed"] = json!(7);
    expected["generationConfig"]["thinkingConfig"]["other"] = json!([1]);
    assert!(plain["generationConfig"]["thinkingConfig"]["includeThoughts"] == true);
    assert_eq!(encoded(&it), expected);
}

#[test]
fn calls_that_were_made_name_tools_where_that_is_wanted() {
    let cache = ToolsCache::default();
    let mut it = Conversation::with("local", "http://localhost/v1");
    it.target.sampling.tool_choice = Some(ToolChoice::Required);
    it.target.accepts = Some(Box::new(Accepts {
        calls_need_tools: true,
        ..Accepts::default()
    }));
    it.offer = Offer::None;
    assert_eq!(encoded(&it).get("tools"), None, "nothing was called");
    it.messages.push(assistant("", &CALL));
    it.messages.push(tool("c1", "one"));
    let body = encoded(&it);
    let names = |body: &Value| {
        let tools = body["tools"].as_array().cloned().unwrap_or_default();
        let names = tools.iter().map(|tool| tool["function"]["name"].clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(&body), ["done", "read"]);
    assert_eq!(body.get("tool_choice"), None);
    let request = it.request();
    let tools = cache.tools(&request);
    assert_eq!(
        dialect::encode_with_tools(&request, &tools),
        dialect::encode(&request)
    );
    it.offer = Offer::TerminalOnly;
    assert_eq!(names(&encoded(&it)), ["done"]);
    it.offer = Offer::None;
    it.target.accepts = None;
    assert_eq!(encoded(&it).get("tools"), None);
}

/// The messages of a chat, each in short: `role:text`, with `!` for calls.
fn in_short(it: &Conversation) -> Vec<String> {
    let body = encoded(it);
    let messages = body["messages"].as_array().expect("messages").clone();
    let short = |message: &Value| {
        let calls = message.get("tool_calls").map_or("", |_| "!");
        let text = message["content"].as_str().unwrap_or("-");
        format!("{}:{text}{calls}", message["role"].as_str().unwrap_or("?"))
    };
    messages.iter().map(short).collect()
}

fn conversation(messages: Vec<Message>, accepts: Accepts) -> Conversation {
    let mut it = Conversation::with("local", "http://localhost/v1");
    it.messages = messages;
    it.target.accepts = Some(Box::new(accepts));
    it
}

fn alternating() -> Accepts {
    Accepts {
        alternates: true,
        ..Accepts::default()
    }
}

fn strict() -> Accepts {
    Accepts {
        user_after_tool: false,
        ..alternating()
    }
}

#[test]
fn messages_of_one_side_become_one_where_sides_must_alternate() {
    let messages = vec![
        user("a"),
        user("b"),
        assistant("", &[]),
        user("c"),
        assistant("d", &[]),
        assistant("e", &CALL),
        tool("c1", "f"),
        assistant("g", &[]),
    ];
    let mut it = conversation(messages, alternating());
    it.notices = vec!["n".into(), "m".into()];
    let expected = [
        "system:Be brief.",
        "user:a\n\nb",
        "assistant:only a thought",
        "user:c",
        "assistant:d\n\ne!",
        "tool:f",
        "assistant:g",
        "user:n\nm",
    ];
    assert_eq!(in_short(&it), expected);
    it.messages.pop();
    let after_tool = ["tool:f", "user:n\nm"];
    assert_eq!(in_short(&it)[5..], after_tool);
    it.messages.truncate(2);
    assert_eq!(in_short(&it), ["system:Be brief.", "user:a\n\nb\n\nn\nm"]);
}

#[test]
fn nobody_speaks_right_after_a_tool_where_that_is_refused() {
    let messages = vec![
        user("a"),
        assistant("", &CALL),
        tool("c1", "b"),
        user("c"),
        user("d"),
        assistant("e", &[]),
        user("f"),
    ];
    let said = in_short(&conversation(messages, strict()));
    let expected = [
        "system:Be brief.",
        "user:a",
        "assistant:-!",
        "tool:b",
        "assistant:Understood.",
        "user:c\n\nd",
        "assistant:e",
        "user:f",
    ];
    assert_eq!(said, expected);
}

#[test]
fn answers_follow_their_calls_at_once() {
    let calls = [("c1", "read", "{}"), ("c2", "read", "{}")];
    let messages = vec![
        user("a"),
        assistant("", &calls),
        user("b"),
        tool("c1", "c"),
        user("d"),
        tool("c2", "e"),
        assistant("", &calls),
        user("f"),
        assistant("g", &[]),
    ];
    let said = in_short(&conversation(messages, Accepts::default()));
    let expected = [
        "system:Be brief.",
        "user:a",
        "assistant:-!",
        "tool:c",
        "tool:e",
        "user:b",
        "user:d",
        "assistant:-!",
        "user:f",
        "assistant:g",
    ];
    assert_eq!(said, expected);
}

#[test]
fn the_system_text_is_said_by_whom_the_model_listens_to() {
    let accepts = Accepts {
        system_role: SystemRole::Developer,
        ..Accepts::default()
    };
    let said = in_short(&conversation(vec![user("a")], accepts));
    assert_eq!(said, ["developer:Be brief.", "user:a"]);
}

#[test]
fn a_thought_goes_back_in_the_form_and_to_the_provider_that_it_came_in_and_from() {
    let own = r#"{"dialect":"chat","items":[{"type":"reasoning.text","signature":"s"}]}"#;
    let foreign = r#"{"dialect":"messages","items":[{"type":"thinking"}]}"#;
    let messages = || {
        vec![
            user("a"),
            assistant("", &CALL),
            tool("c1", "b"),
            signed("c", own, &[]),
            user("d"),
            signed("e", foreign, &[]),
        ]
    };
    let fields = |thought_return, field: &str| {
        let accepts = Accepts {
            thought_return,
            ..Accepts::default()
        };
        let body = encoded(&conversation(messages(), accepts));
        [2, 4, 6].map(|at: usize| body["messages"][at].get(field).cloned())
    };
    let content = |text: &str| Some(json!(text));
    assert_eq!(
        fields(ThoughtReturn::Content, "reasoning_content"),
        [
            content("only a thought"),
            content("only a thought"),
            content("")
        ]
    );
    assert_eq!(
        fields(ThoughtReturn::Details, "reasoning_details"),
        [
            None,
            Some(json!([{"type": "reasoning.text", "signature": "s"}])),
            None
        ]
    );
    for field in ["reasoning_content", "reasoning_details"] {
        assert_eq!(fields(ThoughtReturn::None, field), [None, None, None]);
    }
    assert_eq!(
        fields(ThoughtReturn::Content, "reasoning_details"),
        [None, None, None]
    );
}

/// What somebody says, and whether the model calls something with it.
fn any_messages() -> impl Strategy<Value = Vec<Message>> {
    let turn = prop_oneof![
        "[a-c]{0,2}".prop_map(|text| vec![user(&text)]),
        "[a-c]{0,2}".prop_map(|text| vec![assistant(&text, &[])]),
        ("[a-c]{0,2}", any::<bool>()).prop_map(|(text, speaks)| {
            let between = speaks.then(|| user("between"));
            let call = [assistant(&text, &CALL)].into_iter();
            call.chain(between).chain([tool("c1", "answer")]).collect()
        }),
    ];
    prop::collection::vec(turn, 0..8).prop_map(|turns| {
        let first = vec![user("first")];
        first
            .into_iter()
            .chain(turns.into_iter().flatten())
            .collect()
    })
}

proptest! {
    #[test]
    fn whatever_was_said_the_order_is_one_that_strict_services_accept(messages in any_messages()) {
        let mut it = conversation(messages.clone(), strict());
        it.notices = vec!["notice".into()];
        let body = encoded(&it);
        let sent = body["messages"].as_array().expect("messages");
        for pair in sent.windows(2) {
            let roles = (pair[0]["role"].as_str(), pair[1]["role"].as_str());
            let called = pair[0].get("tool_calls").is_some();
            let good = match roles {
                (Some("system"), Some("user")) => true,
                (Some("user"), Some("assistant")) => true,
                (Some("assistant"), Some("tool")) => called,
                (Some("assistant"), Some("user")) => !called,
                (Some("tool"), Some("assistant")) => true,
                _ => false,
            };
            prop_assert!(good, "{roles:?} in {body}");
        }
        for message in &messages {
            let (Message::User { text, .. } | Message::Assistant { text, .. } | Message::Tool { text, .. }) = message;
            let said = sent.iter().any(|it| it["content"].as_str().unwrap_or("").contains(&**text));
            prop_assert!(said, "{text:?} is lost: {body}");
        }
    }
}
