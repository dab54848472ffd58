//! What every measurement uses: the programs, a server, a scratch directory with notes to read, and the
//! commands that make both programs do the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::{Running, measure};
use super::server::Server;
use crate::fault::Fault;
use crate::root;

/// A run of the default model: ten turns with one call each, and the one that ends it.
pub(crate) const TURNS: usize = 11;

const NOTES: usize = 1000;

/// How far the floor's requests may be from ours in size: ids and goals differ by a few bytes.
const ALIKE: f64 = 0.03;

/// Goes through as it is; the server makes no faults for it.
pub(crate) const PLAIN: &str = "custom-model";

#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) rounds: usize,
    pub(crate) server: Server,
    pub(crate) programs: Programs,
    scratch: Scratch,
    /// How much the program appends when a run starts, after a reply, after an output: the floor's option.
    appends: String,
}

#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) bonded: PathBuf,
    pub(crate) draw_cost: PathBuf,
    pub(crate) import_floor: PathBuf,
    pub(crate) pages_floor: PathBuf,
    pub(crate) postgres_fill: PathBuf,
    pub(crate) postgres_server: PathBuf,
    pub(crate) tool_costs: PathBuf,
    pub(crate) tool_server: PathBuf,
    pub(crate) workspace_fill: PathBuf,
    pub(crate) workspace_floor: PathBuf,
    pub(crate) workspace_load: PathBuf,
    floor: PathBuf,
    load_log: PathBuf,
    bare: PathBuf,
}

