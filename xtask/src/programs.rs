//! The programs that the tests are: built by cargo, run here as many at a time as there are cores.
//!
//! Most tests wait: for a process, a lease, a disk. `cargo test` runs one program after the other, and the last test of each
//! keeps all cores waiting.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::cpu;
use crate::fault::Fault;
use crate::stage::shown;

/// Those that take longest, the longest first: one that begins last is waited for alone.
const LONGEST: [&str; 12] = [
    "crash_everywhere",
    "soak",
    "pages",
    "attack",
    "store_on_server",
    "workspace",
    "work",
    "postgres",
    "rules_on_server",
    "agent",
    "cli",
    "terminal",
];

/// Those that drive browsers, kill, or hold leases of a second or two against a clock: where everything is run they are run
/// alone, because a machine that does two such things at once is one on which a process may stand still for a second.
const ALONE: [&str; 12] = [
    "attack",
    "crash",
    "crash_everywhere",
    "pages",
    "postgres",
    "rules_on_server",
    "signals",
    "soak",
    "store_on_server",
    "terminal",
    "work_crash",
    "workspace_crash",
];

/// Those whose tests wait for leases most of the time. Where they run alone, so many of their tests run at once.
const WAITING: [&str; 2] = ["postgres", "rules_on_server"];
const WAITING_THREADS: &str = "4";

/// A program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The target: of the tests in `tests/rules/main.rs` it is `rules`, of those within a crate the crate's name.
    pub(crate) name: String,
    /// Whether it has the tests of a crate's `tests` directory.
    pub(crate) is_integration: bool,
    path: PathBuf,
    /// The directory of its crate, where cargo runs it.
    dir: PathBuf,
    package: String,
    /// The programs of its crate, by the variables that name them to its tests.
    binaries: Vec<(String, PathBuf)>,
}

/// What a program came to.
pub(crate) struct Ended {
    pub(crate) program: Program,
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    took: Duration,
}

impl Program {
    #[cfg(test)]
    pub(crate) fn named(name: &str, is_integration: bool) -> Self {
        Self {
            name: name.to_owned(),
            is_integration,
            path: PathBuf::new(),
            dir: PathBuf::new(),
            package: String::new(),
            binaries: vec![],
        }
    }

    /// Ready to be started as cargo would.
    pub(crate) fn command(&self, setting: &Setting) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.dir);
        command.env("CARGO_MANIFEST_DIR", &self.dir);
        command.env("CARGO_PKG_NAME", &self.package);
        command.envs(self.binaries.iter().cloned());
        let values = setting.variables.get_envs();
        command.envs(values.filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn run(&self, setting: &Setting) -> Result<Ended, Fault> {
        let begun = Instant::now();
        let mut command = self.command(setting);
        if setting.spares && WAITING.contains(&self.name.as_str()) {
            command.env("RUST_TEST_THREADS", WAITING_THREADS);
        }
        command.args(&setting.arguments);
        let (status, output) = captured(&mut command)?;
        Ok(Ended {
            program: self.clone(),
            status,
            output,
            took: begun.elapsed(),
        })
    }
}

/// What every program is given.
pub(crate) struct Setting {
    /// A command that is never run: its variables are those of the tests.
    pub(crate) variables: Command,
    pub(crate) arguments: Vec<String>,
    /// Whether programs run alone that had better.
    pub(crate) spares: bool,
}

/// What cargo says that it built and can be run.
struct Artifact {
    program: Program,
    is_test: bool,
}

impl Artifact {
    /// The line is JSON as cargo writes it: names of files have no quotes here.
    fn read(line: &str) -> Option<Self> {
        let is_built = line.contains("\"reason\":\"compiler-artifact\"");
        let path = field(line, "executable").filter(|_| is_built)?;
        let dir = Path::new(field(line, "manifest_path")?).parent()?;
        let (_, target) = line.split_once("\"target\":{")?;
        let program = Program {
            name: field(target, "name")?.to_owned(),
            is_integration: target.starts_with("\"kind\":[\"test\"]"),
            path: path.into(),
            dir: dir.to_owned(),
            package: package_of(field(line, "package_id")?, dir),
            binaries: vec![],
        };
        Some(Self {
            program,
            is_test: line.contains("\"test\":true},\"features\""),
        })
    }
}

/// The programs of tests among what was built, with the other programs of their crates.
fn sorted(artifacts: Vec<Artifact>) -> Vec<Program> {
    let (tests, others): (Vec<_>, Vec<_>) = artifacts.into_iter().partition(|it| it.is_test);
    let mut programs: Vec<Program> = tests.into_iter().map(|it| it.program).collect();
    for program in programs.iter_mut().filter(|it| it.is_integration) {
        let of_crate = others.iter().filter(|it| it.program.dir == program.dir);
        let named = |it: &Artifact| {
            let variable = format!("CARGO_BIN_EXE_{}", it.program.name);
            (variable, it.program.path.clone())
        };
        program.binaries = of_crate.map(named).collect();
    }
    let place = |it: &Program| {
        let place = LONGEST.iter().position(|name| *name == it.name);
        place.unwrap_or(LONGEST.len())
    };
    programs.sort_by_key(|it| (place(it), it.name.clone()));
    programs
}

