//! The figures that each crate has, as tables with a row for each crate and one for all that are shipped.

use crate::house::figures::{CrateFigures, Figures};
use crate::house::names::WORDS;

/// How a column's figure for several crates follows from theirs.
#[derive(Clone, Copy)]
enum Column {
    Sum(&'static str),
    Max(&'static str),
    /// The column before it, as part of the one at this place.
    Share(&'static str, usize),
}

pub(crate) struct Table {
    pub(crate) title: &'static str,
    columns: Vec<Column>,
    figures: fn(&CrateFigures) -> Vec<usize>,
}

pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: Vec<(&'static str, String)>,
}

use Column::{Max, Share, Sum};

pub(crate) fn all() -> Vec<Table> {
    vec![circles(), code(), lines(), words()]
}

fn circles() -> Table {
    Table {
        title: "circles of top-level modules, and of files",
        columns: vec![
            Sum("circles"),
            Sum("modules"),
            Max("largest"),
            Sum("file circles"),
            Sum("files"),
            Max("largest file circle"),
        ],
        figures: |it| {
            let [modules, files] = [&it.modules, &it.files]
                .map(|circles| [circles.count(), circles.in_them(), circles.largest()]);
            [modules, files].concat()
        },
    }
}

fn code() -> Table {
    Table {
        title: "wildcard arms on enums of ours, long functions and files, public items without docs",
        columns: vec![
            Sum("wildcards"),
            Sum("within"),
            Sum("functions"),
            Sum("over 70"),
            Share("long share", 2),
            Sum("files over 400"),
            Sum("without docs"),
            Sum("members without docs"),
        ],
        figures: |it| {
            vec![
                it.wildcards.direct.len(),
                it.wildcards.within.len(),
                it.functions.all,
                it.functions.long.len(),
                0,
                it.heavy.len(),
                it.undocumented.items.len(),
                it.undocumented.members.len(),
            ]
        },
    }
}

fn lines() -> Table {
    Table {
        title: "lines",
        columns: vec![
            Sum("shipped"),
            Sum("doc comments"),
            Share("doc share", 0),
            Sum("comments"),
            Share("comment share", 0),
            Sum("tests"),
        ],
        figures: |it| {
            let lines = &it.lines;
            let (docs, comments) = (lines.docs, lines.comments);
            vec![lines.shipped, docs, 0, comments, 0, lines.for_tests]
        },
    }
}

fn words() -> Table {
    let in_comments = ["said in comments", "told in comments", "usual in comments"];
    Table {
        title: "words in names, and in comments",
        columns: WORDS.into_iter().chain(in_comments).map(Sum).collect(),
        figures: |it| [it.words.in_code, it.words.in_comments].concat(),
    }
}

impl Table {
    /// The crates that are shipped, all of them together, and those that are not.
    pub(crate) fn rows(&self, figures: &Figures) -> Vec<Row> {
        let row = |it: &CrateFigures| self.row(&it.name, &(self.figures)(it));
        let sum = figures.shipped().map(self.figures);
        let sum = sum.fold(vec![0; self.columns.len()], |one, other| {
            self.add(&one, &other)
        });
        let mut rows: Vec<Row> = figures.shipped().map(row).collect();
        rows.push(self.row("shipped", &sum));
        rows.extend(figures.crates.iter().filter(|it| !it.is_shipped()).map(row));
        rows
    }

    fn add(&self, one: &[usize], other: &[usize]) -> Vec<usize> {
        let pairs = one.iter().zip(other).zip(&self.columns);
        let added = pairs.map(|((one, other), column)| match column {
            Sum(_) | Share(..) => one + other,
            Max(_) => *one.max(other),
        });
        added.collect()
    }

    fn row(&self, name: &str, figures: &[usize]) -> Row {
        let cell = |(at, column): (usize, &Column)| match column {
            Sum(name) | Max(name) => (*name, figures[at].to_string()),
            Share(name, among) => (*name, percent(figures[at - 1], figures[*among])),
        };
        Row {
            name: name.to_owned(),
            cells: self.columns.iter().enumerate().map(cell).collect(),
        }
    }

    pub(crate) fn show(&self, figures: &Figures) -> String {
        let rows = self.rows(figures);
        let head = rows.first().into_iter().flat_map(|row| &row.cells);
        let head = head.map(|(name, _)| format!("  {name:>7}"));
        let mut shown = format!("{}\n{:<10}{}\n", self.title, "", head.collect::<String>());
        for row in rows {
            let cells = row.cells.iter();
            let cells = cells.map(|(name, cell)| format!("  {cell:>0$}", name.len().max(7)));
            shown += &format!("{:<10}{}\n", row.name, cells.collect::<String>());
        }
        shown
    }
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1}%", 100.0 * part as f64 / whole.max(1) as f64)
}
