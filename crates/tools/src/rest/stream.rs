//! An answer that comes as lines of JSON, each with a piece of it.
//!
//! Services of language models answer so. The lines are put together to one text, because a call has one
//! result; the last line may hold the whole answer, which then counts more than its pieces.

use reqwest::Response;
use serde_json::Value;

use super::answer::broken;
use super::error::EMPTY_STREAM;
use super::settings::JsonStream;
use super::template::plain;
use crate::fault::ToolFault;
use crate::tool::ToolValue;

/// Reads the lines until one says that it is the last, or until there are no more.
pub(super) async fn read(
    mut response: Response,
    settings: &JsonStream,
) -> Result<ToolValue, ToolFault> {
    let mut lines = Lines::new(settings);
    let mut left = settings.bytes_max;
    while lines.end.is_none() {
        let Some(piece) = response.chunk().await.map_err(broken)? else {
            lines.finish();
            break;
        };
        let size = piece.len() as u64;
        if size > left {
            lines.end = Some(ReadingEnd::TooLong);
            break;
        }
        left -= size;
        lines.take(&piece);
    }
    lines.into_value()
}

/// Why no more is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadingEnd {
    Done,
    /// The server stopped before it said that it was done.
    Silent,
    TooLong,
}

struct Lines<'s> {
    settings: &'s JsonStream,
    /// The beginning of a line whose end has not come.
    open: Vec<u8>,
    tokens: String,
    answer: Option<String>,
    end: Option<ReadingEnd>,
}

impl<'s> Lines<'s> {
    fn new(settings: &'s JsonStream) -> Self {
        Self {
            settings,
            open: vec![],
            tokens: String::new(),
            answer: None,
            end: None,
        }
    }

    /// A piece of the network ends anywhere, also within a character, so that lines are gathered as bytes.
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some(at) = bytes.iter().position(|byte| *byte == b'\n') {
            let mut line = std::mem::take(&mut self.open);
            line.extend_from_slice(&bytes[..at]);
            self.line(&line);
            if self.end.is_some() {
                return;
            }
            bytes = &bytes[at + 1..];
        }
        self.open.extend_from_slice(bytes);
    }

    /// The last line may come without its end.
    fn finish(&mut self) {
        let last = std::mem::take(&mut self.open);
        self.line(&last);
        self.end.get_or_insert(ReadingEnd::Silent);
    }

    /// A line that is no JSON, or of no interest, is passed over.
    fn line(&mut self, line: &[u8]) {
        let prefix = self.settings.line_prefix.trim_end().as_bytes();
        let Some(json) = line.trim_ascii().strip_prefix(prefix) else {
            return;
        };
        let json = json.trim_ascii();
        if json == b"[DONE]" {
            self.end = Some(ReadingEnd::Done);
            return;
        }
        let Ok(event) = serde_json::from_slice::<Value>(json) else {
            return;
        };
        let kind = event.get(&self.settings.discriminator_field).map(plain);
        let field = |name: &str| event.get(name).filter(|value| !value.is_null()).map(plain);
        match kind {
            Some(kind) if kind == self.settings.done_value => {
                self.answer = field(&self.settings.answer_field).filter(|text| !text.is_empty());
                self.end = Some(ReadingEnd::Done);
            }
            Some(kind) if kind == self.settings.token_value => {
                let token = field(&self.settings.token_field);
                self.tokens.push_str(&token.unwrap_or_default());
            }
            _ => {}
        }
    }

    fn into_value(self) -> Result<ToolValue, ToolFault> {
        let text = self.answer.unwrap_or(self.tokens);
        let notice = match self.end {
            Some(ReadingEnd::TooLong) => format!(
                "[CUT] The answer is longer than {} bytes; this is its beginning.\n\n",
                self.settings.bytes_max
            ),
            Some(ReadingEnd::Silent) if text.is_empty() => {
                let message = "the stream ended without an answer; look at `streaming` of the tool";
                return Err(ToolFault::new(EMPTY_STREAM, message));
            }
            Some(ReadingEnd::Silent) => "[CUT] The stream ended before it was done.\n\n".into(),
            Some(ReadingEnd::Done) | None => String::new(),
        };
        Ok(ToolValue::Text(notice + &text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(settings: &JsonStream, text: &str, piece_bytes: usize) -> Result<String, String> {
        let mut lines = Lines::new(settings);
        for piece in text.as_bytes().chunks(piece_bytes) {
            lines.take(piece);
            if lines.end.is_some() {
                break;
            }
        }
        if lines.end.is_none() {
            lines.finish();
        }
        let value = lines.into_value();
        value.map(|it| it.to_string()).map_err(|it| it.code.into())
    }

    #[test]
    fn tokens_are_joined_until_a_line_is_the_last() {
        let settings = JsonStream {
            line_prefix: "data: ".into(),
            ..JsonStream::default()
        };
        let rows = [
            (
                "data: {\"type\":\"token\",\"content\":\"ä\"}\n\ndata:{\"type\":\"token\",\"content\":\"b\"}\r\ndata: {\"type\":\"done\"}\ndata: {\"type\":\"token\",\"content\":\"c\"}\n",
                Ok("äb"),
            ),
            (
                "data: {\"type\":\"token\",\"content\":\"a\"}\ndata: {\"type\":\"done\",\"answer\":\"whole\"}",
                Ok("whole"),
            ),
            (
                "data: {\"type\":\"token\",\"content\":\"a\"}\ndata: {\"type\":\"done\",\"answer\":\"\"}",
                Ok("a"),
            ),
            (
                "data: {\"type\":\"token\",\"content\":5}\ndata: [DONE]\n",
                Ok("5"),
            ),
            (
                "event: x\n: comment\ndata: nonsense\ndata: {\"type\":\"other\",\"content\":\"x\"}\ndata: {\"type\":\"done\",\"answer\":{\"a\":1}}\n",
                Ok("{\"a\":1}"),
            ),
            (
                "data: {\"type\":\"token\",\"content\":\"a\"}\n",
                Ok("[CUT] The stream ended before it was done.\n\na"),
            ),
            ("data: {\"type\":\"done\"}\n", Ok("")),
            (
                "{\"type\":\"done\",\"answer\":\"no prefix\"}\n",
                Err("http_empty_stream"),
            ),
            ("", Err("http_empty_stream")),
        ];
        for (text, expected) in rows {
            for piece_bytes in [1, 7, 1000] {
                let found = read_all(&settings, text, piece_bytes);
                let expected = expected.map(str::to_owned).map_err(str::to_owned);
                assert_eq!(found, expected, "{text}");
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_stream_becomes_a_text_or_a_fault(text in r#"(data: |[{}":,\n]|type|token|done|content|\PC){0,60}"#) {
            let settings = JsonStream { line_prefix: "data:".into(), ..JsonStream::default() };
            let whole = read_all(&settings, &text, 1000);
            proptest::prop_assert_eq!(read_all(&settings, &text, 1), whole);
        }
    }
}
