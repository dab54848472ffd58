//! `cargo xtask picture`: the picture of a run in the README, as an SVG that fits a light page and a dark one.
//!
//! A test plays the demo at a terminal and holds what it draws against a file: rows of text with the letters of a
//! colour, in brackets, wherever it changes. The picture is made from that file, so that the test fails when the
//! program draws something else, and `check-docs` when the picture does not show it.

use std::fs;
use std::path::Path;

use crate::fault::Fault;
use crate::{root, stage};

/// What the program draws, and the picture of it.
const DRAWN: &str = "crates/bonded/tests/terminal/screens/picture.txt";
const PICTURE: &str = "docs/run.svg";
/// The test that plays the demo.
const TEST: &str = "demo::the_picture_in_the_readme_is_what_the_program_draws";

/// In pixels, for letters of 14 pixels.
const LETTER_WIDTH: f64 = 8.4;
const ROW_HEIGHT: usize = 20;
const MARGIN: usize = 16;
const COLUMNS: usize = 80;

/// Where a colour begins and ends in a row, and where its letters do.
const MARKS: (char, char) = ('⟦', '⟧');

/// Without variables, which not every program that draws an SVG knows.
const STYLE: &str = "\
rect { fill: #ffffff; stroke: #d1d9e0; }
text { fill: #1f2328; font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.r { fill: #cf222e; } .g { fill: #1a7f37; } .y { fill: #9a6700; } .c { fill: #1b7c83; } .d { fill: #656d76; }
.b { font-weight: bold; }
@media (prefers-color-scheme: dark) {
rect { fill: #0d1117; stroke: #30363d; }
text { fill: #e6edf3; }
.r { fill: #f85149; } .g { fill: #3fb950; } .y { fill: #d29922; } .c { fill: #39c5cf; } .d { fill: #8b949e; }
}";

/// Plays the demo anew and writes the picture.
pub(crate) fn write() -> Result<(), Fault> {
    let words = ["test", "--workspace", "--test", "terminal", "--"];
    let mut test = stage::cargo(words);
    test.args(["--exact", TEST]).env("BLESS", "1");
    stage::run(test)?;
    let path = root().join(PICTURE);
    fs::write(&path, drawn(&read(&root().join(DRAWN))?)).map_err(Fault::file(&path))
}

/// What is wrong with the picture, if anything.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let is_true = read(&root.join(PICTURE))? == drawn(&read(&root.join(DRAWN))?);
    Ok(match is_true {
        true => vec![],
        false => vec![format!(
            "{PICTURE} is not what the program draws; run `cargo xtask picture`"
        )],
    })
}

fn read(path: &Path) -> Result<String, Fault> {
    fs::read_to_string(path).map_err(Fault::file(path))
}

fn drawn(screen: &str) -> String {
    let rows: Vec<&str> = screen.lines().collect();
    let width = (COLUMNS as f64 * LETTER_WIDTH) as usize + 2 * MARGIN;
    let height = rows.len() * ROW_HEIGHT + 2 * MARGIN;
    let (inner_width, inner_height) = (width - 1, height - 1);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\">\n<title>A run of bonded that is killed and resumed</title>\n<style>\n{STYLE}\n</style>\n\
         <rect x=\"0.5\" y=\"0.5\" width=\"{inner_width}\" height=\"{inner_height}\" rx=\"8\"/>\n"
    );
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
        // The line on which letters stand is above the end of their row.
        let y = MARGIN + (at + 1) * ROW_HEIGHT - 5;
        svg.push_str(&format!("<text y=\"{y}\">"));
        for part in parts(row) {
            let x = MARGIN as f64 + part.column as f64 * LETTER_WIDTH;
            let class = match part.paint.is_empty() {
                true => String::new(),
                false => format!(" class=\"{}\"", spaced(part.paint)),
            };
            let text = escaped(part.text);
            svg.push_str(&format!("<tspan x=\"{x:.1}\"{class}>{text}</tspan>"));
        }
        svg.push_str("</text>\n");
    }
    svg + "</svg>\n"
}

/// Letters of one colour without a gap between them: each begins in its own column, whatever font there is.
#[derive(Debug, PartialEq, Eq)]
struct Part<'a> {
    column: usize,
    paint: &'a str,
    text: &'a str,
}

fn parts(row: &str) -> Vec<Part<'_>> {
    const GAP: &str = "  ";
    let (mut parts, mut column, mut paint) = (vec![], 0, "");
    for (nth, of_colour) in row.split(MARKS.0).enumerate() {
        let text = match of_colour.split_once(MARKS.1) {
            Some((letters, text)) if nth > 0 => {
                paint = letters;
                text
            }
            _ => of_colour,
        };
        for piece in text.split_inclusive(GAP) {
            let shown = piece.trim();
            let before = piece.chars().take_while(|letter| *letter == ' ').count();
            if !shown.is_empty() {
                parts.push(Part {
                    column: column + before,
                    paint,
                    text: shown,
                });
            }
            column += piece.chars().count();
        }
    }
    parts
}

/// Each letter is a class of its own.
fn spaced(paint: &str) -> String {
    let letters: Vec<String> = paint.chars().map(String::from).collect();
    letters.join(" ")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_parts_of_one_colour_each_in_its_column() {
        let part = |column, paint, text| Part {
            column,
            paint,
            text,
        };
        let row = "⟦g⟧✓⟦⟧ list .     ⟦d⟧2 files   1 ms";
        let wanted = [
            part(0, "g", "✓"),
            part(2, "", "list ."),
            part(13, "d", "2 files"),
            part(23, "d", "1 ms"),
        ];
        assert_eq!(parts(row), wanted);
        assert_eq!(escaped("a && b < c"), "a &amp;&amp; b &lt; c");
    }
}
