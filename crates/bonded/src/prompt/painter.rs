//! What stands on the terminal of a message that is being written: drawn, and drawn again in one write.

use crate::output;
use crate::stderr_writer::{TOGETHER, erased_above};
use crate::style::{Look, Stream, Styled};

use super::message::MessageDraft;
use super::rows;

/// Draws a message at the end of what stands on the terminal.
#[derive(Debug)]
pub(super) struct Painter {
    look: Look,
    /// The columns of the rows that stand there now, up to that of the cursor, which counts as far as the cursor.
    above: Vec<usize>,
    /// Of the terminal when it was drawn on.
    size: (usize, usize),
}

impl Painter {
    pub(super) fn new(look: Look) -> Self {
        Self {
            look,
            above: vec![],
            size: Stream::Err.size(),
        }
    }

    /// Whether the terminal has another size than it had.
    pub(super) fn is_resized(&self) -> bool {
        self.size != Stream::Err.size()
    }

    /// Draws the message, with what is said of it below.
    pub(super) fn paint(&mut self, message: &MessageDraft, below: Option<&Styled>) {
        self.size = Stream::Err.size();
        let (width, _) = self.size;
        let drawn = rows::rows(message, self.size);
        let below = below.map(|it| it.clone().cut(width.saturating_sub(1), &self.look));
        let all: Vec<&Styled> = drawn.rows.iter().chain(below.as_ref()).collect();
        let (row, column) = drawn.cursor;
        let mut out = TOGETHER.0.to_owned();
        out.push_str(&erased_above(&self.above, width));
        let texts: Vec<String> = all.iter().map(|it| it.render(&self.look)).collect();
        out.push_str(&texts.join("\n"));
        let down = all.len().saturating_sub(row + 1);
        if down > 0 {
            out.push_str(&format!("\x1b[{down}A"));
        }
        out.push_str(&format!("\r\x1b[{column}C"));
        out.push_str(TOGETHER.1);
        output::draw(&out);
        self.above = drawn.rows[..row].iter().map(Styled::columns).collect();
        self.above.push(column);
    }

    /// Takes the message away, and leaves these rows in its place.
    pub(super) fn leave(&mut self, rows: &[Styled]) {
        let (width, _) = Stream::Err.size();
        let mut out = erased_above(&std::mem::take(&mut self.above), width);
        for row in rows {
            out.push_str(&row.render(&self.look));
            out.push('\n');
        }
        output::draw(&out);
    }
}
