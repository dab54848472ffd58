//! What is longer than a screen goes through a pager; without one, or elsewhere than at a terminal, it is printed.
//!
//! The lines are ours and harmless before they get here. A pager that is closed early has shown enough, which is no
//! error.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use tokio::signal::unix::{SignalKind, signal};

use super::style::{Look, Stream, Styled};
use crate::args::variable;
use crate::output;

/// Ends at once where all fits, keeps colours, and leaves the text on the screen.
const USUAL: &str = "less -FRX";

/// Shows lines on stdout.
pub(crate) fn show(lines: &[Styled]) {
    let look = Look::of(Stream::Out);
    if look.redraws() && is_long(lines) && paged(lines, &look) {
        return;
    }
    lines
        .iter()
        .for_each(|line| output::styled_stdout(line, &look));
}

/// A line that is longer than the terminal is wide takes several rows.
fn is_long(lines: &[Styled]) -> bool {
    let (columns, rows) = Stream::Out.size();
    let needed = lines
        .iter()
        .map(|line| line.columns().div_ceil(columns).max(1));
    needed.sum::<usize>() >= rows
}

/// Whether a pager has shown them.
fn paged(lines: &[Styled], look: &Look) -> bool {
    let named = variable("BONDED_PAGER").or_else(|| variable("PAGER"));
    let command = named.as_deref().unwrap_or(USUAL);
    if command == "cat" || !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        return false;
    }
    let Some(mut pager) = started(command) else {
        return false;
    };
    // Ctrl-C is for the pager, which sets the terminal right when it ends.
    let _heard = signal(SignalKind::interrupt());
    if let Some(mut stdin) = pager.stdin.take() {
        for line in lines {
            // Who has seen enough closes the pager.
            if writeln!(stdin, "{}", line.render(look)).is_err() {
                break;
            }
        }
    }
    let ended = pager.wait();
    // A shell says so that there is no such program.
    !ended.is_ok_and(|status| status.code() == Some(127))
}

fn started(command: &str) -> Option<Child> {
    let started = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .spawn();
    started.ok()
}
