//! What a server prints, taken apart: lines, and the messages in them. Pure and bounded.
//!
//! Servers print to stdout what should have gone to stderr, write a mark of byte order, or answer with fields
//! that no version knows. None of that ends a session: what is no message is counted as noise by the caller,
//! who has a bound for it, and results are kept as they were written. Requests and answers are told apart by
//! their fields alone.

use rmcp::RoleClient;
use rmcp::model::{
    CustomResult, DiscoverResult, ErrorCode, ErrorData, InitializeResult, JsonRpcMessage,
    RequestId, ServerResult,
};
use rmcp::service::RxJsonRpcMessage;
use serde_json::{Map, Value};

/// No message is longer.
///
/// The same bound holds on all transports.
pub(super) const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What is kept allocated between messages.
const KEPT_BYTES: usize = 256 * 1024;

/// Lines out of chunks. Holds no more than one line and one chunk.
#[derive(Debug)]
pub(super) struct FrameLines {
    held: Vec<u8>,
    /// Where the line begins that is being gathered; before it, lines that were given out.
    begin: usize,
    /// Up to where no line end was found, so that no byte is looked at twice.
    searched: usize,
    bytes_max: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum FrameLine<'a> {
    Whole(&'a [u8]),
    /// The line is not complete yet: push another chunk.
    More,
    Overlong,
}

impl FrameLines {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self {
            held: Vec::new(),
            begin: 0,
            searched: 0,
            bytes_max,
        }
    }

    /// Called only after `next_line` asked for more. What a large message took is given back once it is
    /// through.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.held.drain(..self.begin);
        self.searched -= self.begin;
        self.begin = 0;
        if self.held.len() < KEPT_BYTES {
            self.held.shrink_to(KEPT_BYTES);
        }
        self.held.extend_from_slice(chunk);
    }

    /// The next line without its end. Called until it asks for more.
    pub(super) fn next_line(&mut self) -> FrameLine<'_> {
        let found = self.held[self.searched..].iter().position(|b| *b == b'\n');
        let begin = self.begin;
        let end = found.map_or(self.held.len(), |at| self.searched + at);
        self.searched = end + usize::from(found.is_some());
        if end - begin > self.bytes_max {
            return FrameLine::Overlong;
        }
        if found.is_none() {
            return FrameLine::More;
        }
        self.begin = self.searched;
        FrameLine::Whole(&self.held[begin..end])
    }
}

/// What a line is.
#[derive(Debug)]
pub(super) enum Frame {
    Message(Box<RxJsonRpcMessage<RoleClient>>),
    Notice(Notice),
    /// An empty line, or a notification that nothing here depends on.
    Ignored,
    /// No message: something that was meant for a log.
    Noise,
}

/// A notification that somebody listens to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Notice {
    ToolsChanged,
    /// How far a call has come.
    Progress(String),
}

/// A list of messages is noise here: whoever may be sent one takes it apart before.
pub(super) fn parse(line: &[u8]) -> Frame {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Frame::Ignored;
    }
    if !line.starts_with(b"{") {
        return Frame::Noise;
    }
    match serde_json::from_slice(line) {
        Ok(Value::Object(fields)) if is_version_2(&fields) => message(fields),
        _ => Frame::Noise,
    }
}

fn is_version_2(fields: &Map<String, Value>) -> bool {
    fields.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
}

/// An answer with both a result and an error counts as a result. An answer without an id fits no request, and
/// is noise.
fn message(mut fields: Map<String, Value>) -> Frame {
    let id = fields.get("id").filter(|id| !id.is_null()).cloned();
    if fields.contains_key("method") {
        if id.is_none() {
            return notice(&fields).map_or(Frame::Ignored, Frame::Notice);
        }
        return match serde_json::from_value(Value::Object(fields)) {
            Ok(request) => Frame::Message(Box::new(request)),
            Err(_) => Frame::Noise,
        };
    }
    let Some(id) = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok()) else {
        return Frame::Noise;
    };
    let message = match (fields.remove("result"), fields.remove("error")) {
        (Some(result), _) => JsonRpcMessage::response(result_of(result), id),
        (None, Some(error)) => JsonRpcMessage::error(error_of(&error), Some(id)),
        (None, None) => return Frame::Noise,
    };
    Frame::Message(Box::new(message))
}

/// How much of a server's words about its progress is shown.
const PROGRESS_CHARS_MAX: usize = 200;

/// The words of a server are cut here, before anybody holds them.
fn notice(fields: &Map<String, Value>) -> Option<Notice> {
    match fields.get("method")?.as_str()? {
        "notifications/tools/list_changed" => Some(Notice::ToolsChanged),
        "notifications/progress" => {
            let params = fields.get("params")?;
            let number = |name| params.get(name).and_then(Value::as_f64);
            let message = params.get("message").and_then(Value::as_str);
            let so_far = match (number("progress")?, number("total")) {
                (progress, Some(total)) => format!("{progress} of {total}"),
                (progress, None) => progress.to_string(),
            };
            let text = match message {
                Some(message) => format!("{so_far}: {message}"),
                None => so_far,
            };
            Some(Notice::Progress(
                text.chars().take(PROGRESS_CHARS_MAX).collect(),
            ))
        }
        _ => None,
    }
}

