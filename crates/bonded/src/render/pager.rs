//! What is longer than a screen goes through a pager; without one, or elsewhere than at a terminal, it is printed.
//!
//! The lines are ours and harmless before they get here. A pager that is closed early has shown enough, which is no
//! error.

use std::io::Write as _;
use std::process::{Command, Stdio};

use tokio::signal::unix::{SignalKind, signal};

use crate::args::variable;
use crate::output;
use crate::style::{Look, Stream, Styled};

/// Ends at once where all fits, keeps colours, and leaves the text on the screen.
const DEFAULT_PAGER: &str = "less -FRX";

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
    if !std::io::IsTerminal::is_terminal(&std::io::stdin()) {
        return false;
    }
    // Ctrl-C is for the pager, which sets the terminal right when it ends.
    let _heard = signal(SignalKind::interrupt());
    let text: String = lines
        .iter()
        .map(|line| format!("{}\n", line.render(look)))
        .collect();
    page(&text, Stdio::inherit())
}

/// Shows a text in BONDED_PAGER, PAGER, or the usual one, on this stream; says whether it was there. Who has seen enough
/// closes it, which is no error.
pub(crate) fn page(text: &str, screen: Stdio) -> bool {
    /// A shell's word for a program that is not there.
    const NOT_FOUND: i32 = 127;
    let named = variable("BONDED_PAGER").or_else(|| variable("PAGER"));
    let command = named.as_deref().unwrap_or(DEFAULT_PAGER);
    if command == "cat" {
        return false;
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped());
    let Ok(mut pager) = shell.stdout(screen).spawn() else {
        return false;
    };
    if let Some(mut stdin) = pager.stdin.take() {
        let _left = stdin.write_all(text.as_bytes());
    }
    let ended = pager.wait();
    !ended.is_ok_and(|status| status.code() == Some(NOT_FOUND))
}
