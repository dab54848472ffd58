//! Columns as wide as their widest cell.
//!
//! Widths are counted in characters, which is enough for ids, words and figures; the last column may hold wide
//! letters, and nothing stands after it.

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
