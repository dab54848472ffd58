//! What a refusal says of the size of a request: how much the model takes, and how much it was sent. Services say it in
//! fields or in their own words; whatever is not one of those says nothing.
//!
//! What is found here teaches a run the true window of a model whose window nobody knew, so that a wrong number
//! would do harm in every later request. So a number counts only right beside words that can mean nothing else,
//! only where a window is among what was found, and only if a window of that size is plausible.

use bonded_kernel::{Overflow, Window};
use serde_json::Value;

/// The words right before the window.
///
/// In lower case. The first of these that a message holds with a number after it counts.
const BEFORE_WINDOW: [&str; 18] = [
    "maximum context length is ",
    "maximum context length of ",
    "context length of only ",
    "model's context length (",
    "model's context length of ",
    "maximum model length of ",
    "maximum prompt length is ",
    "maximum number of tokens allowed (",
    "available context size (",
    "configured context size is ",
    "too large for model with ",
    "configured limit of ",
    "exceeds the limit of ",
    "model token limit: ",
    "max context window of ",
    "maximum allowed input length of ",
    "context limit is ",
    "input length should be [1, ",
];

/// The words right before what was sent.
///
/// In lower case. Longer words stand before those that they begin with.
const BEFORE_SENT: [&str; 15] = [
    "prompt is too long: ",
    "prompt too long: ",
    "exceed context limit: ",
    "request (",
    "resulted in ",
    "prompt contains at least ",
    "prompt contains ",
    "prompt has ",
    "request contains ",
    "input token count (",
    "token count of ",
    "the input (",
    "prompt (length ",
    "keep the first ",
    "input length ",
];

/// The words right after what was sent, where the reply was counted too.
const AFTER_SENT: [&str; 2] = [" in the messages", " in your prompt"];

/// The words around all that was asked for, and of it what is the reply's.
///
/// Here the services count the room for the reply as a part of the request, and it has to be taken off again.
const BEFORE_TOTAL: [&str; 2] = ["you requested about ", "you requested "];
/// The words right after the part of the total that was asked for as a reply.
const AFTER_REPLY: [&str; 3] = [
    " in the output",
    " in the completion",
    " for the completion",
];

/// What an error says; `None` where it says nothing of it.
///
/// Fields are exact and count more than words. `error` is the error object, or null where the body was no JSON.
pub(super) fn in_error(message: &str, error: &Value) -> Option<Overflow> {
    let text = message.to_lowercase();
    let field = |name: &str| error.get(name)?.as_u64();
    let window = field("n_ctx").or_else(|| window_in(&text));
    let sent = field("n_prompt_tokens").or_else(|| sent_in(&text));
    let window = window.and_then(Window::plausible);
    // Without a window it is some number or other.
    window.map(|window| Overflow {
        window: Some(window),
        sent: sent.and_then(Window::plausible),
    })
}

/// A bare comparison such as `5 > 3` is believed only beside the words of the service that writes it so.
fn window_in(text: &str) -> Option<u64> {
    // Two sides of one comparison: what was sent, and what is taken.
    let compares = text.contains("prompt is too long") || text.contains("exceed context limit");
    let compared = || after(text, "> ").filter(|_| compares);
    let mut words = BEFORE_WINDOW.iter();
    words.find_map(|words| after(text, words)).or_else(compared)
}

/// Numbers that name the messages alone come first, because others beside them may include the reply.
fn sent_in(text: &str) -> Option<u64> {
    let sent = AFTER_SENT.iter().find_map(|words| before(text, words));
    let sent = sent.or_else(|| BEFORE_SENT.iter().find_map(|words| after(text, words)));
    sent.or_else(|| {
        let total = BEFORE_TOTAL.iter().find_map(|words| after(text, words))?;
        let reply = AFTER_REPLY.iter().find_map(|words| before(text, words));
        Some(total.saturating_sub(reply.unwrap_or(0)))
    })
}

/// The number right after some words.
fn after(text: &str, words: &str) -> Option<u64> {
    let at = text.find(words)? + words.len();
    let digits = text.get(at..)?.chars();
    number(digits.take_while(|c| is_part(*c)))
}

/// The number right before some words, with the word for tokens between them or not.
fn before(text: &str, words: &str) -> Option<u64> {
    let until = text.get(..text.find(words)?)?;
    let until = until.strip_suffix(" tokens").unwrap_or(until);
    let digits: Vec<char> = until.chars().rev().take_while(|c| is_part(*c)).collect();
    number(digits.into_iter().rev())
}

