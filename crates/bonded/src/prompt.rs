//! The prompt of a conversation: a message is written in place, with the keys that shells have.
//!
//! It knows keys and texts, and nothing of what they are for. Whatever ends it, the terminal is as it was. What is typed
//! before it stands there is not lost: it is the beginning of the next message.
//!
//! Where nothing may be redrawn, the terminal itself takes the line.

mod decoder;
mod message;
mod painter;
mod rows;

use std::io;
use std::time::Duration;

use bonded_host::CancellationToken;
use bonded_host::shapes::text::grouped;

use crate::goal::GOAL_BYTES_MAX;
use crate::output;
use crate::raw_mode::{self, KeyInput};
use crate::render::layout::{self, PROMPT};
use crate::style::{Look, Stream, Styled, Symbol};
use decoder::{EditKey, KeyDecoder, KeyPress};
use message::{MessageDraft, TooLong};
use painter::Painter;

/// How long a stop, another size or the rest of a key may stay unnoticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Of a message that was sent, so many rows stay on the terminal.
const KEPT_ROWS_MAX: usize = 20;

/// What came of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// A message that is not blank.
    Message(String),
    /// The person is done: Ctrl-D, or Ctrl-C twice.
    Left,
    /// A signal: the process is about to end.
    Stopped,
    /// The terminal is gone.
    HungUp,
}

/// Asks for one message after another.
#[derive(Debug)]
pub(crate) struct Prompt {
    look: Look,
    /// What was sent before, the last at the end.
    sent: Vec<String>,
    decoder: KeyDecoder,
    /// Keys that were typed after a message was sent, and before the next prompt.
    ahead: Vec<KeyPress>,
}

/// A message that is being written.
struct Typing<'a> {
    message: MessageDraft,
    /// Which of the earlier messages is shown, counted from the last; and what was written before that.
    recalled: usize,
    kept: String,
    sent: &'a [String],
    /// What is said below the message.
    notice: Option<String>,
    /// Whether Ctrl-C was the last key, and there was nothing to clear.
    is_leaving: bool,
}

impl Prompt {
    /// With what was sent before it.
    pub(crate) fn new(sent: Vec<String>) -> Self {
        Self {
            look: Look::of(Stream::Err),
            sent,
            decoder: KeyDecoder::default(),
            ahead: vec![],
        }
    }

    /// Blocks until there is a message or something ends the prompt. The hint stands below it until something is typed.
    pub(crate) fn ask(&mut self, hint: Option<&str>, stop: &CancellationToken) -> Entered {
        let asked = match self.look.redraws() {
            true => self.ask_by_keys(hint, stop),
            false => ask_by_line(stop),
        };
        // A terminal that cannot be asked at is one that is gone.
        let entered = asked.unwrap_or(Entered::HungUp);
        if let Entered::Message(text) = &entered
            && self.sent.last() != Some(text)
        {
            self.sent.push(text.clone());
        }
        entered
    }

    fn ask_by_keys(&mut self, hint: Option<&str>, stop: &CancellationToken) -> io::Result<Entered> {
        let _taken = raw_mode::edit()?;
        let mut painter = Painter::new(self.look);
        let mut typing = Typing {
            message: MessageDraft::default(),
            recalled: 0,
            kept: String::new(),
            sent: &self.sent,
            notice: hint.map(str::to_owned),
            is_leaving: false,
        };
        let mut keys = std::mem::take(&mut self.ahead).into_iter();
        loop {
            while let Some(key) = keys.next() {
                if let Some(entered) = typing.take(key) {
                    self.ahead = keys.collect();
                    painter.leave(&rows_left(&entered, &self.look));
                    return Ok(entered);
                }
            }
            typing.paint(&mut painter);
            keys = loop {
                let typed = match raw_mode::key_input(LOOK_EVERY)? {
                    KeyInput::Bytes(bytes) => self.decoder.feed(&bytes),
                    KeyInput::Nothing if stop.is_cancelled() => {
                        painter.leave(&[]);
                        return Ok(Entered::Stopped);
                    }
                    KeyInput::Nothing => self.decoder.idle(LOOK_EVERY),
                    KeyInput::Gone => return Ok(Entered::HungUp),
                };
                if !typed.is_empty() || painter.is_resized() {
                    break typed.into_iter();
                }
            };
        }
    }
}

