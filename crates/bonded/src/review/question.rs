//! The question: the call is shown, a key is awaited, and the answer is for what was shown.
//!
//! A yes counts only if all of the call was to be seen, and if it still is what it was when it was drawn: a file may
//! have changed meanwhile. No key that stands for one answer ever stands for another.

use std::io;

use super::call_view::{CallLine, CallView};
use super::keyboard::{InputMode, Keyboard, Stops, Unanswered};
use super::pager;
use super::standing::Scope;
use crate::style::{self, Paint, Stream, Styled, Symbol, columns};
use crate::{output, raw_mode};

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReviewAnswer {
    /// Yes, this once, or with all that the scope holds for.
    Yes(Option<Scope>),
    /// No; with a reason for the model, which may be empty.
    No(String),
    Unanswered(Unanswered),
}

/// What a key or a word asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Yes,
    No,
    Because,
    Always,
    Show,
    Help,
}

/// Each with its key, its word, and what it is called.
const WISHES: [(Wish, &str, &str, &str); 6] = [
    (Wish::Yes, "y", "yes", "yes"),
    (Wish::No, "n", "no", "no"),
    (Wish::Because, "e", "because", "no, because"),
    (Wish::Always, "a", "always", "always"),
    (Wish::Show, "d", "diff", "diff"),
    (Wish::Help, "?", "help", "help"),
];

const HELP: [&str; 7] = [
    "y  yes: execute exactly what is shown, this once",
    "n  no: the model is told that you denied it, and the run continues",
    "e  no, with a reason that the model reads",
    "a  always: yes, and the same for later calls of this run; asks which. It ends with this process.",
    "   An approved call may also change what is protected otherwise, such as .git.",
    "d  show all of it in your pager (BONDED_PAGER, PAGER, or less)",
    "Ctrl-C  stop: nothing is decided and the run can be resumed. Its time limit does not run while you decide.",
];

/// Asks about one call. `look` shows it as it is at the moment of the call.
pub(super) struct Question<F> {
    pub(super) look: F,
    /// Everything is shown at once, however long.
    pub(super) is_full: bool,
    /// What can be said elsewhere instead.
    pub(super) elsewhere: String,
}

impl<F: Fn() -> CallView> Question<F> {
    /// Blocks until there is an answer or something ends the question.
    pub(super) fn ask(&self, stops: Stops) -> io::Result<ReviewAnswer> {
        let drawing = style::Look::of(Stream::Err);
        // For screen readers, and terminals that cannot redraw.
        let manner = match drawing.plain {
            true => InputMode::Words,
            false => InputMode::Keys,
        };
        let keyboard = Keyboard::open(stops, manner)?;
        let screen = Screen { drawing, manner };
        loop {
            let look = (self.look)();
            let is_whole = screen.show(&look, self.is_full);
            let answer = self.decide(&keyboard, &screen, &look, is_whole)?;
            if matches!(answer, ReviewAnswer::Unanswered(_)) {
                raw_mode::leave();
            }
            let is_yes = matches!(answer, ReviewAnswer::Yes(_));
            if !is_yes || (self.look)().subject == look.subject {
                return Ok(answer);
            }
            // What was looked at is not what would happen.
            let changed = format!("{} changed while you looked; this is it now", look.title());
            screen.notice(&changed);
        }
    }

    fn decide(
        &self,
        keyboard: &Keyboard,
        screen: &Screen,
        look: &CallView,
        is_whole: bool,
    ) -> io::Result<ReviewAnswer> {
        let mut is_seen = is_whole;
        loop {
            screen.keys(look, is_seen);
            let wish = match wished(keyboard) {
                Ok(wish) => wish,
                Err(why) => return Ok(ReviewAnswer::Unanswered(why)),
            };
            match wish {
                Wish::Yes | Wish::Always if !is_seen => {
                    screen.notice("not all of it is shown: press d to see it, then answer");
                }
                Wish::Yes => {
                    screen.echo("y");
                    return Ok(ReviewAnswer::Yes(None));
                }
                Wish::No => {
                    screen.echo("n");
                    return Ok(ReviewAnswer::No(String::new()));
                }
                Wish::Because => match screen.reason(keyboard) {
                    Ok(Some(reason)) => return Ok(ReviewAnswer::No(reason)),
                    Ok(None) => screen.echo(""),
                    Err(why) => return Ok(ReviewAnswer::Unanswered(why)),
                },
                Wish::Always => match screen.scope(keyboard, look) {
                    Ok(Some(scope)) => return Ok(ReviewAnswer::Yes(Some(scope))),
                    Ok(None) => screen.echo(""),
                    Err(why) => return Ok(ReviewAnswer::Unanswered(why)),
                },
                Wish::Show => {
                    keyboard.lent(|| pager::show(&screen.page(look)))?;
                    is_seen = true;
                }
                Wish::Help => {
                    screen.echo("?");
                    screen.help(&self.elsewhere);
                }
            }
        }
    }
}

/// Waits for a key that means something; what was typed before a person could have read the question does not.
fn wished(keyboard: &Keyboard) -> Result<Wish, Unanswered> {
    keyboard.quiet()?;
    loop {
        let typed = keyboard.answer()?.unwrap_or_default().to_lowercase();
        let meant = WISHES
            .iter()
            .find(|(_, key, word, _)| typed == *key || typed == *word);
        if let Some((wish, ..)) = meant {
            return Ok(*wish);
        }
    }
}

