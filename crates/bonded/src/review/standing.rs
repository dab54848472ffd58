//! "Always": which later calls of a run a person has approved beforehand.
//!
//! It is kept in the memory of this process and ends with it: a run that is resumed asks again. Each call that it
//! lets through is recorded as an approval of its own, with the name of who said so and what was said. A pattern
//! never reaches a command that a shell would read as more than one, nor a file that configures later programs.

use std::path::{Path, PathBuf};

use bonded_host::PendingReview;
use bonded_host::letters::written_out;
use bonded_host::shapes::waiting::change::FileChange;
use bonded_host::shapes::waiting::command::CommandCall;
use bonded_kernel::{Run, RunId};

use super::call_view::{CallView, Proposal};

/// Programs that run whatever they are told: a pattern of their name alone would be a pattern of everything.
const RUNNERS: [&str; 28] = [
    "bash", "busybox", "chroot", "command", "dash", "doas", "env", "eval", "exec", "find", "fish",
    "ksh", "lua", "nice", "node", "nohup", "perl", "php", "python", "python3", "ruby", "sh", "ssh",
    "sudo", "time", "timeout", "xargs", "zsh",
];

/// Which calls are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The command with everything that it is given.
    Command(CommandCall),
    /// A file, by the tool that was asked about.
    File(String),
    /// The same arguments.
    Call(String),
    /// Commands that begin so, in the same directory.
    CommandsLike { begins: String, cwd: Option<String> },
    /// Files below a directory.
    FilesIn(String),
    /// Every call of the tool.
    Tool,
}

impl Scope {
    /// The scopes that can be chosen: by number from 1. A place that is empty has no choice.
    pub(crate) fn choices(look: &CallView) -> [Option<Self>; 3] {
        let (this, like) = match &look.subject {
            Proposal::Change(change) => (
                Self::File(change.path().to_owned()),
                parent(change).map(Self::FilesIn),
            ),
            Proposal::Command(command, _) => (Self::Command(command.clone()), like(command)),
            Proposal::Failure(_, arguments) | Proposal::Arguments(arguments) => {
                (Self::Call(arguments.clone()), None)
            }
        };
        [Some(this), like, Some(Self::Tool)]
    }

    /// As it is offered, recorded and shown.
    pub(crate) fn words(&self, tool: &str) -> String {
        match self {
            Self::Command(_) => "this command".into(),
            Self::File(path) => written_out(path),
            Self::Call(_) => "this call".into(),
            Self::CommandsLike { begins, .. } => format!("{} *", written_out(begins)),
            Self::FilesIn(dir) => format!("{}/*", written_out(dir)),
            Self::Tool if tool == "run" => "every command".into(),
            Self::Tool => format!("every {}", written_out(tool)),
        }
    }

    fn holds_for(&self, subject: &Proposal) -> bool {
        match (self, subject) {
            (Self::Tool, _) => true,
            (Self::Command(meant), Proposal::Command(command, _)) => meant == command,
            (Self::CommandsLike { begins, cwd }, Proposal::Command(command, _)) => {
                begins_so(command, begins) && *cwd == command.cwd
            }
            (Self::File(path), Proposal::Change(change)) => path == change.path(),
            (Self::FilesIn(dir), Proposal::Change(change)) => {
                Path::new(change.path()).starts_with(dir)
            }
            (Self::Call(meant), Proposal::Arguments(arguments)) => meant == arguments,
            (
                Self::Command(_)
                | Self::CommandsLike { .. }
                | Self::File(_)
                | Self::FilesIn(_)
                | Self::Call(_),
                _,
            ) => false,
        }
    }
}

/// What was said of a run.
#[derive(Clone, Debug)]
struct Word {
    run: RunId,
    tool: String,
    scope: Scope,
}

/// All that was said in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Standing {
    words: Vec<Word>,
    /// What no pattern reaches, absolute: the store, and where runs are kept.
    own_files: Vec<PathBuf>,
}

impl Standing {
    pub(crate) fn new(own_files: Vec<PathBuf>) -> Self {
        Self {
            words: vec![],
            own_files,
        }
    }

    pub(crate) fn add(&mut self, waits: &PendingReview, scope: Scope) {
        self.words.push(Word {
            run: waits.run.clone(),
            tool: waits.call.tool.to_string(),
            scope,
        });
    }

    /// The scope that lets a call through, if one does. What only a person who looked may change is asked about again.
    pub(crate) fn find(&self, run: &Run, waits: &PendingReview, look: &CallView) -> Option<&Scope> {
        match &look.subject {
            Proposal::Change(change) if self.is_guarded(run, change) => return None,
            // Which file it would change is not known.
            Proposal::Failure(..) => return None,
            Proposal::Change(_) | Proposal::Command(..) | Proposal::Arguments(_) => {}
        }
        let word = self.words.iter().find(|word| {
            word.run == waits.run
                && word.tool == *waits.call.tool
                && word.scope.holds_for(&look.subject)
        });
        word.map(|word| &word.scope)
    }