/// What stays on the terminal of a message that was sent.
fn rows_left(entered: &Entered, look: &Look) -> Vec<Styled> {
    let Entered::Message(text) = entered else {
        return vec![];
    };
    let (columns, _) = Stream::Err.size();
    let lines: Vec<&str> = text.lines().take(KEPT_ROWS_MAX + 1).collect();
    let mut rows = layout::asked_rows(&lines.join("\n"), columns);
    let more = text.lines().count().saturating_sub(KEPT_ROWS_MAX);
    if rows.len() > KEPT_ROWS_MAX {
        rows.truncate(KEPT_ROWS_MAX);
        let mark = look.symbol(Symbol::Ellipsis);
        let lines = match more {
            0 => "more".to_owned(),
            more => format!("{} more lines", grouped(more as u64)),
        };
        rows.push(Styled::new().dim(&format!("  {mark} {lines}")));
    }
    rows
}

impl Typing<'_> {
    fn paint(&self, painter: &mut Painter) {
        let notice = self
            .notice
            .as_ref()
            .map(|it| Styled::new().text("  ").dim(it));
        painter.paint(&self.message, notice.as_ref());
    }

    /// What a key does; something where it ends the prompt.
    fn take(&mut self, key: KeyPress) -> Option<Entered> {
        self.notice = None;
        let was_leaving = std::mem::take(&mut self.is_leaving);
        match key {
            KeyPress::Letters(text) | KeyPress::Pasted(text) => self.insert(&text),
            KeyPress::NewLine => self.insert("\n"),
            KeyPress::Enter => return self.send(),
            KeyPress::PastedTooMuch(bytes) => self.refuse(bytes),
            KeyPress::NotUtf8 => self.notice = Some("ignored bytes that are not UTF-8".into()),
            KeyPress::Interrupt if was_leaving => return Some(Entered::Left),
            KeyPress::Interrupt => self.clear_or_leave(),
            KeyPress::EndOfInput if self.message.is_empty() => return Some(Entered::Left),
            KeyPress::EndOfInput => self.message.erase_forward(),
            KeyPress::Up => {
                if !self.message.up() {
                    self.recall(self.recalled + 1);
                }
            }
            KeyPress::Down => {
                if !self.message.down() && self.recalled > 0 {
                    self.recall(self.recalled - 1);
                }
            }
            KeyPress::Edit(key) => self.edit(key),
            KeyPress::Unknown => {}
        }
        None
    }

    fn edit(&mut self, key: EditKey) {
        let message = &mut self.message;
        match key {
            EditKey::EraseBack => message.erase_back(),
            EditKey::EraseForward => message.erase_forward(),
            EditKey::EraseWord => message.erase_word(),
            EditKey::EraseToStart => message.erase_to_line_start(),
            EditKey::EraseToEnd => message.erase_to_line_end(),
            EditKey::Left => _ = message.left(),
            EditKey::Right => _ = message.right(),
            EditKey::WordLeft => message.word_left(),
            EditKey::WordRight => message.word_right(),
            EditKey::LineStart => message.line_start(),
            EditKey::LineEnd => message.line_end(),
        }
    }

    fn insert(&mut self, text: &str) {
        if self.message.insert(text) == Err(TooLong) {
            let bytes = self.message.text().len() + text.len();
            self.refuse(bytes as u64);
        }
    }

    fn refuse(&mut self, bytes: u64) {
        let (bytes, most) = (grouped(bytes), grouped(GOAL_BYTES_MAX));
        self.notice = Some(format!(
            "not inserted: {bytes} bytes, and a message has at most {most}; save it as a file here and name the file"
        ));
    }

    /// A backslash at the end is a line break, as in shells.
    fn send(&mut self) -> Option<Entered> {
        if self.message.text().trim().is_empty() {
            self.message.clear();
            return None;
        }
        let (before, after) = self.message.parts();
        if before.ends_with('\\') && after.is_empty() {
            self.message.erase_back();
            self.insert("\n");
            return None;
        }
        let text = self.message.text().trim_end();
        Some(Entered::Message(text.to_owned()))
    }

    fn clear_or_leave(&mut self) {
        if self.message.is_empty() {
            self.is_leaving = true;
            self.notice = Some("Ctrl-C again or Ctrl-D quits".into());
        }
        self.message.clear();
        self.recalled = 0;
    }

    /// Shows an earlier message, or with 0 what was written before one was shown.
    fn recall(&mut self, nth: usize) {
        let Some(place) = self.sent.len().checked_sub(nth) else {
            return;
        };
        if self.recalled == 0 {
            self.kept = self.message.text().to_owned();
        }
        let earlier = self.sent.get(place).unwrap_or(&self.kept);
        self.message = MessageDraft::new(earlier.clone());
        self.recalled = nth;
    }
}

