//! A program that tests of work items start things with: what the real program does before it has threads.
//!
//! `work_launcher [--user ID] [--bare] PROGRAM ARGS…` becomes the user, enters a namespace unless it is bare, and
//! becomes the program.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use bonded_host::sandbox;
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities,
    set_thread_gid, set_thread_groups, set_thread_uid,
};

/// The machine does not allow what was asked for.
const NOT_HERE: u8 = 77;

fn main() -> ExitCode {
    let entered = sandbox::enter(std::env::args_os());
    let entered = entered.or_else(|| bonded_work::tree::enter(std::env::args_os()));
    entered.unwrap_or_else(|| {
        let why = launch();
        let _ = writeln!(std::io::stderr(), "work_launcher: {why}");
        ExitCode::from(NOT_HERE)
    })
}

/// Returns only where it fails.
fn launch() -> String {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.next_if(|word| word == "--user").is_some() {
        let id = words.next().and_then(|id| id.to_str()?.parse().ok());
        if let Err(error) = become_user(id.unwrap_or_default()) {
            return format!("could not become another user: {error}");
        }
    }
    if words.next_if(|word| word == "--bare").is_none() {
        let entered = bonded_work::tree::enter_namespace().and_then(|()| hand_rights_on());
        if let Err(why) = entered {
            return why;
        }
    }
    let Some(program) = words.next() else {
        return "no program was given".into();
    };
    Command::new(program).args(words).exec().to_string()
}

fn become_user(id: u32) -> rustix::io::Result<()> {
    set_thread_groups(&[])?;
    set_thread_gid(Gid::from_raw(id))?;
    set_thread_uid(Uid::from_raw(id))
}

/// The program has the rights that this process got in its namespace.
fn hand_rights_on() -> Result<(), String> {
    let rights = CapabilitySet::SYS_ADMIN | CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER;
    let handed_on = capabilities(None).and_then(|mut held| {
        held.inheritable |= rights;
        set_capabilities(None, held)?;
        // The system takes them one at a time.
        rights
            .iter()
            .try_for_each(|right| configure_capability_in_ambient_set(right, true))
    });
    handed_on.map_err(|error| format!("could not hand its rights on: {error}"))
}
