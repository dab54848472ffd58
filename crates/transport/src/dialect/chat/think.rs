//! Thoughts that a model writes into its text, because its server does not take them out.
//!
//! There are two readers for one rule. `split_thought` reads the whole text at the end and decides what the
//! reply is. `Heard` cuts a text that still grows for somebody who listens; it looks at no byte twice, but for
//! a tag's length, so that a long thought costs no more than its length. It cannot know of a closing tag whose
//! opening never came, and there it lets the thought be heard.

use super::harmony::{has_channels, may_have_channels, plain_bytes, seek_final};

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// The thought at the beginning of a text, and the text after it. A thought that was never closed is all
/// that the model got to say. Where a server puts the opening tag into its prompt, only the closing one comes.
pub(super) fn split_thought(text: String) -> (String, String) {
    let opened = text.trim_start().strip_prefix(OPENING);
    let parts = match opened {
        Some(thought) => Some(thought.split_once(CLOSING).unwrap_or((thought, ""))),
        None => split_unopened(&text),
    };
    match parts {
        Some((thought, answer)) => (thought.trim().into(), answer.trim_start().into()),
        None => (String::new(), text),
    }
}

/// A tag that is only spoken of has something after it on its line, or its opening before it.
fn split_unopened(text: &str) -> Option<(&str, &str)> {
    let (thought, answer) = text.split_once(CLOSING)?;
    let ends_line = answer.is_empty() || answer.starts_with(['\n', '\r']);
    (ends_line && !thought.contains(OPENING)).then_some((thought, answer))
}

/// What was heard of a text that still grows.
#[derive(Debug, Default)]
pub(super) struct Heard {
    position: Position,
    /// How many bytes need no second look.
    bytes: usize,
}

/// It only ever moves forward.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Position {
    /// A thought may still begin.
    #[default]
    Start,
    Thought,
    /// In channels, before the final one.
    Channels,
    /// In the final channel.
    Final,
    /// Between a thought and what is said, where blanks do not count.
    Between,
    Answer,
}

impl Heard {
    /// The part of the text that is new and no thought that has an opening. Put together, these parts are what
    /// [`split_thought`] leaves of a text whose thought has one.
    pub(super) fn news<'a>(&mut self, text: &'a str) -> &'a str {
        while !matches!(self.position, Position::Answer | Position::Final) {
            if !self.advance(text) {
                return "";
            }
        }
        if self.position == Position::Final {
            let rest = &text[self.bytes..];
            let heard = &rest[..plain_bytes(rest)];
            self.bytes += heard.len();
            return heard;
        }
        let from = std::mem::replace(&mut self.bytes, text.len());
        &text[from..]
    }

    /// Goes on by one place; false if more text is needed.
    ///
    /// While a tag may still be incomplete, its possible beginning is kept back.
    fn advance(&mut self, text: &str) -> bool {
        let rest = &text[self.bytes..];
        let begun = rest.trim_start();
        let blanks = rest.len() - begun.len();
        let (position, skipped) = match self.position {
            Position::Start if OPENING.starts_with(begun) || may_have_channels(begun) => {
                (Position::Start, blanks)
            }
            Position::Start if has_channels(begun) => (Position::Channels, 0),
            Position::Start if begun.starts_with(OPENING) => {
                (Position::Thought, blanks + OPENING.len())
            }
            Position::Start => {
                // No thought: the blanks are said, too.
                self.bytes = 0;
                (Position::Answer, 0)
            }
            Position::Thought => match rest.find(CLOSING) {
                Some(at) => (Position::Between, at + CLOSING.len()),
                // The end of it may be the start of the closing tag.
                None => (
                    Position::Thought,
                    rest.floor_char_boundary(rest.len().saturating_sub(CLOSING.len())),
                ),
            },
            Position::Channels => match seek_final(rest) {
                Ok(at) => (Position::Final, at),
                Err(looked_at) => (Position::Channels, looked_at),
            },
            Position::Between if begun.is_empty() => (Position::Between, blanks),
            Position::Between => (Position::Answer, blanks),
            Position::Answer | Position::Final => (self.position, 0),
        };
        self.bytes += skipped;
        let goes_on = position != self.position;
        self.position = position;
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_thought_at_the_very_beginning_is_taken_out() {
        let cases = [
            ("<think>a</think>b", "a", "b"),
            ("\n<think>\na\n</think>\n\nb\n", "a", "b\n"),
            ("<think></think>b", "", "b"),
            ("<think>a</think>", "a", ""),
            (
                "<think>a <think> b</think>c</think>",
                "a <think> b",
                "c</think>",
            ),
            ("<think>never closed", "never closed", ""),
            ("<think", "", "<think"),
            ("so it is\n</think>\n\nb", "so it is", "b"),
            ("so it is.</think>", "so it is.", ""),
            ("it ends with `</think>`\n", "", "it ends with `</think>`\n"),
            ("say </think> then", "", "say </think> then"),
            ("see <think>a</think>", "", "see <think>a</think>"),
            ("  plain ", "", "  plain "),
            ("", "", ""),
        ];
        for (text, thought, answer) in cases {
            let split = split_thought(text.into());
            assert_eq!(split, (thought.into(), answer.into()), "{text}");
        }
    }

    #[test]
    fn a_growing_text_is_heard_without_its_thought_and_each_part_once() {
        let cases = [
            ("<think>a</think>b", "b"),
            ("\n<think>\na é< </thin\n</think>\n\nb\n é", "b\n é"),
            ("<think>a <think> b</think>c</think>", "c</think>"),
            ("<think>never closed</thin", ""),
            ("<thinking>b", "<thinking>b"),
            (
                "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b é < c<|return|>",
                "b é < c",
            ),
            ("<|channel|>analysis<|message|>a", ""),
            ("<|chan b", "<|chan b"),
            ("see <think>a</think>", "see <think>a</think>"),
            (" \n plain ", " \n plain "),
            ("  ", ""),
        ];
        for (text, wanted) in cases {
            for size in 1..=text.chars().count() {
                let (mut grown, mut all) = (String::new(), String::new());
                let mut heard = Heard::default();
                for letters in text.chars().collect::<Vec<_>>().chunks(size) {
                    grown.extend(letters);
                    all.push_str(heard.news(&grown));
                }
                assert_eq!(all, wanted, "{text:?} in pieces of {size}");
            }
        }
    }
}