#[derive(Debug)]
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed lies in the target directory and does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Rig {
    pub(crate) fn set_up(rounds: usize) -> Result<Self, Fault> {
        let programs = root().join("target/release");
        let scratch = root().join(format!("target/bench-{}", std::process::id()));
        let notes = scratch.join("notes");
        fs::create_dir_all(&notes).map_err(Fault::file(&notes))?;
        let scratch = Scratch(scratch);
        for number in 0..NOTES {
            let path = notes.join(format!("note-{number}.txt"));
            let text = format!("note {number}: the tide is out and the boats lie on the sand\n");
            fs::write(&path, text).map_err(Fault::file(&path))?;
        }
        let mut rig = Self {
            rounds,
            server: Server::start(&programs.join("chat_server"))?,
            programs: Programs {
                bonded: programs.join("bonded"),
                draw_cost: programs.join("draw_cost"),
                import_floor: programs.join("import_floor"),
                pages_floor: programs.join("pages_floor"),
                postgres_fill: programs.join("postgres_fill"),
                postgres_server: programs.join("postgres_server"),
                tool_costs: programs.join("tool_costs"),
                tool_server: programs.join("tool_server"),
                workspace_fill: programs.join("workspace_fill"),
                workspace_floor: programs.join("workspace_floor"),
                workspace_load: programs.join("workspace_load"),
                floor: programs.join("floor"),
                load_log: programs.join("load_log"),
                bare: programs.join("bare"),
            },
            scratch,
            appends: String::new(),
        };
        rig.calibrate()?;
        Ok(rig)
    }

    /// Has the program make two short runs, whose requests and appends the floor then imitates.
    fn calibrate(&mut self) -> Result<(), Fault> {
        let store = self.fresh("calibrate")?;
        measure(self.ours(&store, "calibrate", "turns-0"))?;
        let like = self.like();
        fs::write(&like, self.server.last()?).map_err(Fault::file(&like))?;
        let ours = self.request_bytes(self.ours(&store, "appends", PLAIN))?;
        let [_, _, start, reply, output] = self.load(&store, "appends")?;
        self.appends = format!("{start},{reply},{output}");
        let db = self.fresh("calibrate-floor")?;
        let floor = self.request_bytes(self.floor(&db, 1, 1, PLAIN))?;
        if (ours / floor - 1.0).abs() > ALIKE {
            let why =
                format!("a run of ours sends {ours} bytes, the floor {floor}: it must do the same");
            return Err(Fault::unmeasured(why));
        }
        Ok(())
    }

    /// How much a process sends to the server.
    fn request_bytes(&self, command: Command) -> Result<f64, Fault> {
        let before = self.server.seen()?.bytes_in;
        measure(command)?;
        Ok((self.server.seen()?.bytes_in - before) as f64)
    }

    fn like(&self) -> PathBuf {
        self.scratch.0.join("like.json")
    }

    pub(crate) fn notes(&self) -> PathBuf {
        self.scratch.0.join("notes")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.0.join(name)
    }

    /// A place for a store that does not exist yet.
    pub(crate) fn fresh(&self, name: &str) -> Result<PathBuf, Fault> {
        let dir = self.scratch.0.join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir).map_err(Fault::file(&dir))?;
        }
        fs::create_dir(&dir).map_err(Fault::file(&dir))?;
        Ok(dir.join("store.db"))
    }

    /// The measured program on a store, and nothing of the settings of the person who measures.
    pub(crate) fn bonded(&self, store: &Path) -> Command {
        let mut command = Command::new(&self.programs.bonded);
        for name in ["BONDED_MODEL", "BONDED_BASE_URL", "BONDED_KEY_ENV"] {
            command.env_remove(name);
        }
        command.arg("--store").arg(store);
        command
    }

    /// The program with these words and no store.
    pub(crate) fn help(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.programs.bonded);
        command.args(words);
        command
    }

    /// A program that only prints a line.
    pub(crate) fn bare(&self) -> Command {
        Command::new(&self.programs.bare)
    }

    /// What makes a run one of the measured ones.
    pub(crate) fn run_options(&self, command: &mut Command, model: &str) {
        command
            .args(["--quiet", "--max-turns", "2000", "--model", model])
            .args(["--base-url", &self.server.base_url()])
            .arg("--dir")
            .arg(self.notes());
    }

    /// One run under an id.
    pub(crate) fn ours(&self, store: &Path, id: &str, model: &str) -> Command {
        let mut command = self.bonded(store);
        command.args(["run", "--id", id, "read the notes"]);
        self.run_options(&mut command, model);
        command
    }

    pub(crate) fn resume(&self, store: &Path, id: &str) -> Command {
        let mut command = self.bonded(store);
        command.args(["resume", "--quiet", id]);
        command
    }

    /// Many runs in one process.
    pub(crate) fn ours_each(
        &self,
        store: &Path,
        runs: usize,
        jobs: usize,
        model: &str,
    ) -> Result<Command, Fault> {
        let mut command = self.bonded(store);
        command.args(["run", "--jobs", &jobs.to_string(), "--each"]);
        command.arg(self.goals(runs)?);
        self.run_options(&mut command, model);
        Ok(command)
    }

    /// A file with so many goals.
    pub(crate) fn goals(&self, runs: usize) -> Result<PathBuf, Fault> {
        let file = self.path(&format!("goals-{runs}.jsonl"));
        let goals: String = (0..runs)
            .map(|number| format!("\"read the notes, run {number}\"\n"))
            .collect();
        fs::write(&file, goals).map_err(Fault::file(&file))?;
        Ok(file)
    }

    /// The floor, doing the same as many runs in one process.
    pub(crate) fn floor(&self, db: &Path, runs: usize, jobs: usize, model: &str) -> Command {
        let mut command = Command::new(&self.programs.floor);
        command
            .args(["--runs", &runs.to_string(), "--jobs", &jobs.to_string()])
            .args(["--base-url", &self.server.base_url(), "--model", model])
            .args(["--appends", &self.appends])
            .arg("--db")
            .arg(db)
            .arg("--dir")
            .arg(self.notes())
            .arg("--like")
            .arg(self.like());
        command
    }

    /// Loads and replays a run in the measured program's way: the time in microseconds, the entries, and
    /// the bytes of the appends at the start, after a reply and after an output.
    pub(crate) fn load(&self, store: &Path, id: &str) -> Result<[u64; 5], Fault> {
        let mut command = Command::new(&self.programs.load_log);
        command.arg(store).arg(id);
        numbers(&measure(command)?.stdout)
    }

    /// Loads a store in the floor's way: the time in microseconds and the entries.
    pub(crate) fn floor_load(&self, store: &Path) -> Result<[u64; 2], Fault> {
        let mut command = Command::new(&self.programs.floor);
        command.arg("--load").arg(store);
        numbers(&measure(command)?.stdout)
    }

    /// Starts a process whose requests hang, and waits until so many have come.
    pub(crate) fn hanging(&self, command: Command, requests: u64) -> Result<Running, Fault> {
        let before = self.server.seen()?.requests;
        let running = Running::spawn(command)?;
        self.server.wait_for(before + requests)?;
        Ok(running)
    }
}

pub(crate) fn numbers<const N: usize>(text: &str) -> Result<[u64; N], Fault> {
    let words = text.split_whitespace().map(str::parse);
    let numbers: Option<Vec<u64>> = words.collect::<Result<_, _>>().ok();
    numbers
        .and_then(|numbers| numbers.try_into().ok())
        .ok_or_else(|| Fault::unmeasured(format!("{N} numbers were expected, not {text:?}")))
}
