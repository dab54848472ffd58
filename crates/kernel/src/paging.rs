//! Outputs that were cut, kept so that the model can read on in them.
//!
//! An output that is longer than a run shows keeps a handle, by which the model asks for another page of it. Only so much is
//! kept, and the oldest goes first.

use std::collections::VecDeque;

use serde_json::Value;

use crate::event::Outcome;
use crate::own_tools::TOOL_OUTPUT;
use crate::text::Text;

/// A run keeps so many outputs of full length; the oldest goes first.
const KEPT_FULL_MAX: u64 = 4;

/// The name of an output: the place of its call in the run.
pub(crate) fn handle(turn: u32, call: u32) -> String {
    format!("out-{turn}-{call}")
}

/// The second line of a cut output: how to read on from where it ends.
pub fn paging_hint(handle: &str, offset: usize) -> String {
    format!("Read on with {TOOL_OUTPUT} {{\"handle\": \"{handle}\", \"offset\": {offset}}}.\n")
}

/// The beginning of an output of which no more has room, with how to read on.
pub(crate) fn fitted(text: &str, bytes: u64, turn: u32, call: u32) -> String {
    let end = usize::try_from(bytes).unwrap_or(usize::MAX).min(text.len());
    let end = text.floor_char_boundary(end);
    let hint = paging_hint(&handle(turn, call), end);
    format!(
        "{}\n[{end} of {} bytes are shown: the context window has no room for more. {}]",
        &text[..end],
        text.len(),
        hint.trim_end()
    )
}

/// What stands in the conversation where an output was taken out of it.
pub(crate) fn taken_out(bytes: usize, handle: Option<&String>) -> String {
    match handle {
        Some(handle) => format!(
            "(This output of {bytes} bytes was taken out to make room. {})",
            paging_hint(handle, 0).trim_end()
        ),
        None => format!(
            "(This output of {bytes} bytes was taken out to make room. Call the tool again if it is needed.)"
        ),
    }
}

/// What is kept of the outputs of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptOutputs {
    outputs: VecDeque<KeptOutput>,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct KeptOutput {
    handle: String,
    text: Text,
    /// How much the tool had said, where that is more than is kept.
    whole_bytes: u64,
}

/// What a call of the tool asks for.
struct PageRequest {
    handle: String,
    offset: u64,
    bytes: Option<u64>,
}

impl KeptOutputs {
    /// Keeps an output, at most `bytes_max` of it, and forgets the oldest ones where it gets too much.
    pub(crate) fn keep(&mut self, handle: String, text: &Text, whole_bytes: u64, bytes_max: u64) {
        let max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        let text = match text.len() <= max {
            true => text.clone(),
            false => text[..text.floor_char_boundary(max)].into(),
        };
        self.bytes += text.len() as u64;
        self.outputs.push_back(KeptOutput {
            handle,
            text,
            whole_bytes,
        });
        while self.bytes > bytes_max.saturating_mul(KEPT_FULL_MAX) {
            let oldest = self.outputs.pop_front();
            self.bytes -= oldest.map_or(self.bytes, |kept| kept.text.len() as u64);
        }
    }

    /// Keeps an output unless there is one of that name, which is longer then.
    pub(crate) fn keep_if_new(&mut self, handle: &str, text: &Text, bytes_max: u64) {
        if !self.outputs.iter().any(|it| it.handle == handle) {
            self.keep(handle.to_owned(), text, text.len() as u64, bytes_max);
        }
    }

    /// One page, within `bytes_max`. Whatever is wrong with the arguments is told to the model.
    pub(crate) fn page(&self, arguments: &str, bytes_max: u64) -> (Outcome, String) {
        let request = PageRequest::read(arguments);
        let max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        match self.read(&request, max) {
            Ok(page) => (Outcome::Ok, page),
            Err(why) => {
                let mut message = format!("(tool failed: {why})");
                message.truncate(message.floor_char_boundary(max));
                (Outcome::Failed, message)
            }
        }
    }

    fn read(&self, request: &PageRequest, max: usize) -> Result<String, String> {
        let kept = self.outputs.iter().find(|it| it.handle == request.handle);
        let kept = kept.ok_or_else(|| self.unknown())?;
        let total = kept.text.len();
        let offset = usize::try_from(request.offset).unwrap_or(usize::MAX);
        if offset >= total {
            return Err(format!(
                "offset {} is beyond the end: {total} bytes are kept",
                request.offset
            ));
        }
        let from = kept.text.floor_char_boundary(offset);
        let room = max.saturating_sub(kept.head_bytes_max());
        let wanted = request.bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let wanted = wanted.unwrap_or(usize::MAX).min(room);
        // A page has one character at least, or the model would ask for the same again.
        let first = kept.text.ceil_char_boundary(from + 1);
        let to = kept.text.floor_char_boundary(from.saturating_add(wanted));
        let to = to.max(first);
        if to - from > room {
            return Err(format!("a page of {max} bytes has no room for any text"));
        }
        Ok(format!("{}{}", kept.head(from, to), &kept.text[from..to]))
    }

    fn unknown(&self) -> String {
        let handles: Vec<&str> = self.outputs.iter().map(|it| it.handle.as_str()).collect();
        match handles.as_slice() {
            [] => "there is no such handle: no output is kept".into(),
            handles => {
                let latest: Vec<&str> = handles.iter().rev().take(8).copied().collect();
                format!("there is no such handle, only {}", latest.join(", "))
            }
        }
    }
}

