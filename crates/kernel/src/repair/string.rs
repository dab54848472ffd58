//! Strings that are almost JSON strings.

use super::rewrite::Rewriter;
use crate::event::RepairStep;

impl Rewriter<'_> {
    /// Reads a quoted text up to its closing quote, which is told from a quote inside it by what follows.
    /// `None` where both readings are possible: a wrong guess would change what a tool is given.
    pub(super) fn string(&mut self, quote: char, is_key: bool) -> Option<()> {
        if quote != '"' {
            self.steps.insert(RepairStep::Quotes);
        }
        self.json.push('"');
        self.advance(quote.len_utf8());
        let mut before = None;
        while let Some(c) = self.rest.chars().next() {
            if c == '\\' {
                self.escape();
                before = Some(c);
                continue;
            }
            self.advance(c.len_utf8());
            if closes(c, quote) && self.ends_here(before, is_key)? {
                self.json.push('"');
                return Some(());
            }
            self.push_character(c);
            if !c.is_whitespace() {
                before = Some(c);
            }
        }
        // The text ended inside the string. Half a key says nothing.
        self.steps.insert(RepairStep::ClosedText);
        self.json.push('"');
        (!is_key).then_some(())
    }

    /// Whether the quote just read is the closing one.
    fn ends_here(&self, before: Option<char>, is_key: bool) -> Option<bool> {
        let after = self.rest.trim_start();
        let next = after.chars().next();
        if is_key {
            return (next == Some(':')).then_some(true);
        }
        match next {
            None | Some(',' | '}' | ']' | '"' | '\'' | '“' | '”') => Some(true),
            Some('/') if after.starts_with("//") || after.starts_with("/*") => Some(true),
            // This looks like the quotes of a key: a quote was lost before it.
            Some(':') => None,
            _ if matches!(before, Some(',' | ':' | '{' | '[')) => None,
            _ => Some(false),
        }
    }

    fn push_character(&mut self, c: char) {
        match c {
            '"' => {
                self.steps.insert(RepairStep::EscapedQuote);
                self.json.push_str("\\\"");
            }
            '\n' => self.push_control("\\n"),
            '\r' => self.push_control("\\r"),
            '\t' => self.push_control("\\t"),
            c if c < ' ' => self.push_control(&format!("\\u{:04x}", u32::from(c))),
            c => self.json.push(c),
        }
    }

    fn push_control(&mut self, escaped: &str) {
        self.steps.insert(RepairStep::ControlCharacter);
        self.json.push_str(escaped);
    }

    /// Reads a backslash and what belongs to it. A backslash that begins no escape stands for itself, so
    /// that a path such as `C:\Users` keeps its parts.
    fn escape(&mut self) {
        let mut after = self.rest.chars().skip(1);
        match after.next() {
            Some('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't') => self.copy(2),
            Some('u') if self.has_hex_digits(4) => self.copy(6),
            Some('x') if self.has_hex_digits(2) => {
                self.steps.insert(RepairStep::HexEscape);
                self.json.push_str("\\u00");
                self.advance(2);
                self.copy(2);
            }
            Some('\'') => {
                self.steps.insert(RepairStep::Quotes);
                self.json.push('\'');
                self.advance(2);
            }
            Some(_) => {
                self.steps.insert(RepairStep::Backslash);
                self.json.push_str("\\\\");
                self.advance(1);
            }
            // Half an escape at the end of the text.
            None => self.advance(1),
        }
    }

    fn has_hex_digits(&self, count: usize) -> bool {
        let digits = self.rest.bytes().skip(2).take(count);
        digits.filter(u8::is_ascii_hexdigit).count() == count
    }

    fn copy(&mut self, bytes: usize) {
        self.json
            .push_str(self.rest.get(..bytes).unwrap_or_default());
        self.advance(bytes);
    }
}

fn closes(c: char, quote: char) -> bool {
    match quote {
        '“' | '”' => matches!(c, '“' | '”'),
        plain => c == plain,
    }
}
