use bonded_kernel::Dialect::*;

use super::*;

#[test]
fn a_dialect_is_called_as_logs_call_it() {
    for (dialect, name) in DIALECTS {
        let written = serde_json::to_value(dialect).expect("a word");
        assert_eq!(written, name);
    }
}

#[test]
fn each_dialect_has_its_resource_under_the_endpoint() {
    let gemini = "https://g.example/v1beta";
    let cases = [
        (
            Chat,
            "http://h/v1",
            "m",
            false,
            "http://h/v1/chat/completions",
        ),
        (
            Chat,
            "http://h/v1/?a=b",
            "m",
            true,
            "http://h/v1/chat/completions?a=b",
        ),
        (
            Chat,
            "https://x.openai.azure.com/openai/deployments/D?api-version=2025-04-01-preview",
            "m",
            false,
            "https://x.openai.azure.com/openai/deployments/D/chat/completions?api-version=2025-04-01-preview",
        ),
        (
            Responses,
            "https://x.openai.azure.com/openai/v1",
            "m",
            false,
            "https://x.openai.azure.com/openai/v1/responses",
        ),
        (
            Responses,
            "https://x.openai.azure.com/openai/v1/?api-version=preview",
            "m",
            true,
            "https://x.openai.azure.com/openai/v1/responses?api-version=preview",
        ),
        (Responses, "http://h/v1", "m", true, "http://h/v1/responses"),
        (Messages, "http://h/v1/", "m", false, "http://h/v1/messages"),
        (Messages, "http://h", "m", true, "http://h/v1/messages"),
        (
            Messages,
            "http://h/?a=b",
            "m",
            true,
            "http://h/v1/messages?a=b",
        ),
        (
            Messages,
            "http://h/gate/",
            "m",
            true,
            "http://h/gate/v1/messages",
        ),
        (
            Messages,
            "http://h/v1beta",
            "m",
            true,
            "http://h/v1beta/messages",
        ),
        (
            Gemini,
            gemini,
            "g-2",
            false,
            "https://g.example/v1beta/models/g-2:generateContent",
        ),
        (
            Gemini,
            gemini,
            "models/g-2",
            true,
            "https://g.example/v1beta/models/g-2:streamGenerateContent?alt=sse",
        ),
        (
            Gemini,
            gemini,
            "a/../b?c",
            false,
            "https://g.example/v1beta/models/a%2F..%2Fb%3Fc:generateContent",
        ),
    ];
    for (dialect, endpoint, model, stream, expected) in cases {
        let target = Target {
            dialect,
            stream,
            ..Target::new("p", endpoint, model)
        };
        assert_eq!(
            completion_url(&target).map(String::from),
            Ok(expected.into())
        );
    }
}
