//! Tests once more that failed beside others.
//!
//! Most tests start processes and wait for them. On a machine that does ten other things one of some thousands may run out
//! of its time, and a whole run that stops there says nothing about the rest. So a run goes on to its end, and what failed
//! is run again, alone: what fails then too has failed, and what passes is named, because it waits for less than it should.
//! What a failure says about a guarantee is believed the first time.

use crate::fault::Fault;
use crate::programs::{self, Ended, Program, Setting};
use crate::stage::run;

/// Tests by their targets that kill, attack, or take rules apart in random order: a thing that happens once in a thousand
/// times is what they are there to find.
const BELIEVED: [&str; 13] = [
    "attack",
    "crash",
    "crash_everywhere",
    "forgeries",
    "kernel",
    "leases",
    "lost",
    "postgres",
    "simulation",
    "soak",
    "work_crash",
    "work_rules",
    "workspace_crash",
];

/// More than so many at once are no accident.
const ACCIDENTS_MAX: usize = 5;

/// Runs programs to their ends, and again what failed.
pub(crate) fn test(programs: Vec<Program>, setting: &Setting) -> Result<(), Fault> {
    let ended = programs::run(programs, setting)?;
    let failures: Vec<Failure> = ended.iter().filter_map(Failure::of).collect();
    if failures.is_empty() {
        return Ok(());
    }
    let count: usize = failures.iter().map(|it| it.names.len()).sum();
    if failures.iter().any(Failure::is_final) || count > ACCIDENTS_MAX {
        let findings = failures.iter().map(Failure::shown).collect();
        return Err(Fault::Found { findings });
    }
    for failure in &failures {
        println!("==> again, alone: {}", failure.shown());
        let mut again = failure.program.command(setting);
        again.args(["--exact", "--test-threads", "1"]);
        again.args(&failure.names);
        run(again)?;
    }
    for failure in &failures {
        println!("passed only alone: {}", failure.shown());
    }
    Ok(())
}

/// A program that did not end well.
struct Failure {
    program: Program,
    /// The tests that failed; none where it did not come to its end.
    names: Vec<String>,
    status: String,
}

impl Failure {
    fn of(ended: &Ended) -> Option<Self> {
        if ended.status.success() {
            return None;
        }
        // Killed, it did not list everything.
        let names = match ended.status.code() {
            Some(_) => failed(&ended.output),
            None => vec![],
        };
        Some(Self {
            program: ended.program.clone(),
            names,
            status: ended.status.to_string(),
        })
    }

    /// Whether it is not run again.
    fn is_final(&self) -> bool {
        let name = self.program.name.as_str();
        self.names.is_empty() || self.program.is_integration && BELIEVED.contains(&name)
    }

    fn shown(&self) -> String {
        let names = self.names.join(", ");
        format!("{} ({}): {names}", self.program.name, self.status)
    }
}

/// The names below the last heading of failures: there are two lists, what each test printed, and the names alone.
fn failed(output: &str) -> Vec<String> {
    let (_, list) = output.rsplit_once("\nfailures:\n").unwrap_or_default();
    let names = list.lines().take_while(|line| line.starts_with("    "));
    names.map(|line| line.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_failed_is_found_by_its_name() {
        let output = "
running 75 tests

failures:

---- plain::one stdout ----
    an indented line of what it printed

failures:
    plain::one
    plain::two

test result: FAILED. 73 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 10.11s
";
        assert_eq!(failed(output), ["plain::one", "plain::two"]);
        assert!(failed("test result: ok. 3 passed\n").is_empty());
    }

    fn failure(name: &str, is_integration: bool, names: &[&str]) -> Failure {
        Failure {
            program: Program::named(name, is_integration),
            names: names.iter().map(|it| (*it).to_owned()).collect(),
            status: String::new(),
        }
    }

    #[test]
    fn what_kills_attacks_or_did_not_come_to_its_end_is_not_run_again() {
        assert!(failure("attack", true, &["one"]).is_final());
        assert!(failure("rules", true, &[]).is_final());
        assert!(!failure("rules", true, &["one"]).is_final());
        // The tests within a crate of this name.
        assert!(!failure("postgres", false, &["one"]).is_final());
    }
}