impl KeptOutput {
    /// The numbers in a head are longest at the end.
    fn head_bytes_max(&self) -> usize {
        let total = self.text.len();
        let before_the_end = self.head_with(total, total, &format!("next offset {total}"));
        before_the_end.len().max(self.head(total, total).len())
    }

    fn head(&self, from: usize, to: usize) -> String {
        let total = self.text.len();
        let lost = self.whole_bytes.saturating_sub(total as u64);
        let rest = match (to < total, lost) {
            (true, _) => format!("next offset {to}"),
            (false, 0) => "the end".into(),
            (false, lost) => format!("{lost} more bytes were not kept"),
        };
        self.head_with(from, to, &rest)
    }

    fn head_with(&self, from: usize, to: usize, rest: &str) -> String {
        let total = self.text.len();
        format!("[bytes {from} to {to} of {total}; {rest}]\n\n")
    }
}

impl PageRequest {
    /// The schema has let the arguments through.
    fn read(arguments: &str) -> Self {
        let value: Value = serde_json::from_str(arguments).unwrap_or_default();
        let whole = |name: &str| {
            let number = value.get(name)?;
            // JSON Schema counts 1.0 as an integer.
            number.as_u64().or(number.as_f64().map(|it| it as u64))
        };
        Self {
            handle: value["handle"].as_str().unwrap_or_default().trim().into(),
            offset: whole("offset").unwrap_or(0),
            bytes: whole("bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, whole_bytes: u64, bytes_max: u64) -> KeptOutputs {
        let mut outputs = KeptOutputs::default();
        outputs.keep(handle(1, 0), &text.into(), whole_bytes, bytes_max);
        outputs
    }

    fn ask(outputs: &KeptOutputs, offset: usize, max: u64) -> (Outcome, String) {
        let arguments = serde_json::json!({ "handle": "out-1-0", "offset": offset });
        outputs.page(&arguments.to_string(), max)
    }

    /// Reads from page to page as a model does: by the offset that the page names.
    fn read_on(outputs: &KeptOutputs, max: u64) -> String {
        let (mut whole, mut offset) = (String::new(), 0);
        loop {
            let (outcome, page) = ask(outputs, offset, max);
            assert_eq!(outcome, Outcome::Ok, "{page}");
            assert!(page.len() as u64 <= max, "{} > {max}", page.len());
            let (head, text) = page.split_once("\n\n").expect("a head and a text");
            whole.push_str(text);
            let Some((_, next)) = head.split_once("next offset ") else {
                return whole;
            };
            offset = next.trim_end_matches(']').parse().expect("an offset");
        }
    }

    #[test]
    fn page_by_page_the_whole_is_read_whatever_the_characters_are() {
        for text in [
            "plain text ".repeat(50),
            "ä€😀\n".repeat(70),
            "\n".repeat(99),
        ] {
            for max in [48, 64, 100, 1000, 100_000] {
                assert_eq!(read_on(&kept(&text, 0, 10_000), max), text, "{max}");
            }
        }
    }

    #[test]
    fn an_offset_inside_a_character_reads_the_character() {
        let outputs = kept("äöü", 6, 100);
        let (_, page) = ask(&outputs, 3, 100);
        assert_eq!(page, "[bytes 2 to 6 of 6; the end]\n\nöü");
    }

    #[test]
    fn what_was_not_kept_is_said_at_the_end() {
        let outputs = kept(&"ä".repeat(10), 1000, 9);
        let (_, page) = ask(&outputs, 0, 1000);
        assert_eq!(
            page,
            "[bytes 0 to 8 of 8; 992 more bytes were not kept]\n\nääää"
        );
    }

    #[test]
    fn bad_handles_offsets_and_limits_are_told_to_the_model() {
        let outputs = kept("0123456789", 10, 100);
        let rows = [
            (r#"{"handle":"out-9-9","offset":0}"#, 100, "only out-1-0"),
            (r#"{"handle":"","offset":0}"#, 100, "only out-1-0"),
            (r#"{"handle":"out-1-0","offset":10}"#, 100, "beyond the end"),
            (
                r#"{"handle":"out-1-0","offset":1e300}"#,
                100,
                "beyond the end",
            ),
            (r#"{"handle":"out-1-0","offset":0}"#, 40, "a page of 40"),
            ("no JSON", 100, "no such handle"),
        ];
        for (arguments, max, why) in rows {
            let (outcome, text) = outputs.page(arguments, max);
            assert_eq!(outcome, Outcome::Failed);
            assert!(
                text.starts_with("(tool failed: ") && text.contains(why),
                "{text}"
            );
        }
        let (_, text) = KeptOutputs::default().page(rows[0].0, 100);
        assert!(text.contains("no output is kept"), "{text}");
    }

    #[test]
    fn only_so_much_is_kept_and_the_oldest_goes_first() {
        let mut outputs = KeptOutputs::default();
        for turn in 0..1000 {
            outputs.keep(handle(turn, 0), &"x".repeat(5_000).into(), 0, 1000);
            assert!(outputs.bytes <= 4000 && outputs.outputs.len() <= 4);
        }
        let (outcome, _) = outputs.page(r#"{"handle":"out-999-0","offset":0}"#, 2000);
        assert_eq!(outcome, Outcome::Ok);
    }
}
