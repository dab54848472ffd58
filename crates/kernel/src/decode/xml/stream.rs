//! What may be shown of a reply while it is still being written.

use super::tag::{
    OPENING_BYTES_MAX, TAG, opening_end, partial_len, without_last_newline, without_partial,
};

/// Lets the text of the final report through, and nothing else: neither its tags nor what lies outside.
///
/// Call [`StreamFilter::push`] with each piece, however the text was cut into pieces, and
/// [`StreamFilter::finish`] after the last one.
#[derive(Clone, Debug)]
pub struct StreamFilter {
    opening: String,
    closing: String,
    /// What is held back, because it may be part of a tag.
    held: String,
    place: StreamPosition,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamPosition {
    Outside,
    /// Right after the opening tag, where a line break is not yet text.
    Start,
    Inside,
}

impl StreamFilter {
    /// `nonce` is that of the run: tags with another are text.
    pub fn new(nonce: &str) -> Self {
        let name = format!("{}{nonce}-FINAL", &TAG[1..]);
        Self {
            opening: format!("<{name}"),
            closing: format!("</{name}>"),
            held: String::new(),
            place: StreamPosition::Outside,
        }
    }

    /// Takes the next piece and gives the text that can be shown now.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut shown = String::new();
        while self.advance(&mut shown) {}
        shown
    }

    /// Gives what was held back inside a report that has no closing tag.
    pub fn finish(&mut self) -> String {
        let held = std::mem::take(&mut self.held);
        match self.place {
            StreamPosition::Outside | StreamPosition::Start => String::new(),
            StreamPosition::Inside => {
                without_last_newline(without_partial(&held, &self.closing)).to_owned()
            }
        }
    }

    /// Goes on by one place; false if more text is needed.
    fn advance(&mut self, shown: &mut String) -> bool {
        match self.place {
            StreamPosition::Outside => self.enter(),
            StreamPosition::Start => self.skip_newline(),
            StreamPosition::Inside => self.show(shown),
        }
    }

    fn enter(&mut self) -> bool {
        let Some(at) = self.held.find(&self.opening) else {
            let kept = partial_len(&self.held, &self.opening);
            self.held.drain(..self.held.len() - kept);
            return false;
        };
        self.held.drain(..at);
        let after = &self.held[self.opening.len()..];
        let Some(next) = after.chars().next() else {
            return false;
        };
        let is_tag = next == '>' || next == '/' || next.is_whitespace();
        match opening_end(after).filter(|_| is_tag) {
            Some(end) => {
                self.held.drain(..=self.opening.len() + end);
                self.place = StreamPosition::Start;
                true
            }
            None if is_tag && after.len() < OPENING_BYTES_MAX => false,
            None => {
                self.held.drain(..self.opening.len());
                true
            }
        }
    }

    fn skip_newline(&mut self) -> bool {
        if self.held.is_empty() || self.held == "\r" {
            return false;
        }
        let newline = ["\r\n", "\n"]
            .into_iter()
            .find(|newline| self.held.starts_with(newline));
        self.held.drain(..newline.map_or(0, str::len));
        self.place = StreamPosition::Inside;
        true
    }

    fn show(&mut self, shown: &mut String) -> bool {
        let found = self.held.find(&self.closing);
        let end = found.unwrap_or_else(|| self.held.len() - partial_len(&self.held, &self.closing));
        let text = &self.held[..end];
        let sure = match (text.strip_suffix('\r'), found) {
            // A line feed may follow.
            (Some(sure), None) => sure,
            _ => without_last_newline(text),
        };
        shown.push_str(sure);
        let used = match found {
            Some(_) => end + self.closing.len(),
            None => sure.len(),
        };
        self.held.drain(..used);
        if found.is_some() {
            self.place = StreamPosition::Outside;
        }
        found.is_some()
    }
}
