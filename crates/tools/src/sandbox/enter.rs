//! The launcher's way in: what our program does when it is started with the hidden first argument.
//!
//! The same file is therefore three programs: the one that asks what a machine can enforce, the supervisor,
//! and, where bubblewrap makes the walls, the second stage. Nothing is taken from the command line but the
//! stage, the number of a descriptor and the command; what is to be enforced stands in
//! variables, because every user of a machine can read a command line.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use super::order::Order;
use super::{inside, probe, supervisor};

/// The hidden first argument.
pub(super) const WORD: &str = "__sandbox";
/// The stage that this process starts. Any word but the others is taken for it.
pub(super) const SUPERVISE: &str = "supervise";
/// The second stage, as bubblewrap starts it. The number of a descriptor follows.
pub(super) const INSIDE: &str = "inside";
/// Tries what the machine can enforce and prints it. It needs no order.
pub(super) const PROBE: &str = "probe";

/// The exit code of a launcher that could not start its command, as shells have it.
const FAILED: u8 = 127;

/// Acts as a launcher if the arguments, the program's own name first, say so. A program calls this before
/// it does anything else: threads and handlers of its own would not survive what happens here.
pub fn enter(args: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut args = args.into_iter().skip(1);
    if args.next()? != WORD {
        return None;
    }
    keep_descriptors_to_ourselves();
    let stage = args.next().unwrap_or_default();
    if stage == PROBE {
        return Some(probe::answer());
    }
    let Some(order) = Order::from_variables(std::env::vars_os()) else {
        return Some(complain("this is for bonded itself, not for people"));
    };
    let teller = match stage == INSIDE {
        true => args.next(),
        false => None,
    };
    let command: Vec<OsString> = args.collect();
    let [program, args @ ..] = command.as_slice() else {
        return Some(complain("no command was given"));
    };
    let done = match teller {
        None => supervisor::run(order, program, args),
        Some(number) => inside::run_for(&order, program, args, &number),
    };
    Some(done.unwrap_or_else(|why| complain(&why)))
}

/// Whatever descriptors this process was started with, no program that it starts has more than the usual three.
pub fn keep_descriptors_to_ourselves() {
    close_fds::set_fds_cloexec(3, &[]);
}

/// The sentence reaches whoever reads the command's stderr. That the launcher spoke, and not the command, is
/// known from the fault that the supervisor leaves in the scratch directory.
fn complain(why: &str) -> ExitCode {
    // There is nobody else to tell.
    let _ = writeln!(std::io::stderr(), "bonded: the sandbox failed: {why}");
    ExitCode::from(FAILED)
}

/// Names what could not be done, for the end of a sentence.
pub(super) fn failed<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String {
    move |error| format!("could not {what}: {error}")
}
