//! The light launcher of `bonded`, which finds it beside itself: commands start through it, and the less there is to
//! load, the sooner they do. It does what `bonded` itself does where this file is missing, and nothing else.

use std::io::Write as _;
use std::process::ExitCode;

/// Without the words of a launcher there is nothing to enter, and a person who has started it by hand learns so.
fn main() -> ExitCode {
    bonded_host::sandbox::enter(std::env::args_os()).unwrap_or_else(|| {
        let message = "bonded-sandbox starts the commands of bonded; do not run it yourself";
        // There is nobody else to tell.
        let _ = writeln!(std::io::stderr(), "{message}");
        ExitCode::FAILURE
    })
}
