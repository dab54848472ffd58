//! Colour, symbols and widths: what our own drawing is made of.
//!
//! Only this module writes the codes that colour a terminal. They stand around texts that were made harmless before:
//! a [`Styled`] line takes every text through the mask and the cleaner, so that neither can be forgotten, and whatever
//! a model or a tool wrote cannot colour anything itself. Colour never carries a meaning alone: a symbol or a word
//! beside it says the same.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use clap::ValueEnum;
use rustix::termios::tcgetwinsize;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::masking;

/// Prose is wrapped here at most: longer lines are hard to read.
const PROSE_COLUMNS_MAX: usize = 100;
/// Where nobody says how wide a terminal is.
const COLUMNS_DEFAULT: usize = 80;
/// The same for its rows.
const ROWS_DEFAULT: usize = 24;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorChoice {
    /// Where a terminal reads, unless the environment says otherwise
    #[default]
    Auto,
    /// Always, also into files and pipes
    Always,
    /// Never
    Never,
}

/// What the command line says of drawing.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LookFlags {
    pub(crate) color: ColorChoice,
    pub(crate) ascii: bool,
    pub(crate) plain: bool,
}

/// Set once, when the command line is read.
static FLAGS: OnceLock<LookFlags> = OnceLock::new();

/// Keeps what the command line says of drawing.
pub(crate) fn set(flags: LookFlags) {
    // A process reads one command line.
    let _set = FLAGS.set(flags);
}

/// The two streams that are drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

impl Stream {
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Out => std::io::stdout().is_terminal(),
            Self::Err => std::io::stderr().is_terminal(),
        }
    }

    /// Columns and rows at this moment: a terminal may be resized at any time.
    pub(crate) fn size(self) -> (usize, usize) {
        let size = match self {
            Self::Out => tcgetwinsize(std::io::stdout()),
            Self::Err => tcgetwinsize(std::io::stderr()),
        };
        let or = |found: u16, default: usize| match found {
            0 => default,
            found => usize::from(found),
        };
        match size {
            Ok(size) => (
                or(size.ws_col, COLUMNS_DEFAULT),
                or(size.ws_row, ROWS_DEFAULT),
            ),
            Err(_) => (COLUMNS_DEFAULT, ROWS_DEFAULT),
        }
    }
}

/// How a stream is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) color: bool,
    /// Symbols are letters of ASCII.
    pub(crate) ascii: bool,
    /// Nothing is redrawn, and words stand in the place of symbols.
    pub(crate) plain: bool,
    pub(crate) terminal: bool,
}

impl Look {
    /// As the command line, the environment and the stream have it.
    pub(crate) fn of(stream: Stream) -> Self {
        let flags = FLAGS.get().copied().unwrap_or_default();
        let variable = |name: &str| {
            let value = std::env::var_os(name)?;
            Some(value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
        };
        Self::made_out(flags, variable, stream.is_terminal())
    }

    /// `--color` beats NO_COLOR beats CLICOLOR_FORCE beats CLICOLOR; a terminal without abilities has none.
    fn made_out(
        flags: LookFlags,
        variable: impl Fn(&str) -> Option<String>,
        terminal: bool,
    ) -> Self {
        let is_dumb = variable("TERM").as_deref() == Some("dumb");
        let plain = flags.plain || variable("ACCESSIBLE").is_some() || (terminal && is_dumb);
        let is_forced = variable("CLICOLOR_FORCE").is_some_and(|it| it != "0");
        let is_off = variable("CLICOLOR").as_deref() == Some("0");
        let color = match flags.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto if variable("NO_COLOR").is_some() => false,
            ColorChoice::Auto if is_forced => true,
            ColorChoice::Auto => terminal && !is_off && !is_dumb,
        };
        Self {
            color: color && !plain,
            ascii: flags.ascii || plain || !speaks_utf8(&variable),
            plain,
            terminal,
        }
    }

    /// Whether rows may be drawn again.
    pub(crate) fn redraws(&self) -> bool {
        self.terminal && !self.plain
    }

    pub(crate) fn symbol(&self, symbol: Symbol) -> &'static str {
        let (drawn, ascii) = match symbol {
            Symbol::Good => ("✓", "ok"),
            Symbol::Bad => ("✗", "x"),
            Symbol::Stopped => ("‖", "||"),
            Symbol::Ask => ("?", "?"),
            Symbol::Warning => ("!", "!"),
            Symbol::Dot => ("·", "-"),
            Symbol::Times => ("×", "x"),
            Symbol::Ellipsis => ("…", "..."),
            Symbol::Spinner(tick) => spinner(tick),
        };
        if self.ascii { ascii } else { drawn }
    }

    /// Between two fields of a line.
    pub(crate) fn separator(&self) -> String {
        format!(" {} ", self.symbol(Symbol::Dot))
    }
}

