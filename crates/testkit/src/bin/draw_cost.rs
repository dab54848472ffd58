//! What drawing costs: the CPU time of the program while a model says a hundred tokens a second at a terminal, beside the
//! CPU time of the same program where it reads the same words and draws nothing.
//!
//! `draw_cost PROGRAM` prints the CPU time and the time that went by, both in microseconds, while the words came: first at a
//! terminal, then without one.

use std::error::Error;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use bonded_testkit::place::clean_command;
use bonded_testkit::provider::{Provider, streamed_text};
use bonded_testkit::terminal::{Size, Terminal};
use rustix::process::Pid;

/// A token is a word of five letters and a space.
const TOKEN_LETTERS: usize = 6;
const TOKENS_PER_SECOND: u64 = 100;
/// Ten seconds of them: the system counts CPU time in hundredths of a second.
const TOKENS: usize = 1_000;

const TICKS_PER_SECOND: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args_os().nth(1).ok_or("draw_cost PROGRAM")?;
    let unknown = "the system does not say how much CPU time the program has had";
    for is_drawn in [true, false] {
        let (cpu_us, wall_us) = measured(Path::new(&program), is_drawn).ok_or(unknown)?;
        writeln!(std::io::stdout(), "{cpu_us} {wall_us}")?;
    }
    Ok(())
}

fn measured(program: &Path, is_drawn: bool) -> Option<(u64, u64)> {
    let provider = Provider::start();
    let said = streamed_text(&"words ".repeat(TOKENS), TOKEN_LETTERS);
    provider.then_always(said.paused_ms(1_000 / TOKENS_PER_SECOND));
    let home = tempfile::tempdir().ok()?;
    let mut command = command(program, home.path(), &provider);
    if is_drawn {
        let terminal = Terminal::start(&command, Size(100, 40));
        return spent_while_it_speaks(&provider, terminal.pid());
    }
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let spent = spent_while_it_speaks(&provider, Pid::from_child(&child));
    child.kill().ok()?;
    child.wait().ok()?;
    spent
}

fn spent_while_it_speaks(provider: &Provider, program: Pid) -> Option<(u64, u64)> {
    provider.wait_for(1);
    let (begun, before_us) = (Instant::now(), cpu_us(program)?);
    provider.wait_until_answered(1);
    let wall_us = u64::try_from(begun.elapsed().as_micros()).ok()?;
    Some((cpu_us(program)? - before_us, wall_us))
}

fn command(program: &Path, home: &Path, provider: &Provider) -> Command {
    let mut command = clean_command(program, home, home);
    command
        .args(["run", "--model", "m", "--base-url", &provider.base_url()])
        .arg("tell me something long")
        .env("TERM", "xterm-256color");
    command
}

/// User and system time of all threads, as `/proc` has it after the program's name, which may hold spaces.
fn cpu_us(program: Pid) -> Option<u64> {
    let id = program.as_raw_nonzero();
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: Option<Vec<u64>> = ticks.map(|field| field.parse().ok()).collect();
    Some(ticks?.iter().sum::<u64>() * 1_000_000 / TICKS_PER_SECOND)
}
