//! Keys, one by one, and only those that were typed after the question was seen.
//!
//! A key counts only if it came alone: what is pasted, or typed before a person could have read the question, is no
//! answer. Whatever ends the question, the terminal is as it was.

use std::cell::RefCell;
use std::io;
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use bonded_host::CancellationToken;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::process::getpgrp;
use rustix::termios::tcgetpgrp;

use crate::raw_mode::{self, Lent};

/// Nobody reads a question and answers it in less.
const QUIET: Duration = Duration::from_millis(300);
/// How long a stop may stay unnoticed.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// More than a person types as a reason.
const LINE_CHARS_MAX: usize = 300;

/// Whether keys that are typed come here: not to a process in the background.
pub(super) fn is_in_front() -> bool {
    // A terminal that controls no session has no background.
    tcgetpgrp(io::stdin().as_fd()).map_or(true, |front| front == getpgrp())
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// Ctrl-C.
    Stopped,
    /// A signal: the process is about to end.
    Interrupted,
    /// The terminal is gone.
    HungUp,
    /// The call does not wait any more.
    Withdrawn,
}

/// What ends a question without an answer.
#[derive(Clone, Debug)]
pub(super) struct Stops {
    pub(super) cancel: CancellationToken,
    pub(super) interrupt: CancellationToken,
    pub(super) withdrawn: CancellationToken,
}

/// How a person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputMode {
    /// By a key.
    Keys,
    /// By a word and Enter.
    Words,
}

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Typed {
    Letter(char),
    /// Several at once: pasted, or typed while nobody looked.
    Text(String),
    Enter,
    Escape,
    Erase,
    EraseAll,
    /// A key that means nothing here.
    Other,
}

/// Held while a question stands.
#[derive(Debug)]
pub(super) struct Keyboard {
    stops: Stops,
    manner: InputMode,
    /// The terminal, where keys come one by one.
    terminal: RefCell<Option<Lent>>,
}

impl Keyboard {
    /// What was typed until now is thrown away.
    pub(super) fn open(stops: Stops, manner: InputMode) -> io::Result<Self> {
        let keyboard = Self {
            stops,
            manner,
            terminal: RefCell::default(),
        };
        keyboard.begin()?;
        Ok(keyboard)
    }

    fn begin(&self) -> io::Result<()> {
        match self.manner {
            InputMode::Keys => _ = self.terminal.replace(Some(raw_mode::enter()?)),
            InputMode::Words => raw_mode::forget_typed()?,
        }
        Ok(())
    }

    /// Gives the terminal to another program for a while.
    pub(super) fn lent<T>(&self, work: impl FnOnce() -> T) -> io::Result<T> {
        raw_mode::leave();
        let done = work();
        self.begin()?;
        Ok(done)
    }

    /// Lets the moment pass in which nobody can have read what was drawn last. Ctrl-C counts always.
    pub(super) fn quiet(&self) -> Result<(), Unanswered> {
        let until = Instant::now() + QUIET;
        while self.is_ready(Some(until))? {
            self.bytes()?;
        }
        Ok(())
    }

    /// One key, or one word; nothing for what is no answer.
    pub(super) fn answer(&self) -> Result<Option<String>, Unanswered> {
        if self.manner == InputMode::Words {
            let line = String::from_utf8_lossy(&self.bytes()?).trim().to_owned();
            return Ok(Some(line).filter(|line| !line.is_empty()));
        }
        match self.typed()? {
            Typed::Letter(letter) => Ok(Some(letter.into())),
            Typed::Text(_) => {
                self.quiet()?;
                Ok(None)
            }
            Typed::Escape => Ok(Some("esc".into())),
            Typed::Enter | Typed::Erase | Typed::EraseAll | Typed::Other => Ok(None),
        }
    }

