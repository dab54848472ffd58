//! Somebody who uses the program: an unprivileged user of the machine where the tester may become one, with a home
//! and a working directory, and nothing of the tester's environment but the path.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use bonded_testkit::place::clean_command;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Whoever attacks may print any bytes.
pub(crate) use bonded_testkit::done::{Done, finish_lossy as finish, start};
pub(crate) use bonded_testkit::place::call;

/// The first of the user ids that persons get. Nobody on a usual machine has them.
const FIRST_UID: u32 = 61_000;

static PERSONS: AtomicU32 = AtomicU32::new(0);

pub(crate) struct Person {
    /// Everything of this person lies here: `home`, and `work` in it.
    dir: TempDir,
    /// `None` where the tester is no root, and is the person himself.
    uid: Option<u32>,
}

impl Person {
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("attack-")
            .tempdir_in(program_dir())
            .expect("a temporary directory can be made");
        let uid = rustix::process::geteuid()
            .is_root()
            .then(|| FIRST_UID + PERSONS.fetch_add(1, Ordering::Relaxed));
        let person = Self { dir, uid };
        person.own(person.dir.path());
        person.make_dir(&person.home());
        person.make_dir(&person.work());
        person
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// The directory that the agent works in.
    pub(crate) fn work(&self) -> PathBuf {
        self.home().join("work")
    }

    /// A place of this person outside the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Makes a directory, with those above it, that belongs to the person.
    pub(crate) fn make_dir(&self, path: &Path) {
        if path.exists() {
            return;
        }
        if let Some(parent) = path.parent() {
            self.make_dir(parent);
        }
        std::fs::create_dir(path).expect("a directory can be made");
        self.own(path);
    }

    /// Writes a file that belongs to the person.
    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = path.as_ref();
        if let Some(parent) = path.parent() {
            self.make_dir(parent);
        }
        std::fs::write(path, content).expect("a file can be written");
        self.own(path);
    }

    /// Gives a path to the person. A link is given itself, not what it leads to.
    pub(crate) fn own(&self, path: &Path) {
        if self.uid.is_some() {
            std::os::unix::fs::lchown(path, self.uid, self.uid).expect("root gives files away");
        }
    }

    /// Writes a script outside the home, and gives the name of the model that plays it.
    pub(crate) fn script(&self, lines: &[Value]) -> String {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let path = self.path("script.jsonl");
        self.write(&path, text);
        format!("script:{}", path.display())
    }

    /// `bonded` as this person starts it in the working directory.
    pub(crate) fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = self.program(program_dir().join("bonded"));
        command.args(arguments);
        command
    }

    /// Any program as this person starts it in the working directory.
    pub(crate) fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = clean_command(program, &self.home(), &self.work());
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command
    }

    /// Runs `bonded` to its end.
    pub(crate) fn bonded(&self, arguments: &[impl AsRef<OsStr>]) -> Done {
        finish(start(&mut self.command(arguments)))
    }

    /// Runs a goal with these flags, played by a script.
    pub(crate) fn run(&self, flags: &[&str], lines: &[Value]) -> Done {
        let script = self.script(lines);
        let mut words = vec!["run", "--id", "run", "--model", &script];
        words.extend(flags);
        words.push("the goal");
        self.bonded(&words)
    }

    /// Approves the call of the run that waits, after a look at it.
    pub(crate) fn approve(&self) -> Done {
        let shown = self.bonded(&["approve", "run"]).stderr;
        let mut lines = shown.lines();
        let digest = lines.find_map(|line| line.trim().strip_prefix("digest"));
        let digest = digest.expect("a look shows the digest").trim();
        self.bonded(&["approve", "run", "--call", "0", "--digest", digest])
    }

    /// Runs a shell as this person, outside any sandbox: what somebody else does on the machine.
    pub(crate) fn shell(&self, text: &str) -> Done {
        let mut command = self.program("sh");
        command.args(["-c", text]);
        finish(start(&mut command))
    }
}

/// The programs under test where every user of the machine can start them: a checkout may lie in somebody's home.
pub(crate) fn program_dir() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| {
        // One directory for each build; a test process that comes later finds it there, and nothing has to be removed.
        let built = Path::new(env!("CARGO_BIN_EXE_bonded"));
        let made = tempfile::Builder::new()
            .prefix("bonded-attack-")
            .permissions(std::fs::Permissions::from_mode(0o755))
            .disable_cleanup(true)
            .tempdir_in("/var/tmp")
            .expect("a directory for the programs can be made");
        remove_old(made.path());
        for name in ["bonded", "bonded-sandbox"] {
            let from = built.with_file_name(name);
            std::fs::copy(&from, made.path().join(name)).expect("the program can be copied");
        }
        made.path().to_owned()
    })
}

/// Removes what earlier test processes left, where they have ended.
fn remove_old(own: &Path) {
    std::fs::write(own.join("pid"), std::process::id().to_string()).expect("it can be written");
    let Some(parent) = own.parent() else { return };
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_ours = entry
            .file_name()
            .to_string_lossy()
            .starts_with("bonded-attack-");
        let pid = std::fs::read_to_string(path.join("pid"));
        if let (true, Ok(pid)) = (is_ours, pid)
            && !Path::new("/proc").join(pid.trim()).exists()
        {
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

/// A line of a script: a reply that has a command run.
pub(crate) fn sh(command: &str) -> Value {
    call("run", json!({ "command": command }))
}

/// A line of a script: the reply that ends the run.
pub(crate) fn done() -> Value {
    call("done", json!({ "reason": "done" }))
}
