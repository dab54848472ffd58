//! A place for one test: a store, a working directory, scripts, and the program under test.

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(90);

pub(crate) struct Place {
    dir: TempDir,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        std::fs::create_dir(dir.path().join("work")).expect("a directory can be made in it");
        Self { dir }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The directory that the agent works in.
    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Writes a script and gives the name of the model that plays it.
    pub(crate) fn script(&self, lines: &[Value]) -> String {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = self.path("script.jsonl");
        std::fs::write(&path, text).expect("the script can be written");
        format!("script:{}", path.display())
    }

    /// The program with this place's store, and nothing of the tester's environment but the path.
    pub(crate) fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        self.command_of(Path::new(env!("CARGO_BIN_EXE_bonded")), arguments)
    }

    /// The same with another build of the program.
    pub(crate) fn command_of(&self, program: &Path, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.work())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.path())
            .env("BONDED_STORE", self.path("store.db"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn bonded(&self, arguments: &[&str]) -> Done {
        finish(start(&mut self.command(arguments)))
    }

    /// Looks at the call that a run waits for, and approves what was looked at.
    pub(crate) fn approve(&self, run: &str, flags: &[&str]) -> Done {
        let looked = self.bonded(&["approve", run]);
        assert_eq!(
            looked.code,
            Some(4),
            "nothing is approved unseen: {looked:?}"
        );
        let digest = looked
            .stderr
            .lines()
            .find_map(|it| it.strip_prefix("digest"));
        let digest = digest.expect("what waits has a digest").trim();
        let words = [&["approve", run, "--digest", digest], flags].concat();
        self.bonded(&words)
    }

    /// The log of a run, as `show --json` prints it.
    pub(crate) fn log(&self, run: &str) -> Vec<String> {
        let shown = self.bonded(&["show", run, "--json"]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        shown.stdout.lines().map(str::to_owned).collect()
    }
}

pub(crate) fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?} is not JSON: {error}"))
}

pub(crate) fn start(command: &mut Command) -> Child {
    command.spawn().expect("the program can be started")
}

/// Waits for a process and collects what it printed. Never waits for ever.
pub(crate) fn finish(mut child: Child) -> Done {
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the process can be waited for") {
            break status;
        }
        if began.elapsed() > PATIENCE {
            child.kill().expect("the process can be killed");
            child.wait().expect("a killed process ends");
            panic!("the program did not end within {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(2));
    };
    let text = |thread: JoinHandle<Vec<u8>>| {
        let bytes = thread.join().expect("reading a pipe does not panic");
        String::from_utf8(bytes).expect("the program prints UTF-8")
    };
    let done = Done {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    };
    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    done
}

fn collect(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = vec![];
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).expect("a pipe can be read");
        }
        bytes
    })
}

/// A line of a script: a reply that calls one tool.
pub(crate) fn call(tool: &str, arguments: Value) -> Value {
    let mut line = json!({ "calls": [{ "tool": tool }] });
    line["calls"][0]["arguments"] = arguments;
    line
}

/// A line of a script: the reply that ends the run.
pub(crate) fn done(reason: &str) -> Value {
    call("done", json!({ "reason": reason }))
}

/// Sets a field of a script's line.
pub(crate) fn with(mut line: Value, field: &str, value: impl Into<Value>) -> Value {
    line[field] = value.into();
    line
}