/// Only the answers to the greeting are taken apart here. The library would guess what any other result is
/// from its fields, and lose what it does not know.
fn result_of(result: Value) -> ServerResult {
    if result.get("protocolVersion").is_some()
        && let Ok(initialized) = serde_json::from_value::<InitializeResult>(result.clone())
    {
        return ServerResult::InitializeResult(initialized);
    }
    if result.get("supportedVersions").is_some()
        && let Ok(discovered) = serde_json::from_value::<DiscoverResult>(result.clone())
    {
        return ServerResult::DiscoverResult(discovered);
    }
    ServerResult::CustomResult(CustomResult(result))
}

/// An error that is not shaped like one is still an error.
pub(super) fn error_of(error: &Value) -> ErrorData {
    let code = error.get("code").and_then(Value::as_i64);
    let code = code.and_then(|code| i32::try_from(code).ok());
    let message = error.get("message").and_then(Value::as_str);
    ErrorData {
        code: code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode),
        message: message
            .map_or_else(|| error.to_string(), str::to_owned)
            .into(),
        data: error.get("data").cloned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn lines_of(chunks: &[&[u8]], bytes_max: usize) -> Option<Vec<Vec<u8>>> {
        let mut lines = FrameLines::new(bytes_max);
        let mut seen = vec![];
        for chunk in chunks {
            lines.push(chunk);
            loop {
                match lines.next_line() {
                    FrameLine::Whole(line) => seen.push(line.to_vec()),
                    FrameLine::More => break,
                    FrameLine::Overlong => return None,
                }
            }
            assert!(lines.held.len() - lines.begin <= bytes_max, "it is bounded");
        }
        Some(seen)
    }

    proptest! {
        #[test]
        fn lines_do_not_depend_on_how_they_were_chunked(
            bytes in prop::collection::vec(prop::sample::select(b"ab\n{}\"".to_vec()), 0..200),
            size in 1..20usize,
        ) {
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
            let mut expected: Vec<Vec<u8>> = bytes.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            let unfinished = expected.pop().map_or(0, |line| line.len());
            let longest = expected.iter().map(Vec::len).max().unwrap_or(0).max(unfinished);
            prop_assert_eq!(lines_of(&chunks, longest), Some(expected));
            if longest > 0 {
                prop_assert_eq!(lines_of(&chunks, longest - 1), None);
            }
        }

        #[test]
        fn any_bytes_are_taken_apart(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            parse(&bytes);
        }

        #[test]
        fn any_fields_are_taken_apart(
            fields in prop::collection::btree_map(
                prop::sample::select(vec!["id", "method", "params", "result", "error", "x"]),
                prop::sample::select(vec![
                    json!(null), json!(1), json!(-1.5), json!("s"), json!([]), json!({}),
                    json!({ "code": 1, "message": "m" }), json!({ "protocolVersion": "1" }), json!("ping"),
                ]),
                0..6,
            ),
        ) {
            let mut fields = json!(fields);
            fields["jsonrpc"] = json!("2.0");
            parse(fields.to_string().as_bytes());
        }
    }

    /// A frame in a few words: its kind, and for answers the id and what they say.
    fn frame_of(line: &[u8]) -> String {
        match parse(line) {
            Frame::Ignored => "ignored".into(),
            Frame::Notice(notice) => format!("{notice:?}"),
            Frame::Noise => "noise".into(),
            Frame::Message(message) => match *message {
                JsonRpcMessage::Response(answer) => {
                    format!("answer {}: {}", answer.id, json!(answer.result))
                }
                JsonRpcMessage::Error(error) => {
                    format!("error {}: {}", error.error.code.0, error.error.message)
                }
                _ => "other".into(),
            },
        }
    }

    #[test]
    fn a_line_is_a_message_or_noise_or_nothing() {
        for (line, frame) in [
            ("", "ignored"),
            (" \r", "ignored"),
            ("Server listening", "noise"),
            ("{", "noise"),
            (r#"{"level":"info","msg":"up"}"#, "noise"),
            (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, "noise"),
            (r#"{"jsonrpc":"2.0","id":1}"#, "noise"),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, "noise"),
            (r#"{"jsonrpc":"2.0","method":"x","params":3}"#, "ignored"),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
                "ToolsChanged",
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.5,"total":3,"message":"on"}}"#,
                r#"Progress("1.5 of 3: on")"#,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":2}}"#,
                r#"Progress("2")"#,
            ),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"x"}}"#,
                "ignored",
            ),
            (
                "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"tools\":1}}\r",
                r#"answer 7: {"tools":1}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
                "answer 1: null",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"x"}}"#,
                r#"answer 1: {"protocolVersion":"x"}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-3,"message":"m"}}"#,
                "error -3: m",
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":"bad"}"#,
                "error -32603: \"bad\"",
            ),
        ] {
            assert_eq!(frame_of(line.as_bytes()), frame, "{line}");
        }
        assert_eq!(frame_of("[".repeat(100_000).as_bytes()), "noise");
        assert_eq!(frame_of("{\"a\":".repeat(100_000).as_bytes()), "noise");
    }

    #[test]
    fn requests_of_the_server_and_its_first_answer_reach_the_library() {
        let ping = br#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
        let Frame::Message(message) = parse(ping) else {
            panic!("a ping is a message");
        };
        assert!(matches!(*message, JsonRpcMessage::Request(_)));
        let first = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18",
            "capabilities":{},"serverInfo":{"name":"n","version":"1"}}}"#;
        let Frame::Message(message) = parse(first) else {
            panic!("it is a message");
        };
        let result = message.into_response().map(|(result, _)| result);
        assert!(matches!(result, Some(ServerResult::InitializeResult(_))));
    }
}
