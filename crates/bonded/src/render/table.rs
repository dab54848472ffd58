//! Columns as wide as their widest cell.
//!
//! In plain tables widths are counted in characters, which is enough for ids, words and figures; the last column may
//! hold wide letters, and nothing stands after it. A table for a terminal fits its width: the last column is cut.

use crate::style::{Look, Paint, Styled, columns};

/// To which side the cells of a column are pushed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A table with a line of titles. The last column may hold anything, so it is not padded.
pub(crate) fn table<const COLUMNS: usize>(
    titles: [(&str, Side); COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let mut lines = vec![titles.map(|(title, _)| title.to_owned())];
    lines.extend(rows);
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or(0)
    });
    let render = |line: &[String; COLUMNS]| {
        let cell = |column: usize| {
            let (text, width) = (&line[column], widths[column]);
            match titles[column].1 {
                _ if column + 1 == COLUMNS => text.clone(),
                Side::Left => format!("{text:width$}"),
                Side::Right => format!("{text:>width$}"),
            }
        };
        let cells: [String; COLUMNS] = std::array::from_fn(cell);
        cells.join("  ").trim_end().to_owned()
    };
    let rendered: Vec<String> = lines.iter().map(render).collect();
    rendered.join("\n")
}

/// A cell of a table for a terminal.
pub(crate) type Cell = (Paint, String);

/// A table for a terminal of so many columns. Each row has as many cells as there are titles.
pub(crate) fn fitted(
    titles: &[(&str, Side)],
    rows: &[Vec<Cell>],
    room: usize,
    look: &Look,
) -> Vec<Styled> {
    let heads = titles
        .iter()
        .map(|(title, _)| (Paint::Dim, (*title).to_owned()));
    let heads: Vec<Cell> = heads.collect();
    let all: Vec<&Vec<Cell>> = std::iter::once(&heads).chain(rows).collect();
    let width = |column: usize| {
        let cells = all.iter().filter_map(|row| row.get(column));
        cells.map(|(_, text)| columns(text)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..titles.len()).map(width).collect();
    let line = |cells: &&Vec<Cell>| {
        let mut line = Styled::new();
        for (column, (paint, text)) in cells.iter().enumerate() {
            let gap = widths[column].saturating_sub(columns(text));
            let is_last = column + 1 == titles.len();
            line = match titles[column].1 {
                Side::Right => line.gap(gap).with(*paint, text),
                Side::Left if is_last => line.with(*paint, text),
                Side::Left => line.with(*paint, text).gap(gap),
            };
            if !is_last {
                line = line.gap(2);
            }
        }
        line.cut(room, look)
    };
    all.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_under_their_titles_and_no_line_ends_in_spaces() {
        let titles = [
            ("A", Side::Left),
            ("NUMBER", Side::Right),
            ("B", Side::Left),
        ];
        let rows = [["äöü", "7", "x"], ["a", "1234567", ""]];
        let rows = rows.map(|row| row.map(String::from));
        let expected = "A     NUMBER  B\näöü        7  x\na    1234567";
        assert_eq!(table(titles, rows), expected);
    }
}
