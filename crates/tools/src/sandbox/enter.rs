//! The launcher's way in: what our program does when it is started with the hidden first argument.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use super::order::Order;
use super::scratch::Ending;
use super::{inside, probe, supervisor};

/// The hidden first argument.
pub(super) const WORD: &str = "__sandbox";
pub(super) const SUPERVISE: &str = "supervise";
pub(super) const INSIDE: &str = "inside";
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
    let stage = args.next().unwrap_or_default();
    if stage == PROBE {
        return Some(probe::answer());
    }
    let order = args.next().unwrap_or_default();
    let Ok(order) = serde_json::from_slice::<Order>(order.as_encoded_bytes()) else {
        return Some(complain("this is for bonded itself, not for people"));
    };
    let command: Vec<OsString> = args.collect();
    let [program, args @ ..] = command.as_slice() else {
        return Some(complain("no command was given"));
    };
    let scratch = order.scratch.clone();
    let done = if stage == SUPERVISE {
        supervisor::run(order, program, args)
    } else {
        inside::run(&order, program, args)
    };
    Some(done.unwrap_or_else(|why| {
        let ending = Ending::Fault(why.clone()).to_text();
        // Whoever reads it finds the words on stderr as well.
        let _ = std::fs::write(Ending::file(&scratch), ending);
        complain(&why)
    }))
}

fn complain(why: &str) -> ExitCode {
    // There is nobody else to tell.
    let _ = writeln!(std::io::stderr(), "bonded: the sandbox failed: {why}");
    ExitCode::from(FAILED)
}

/// Names what could not be done, for the end of a sentence.
pub(super) fn failed<E: std::fmt::Display>(what: &str) -> impl Fn(E) -> String {
    move |error| format!("could not {what}: {error}")
}