/// Some services group the digits of a number by commas.
fn is_part(c: char) -> bool {
    c.is_ascii_digit() || c == ','
}

/// `None` also for a number that no `u64` holds, which a hostile server may well send.
fn number(digits: impl Iterator<Item = char>) -> Option<u64> {
    let digits: String = digits.filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_words_of_every_service_are_understood() {
        let cases = [
            // OpenAI, and those that speak like it.
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 10210 tokens. Please \
              reduce the length of the messages.",
                8192,
                Some(10210),
            ),
            (
                "This model's maximum context length is 4097 tokens. However, you requested 5012 tokens (3012 in the messages, \
              2000 in the completion).",
                4097,
                Some(3012),
            ),
            (
                "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please \
              reduce the length of the messages.",
                272_000,
                Some(509_178),
            ),
            // vLLM, SGLang and Together.
            (
                "This model's maximum context length is 16384 tokens. However, you requested 8192 output tokens and your prompt \
              contains at least 8193 input tokens, for a total of at least 16385 tokens.",
                16_384,
                Some(8193),
            ),
            (
                "The decoder prompt (length 12345) is longer than the maximum model length of 8192.",
                8192,
                Some(12_345),
            ),
            (
                "Requested token count exceeds the model's maximum context length of 131072 tokens.",
                131_072,
                None,
            ),
            (
                "The input (516368 tokens) is longer than the model's context length (262144 tokens).",
                262_144,
                Some(516_368),
            ),
            // Anthropic.
            (
                "prompt is too long: 213462 tokens > 200000 maximum",
                200_000,
                Some(213_462),
            ),
            (
                "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or \
              `max_tokens` and try again",
                200_000,
                Some(188_240),
            ),
            // Google, xAI and Mistral.
            (
                "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
                1_048_575,
                Some(1_196_265),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
                131_072,
                Some(537_812),
            ),
            (
                "Prompt contains 300000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
                131_072,
                Some(300_000),
            ),
            // OpenRouter.
            (
                "This endpoint's maximum context length is 65536 tokens. However, you requested about 65810 tokens (1430 of text \
              input, 380 of tool input, 64000 in the output). Please reduce the length of either one.",
                65_536,
                Some(1810),
            ),
            // Servers of one's own.
            (
                "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
                8192,
                Some(9412),
            ),
            (
                "Trying to keep the first 5406 tokens when context the overflows. However, the model is loaded with context \
              length of only 1056 tokens, which is not enough.",
                1056,
                Some(5406),
            ),
            (
                "Prompt has 300,000 tokens, but the configured context size is 131,072 tokens",
                131_072,
                Some(300_000),
            ),
            (
                "Your request exceeded model token limit: 262144 (requested: 300000)",
                262_144,
                None,
            ),
            ("Range of input length should be [1, 129024]", 129_024, None),
        ];
        for (message, window, sent) in cases {
            let expected = Overflow {
                window: Some(window),
                sent,
            };
            assert_eq!(in_error(message, &Value::Null), Some(expected), "{message}");
            let class = super::super::ServerError::from_body(
                json!({ "error": { "message": message } })
                    .to_string()
                    .as_bytes(),
            );
            assert_eq!(
                class.class(Some(400)),
                bonded_kernel::FailureClass::Overflow,
                "{message}"
            );
        }
    }

    #[test]
    fn fields_count_more_than_words() {
        let error =
            json!({ "n_prompt_tokens": 13392, "n_ctx": 8192, "type": "exceed_context_size_error" });
        let message =
            "the request exceeds the available context size (1 tokens), try increasing it";
        let expected = Overflow {
            window: Some(8192),
            sent: Some(13_392),
        };
        assert_eq!(in_error(message, &error), Some(expected));
    }

    #[test]
    fn what_says_nothing_teaches_nothing() {
        for message in [
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "Please reduce the length of the messages or completion.",
            "maximum context length is many tokens",
            "maximum context length is 0 tokens",
            "maximum context length is 1000000000000000000 tokens",
            "maximum context length is 99999999999999999999999999 tokens",
            "maximum context length is ",
            "5 > 3",
            "",
        ] {
            assert_eq!(in_error(message, &Value::Null), None, "{message}");
        }
        for lie in [
            json!({ "n_ctx": -1 }),
            json!({ "n_ctx": "8192" }),
            json!({ "n_ctx": 0 }),
            json!([]),
        ] {
            assert_eq!(in_error("too large", &lie), None, "{lie}");
        }
    }
}
