//! A live row: a symbol, what is under way, and what is shown of it, as far as it fits.

use std::time::Duration;

use crate::masking;
use crate::style::{Look, Paint, Styled, columns};

/// So much of a row stays free for what the terminal itself writes there, such as `^C`.
const FREE_COLUMNS: usize = 3;

/// Where rows are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Canvas<'a> {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) look: &'a Look,
}

impl Canvas<'_> {
    pub(super) fn room(&self) -> usize {
        self.columns.saturating_sub(FREE_COLUMNS)
    }

    /// The last fields are dropped first. What is under way may be a long command: it is cut, but not to less than three
    /// quarters of the row while there are fields to drop.
    pub(super) fn row(
        &self,
        symbol: Styled,
        paint: Paint,
        what: &str,
        fields: &[String],
    ) -> Styled {
        let room = self.room().saturating_sub(symbol.columns() + 1);
        let what = masking::for_terminal(what);
        let least = columns(&what).min(room * 3 / 4);
        let mut shown = String::new();
        for (nth, field) in fields.iter().enumerate() {
            let more = format!("{}{field}", self.look.separator());
            if nth > 0 && least + columns(&shown) + columns(&more) > room {
                break;
            }
            shown.push_str(&more);
        }
        let left = room.saturating_sub(columns(&shown));
        let what = Styled::new().with(paint, &what).cut(left, self.look);
        let row = symbol.text(" ").and(what).with(paint, &shown);
        row.cut(self.room(), self.look)
    }
}

/// In whole seconds, which change once a second.
pub(crate) fn seconds(elapsed: Duration) -> String {
    let all = elapsed.as_secs();
    match all {
        0..60 => format!("{all} s"),
        60..3_600 if all.is_multiple_of(60) => format!("{} min", all / 60),
        60..3_600 => format!("{} min {} s", all / 60, all % 60),
        _ => format!("{} h {} min", all / 3_600, all / 60 % 60),
    }
}
