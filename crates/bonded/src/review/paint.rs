//! Which colours and signs the question has: none where nobody wants them, and none that a terminal has not got.
//!
//! Signs and words carry every meaning; colours only help the eye.

use crate::render::style::{Look, Stream};

/// A colour or weight, by what it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
}

/// What this terminal takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint {
    has_colours: bool,
    has_signs: bool,
}

impl Paint {
    /// As the flags and the environment say.
    pub(super) fn here() -> Self {
        let look = Look::of(Stream::Err);
        Self {
            has_colours: look.color,
            has_signs: !look.ascii,
        }
    }

    /// The text must hold nothing that drives a terminal.
    pub(super) fn of(self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Plain => return text.to_owned(),
            Ink::Bold => 1,
            Ink::Dim => 2,
            Ink::Red => 31,
            Ink::Green => 32,
            Ink::Yellow => 33,
        };
        match self.has_colours && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    /// For what is done.
    pub(super) fn yes(self) -> String {
        self.of(Ink::Green, if self.has_signs { "✓" } else { "ok" })
    }

    /// For what is not done.
    pub(super) fn no(self) -> String {
        self.of(Ink::Red, if self.has_signs { "✗" } else { "x" })
    }

    /// For what was stopped.
    pub(super) fn stopped(self) -> String {
        self.of(Ink::Yellow, if self.has_signs { "‖" } else { "||" })
    }

    /// For what a person should look at.
    pub(super) fn attention(self) -> String {
        self.of(Ink::Yellow, "!")
    }

    /// Without the letters that this terminal has not got.
    pub(super) fn words(self, text: &str) -> String {
        match self.has_signs {
            true => text.to_owned(),
            false => text.replace('…', "...").replace('·', "-"),
        }
    }
}

/// Whether questions are answered by a word and Enter: for screen readers, and terminals that cannot redraw.
pub(super) fn is_plain() -> bool {
    Look::of(Stream::Err).plain
}
