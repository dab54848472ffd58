//! The narration of a run, laid out: as coloured rows for a terminal, or as one line of words.

use super::narration::{EndedCall, Passage, Remark, paint_of};
use crate::flow;
use crate::style::{Look, Paint, Styled, Symbol, columns, prose_columns, wrapped};
use bonded_host::shapes::text::duration;

/// Stands before what a person says.
pub(crate) const PROMPT: &str = "> ";

/// A narrower terminal has no column at the right.
const RIGHT_COLUMN_MIN: usize = 60;
/// Wide enough for what most calls take.
const TOOK_COLUMNS: usize = 9;

/// The rows of something that happened so often in a row.
pub(crate) fn rows(passage: &Passage, count: u32, terminal: usize, look: &Look) -> Vec<Styled> {
    match passage {
        Passage::Prose(text) => {
            let rows = flow::rows(text, prose_columns(terminal));
            rows.iter().map(|row| Styled::new().text(row)).collect()
        }
        Passage::Asked(text) => asked_rows(text, terminal),
        Passage::Call(call) => call_rows(call, count, terminal, look),
        Passage::Remark(remark) => vec![remark_row(remark, count, terminal, look)],
    }
}

/// What a person said, as it stood behind a prompt.
pub(crate) fn asked_rows(text: &str, terminal: usize) -> Vec<Styled> {
    let room = prose_columns(terminal).saturating_sub(PROMPT.len());
    let rows = text.lines().flat_map(|line| wrapped(line, room));
    let prompts = std::iter::once(PROMPT).chain(std::iter::repeat("  "));
    let rows = prompts.zip(rows);
    rows.map(|(prompt, row)| Styled::new().dim(prompt).with(Paint::Bold, &row))
        .collect()
}

/// Symbol and call at the left, what came of it and how long it took at the right, below it the output of what
/// failed.
fn call_rows(call: &EndedCall, count: u32, terminal: usize, look: &Look) -> Vec<Styled> {
    let symbol = match call.result.is_good {
        true => Symbol::Good,
        false => Symbol::Bad,
    };
    let how = &call.result.how;
    let took = call.took_ms.map(duration).unwrap_or_default();
    let mut what = Styled::new()
        .with(paint_of(symbol), look.symbol(symbol))
        .text(" ")
        .text(&call.what);
    if count > 1 {
        what = what.dim(&format!(" {}{count}", look.symbol(Symbol::Times)));
    }
    let width = prose_columns(terminal).saturating_sub(1);
    let first = if terminal >= RIGHT_COLUMN_MIN {
        let right = format!("{how}{took:>TOOK_COLUMNS$}");
        let room = width.saturating_sub(columns(&right) + 2);
        let what = what.cut(room, look);
        let gap = width.saturating_sub(what.columns() + columns(&right));
        what.gap(gap).dim(right.trim_end())
    } else {
        match call.result.is_good {
            true => what.cut(width, look),
            false => {
                let tail = format!(": {how}");
                let room = width.saturating_sub(columns(&tail));
                what.cut(room, look).text(&tail)
            }
        }
    };
    let below = call.result.output.iter();
    let below = below.map(|line| Styled::new().dim("    ").dim(line).cut(width, look));
    std::iter::once(first).chain(below).collect()
}

fn remark_row(remark: &Remark, count: u32, terminal: usize, look: &Look) -> Styled {
    let mut row = Styled::new()
        .with(remark.paint(), look.symbol(remark.symbol))
        .text(" ");
    row = match remark.symbol == Symbol::Dot {
        true => row.dim(&remark.text),
        false => row.text(&remark.text),
    };
    if count > 1 {
        row = row.dim(&format!(" {}{count}", look.symbol(Symbol::Times)));
    }
    row.cut(prose_columns(terminal).saturating_sub(1), look)
}

/// The same in words, for a reader that has no terminal or wants no symbols; `None` for prose, which is the model's.
pub(crate) fn words(passage: &Passage) -> Option<String> {
    match passage {
        Passage::Prose(_) | Passage::Asked(_) => None,
        Passage::Call(call) => {
            let (what, how) = (&call.what, &call.result.how);
            let last = call.result.output.last();
            let why = last.map(|line| format!(": {}", line.trim()));
            let took = call.took_ms.map(|took| format!(", {}", duration(took)));
            let (took, why) = (took.unwrap_or_default(), why.unwrap_or_default());
            Some(format!("{what}: {how}{took}{why}"))
        }
        Passage::Remark(remark) if remark.symbol == Symbol::Warning => {
            Some(format!("warning: {}", remark.text))
        }
        Passage::Remark(remark) => Some(remark.text.clone()),
    }
}

/// Fields beside one another with dots between them, as many as fit in each row; on a narrow terminal one in a row.
pub(crate) fn fields(
    first: Styled,
    fields: &[(Paint, String)],
    terminal: usize,
    look: &Look,
) -> Vec<Styled> {
    const ONE_IN_A_ROW: usize = 40;
    let width = prose_columns(terminal);
    let separator = look.separator();
    let mut rows = vec![first];
    for (paint, field) in fields {
        let row = rows.last_mut().expect("there is a first row");
        let needed = row.columns() + columns(&separator) + columns(field);
        let is_first = row.columns() == 0;
        if !is_first && (terminal < ONE_IN_A_ROW || needed > width) {
            rows.push(Styled::new().text("  ").with(*paint, field));
        } else {
            let begun = std::mem::take(row);
            *row = match is_first {
                true => begun,
                false => begun.dim(&separator),
            }
            .with(*paint, field);
        }
    }
    rows
}

/// What an amount of money is, with as many digits as say something.
pub(crate) fn dollars(money: bonded_kernel::Money) -> String {
    let dollars = money.dollars();
    if dollars > 0.0 && dollars < 0.0001 {
        return "<$0.0001".into();
    }
    if dollars >= 1.0 {
        return format!("${dollars:.2}");
    }
    let mut text = format!("${dollars:.4}");
    while text.ends_with('0') && text.len() > "$0.00".len() {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use bonded_kernel::Money;

    #[test]
    fn money_has_as_many_digits_as_say_something() {
        let micro = 1_000_000;
        for (amount, wanted) in [
            (0, "$0.00"),
            (10 * micro, "<$0.0001"),
            (6_000 * micro, "$0.006"),
            (10_000 * micro, "$0.01"),
            (120_000 * micro, "$0.12"),
            (2_000_000 * micro, "$2.00"),
            (12_345_600 * micro, "$12.35"),
        ] {
            assert_eq!(dollars(Money(amount)), wanted);
        }
    }
}