/// Where no variable says anything, nobody says that it is not.
fn speaks_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable);
    let is_utf8 = |locale: String| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    locale.is_none_or(is_utf8)
}

/// What stands before a line, and what it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    Good,
    Bad,
    Stopped,
    Ask,
    Warning,
    Dot,
    Times,
    Ellipsis,
    /// By the number of the drawing.
    Spinner(usize),
}

fn spinner(tick: usize) -> (&'static str, &'static str) {
    const DRAWN: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
    const ASCII: [&str; 4] = ["|", "/", "-", "\\"];
    (DRAWN[tick % DRAWN.len()], ASCII[tick % ASCII.len()])
}

/// The few ways in which a text is drawn. Backgrounds and other colours are unreadable in some themes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Paint {
    #[default]
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
}

impl Paint {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Bold => Some("1"),
            Self::Dim => Some("2"),
            Self::Red => Some("31"),
            Self::Green => Some("32"),
            Self::Yellow => Some("33"),
            Self::Cyan => Some("36"),
        }
    }
}

/// A line whose texts are harmless and masked, with the colours that are put around them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Styled {
    parts: Vec<(Paint, String)>,
}

impl Styled {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a text. Whatever it holds becomes harmless here, and stays on this line.
    #[must_use]
    pub(crate) fn with(mut self, paint: Paint, text: &str) -> Self {
        let text = masking::for_terminal(text).replace(['\n', '\t'], " ");
        if !text.is_empty() {
            self.parts.push((paint, text));
        }
        self
    }

    /// Adds a line of a file, whose tabs stay what they are. The terminal wraps it.
    #[must_use]
    pub(crate) fn code(mut self, paint: Paint, text: &str) -> Self {
        let text = masking::for_terminal(text).replace('\n', " ");
        self.parts.push((paint, text));
        self
    }

    #[must_use]
    pub(crate) fn text(self, text: &str) -> Self {
        self.with(Paint::Plain, text)
    }

    #[must_use]
    pub(crate) fn dim(self, text: &str) -> Self {
        self.with(Paint::Dim, text)
    }

    /// So many spaces.
    #[must_use]
    pub(crate) fn gap(self, columns: usize) -> Self {
        self.with(Paint::Plain, &" ".repeat(columns))
    }

    /// The other line behind this one.
    #[must_use]
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    pub(crate) fn columns(&self) -> usize {
        self.parts.iter().map(|(_, text)| columns(text)).sum()
    }

    /// Cut where it is longer than so many columns.
    #[must_use]
    pub(crate) fn cut(self, room: usize, look: &Look) -> Self {
        if self.columns() <= room {
            return self;
        }
        let mark = look.symbol(Symbol::Ellipsis);
        let mut left = room.saturating_sub(columns(mark));
        let mut parts = vec![];
        for (paint, text) in self.parts {
            let begun = begun(&text, left);
            left -= columns(begun);
            let is_cut = begun.len() < text.len();
            parts.push((paint, begun.to_owned()));
            if is_cut {
                break;
            }
        }
        if columns(mark) <= room {
            parts.push((Paint::Plain, mark.to_owned()));
        }
        Self { parts }
    }

    /// As it goes to the stream.
    pub(crate) fn render(&self, look: &Look) -> String {
        let painted = |(paint, text): &(Paint, String)| match paint.code().filter(|_| look.color) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.clone(),
        };
        self.parts.iter().map(painted).collect()
    }
}

/// How many columns a text takes: a letter may have several code points, and take two columns or none.
pub(crate) fn columns(text: &str) -> usize {
    text.graphemes(true).map(|it| it.width().min(2)).sum()
}

/// As much of the beginning as fits, at a whole letter.
pub(crate) fn begun(text: &str, room: usize) -> &str {
    let mut left = room;
    for (at, letter) in text.grapheme_indices(true) {
        match left.checked_sub(letter.width().min(2)) {
            Some(rest) => left = rest,
            None => return &text[..at],
        }
    }
    text
}

/// Where prose is wrapped on a terminal of so many columns.
pub(crate) fn prose_columns(terminal: usize) -> usize {
    terminal.clamp(1, PROSE_COLUMNS_MAX)
}

