//! A place for one test: a home, a working directory, a store, scripts, and the program under test.

mod lines;
mod runs;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

pub use crate::done::{Done, finish, parse, start};
pub use lines::{FOREVER_MS, call, done, never, report, with};
pub use runs::{Listed, of_kind};

#[derive(Debug)]
pub struct Place {
    dir: TempDir,
    /// What the program is told to keep its runs in.
    store: OsString,
}

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        std::fs::create_dir(dir.path().join("work")).expect("a directory can be made in it");
        let store = dir.path().join("store.db").into_os_string();
        Self { dir, store }
    }

    /// A place whose runs are kept in another store.
    pub fn with_store(store: &str) -> Self {
        Self {
            store: store.into(),
            ..Self::new()
        }
    }

    /// A place whose server of workspaces is configured so.
    pub fn with_config(config: &Value) -> Self {
        let place = Self::new();
        place.write("data/config.json", config.to_string());
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// What its runs are kept in: a file, or the address of a server.
    pub fn store(&self) -> String {
        self.store.to_string_lossy().into_owned()
    }

    /// The directory that the agent works in.
    pub fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// Writes a file, with the directories above it, and gives where it lies.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        let parent = path.parent().expect("a file lies in a directory");
        std::fs::create_dir_all(parent).expect("a directory can be made");
        std::fs::write(&path, content).expect("a file can be written");
        path
    }

    /// Writes a script and gives the name of the model that plays it.
    pub fn script(&self, lines: &[Value]) -> String {
        self.script_named("script", lines)
    }

    /// The same for a place with several scripts.
    pub fn script_named(&self, name: &str, lines: &[Value]) -> String {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = self.write(&format!("{name}.jsonl"), text);
        format!("script:{}", path.display())
    }

    /// Writes an agent that plays a script, and whose front matter says more than its model; gives where it lies.
    pub fn agent(&self, name: &str, lines: &[Value], front_matter: &str) -> PathBuf {
        let script = self.script_named(name, lines);
        let text = format!("---\nmodels: {script}\n{front_matter}\n---\nYou are tested.\n");
        self.write(&format!("{name}.ai"), text)
    }

    /// The program with this place's store, and nothing of the tester's environment but the path.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        self.command_of(&program(), arguments)
    }

    /// The same with another build of the program.
    pub fn command_of(&self, program: &Path, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = clean_command(program, self.dir.path(), &self.work());
        command.args(arguments).env("BONDED_STORE", &self.store);
        command
    }

    /// The server of the workspaces in the directory `data`, on a port that the system chooses.
    pub fn serve_data(&self) -> Command {
        let data = self.path("data").display().to_string();
        self.command(&["serve", "--data", &data, "--listen", "127.0.0.1:0"])
    }

    /// Runs the program to its end.
    pub fn bonded(&self, arguments: &[&str]) -> Done {
        finish(start(&mut self.command(arguments)))
    }
}

/// The program under test, where cargo has built it for the tests of its package.
pub fn program() -> PathBuf {
    let named = std::env::var_os("CARGO_BIN_EXE_bonded");
    named
        .expect("cargo names the program to the tests of its package")
        .into()
}

/// A program with this home and working directory, pipes to listen to, and nothing of the tester's environment but the
/// path.
pub fn clean_command(program: impl AsRef<OsStr>, home: &Path, work: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(work)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