/// The terminal takes the line, as it does for any program.
fn ask_by_line(stop: &CancellationToken) -> io::Result<Entered> {
    let mut line: Vec<u8> = vec![];
    output::draw(PROMPT);
    loop {
        match raw_mode::key_input(LOOK_EVERY)? {
            KeyInput::Bytes(bytes) => line.extend(bytes),
            KeyInput::Nothing if stop.is_cancelled() => return Ok(Entered::Stopped),
            KeyInput::Nothing => continue,
            // Ctrl-D looks like the end of a file.
            KeyInput::Gone => return Ok(Entered::Left),
        }
        if !line.ends_with(b"\n") {
            continue;
        }
        let taken = std::mem::take(&mut line);
        match String::from_utf8(taken) {
            Ok(text) if !text.trim().is_empty() => {
                return Ok(Entered::Message(text.trim_end().to_owned()));
            }
            Ok(_) => {}
            Err(_) => output::draw("ignored: the line is not UTF-8\n"),
        }
        output::draw(PROMPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(sent: &[String], keys: Vec<KeyPress>) -> (String, Option<Entered>, Option<String>) {
        let mut writing = Typing {
            message: MessageDraft::default(),
            recalled: 0,
            kept: String::new(),
            sent,
            notice: Some("a hint".into()),
            is_leaving: false,
        };
        let entered = keys.into_iter().find_map(|key| writing.take(key));
        (writing.message.text().to_owned(), entered, writing.notice)
    }

    fn letters(text: &str) -> KeyPress {
        KeyPress::Letters(text.into())
    }

    fn sent(text: &str) -> Option<Entered> {
        Some(Entered::Message(text.into()))
    }

    #[test]
    fn enter_sends_and_a_line_break_does_not() {
        let keys = vec![
            letters("one"),
            KeyPress::NewLine,
            letters("two\\"),
            KeyPress::Enter,
            KeyPress::Pasted("a\nb".into()),
            KeyPress::Enter,
        ];
        assert_eq!(typed(&[], keys).1, sent("one\ntwo\na\nb"));
        let blank = vec![letters("  "), KeyPress::Enter, KeyPress::Enter];
        assert_eq!(typed(&[], blank), (String::new(), None, None));
    }

    #[test]
    fn ctrl_c_clears_what_is_written_and_twice_leaves() {
        let stop = || KeyPress::Interrupt;
        let (text, entered, notice) = typed(&[], vec![letters("text"), stop()]);
        assert_eq!((text.as_str(), entered, notice), ("", None, None));
        let (_, entered, notice) = typed(&[], vec![stop()]);
        assert!(entered.is_none() && notice.is_some());
        assert_eq!(typed(&[], vec![stop(), stop()]).1, Some(Entered::Left));
        let between = vec![stop(), letters("a"), stop()];
        assert_eq!(typed(&[], between).1, None);
        assert_eq!(
            typed(&[], vec![KeyPress::EndOfInput]).1,
            Some(Entered::Left)
        );
        let after_text = vec![letters("a"), KeyPress::EndOfInput];
        assert_eq!(typed(&[], after_text).1, None);
    }

    #[test]
    fn earlier_messages_come_back_and_what_was_written_is_kept() {
        let earlier = ["one".to_owned(), "two".to_owned()];
        let (up, down) = (|| KeyPress::Up, || KeyPress::Down);
        for (keys, wanted) in [
            (vec![up()], "two"),
            (vec![up(), up()], "one"),
            (vec![up(), up(), up()], "one"),
            (vec![letters("new"), up(), down()], "new"),
            (vec![letters("new"), down()], "new"),
            (vec![up(), up(), down()], "two"),
        ] {
            assert_eq!(typed(&earlier, keys).0, wanted);
        }
    }

    #[test]
    fn what_is_too_long_is_refused_in_words_and_nothing_of_it_is_kept() {
        let (text, _, notice) = typed(&[], vec![letters("a"), KeyPress::PastedTooMuch(5_242_880)]);
        let notice = notice.unwrap_or_default();
        assert_eq!(text, "a");
        assert!(notice.contains("5,242,880 bytes"), "{notice}");
        assert!(notice.contains("at most 1,048,576"), "{notice}");
    }
}