    fn is_guarded(&self, run: &Run, change: &FileChange) -> bool {
        let path = Path::new(&run.config().dir).join(change.path());
        let kept = run.config().kept.iter();
        let kept = kept.flat_map(|kept| [&kept.ledger, &kept.snapshots]);
        let kept: Vec<&Path> = kept.flatten().map(Path::new).collect();
        let own = self.own_files.iter().map(PathBuf::as_path).chain(kept);
        let mut own = own.map(|own| own.as_os_str().as_encoded_bytes());
        // What a program keeps beside a file has a longer name.
        let is_own = own.any(|own| path.as_os_str().as_encoded_bytes().starts_with(own));
        change.is_guarded() || is_own
    }
}

fn parent(change: &FileChange) -> Option<String> {
    let parent = Path::new(change.path()).parent()?.to_str()?;
    (!parent.is_empty() && !change.is_guarded()).then(|| parent.to_owned())
}

/// The program, and what it is told to do where that is its first word.
fn like(command: &CommandCall) -> Option<Scope> {
    let is_plain = |word: &&str| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:+@%".contains(&b);
        word.bytes().all(plain)
    };
    let mut words = command.command.split(' ').filter(|word| !word.is_empty());
    let program = words.next().filter(is_plain)?;
    let argument = words.next().filter(is_plain);
    let argument = argument.filter(|word| !word.starts_with('-'));
    let name = program.rsplit('/').next().unwrap_or(program);
    let begins = match argument {
        Some(argument) => format!("{program} {argument}"),
        None if RUNNERS.contains(&name) => return None,
        None => program.to_owned(),
    };
    let is_runner = RUNNERS.contains(&name) && !is_script(name, argument.unwrap_or_default());
    let cwd = command.cwd.clone();
    (begins_so(command, &begins) && !is_runner).then_some(Scope::CommandsLike { begins, cwd })
}

/// Of a program that runs whatever it is told, a pattern with a script's name is one of that script.
fn is_script(program: &str, argument: &str) -> bool {
    let reads_scripts = ![
        "command", "env", "eval", "exec", "find", "nice", "nohup", "ssh", "sudo",
    ]
    .contains(&program)
        && !["busybox", "chroot", "doas", "time", "timeout", "xargs"].contains(&program);
    reads_scripts && (argument.contains('.') || argument.contains('/'))
}

/// Whether a command is one, begins with these words, and reads nothing that the pattern does not name.
fn begins_so(command: &CommandCall, begins: &str) -> bool {
    let line = &command.command;
    let is_one = command.args.is_none() && command.stdin.is_none() && is_single(line);
    let rest = line.strip_prefix(begins);
    is_one && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Whether a shell reads a line as one command, with nothing started inside it and nothing redirected.
fn is_single(line: &str) -> bool {
    !line
        .chars()
        .any(|letter| letter.is_control() || ";&|<>$`()".contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(line: &str) -> CommandCall {
        let call = serde_json::json!({ "command": line });
        serde_json::from_value(call).expect("it is a command")
    }

    fn pattern(line: &str) -> Option<String> {
        like(&command(line)).map(|scope| scope.words("run"))
    }

    #[test]
    fn a_pattern_names_the_program_and_what_it_is_told_to_do() {
        for (line, expected) in [
            ("cargo build --release", Some("cargo build *")),
            ("cargo test", Some("cargo test *")),
            ("ls -la", Some("ls *")),
            ("ls", Some("ls *")),
            ("sh test.sh", Some("sh test.sh *")),
            ("./gradlew check", Some("./gradlew check *")),
            ("sh -c 'rm -rf x'", None),
            ("bash", None),
            ("sudo make.sh", None),
            ("env make", None),
            ("xargs ./rm", None),
            ("/usr/bin/env sh", None),
            ("FOO=1 make", None),
            ("make 'a b'", Some("make *")),
            ("\"make\" all", None),
        ] {
            assert_eq!(pattern(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn no_pattern_is_offered_for_what_a_shell_reads_as_more_than_one_command() {
        for line in [
            "cargo build; rm x",
            "cargo build & rm x",
            "cargo build && rm x",
            "cargo build | sh",
            "cargo build > x",
            "cargo build < x",
            "cargo build $(rm x)",
            "cargo build `rm x`",
            "cargo build\nrm x",
            "cargo build ${x:=y}",
            "cargo build \r rm x",
        ] {
            assert_eq!(pattern(line), None, "{line}");
        }
    }

    #[test]
    fn a_pattern_holds_for_nothing_that_only_looks_like_it() {
        let scope = like(&command("cargo build")).expect("a pattern");
        let holds = |call: CommandCall| {
            let Scope::CommandsLike { begins, cwd } = &scope else {
                return false;
            };
            begins_so(&call, begins) && *cwd == call.cwd
        };
        for (line, expected) in [
            ("cargo build", true),
            ("cargo build --tests", true),
            ("cargo buildx", false),
            ("cargo  build", false),
            (" cargo build", false),
            ("cargo build; rm -rf .", false),
            ("cargo build --x $(rm y)", false),
            ("cargo build\nrm y", false),
        ] {
            assert_eq!(holds(command(line)), expected, "{line}");
        }
        let mut elsewhere = command("cargo build");
        elsewhere.cwd = Some("sub".into());
        assert!(!holds(elsewhere));
        let mut fed = command("cargo build");
        fed.stdin = Some("x".into());
        assert!(!holds(fed));
    }
}