/// A line as rows, broken between words; a word that is longer than a row is broken itself.
pub(crate) fn wrapped(line: &str, room: usize) -> Vec<String> {
    let room = room.max(2);
    let mut rows = vec![];
    let (mut row, mut used) = (String::new(), 0);
    for word in line.split_inclusive(' ') {
        let mut word = word;
        let bare = columns(word.trim_end_matches(' '));
        if used > 0 && used + bare > room {
            rows.push(std::mem::take(&mut row).trim_end().to_owned());
            used = 0;
        }
        while columns(word.trim_end_matches(' ')) > room {
            let part = begun(word, room);
            rows.push(part.to_owned());
            word = &word[part.len()..];
        }
        row.push_str(word);
        used += columns(word);
    }
    rows.push(row.trim_end().to_owned());
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn look(flags: LookFlags, variables: Variables<'_>, terminal: bool) -> Look {
        let variable = |name: &str| {
            let found = variables.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Look::made_out(flags, variable, terminal)
    }

    #[test]
    fn the_flag_beats_the_variables_and_these_each_other_in_their_order() {
        let (no, force, off) = (
            ("NO_COLOR", "1"),
            ("CLICOLOR_FORCE", "1"),
            ("CLICOLOR", "0"),
        );
        let cases: [(ColorChoice, Variables<'_>, bool, bool); 11] = [
            (ColorChoice::Auto, &[], true, true),
            (ColorChoice::Auto, &[], false, false),
            (ColorChoice::Always, &[no, off], false, true),
            (ColorChoice::Never, &[force], true, false),
            (ColorChoice::Auto, &[no, force], true, false),
            (ColorChoice::Auto, &[force, off], false, true),
            (ColorChoice::Auto, &[off], true, false),
            (ColorChoice::Auto, &[("CLICOLOR_FORCE", "0")], false, false),
            (ColorChoice::Auto, &[("TERM", "dumb")], true, false),
            (ColorChoice::Auto, &[("TERM", "dumb"), force], true, false),
            (ColorChoice::Always, &[("ACCESSIBLE", "1")], true, false),
        ];
        for (color, variables, terminal, wanted) in cases {
            let flags = LookFlags {
                color,
                ..LookFlags::default()
            };
            let found = look(flags, variables, terminal).color;
            assert_eq!(found, wanted, "{color:?} {variables:?} {terminal}");
        }
    }

    #[test]
    fn symbols_are_ascii_where_the_locale_or_the_flag_wants_it() {
        let ascii = LookFlags {
            ascii: true,
            ..LookFlags::default()
        };
        let usual = LookFlags::default();
        let cases: [(LookFlags, Variables<'_>, &str); 6] = [
            (usual, &[], "✓"),
            (usual, &[("LANG", "de_DE.UTF-8")], "✓"),
            (usual, &[("LANG", "C")], "ok"),
            (usual, &[("LC_ALL", "POSIX"), ("LANG", "C.utf8")], "ok"),
            (ascii, &[("LANG", "C.UTF-8")], "ok"),
            (usual, &[("ACCESSIBLE", "1")], "ok"),
        ];
        for (flags, variables, wanted) in cases {
            let look = look(flags, variables, true);
            assert_eq!(look.symbol(Symbol::Good), wanted, "{variables:?}");
        }
    }

    #[test]
    fn a_line_holds_no_code_but_ours_whatever_its_texts_hold() {
        let drawn = Look {
            color: true,
            ascii: false,
            plain: false,
            terminal: true,
        };
        let line = Styled::new()
            .with(Paint::Red, "a\x1b[2J\nb")
            .text("\x1b[32mc\u{9b}K");
        assert_eq!(line.render(&drawn), "\x1b[31ma␛[2J b\x1b[0mc\u{fffd}K");
        let bare = Look {
            color: false,
            ..drawn
        };
        assert_eq!(line.render(&bare), "a␛[2J bc\u{fffd}K");
    }

    #[test]
    fn lines_are_cut_at_whole_letters_and_take_the_columns_that_they_say() {
        let look = look(LookFlags::default(), &[], true);
        let family = "👨‍👩‍👧";
        for (text, room, wanted) in [
            ("hello", 5, "hello"),
            ("hello", 4, "hel…"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            (&format!("{family}{family}"), 3, &format!("{family}…")),
            ("hello", 0, ""),
        ] {
            let cut = Styled::new().text(text).cut(room, &look);
            assert_eq!(cut.render(&look), wanted, "{text} in {room}");
            assert!(cut.columns() <= room);
        }
    }

    #[test]
    fn prose_is_wrapped_at_words_and_only_longer_words_are_broken() {
        let cases: [(&str, usize, &[&str]); 6] = [
            ("", 10, &[""]),
            ("one two three", 8, &["one two", "three"]),
            ("one two", 7, &["one two"]),
            ("abcdefghij kl", 4, &["abcd", "efgh", "ij", "kl"]),
            ("日本語 日本", 5, &["日本", "語", "日本"]),
            ("  indented text", 10, &["  indented", "text"]),
        ];
        for (line, room, wanted) in cases {
            assert_eq!(wrapped(line, room), wanted, "{line:?} in {room}");
        }
    }
}
