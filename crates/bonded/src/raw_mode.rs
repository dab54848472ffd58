//! How a terminal takes keys: one by one while a question or a prompt stands, and unseen while an agent works.
//!
//! How it was before is kept where everybody finds it, so that the terminal is as it was whatever ends a question or a prompt:
//! the answer, a panic, or the end of the process.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::output;

/// As much as is taken at once.
const INPUT_BYTES_MAX: usize = 64 * 1024;

/// Has a terminal say where a paste begins and ends; and no more.
const PASTES: (&str, &str) = ("\x1b[?2004h", "\x1b[?2004l");

/// The terminal as it was before each of those that stand now, the first one first.
static BEFORE: Mutex<Vec<Taken>> = Mutex::new(vec![]);
/// How many there were.
static COUNT: AtomicU64 = AtomicU64::new(0);

struct Taken {
    nth: u64,
    was: Termios,
    tells_pastes: bool,
}

fn before() -> MutexGuard<'static, Vec<Taken>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the terminal back when it is dropped, unless that has happened already.
#[derive(Debug)]
#[must_use]
pub(crate) struct Lent(u64);

impl Drop for Lent {
    fn drop(&mut self) {
        let is_last = before().last().is_some_and(|it| it.nth == self.0);
        if is_last {
            restore();
        }
    }
}

/// What there is to be read.
pub(crate) enum KeyInput {
    Bytes(Vec<u8>),
    /// Nothing came in time.
    Nothing,
    /// Nothing will come any more.
    Gone,
}

/// Takes keys one by one, and Ctrl-C as one of them. What was typed until now is thrown away.
pub(crate) fn enter() -> io::Result<Lent> {
    let modes = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
    take(modes, InputModes::empty(), OptionalActions::Flush, false)
}

/// Takes keys one by one for a text: Enter and Ctrl-J are two keys, and pastes are told. What was typed until now is kept.
pub(crate) fn edit() -> io::Result<Lent> {
    let modes = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
    let input = InputModes::ICRNL | InputModes::INLCR | InputModes::IXON;
    let lent = take(modes, input, OptionalActions::Now, true)?;
    output::draw(PASTES.0);
    Ok(lent)
}

/// Keeps what is typed for later, without showing it. Ctrl-C is a signal.
pub(crate) fn hold_keys() -> io::Result<Lent> {
    let modes = LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
    let input = InputModes::ICRNL | InputModes::INLCR | InputModes::IXON;
    take(modes, input, OptionalActions::Now, false)
}

fn take(
    without: LocalModes,
    input: InputModes,
    when: OptionalActions,
    tells_pastes: bool,
) -> io::Result<Lent> {
    let own = io::stdin();
    let was = tcgetattr(own.as_fd())?;
    let mut now = was.clone();
    now.local_modes.remove(without);
    now.input_modes.remove(input);
    now.special_codes[SpecialCodeIndex::VMIN] = 1;
    now.special_codes[SpecialCodeIndex::VTIME] = 0;
    // First, so that there is no moment in which nobody knows how it was.
    let nth = COUNT.fetch_add(1, Ordering::Relaxed);
    before().push(Taken {
        nth,
        was,
        tells_pastes,
    });
    let lent = Lent(nth);
    tcsetattr(own.as_fd(), when, &now)?;
    Ok(lent)
}

/// Leaves the question that stands, if one does, in the middle of its line: the terminal is as it was, and what is
/// written next has a line of its own.
pub(crate) fn leave() {
    if restore() {
        output::draw("\n");
    }
}

/// The same for all that stand: the process ends.
pub(crate) fn leave_all() {
    let mut has_left = false;
    while restore() {
        has_left = true;
    }
    if has_left {
        output::draw("\n");
    }
}

/// Makes the terminal what it was before the last that stands; says whether one did.
fn restore() -> bool {
    let taken = before().pop();
    let Some(Taken {
        was, tells_pastes, ..
    }) = taken
    else {
        return false;
    };
    if tells_pastes {
        output::draw(PASTES.1);
    }
    // A terminal that is gone needs nothing.
    let _gone = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &was);
    true
}

/// Throws away what was typed until now.
pub(crate) fn forget_typed() -> io::Result<()> {
    let own = io::stdin();
    let now = tcgetattr(own.as_fd())?;
    Ok(tcsetattr(own.as_fd(), OptionalActions::Flush, &now)?)
}

/// What was typed, once something was; waits for it so long.
pub(crate) fn key_input(wait: Duration) -> io::Result<KeyInput> {
    let own = io::stdin();
    let wait = Timespec::try_from(wait).unwrap_or_default();
    let mut watched = [PollFd::new(&own, PollFlags::IN)];
    match poll(&mut watched, Some(&wait)) {
        Ok(0) | Err(Errno::INTR) => return Ok(KeyInput::Nothing),
        Err(error) => return Err(error.into()),
        Ok(_) => {}
    }
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    if watched[0].revents().intersects(gone) {
        return Ok(KeyInput::Gone);
    }
    let mut bytes = vec![0; INPUT_BYTES_MAX];
    match read(own.as_fd(), &mut bytes) {
        Ok(0) => Ok(KeyInput::Gone),
        Ok(count) => {
            bytes.truncate(count);
            Ok(KeyInput::Bytes(bytes))
        }
        Err(Errno::INTR | Errno::AGAIN) => Ok(KeyInput::Nothing),
        Err(error) => Err(error.into()),
    }
}