/// Builds them; `build` is `cargo test --no-run` with what is to be built.
pub(crate) fn built(mut build: Command) -> Result<Vec<Program>, Fault> {
    build.arg("--message-format=json-render-diagnostics");
    let missing = missing(&build);
    let mut child = build.stdout(Stdio::piped()).spawn().map_err(&missing)?;
    let mut artifacts = vec![];
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            artifacts.extend(Artifact::read(&line.map_err(&missing)?));
        }
    }
    let status = child.wait().map_err(&missing)?;
    if !status.success() {
        return Err(Fault::Failed {
            command: shown(&build),
            status: status.to_string(),
        });
    }
    Ok(sorted(artifacts))
}

/// Runs all of them to their ends, and shows what each printed when it has ended.
pub(crate) fn run(programs: Vec<Program>, setting: &Setting) -> Result<Vec<Ended>, Fault> {
    let count = programs.len();
    let is_alone =
        |it: &Program| setting.spares && it.is_integration && ALONE.contains(&it.name.as_str());
    let (alone, others): (Vec<_>, Vec<_>) = programs.into_iter().partition(is_alone);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut all = Vec::with_capacity(count);
    for (programs, lanes) in [(alone, 1), (others, cores)] {
        run_in_lanes(programs, setting, lanes, |ended| {
            show(&ended, all.len() + 1, count);
            all.push(ended);
        })?;
    }
    let used = cpu::of_children()?.as_secs();
    println!("{count} programs; {used} s of CPU since the beginning");
    Ok(all)
}

/// Runs programs, so many at a time.
fn run_in_lanes(
    programs: Vec<Program>,
    setting: &Setting,
    lanes: usize,
    mut done: impl FnMut(Ended),
) -> Result<(), Fault> {
    let waiting = Mutex::new(VecDeque::from(programs));
    let next = || {
        let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.pop_front()
    };
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..lanes {
            let sender = sender.clone();
            scope.spawn(move || {
                while let Some(program) = next() {
                    // The receiver is gone when an error has ended it all.
                    if sender.send(program.run(setting)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        receiver.into_iter().try_for_each(|ended| {
            done(ended?);
            Ok(())
        })
    })
}

fn show(ended: &Ended, number: usize, count: usize) {
    let Ended { program, took, .. } = ended;
    let took = took.as_secs_f64();
    let shown = format!(
        "     Ran {} ({number} of {count}, {took:.1} s): {}\n{}\n",
        program.name, ended.status, ended.output
    );
    // A terminal that went away does not end the tests.
    let _ = std::io::stdout().write_all(shown.as_bytes());
}

/// What a command prints, both streams in one.
fn captured(command: &mut Command) -> Result<(ExitStatus, String), Fault> {
    let missing = missing(command);
    let (mut reader, writer) = std::io::pipe().map_err(&missing)?;
    let twin = writer.try_clone().map_err(&missing)?;
    command.stdin(Stdio::null()).stdout(writer).stderr(twin);
    let mut child = command.spawn().map_err(&missing)?;
    // The command holds the writing ends until it is given others: the pipe would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut output = vec![];
    reader.read_to_end(&mut output).map_err(&missing)?;
    let status = child.wait().map_err(&missing)?;
    Ok((status, String::from_utf8_lossy(&output).into_owned()))
}

fn missing(command: &Command) -> impl Fn(std::io::Error) -> Fault + use<> {
    let program = command.get_program().to_string_lossy().into_owned();
    move |source| Fault::Missing {
        program: program.clone(),
        source,
    }
}

/// The name of a package by its id, which leaves out a name that is the directory's.
fn package_of(id: &str, dir: &Path) -> String {
    let (_, version) = id.split_once('#').unwrap_or_default();
    match version.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => dir
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
    }
}

/// The text of the first field of this name.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    Some(rest.split_once('"')?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///p/crates/workspace#bonded-workspace@0.1.0","manifest_path":"/p/crates/workspace/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"rules","src_path":"/p/crates/workspace/tests/rules/main.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":"line-tables-only","debug_assertions":true,"overflow_checks":true,"test":true},"features":[],"filenames":["/p/target/debug/deps/rules-01"],"executable":"/p/target/debug/deps/rules-01","fresh":true}"#;

    #[test]
    fn what_cargo_built_is_a_program_of_tests_or_one_that_they_start() {
        let binary = BUILT
            .replace(
                "\"test\":true},\"features\"",
                "\"test\":false},\"features\"",
            )
            .replace("[\"test\"]", "[\"bin\"]")
            .replace("\"rules\"", "\"bonded\"")
            .replace("deps/rules-01", "bonded");
        let own = BUILT.replace("[\"test\"]", "[\"lib\"]");
        let finished = r#"{"reason":"build-finished","success":true}"#;
        let lines = [BUILT, &binary, &own, finished];
        let programs = sorted(lines.into_iter().filter_map(Artifact::read).collect());
        let expected = Program {
            name: "rules".into(),
            is_integration: true,
            path: "/p/target/debug/deps/rules-01".into(),
            dir: "/p/crates/workspace".into(),
            package: "bonded-workspace".into(),
            binaries: vec![(
                "CARGO_BIN_EXE_bonded".into(),
                "/p/target/debug/bonded".into(),
            )],
        };
        let within = Program {
            is_integration: false,
            binaries: vec![],
            ..expected.clone()
        };
        assert_eq!(programs, [expected, within]);
    }

    #[test]
    fn what_a_command_prints_is_kept_whatever_it_ends_with() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let (status, output) = captured(&mut command).expect("a shell can be started");
        assert_eq!((status.code(), &*output), (Some(3), "one\ntwo\n"));
    }
}
