//! An answer as the model is shown it.
//!
//! A model is given text. What is no text is described by its type and size; JSON loses only its blanks, which
//! cost a model as much as words do. A status of 400 or more is a fault, so that a refusal is never taken for a
//! result.

use serde::de::IgnoredAny;

use super::answer::RestAnswer;
use super::error::STATUS;
use crate::bounds::chars_within;
use crate::fault::ToolFault;
use crate::tool::ToolValue;

/// How much of a refusal's body is worth showing.
const REFUSAL_CHARS_MAX: usize = 2_000;

/// The output of a call, or its fault where the server refused it.
pub(super) fn shown(answer: &RestAnswer) -> Result<ToolValue, ToolFault> {
    if answer.status >= 400 {
        let body = chars_within(text_of(answer).trim(), REFUSAL_CHARS_MAX).to_owned();
        let reason = reqwest::StatusCode::from_u16(answer.status)
            .ok()
            .and_then(|status| status.canonical_reason());
        let status = [Some(answer.status.to_string()), reason.map(str::to_owned)];
        let status: Vec<String> = status.into_iter().flatten().collect();
        return Err(ToolFault::new(
            STATUS,
            format!("{}: {body}", status.join(" ")),
        ));
    }
    let text = text_of(answer);
    if !answer.is_cut {
        return Ok(ToolValue::Text(text));
    }
    let bytes = answer.bytes.len();
    let notice =
        format!("[CUT] The answer is longer than {bytes} bytes; this is its beginning.\n\n");
    Ok(ToolValue::Text(notice + &text))
}

/// What the server says of the type is believed where it is clear; where it is not, the bytes decide.
fn text_of(answer: &RestAnswer) -> String {
    let bytes = &answer.bytes;
    let kind = answer.content_type.as_str();
    if bytes.is_empty() {
        return format!("(an empty answer, status {})", answer.status);
    }
    if let Some(encoding) = &answer.encoding {
        let kind = named(kind);
        return described(&format!("{kind}, compressed as {encoding}"), bytes.len());
    }
    if let Some(json) = compact_json(kind, answer) {
        return json;
    }
    match is_text(kind) || (!is_binary(kind) && looks_like_text(bytes, answer.is_cut)) {
        true => String::from_utf8_lossy(bytes).into_owned(),
        false => described(kind, bytes.len()),
    }
}

fn described(kind: &str, bytes: usize) -> String {
    format!("[binary answer: {}, {bytes} bytes]", named(kind))
}

fn named(kind: &str) -> &str {
    if kind.is_empty() {
        "unknown type"
    } else {
        kind
    }
}

/// JSON without the blanks between its parts. Numbers and the order of keys stay as they were written.
fn compact_json(kind: &str, answer: &RestAnswer) -> Option<String> {
    let says_json = kind.ends_with("/json") || kind.ends_with("+json") || kind.is_empty();
    if !says_json || answer.is_cut {
        return None;
    }
    let text = std::str::from_utf8(&answer.bytes).ok()?;
    serde_json::from_str::<IgnoredAny>(text).ok()?;
    let mut compact = String::with_capacity(text.len());
    let (mut in_text, mut is_escaped) = (false, false);
    for c in text.chars() {
        if in_text || !c.is_ascii_whitespace() {
            compact.push(c);
        }
        if c == '"' && !is_escaped {
            in_text = !in_text;
        }
        is_escaped = in_text && c == '\\' && !is_escaped;
    }
    Some(compact)
}

fn is_text(kind: &str) -> bool {
    const WORDS: [&str; 7] = [
        "json",
        "xml",
        "yaml",
        "javascript",
        "x-www-form-urlencoded",
        "graphql",
        "csv",
    ];
    kind.starts_with("text/") || WORDS.iter().any(|word| kind.ends_with(word))
}

fn is_binary(kind: &str) -> bool {
    const TOP: [&str; 4] = ["image/", "audio/", "video/", "font/"];
    TOP.iter().any(|top| kind.starts_with(top))
}

/// Whether bytes of a kind that nobody knows are text. A cut may lie within a character.
fn looks_like_text(bytes: &[u8], is_cut: bool) -> bool {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if is_cut && error.error_len().is_none() => {
            let whole = &bytes[..error.valid_up_to()];
            std::str::from_utf8(whole).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let is_odd = |c: char| c.is_control() && !c.is_whitespace();
    !text.contains(is_odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, kind: &str, bytes: &[u8]) -> RestAnswer {
        RestAnswer {
            status,
            content_type: kind.into(),
            encoding: None,
            bytes: bytes.into(),
            is_cut: false,
        }
    }

    #[test]
    fn json_is_compact_text_is_as_it_is_and_binary_is_described() {
        for (kind, bytes, expected) in [
            (
                "application/json",
                &br#"{ "b": 1e2, "a": [ " x \" { " , 12345678901234567890123 ] }"#[..],
                r#"{"b":1e2,"a":[" x \" { ",12345678901234567890123]}"#,
            ),
            ("application/problem+json", b"[ 1 ]", "[1]"),
            ("application/json", br#"["\\" , 1]"#, r#"["\\",1]"#),
            ("application/json", b"{ not json", "{ not json"),
            ("", b" [ 1 ]", "[1]"),
            ("", b"plain  text\n", "plain  text\n"),
            ("text/plain", b"[ 1 ]", "[ 1 ]"),
            ("text/html", b"a\xffb", "a\u{fffd}b"),
            ("application/xhtml+xml", b"<a/>", "<a/>"),
            ("application/x-unheard", b"text", "text"),
            (
                "application/octet-stream",
                b"a\0b",
                "[binary answer: application/octet-stream, 3 bytes]",
            ),
            (
                "application/pdf",
                b"%PDF\xff",
                "[binary answer: application/pdf, 5 bytes]",
            ),
            ("image/svg", b"text", "[binary answer: image/svg, 4 bytes]"),
            ("", b"\xff\xfe", "[binary answer: unknown type, 2 bytes]"),
            ("application/json", b"", "(an empty answer, status 200)"),
        ] {
            let shown = shown(&answer(200, kind, bytes)).expect("it is good");
            assert_eq!(shown.to_string(), expected, "{kind}");
        }
    }

    #[test]
    fn a_refusal_is_a_fault_with_its_status_and_the_beginning_of_its_body() {
        for (status, expected) in [
            (404, "http_status: 404 Not Found: gone"),
            (500, "http_status: 500 Internal Server Error: gone"),
            (599, "http_status: 599: gone"),
        ] {
            let fault =
                shown(&answer(status, "text/plain", b" gone\n")).expect_err("it is refused");
            assert_eq!(fault.to_string(), expected);
        }
        let long = shown(&answer(400, "text/plain", &b"x".repeat(100_000))).expect_err("refused");
        assert!(long.message.len() < 2_100, "{}", long.message.len());
    }

    #[test]
    fn a_cut_answer_says_so_first_and_a_compressed_one_is_described() {
        let mut cut = answer(200, "application/json", "[\"ä".as_bytes());
        cut.bytes.pop();
        cut.is_cut = true;
        let shown_cut = shown(&cut).expect("it is good").to_string();
        assert!(
            shown_cut.starts_with("[CUT] The answer is longer than 3 bytes"),
            "{shown_cut}"
        );
        let mut packed = answer(200, "application/json", b"\x1f\x8b");
        packed.encoding = Some("gzip".into());
        let shown_packed = shown(&packed).expect("it is good").to_string();
        assert_eq!(
            shown_packed,
            "[binary answer: application/json, compressed as gzip, 2 bytes]"
        );
    }
}