    /// A line of text, drawn by the caller as it grows; nothing where the person thinks better of it. What is pasted
    /// does not end it.
    pub(super) fn line(&self, draw: impl Fn(&str)) -> Result<Option<String>, Unanswered> {
        let mut line = String::new();
        draw(&line);
        if self.manner == InputMode::Words {
            let typed = String::from_utf8_lossy(&self.bytes()?).trim().to_owned();
            push(&mut line, &typed);
            return Ok(Some(line).filter(|line| !line.is_empty()));
        }
        loop {
            match self.typed()? {
                Typed::Enter => return Ok(Some(line.trim().to_owned())),
                Typed::Escape => return Ok(None),
                Typed::Letter(letter) => push(&mut line, letter.encode_utf8(&mut [0; 4])),
                Typed::Text(text) => push(&mut line, &text),
                Typed::Erase => drop(line.pop()),
                Typed::EraseAll => line.clear(),
                Typed::Other => {}
            }
            draw(&line);
        }
    }

    fn typed(&self) -> Result<Typed, Unanswered> {
        Ok(match self.bytes()?.as_slice() {
            b"\r" | b"\n" => Typed::Enter,
            b"\x1b" => Typed::Escape,
            b"\x7f" | b"\x08" => Typed::Erase,
            b"\x15" => Typed::EraseAll,
            [0x1b, ..] => Typed::Other,
            bytes => of_text(&String::from_utf8_lossy(bytes)),
        })
    }

    /// What is there to be read, once something is. Ctrl-C among it stops.
    fn bytes(&self) -> Result<Vec<u8>, Unanswered> {
        self.is_ready(None)?;
        let mut bytes = [0; 4096];
        let count = match read(io::stdin().as_fd(), &mut bytes) {
            // A word that is only Ctrl-D is no end: the terminal is still there.
            Ok(0) if self.manner == InputMode::Words => 0,
            Ok(count @ 1..) => count,
            Ok(0) | Err(_) => return Err(Unanswered::HungUp),
        };
        let bytes = bytes.get(..count).unwrap_or_default();
        match bytes.contains(&0x03) {
            true => Err(Unanswered::Stopped),
            false => Ok(bytes.to_vec()),
        }
    }

    /// Waits for something to be read; says whether there is before the time is over.
    fn is_ready(&self, until: Option<Instant>) -> Result<bool, Unanswered> {
        let own = io::stdin();
        loop {
            self.refuse_stopped()?;
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(false);
            }
            let wait = left.map_or(LOOK_EVERY, |left| left.min(LOOK_EVERY));
            let wait = Timespec::try_from(wait).unwrap_or_default();
            let mut watched = [PollFd::new(&own, PollFlags::IN)];
            match poll(&mut watched, Some(&wait)) {
                Ok(0) | Err(Errno::INTR) => {}
                Err(_) => return Err(Unanswered::HungUp),
                Ok(_) => {
                    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
                    let is_gone = watched[0].revents().intersects(gone);
                    return match is_gone {
                        true => Err(Unanswered::HungUp),
                        false => Ok(true),
                    };
                }
            }
        }
    }

    fn refuse_stopped(&self) -> Result<(), Unanswered> {
        let Stops {
            cancel,
            interrupt,
            withdrawn,
        } = &self.stops;
        match () {
            () if interrupt.is_cancelled() => Err(Unanswered::Interrupted),
            () if cancel.is_cancelled() => Err(Unanswered::Stopped),
            () if withdrawn.is_cancelled() => Err(Unanswered::Withdrawn),
            () => Ok(()),
        }
    }
}

fn of_text(text: &str) -> Typed {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (Some(letter), None) if !letter.is_control() => Typed::Letter(letter),
        (Some(_), Some(_)) => Typed::Text(text.to_owned()),
        _ => Typed::Other,
    }
}

/// Whatever drives a terminal becomes a space, and what is too much is left out.
fn push(line: &mut String, text: &str) {
    let room = LINE_CHARS_MAX.saturating_sub(line.chars().count());
    let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
    line.extend(text.chars().map(plain).take(room));
}
