//! Tests once more that failed beside others.
//!
//! Most tests start processes and wait for them. On a machine that does ten other things one of some thousands may run out
//! of its time, and a whole run that stops there says nothing about the rest. So a run goes on to its end, and what failed
//! is run again, alone: what fails then too has failed, and what passes is named, because it waits for less than it should.
//! What a failure says about a guarantee is believed the first time.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::Command;

use crate::fault::Fault;
use crate::stage::{cargo, run, shown};

/// Tests by their targets that kill, attack, or take rules apart in random order: a thing that happens once in a thousand
/// times is what they are there to find.
const BELIEVED: [&str; 12] = [
    "attack",
    "crash",
    "crash_everywhere",
    "forgeries",
    "kernel",
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

/// Runs `cargo test` to its end, and again what failed.
pub(crate) fn test(mut tests: Command) -> Result<(), Fault> {
    let (is_ok, failures) = watched(&mut tests)?;
    if is_ok {
        return Ok(());
    }
    let failed = || Fault::Failed {
        command: shown(&tests),
        status: "see above".to_owned(),
    };
    let count: usize = failures.by_target.values().map(Vec::len).sum();
    if failures.is_final || !(1..=ACCIDENTS_MAX).contains(&count) {
        return Err(failed());
    }
    for (target, names) in &failures.by_target {
        println!("==> again, alone: {} of {target}", names.join(", "));
        let mut again = cargo(["test", "--workspace"]);
        again.args(target.split(' '));
        again.args(["--", "--exact", "--test-threads", "1"]);
        again.args(names);
        again.envs(
            tests
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        run(again)?;
    }
    for (target, names) in &failures.by_target {
        println!("passed only alone: {} of {target}", names.join(", "));
    }
    Ok(())
}

/// What failed, by the words that make cargo run its target.
#[derive(Default)]
struct Failures {
    by_target: BTreeMap<String, Vec<String>>,
    /// Something failed that is not run again.
    is_final: bool,
}

/// Shows what a command prints, and reads it.
fn watched(tests: &mut Command) -> Result<(bool, Failures), Fault> {
    let program = tests.get_program().to_string_lossy().into_owned();
    let missing = |source| Fault::Missing {
        program: program.clone(),
        source,
    };
    let (reader, writer) = std::io::pipe().map_err(missing)?;
    let twin = writer.try_clone().map_err(missing)?;
    let mut child = tests.stdout(writer).stderr(twin).spawn().map_err(missing)?;
    // The command holds the writing end until it is given another: the pipe would never end.
    tests.stdout(std::process::Stdio::inherit());
    tests.stderr(std::process::Stdio::inherit());
    let mut report = Report::default();
    let mut stdout = std::io::stdout();
    for line in BufReader::new(reader).split(b'\n') {
        let line = line.map_err(missing)?;
        let text = String::from_utf8_lossy(&line);
        // A terminal that went away does not end the tests.
        let _ = writeln!(stdout, "{text}");
        report.read(&text);
    }
    let status = child.wait().map_err(missing)?;
    Ok((status.success(), report.failures))
}

/// What the lines of `cargo test` say.
#[derive(Default)]
struct Report {
    /// What runs now: the words that make cargo run it, or none where it cannot be run on its own.
    target: Option<String>,
    /// The names below the last heading of failures.
    names: Vec<String>,
    is_list: bool,
    failures: Failures,
}

impl Report {
    fn read(&mut self, line: &str) {
        let trimmed = line.trim();
        if let Some(rest) = trimmed.strip_prefix("Running ") {
            self.target = target_of(rest);
        } else if trimmed.starts_with("Doc-tests ") {
            self.target = None;
        } else if line == "failures:" {
            // There are two lists: what each printed, and the names alone. The last one counts.
            self.names.clear();
            self.is_list = true;
        } else if line.starts_with("test result: FAILED") {
            self.take();
        } else if line.starts_with("error: could not compile") || is_killed(line) {
            self.failures.is_final = true;
        } else if self.is_list && line.starts_with("    ") {
            self.names.push(trimmed.to_owned());
        }
    }

    fn take(&mut self) {
        self.is_list = false;
        let names = std::mem::take(&mut self.names);
        match &self.target {
            Some(target) if !names.is_empty() && !is_believed(target) => {
                let failed = self.failures.by_target.entry(target.clone());
                failed.or_default().extend(names);
            }
            Some(_) | None => self.failures.is_final = true,
        }
    }
}

/// A program of tests that did not come to its end.
fn is_killed(line: &str) -> bool {
    line.contains("process didn't exit successfully") && line.contains("signal:")
}

fn is_believed(target: &str) -> bool {
    let name = target.strip_prefix("--test ").unwrap_or_default();
    BELIEVED.contains(&name)
}

/// The words by which cargo runs what it calls `tests/rules/main.rs (target/debug/deps/rules-0123)`.
fn target_of(running: &str) -> Option<String> {
    let (path, _) = running.split_once(" (")?;
    match path {
        "unittests src/lib.rs" => return Some("--lib".to_owned()),
        _ if path.starts_with("unittests ") => return Some("--bins".to_owned()),
        _ => {}
    }
    let name = path.strip_prefix("tests/")?;
    let name = name
        .strip_suffix("/main.rs")
        .or_else(|| name.strip_suffix(".rs"))?;
    Some(format!("--test {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Failures {
        let mut report = Report::default();
        text.lines().for_each(|line| report.read(line));
        report.failures
    }

    const FAILED: &str = "\
failures:

---- plain::one stdout ----
    an indented line of what it printed

failures:
    plain::one
    plain::two

test result: FAILED. 73 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 10.11s
";

    #[test]
    fn what_failed_is_found_by_target_and_name() {
        let text = format!(
            "     Running tests/rules/main.rs (target/debug/deps/rules-01)\n{FAILED}
     Running unittests src/lib.rs (target/debug/deps/bonded_host-01)\n{FAILED}
     Running tests/docs.rs (target/debug/deps/docs-01)\ntest result: ok. 3 passed\n"
        );
        let failures = read(&text);
        let names = || vec!["plain::one".to_owned(), "plain::two".to_owned()];
        let expected = [("--lib", names()), ("--test rules", names())];
        let expected = expected.map(|(target, names)| (target.to_owned(), names));
        assert_eq!(failures.by_target, BTreeMap::from(expected));
        assert!(!failures.is_final);
    }

    #[test]
    fn what_kills_attacks_or_did_not_come_to_its_end_is_not_run_again() {
        let attack = format!("     Running tests/attack/main.rs (target/a)\n{FAILED}");
        let doc = format!("   Doc-tests bonded_kernel\n{FAILED}");
        let killed = "  process didn't exit successfully: `target/a` (signal: 6, SIGABRT: process abort signal)";
        let unbuilt = "error: could not compile `bonded-host` (lib) due to 1 previous error";
        for text in [&*attack, &doc, killed, unbuilt] {
            assert!(read(text).is_final, "{text}");
        }
        let exit = "  process didn't exit successfully: `target/a` (exit status: 101)";
        assert!(!read(exit).is_final);
    }
}
