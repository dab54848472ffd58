//! A message while it is written: its text, and where the cursor stands.
//!
//! The cursor is always between two letters as people see them, which may be several code points. The text has a bound,
//! and no character in it that would drive a terminal.

use unicode_segmentation::UnicodeSegmentation as _;

use crate::goal::GOAL_BYTES_MAX;

/// A text that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooLong;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MessageDraft {
    text: String,
    /// In bytes, at the beginning of a letter or at the end.
    cursor: usize,
}

impl MessageDraft {
    /// With the cursor at the end.
    pub(super) fn new(text: String) -> Self {
        let cursor = text.len();
        Self { text, cursor }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What stands before the cursor, and after it.
    pub(super) fn parts(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts a text in at the cursor: all of it, or nothing.
    pub(super) fn insert(&mut self, text: &str) -> Result<(), TooLong> {
        let is_shown = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
        let shown: String = text.chars().filter(is_shown).collect();
        if (self.text.len() + shown.len()) as u64 > GOAL_BYTES_MAX {
            return Err(TooLong);
        }
        self.text.insert_str(self.cursor, &shown);
        self.cursor += shown.len();
        Ok(())
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// One letter to the left; says whether there was one.
    pub(super) fn left(&mut self) -> bool {
        let letter = self.parts().0.graphemes(true).next_back();
        let length = letter.map_or(0, str::len);
        self.cursor -= length;
        length > 0
    }

    pub(super) fn right(&mut self) -> bool {
        let letter = self.parts().1.graphemes(true).next();
        let length = letter.map_or(0, str::len);
        self.cursor += length;
        length > 0
    }

    /// To the beginning of the word before the cursor.
    pub(super) fn word_left(&mut self) {
        let before = self.parts().0.trim_end();
        self.cursor = before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + width_at(before, at));
    }

    /// To the end of the word after the cursor.
    pub(super) fn word_right(&mut self) {
        let after = self.parts().1;
        let blank = after.len() - after.trim_start().len();
        let word = after[blank..]
            .find(char::is_whitespace)
            .map_or(after.len(), |at| blank + at);
        self.cursor += word;
    }

    pub(super) fn line_start(&mut self) {
        self.cursor = self.line().0;
    }

    pub(super) fn line_end(&mut self) {
        self.cursor = self.line().1;
    }

    /// To the line above, as far from its beginning; says whether there is one.
    pub(super) fn up(&mut self) -> bool {
        let (start, _) = self.line();
        if start == 0 {
            return false;
        }
        let letters = self.text[start..self.cursor].graphemes(true).count();
        self.cursor = start - 1;
        self.go_into_line(letters);
        true
    }

    pub(super) fn down(&mut self) -> bool {
        let (start, end) = self.line();
        if end == self.text.len() {
            return false;
        }
        let letters = self.text[start..self.cursor].graphemes(true).count();
        self.cursor = end + 1;
        self.go_into_line(letters);
        true
    }

    pub(super) fn erase_back(&mut self) {
        let end = self.cursor;
        self.left();
        self.text.drain(self.cursor..end);
    }

    pub(super) fn erase_forward(&mut self) {
        let start = self.cursor;
        self.right();
        self.text.drain(start..self.cursor);
        self.cursor = start;
    }

    pub(super) fn erase_word(&mut self) {
        let end = self.cursor;
        self.word_left();
        self.text.drain(self.cursor..end);
    }

    pub(super) fn erase_to_line_start(&mut self) {
        let end = self.cursor;
        self.line_start();
        self.text.drain(self.cursor..end);
    }

    pub(super) fn erase_to_line_end(&mut self) {
        let (_, end) = self.line();
        self.text.drain(self.cursor..end);
    }

    /// Where the line of the cursor begins and ends.
    fn line(&self) -> (usize, usize) {
        let (before, after) = self.parts();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after
            .find('\n')
            .map_or(self.text.len(), |at| self.cursor + at);
        (start, end)
    }

    /// So many letters into the line in which the cursor stands, or to its end.
    fn go_into_line(&mut self, letters: usize) {
        let (start, end) = self.line();
        let mut places = self.text[start..end].grapheme_indices(true);
        self.cursor = places.nth(letters).map_or(end, |(at, _)| start + at);
    }
}

fn width_at(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(0, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Deed = fn(&mut MessageDraft);

    /// A message whose cursor is a bar.
    fn at_bar(drawn: &str) -> MessageDraft {
        let cursor = drawn.find('|').expect("it has a bar");
        MessageDraft {
            text: drawn.replacen('|', "", 1),
            cursor,
        }
    }

    fn drawn(message: &MessageDraft) -> String {
        let (before, after) = message.parts();
        format!("{before}|{after}")
    }

    #[test]
    fn each_key_does_what_its_name_says() {
        let rows: [(&str, Deed, &str); 18] = [
            ("ab|c", |it| _ = it.left(), "a|bc"),
            ("|a", |it| _ = it.left(), "|a"),
            ("a|👨‍👩‍👧b", |it| _ = it.right(), "a👨‍👩‍👧|b"),
            ("a👨‍👩‍👧|b", MessageDraft::erase_back, "a|b"),
            ("e\u{301}|", MessageDraft::erase_back, "|"),
            ("a|bc", MessageDraft::erase_forward, "a|c"),
            ("a|", MessageDraft::erase_forward, "a|"),
            ("one two  |", MessageDraft::word_left, "one |two  "),
            ("|one two", MessageDraft::word_right, "one| two"),
            ("one| two", MessageDraft::word_right, "one two|"),
            ("one tw|o", MessageDraft::erase_word, "one |o"),
            ("a\nbc|d\ne", MessageDraft::line_start, "a\n|bcd\ne"),
            ("a\nb|cd\ne", MessageDraft::line_end, "a\nbcd|\ne"),
            ("a\nbc|d", MessageDraft::erase_to_line_start, "a\n|d"),
            ("a\nb|cd\ne", MessageDraft::erase_to_line_end, "a\nb|\ne"),
            ("abc\nd|e", |it| _ = it.up(), "a|bc\nde"),
            ("abc|\nd", |it| _ = it.down(), "abc\nd|"),
            ("a|b\n\ncd", |it| _ = it.down(), "ab\n|\ncd"),
        ];
        for (before, deed, after) in rows {
            let mut message = at_bar(before);
            deed(&mut message);
            assert_eq!(drawn(&message), after, "{before:?}");
        }
    }

    #[test]
    fn the_first_line_has_none_above_it_and_the_last_none_below() {
        assert!(!at_bar("ab|c").up());
        assert!(!at_bar("a\nb|").down());
    }

    #[test]
    fn nothing_that_drives_a_terminal_gets_in_and_what_is_too_long_stays_out() {
        let mut message = at_bar("a|c");
        assert_eq!(message.insert("\x1b[2Jb\n\t\u{9b}"), Ok(()));
        assert_eq!(drawn(&message), "a[2Jb\n\t|c");
        let room = usize::try_from(GOAL_BYTES_MAX).expect("it fits") - message.text().len();
        assert_eq!(message.insert(&"x".repeat(room + 1)), Err(TooLong));
        assert_eq!(drawn(&message), "a[2Jb\n\t|c");
        assert_eq!(message.insert(&"x".repeat(room)), Ok(()));
    }
}
