//! Thoughts that a model writes into its text, because its server does not take them out.

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
        Some((thought, said)) => (thought.trim().into(), said.trim_start().into()),
        None => (String::new(), text),
    }
}

/// A tag that is only spoken of has something after it on its line, or its opening before it.
fn split_unopened(text: &str) -> Option<(&str, &str)> {
    let (thought, said) = text.split_once(CLOSING)?;
    let ends_line = said.is_empty() || said.starts_with(['\n', '\r']);
    (ends_line && !thought.contains(OPENING)).then_some((thought, said))
}

/// What was heard of a text that still grows.
#[derive(Debug, Default)]
pub(super) struct Heard {
    place: Place,
    /// How many bytes need no second look.
    bytes: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
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
    Said,
}

impl Heard {
    /// The part of the text that is new and no thought that has an opening. Put together, these parts are what
    /// [`split_thought`] leaves of a text whose thought has one.
    pub(super) fn news<'a>(&mut self, text: &'a str) -> &'a str {
        while !matches!(self.place, Place::Said | Place::Final) {
            if !self.advance(text) {
                return "";
            }
        }
        if self.place == Place::Final {
            let rest = &text[self.bytes..];
            let heard = &rest[..plain_bytes(rest)];
            self.bytes += heard.len();
            return heard;
        }
        let from = std::mem::replace(&mut self.bytes, text.len());
        &text[from..]
    }

    /// Goes on by one place; false if more text is needed.
    fn advance(&mut self, text: &str) -> bool {
        let rest = &text[self.bytes..];
        let begun = rest.trim_start();
        let blanks = rest.len() - begun.len();
        let (place, skipped) = match self.place {
            Place::Start if OPENING.starts_with(begun) || may_have_channels(begun) => {
                (Place::Start, blanks)
            }
            Place::Start if has_channels(begun) => (Place::Channels, 0),
            Place::Start if begun.starts_with(OPENING) => (Place::Thought, blanks + OPENING.len()),
            Place::Start => {
                // No thought: the blanks are said, too.
                self.bytes = 0;
                (Place::Said, 0)
            }
            Place::Thought => match rest.find(CLOSING) {
                Some(at) => (Place::Between, at + CLOSING.len()),
                // The end of it may be the start of the closing tag.
                None => (
                    Place::Thought,
                    rest.floor_char_boundary(rest.len().saturating_sub(CLOSING.len())),
                ),
            },
            Place::Channels => match seek_final(rest) {
                Ok(at) => (Place::Final, at),
                Err(looked_at) => (Place::Channels, looked_at),
            },
            Place::Between if begun.is_empty() => (Place::Between, blanks),
            Place::Between => (Place::Said, blanks),
            Place::Said | Place::Final => (self.place, 0),
        };
        self.bytes += skipped;
        let goes_on = place != self.place;
        self.place = place;
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
        for (text, thought, said) in cases {
            let split = split_thought(text.into());
            assert_eq!(split, (thought.into(), said.into()), "{text}");
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
