//! The terminal while a question stands: keys come at once, and none of them is shown.
//!
//! How it was before is kept where everybody finds it, so that the terminal is as it was whatever ends the question:
//! the answer, a panic, or the end of the process.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};

use crate::output;

/// The terminal as it was before the question that stands now.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes keys one by one, and Ctrl-C as one of them. What was typed until now is thrown away.
pub(crate) fn enter() -> io::Result<()> {
    let own = io::stdin();
    let was = tcgetattr(own.as_fd())?;
    let mut now = was.clone();
    let modes = LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
    now.local_modes.remove(modes | LocalModes::IEXTEN);
    now.special_codes[SpecialCodeIndex::VMIN] = 1;
    now.special_codes[SpecialCodeIndex::VTIME] = 0;
    // First, so that there is no moment in which nobody knows how it was.
    *before() = Some(was);
    Ok(tcsetattr(own.as_fd(), OptionalActions::Flush, &now)?)
}

/// Leaves the question that stands, if one does, in the middle of its line: the terminal is as it was, and what is
/// written next has a line of its own.
pub(crate) fn leave() {
    if restore() {
        output::draw("\n");
    }
}

/// Makes the terminal what it was before the question that stands; says whether one did.
pub(crate) fn restore() -> bool {
    let taken = before().take();
    let Some(was) = taken else {
        return false;
    };
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