/// Where the question is drawn.
struct Screen {
    drawing: style::Look,
    manner: InputMode,
}

impl Screen {
    fn columns(&self) -> usize {
        Stream::Err.size().0
    }

    /// The header of a call and rows below it, ready to be drawn.
    fn drawn(&self, look: &CallView, rows: &[CallLine]) -> String {
        let header = look.header(self.columns(), &self.drawing);
        let rows = rows
            .iter()
            .map(|row| Styled::new().text("  ").code(row.paint, &row.text));
        let drawn = header.into_iter().chain(rows);
        drawn.map(|row| row.render(&self.drawing) + "\n").collect()
    }

    /// Draws the call; says whether all of it is there.
    fn show(&self, look: &CallView, is_full: bool) -> bool {
        let (rows, is_whole) = match is_full {
            true => (look.whole(&self.drawing), true),
            false => look.rows(&self.drawing),
        };
        output::draw(&self.drawn(look, &rows));
        is_whole
    }

    /// All of the call, for a pager.
    fn page(&self, look: &CallView) -> String {
        self.drawn(look, &look.whole(&self.drawing))
    }

    /// The keys in the order that they always have; the cursor stays behind them.
    fn keys(&self, look: &CallView, is_seen: bool) {
        let offered = WISHES.iter().filter_map(|(wish, key, word, name)| {
            let name = match wish {
                Wish::Show if !is_seen => "see all of it first",
                Wish::Show if !look.is_diff() => return None,
                Wish::Yes | Wish::No | Wish::Because | Wish::Always | Wish::Show | Wish::Help => {
                    name
                }
            };
            let more = match wish {
                Wish::Because => self.drawing.symbol(Symbol::Ellipsis),
                Wish::Yes | Wish::No | Wish::Always | Wish::Show | Wish::Help => "",
            };
            Some((*key, *word, format!("{name}{more}")))
        });
        match self.manner {
            InputMode::Keys => {
                let row = offered.fold(Styled::new().text("  "), |row, (key, _, name)| {
                    row.with(Paint::Yellow, key).text(&format!(" {name}   "))
                });
                output::draw(&row.render(&self.drawing));
            }
            InputMode::Words => {
                let words: Vec<&str> = offered.map(|(_, word, _)| word).collect();
                output::draw(&format!("Type {} and press Enter: ", words.join(", ")));
            }
        }
    }

    /// Ends the line of the keys, with the one that was pressed.
    fn echo(&self, key: &str) {
        match self.manner {
            InputMode::Keys => output::draw(&format!("{key}\n")),
            // The terminal has shown what was typed.
            InputMode::Words => {}
        }
    }

    fn notice(&self, text: &str) {
        self.echo("");
        let mark = Styled::new().with(Paint::Yellow, self.drawing.symbol(Symbol::Warning));
        output::draw(&(mark.text(" ").text(text).render(&self.drawing) + "\n"));
    }

    fn help(&self, elsewhere: &str) {
        for line in HELP.iter().copied().chain([elsewhere]) {
            let row = Styled::new().text("  ").dim(line);
            output::draw(&(row.render(&self.drawing) + "\n"));
        }
    }

    /// Nothing where the person thinks better of it.
    fn reason(&self, keyboard: &Keyboard) -> Result<Option<String>, Unanswered> {
        const ASKED: &str = "  no, because: ";
        self.echo("e");
        let room = self.columns().saturating_sub(ASKED.len() + 1);
        let typed = keyboard.line(|line| {
            let end = match self.manner {
                InputMode::Keys => "\r\x1b[K",
                InputMode::Words => "",
            };
            output::draw(&format!("{end}{ASKED}{}", fitting(line, room)));
        })?;
        if typed.is_some() {
            self.echo("");
        }
        Ok(typed)
    }

    /// The numbers never move: a scope that is not offered leaves its number empty.
    fn scope(&self, keyboard: &Keyboard, look: &CallView) -> Result<Option<Scope>, Unanswered> {
        self.echo("a");
        let choices = Scope::choices(look);
        let offered = choices.iter().enumerate().filter_map(|(at, scope)| {
            let words = scope.as_ref()?.words(&look.tool);
            let number = Styled::new().with(Paint::Yellow, &(at + 1).to_string());
            Some(number.text(" ").text(&words).render(&self.drawing))
        });
        let offered: Vec<String> = offered.collect();
        let offered = offered.join("   ");
        output::draw(&match self.manner {
            InputMode::Keys => format!("  always in this run: {offered}   "),
            InputMode::Words => format!("Always in this run: {offered}. Type a number, or no: "),
        });
        keyboard.quiet()?;
        loop {
            let typed = keyboard.answer()?.unwrap_or_default();
            let number = typed.parse::<usize>().ok();
            let chosen = number.and_then(|number| choices.get(number.checked_sub(1)?)?.clone());
            match (chosen, typed.as_str()) {
                (Some(scope), _) => {
                    self.echo(&typed);
                    return Ok(Some(scope));
                }
                (None, "n" | "no" | "esc") => return Ok(None),
                (None, _) => {}
            }
        }
    }
}

/// The end of a text that fits into so many columns.
fn fitting(text: &str, room: usize) -> String {
    let mut shown = text;
    while columns(shown) > room {
        let first = shown.chars().next().map_or(0, char::len_utf8);
        shown = &shown[first..];
    }
    shown.to_owned()
}
