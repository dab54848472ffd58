//! Freezing a tree, beside what git and a bare loop need for the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::figure::{Figure, Goal, median};
use super::process::{measure as measure_process, peak_mb};
use super::rig::Rig;
use crate::crate_program::CrateProgram;
use crate::fault::Fault;
use crate::root;

/// The items of a plan in which nobody does anything.
const ITEMS: usize = 1000;
const ITEM_CPU_MS_MAX: f64 = 20.0;

const FILES: &str = "50000";
const BYTES: &str = "500000000";

const B3SUM: CrateProgram = CrateProgram {
    name: "b3sum",
    version: "1.8.7",
    flags: &[],
};
/// A command's arguments have about two million bytes.
const B3SUM_FILES_MAX: usize = 10_000;

/// The tree, committed to a repository, and where things about it are kept.
struct Tree<'a> {
    rig: &'a Rig,
    root: PathBuf,
    kept: PathBuf,
}

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    B3SUM.install()?;
    let tree = Tree::make(rig)?;
    let [
        mut first,
        mut add,
        mut again,
        mut status,
        mut rollback,
        mut hashing,
        mut b3sum,
        mut bare,
    ] = [const { vec![] }; 8];
    for _ in 0..rig.rounds {
        tree.forget("")?;
        first.push(tree.ours("freeze")?);
        add.push(tree.git_add()?);
        again.push(tree.wall_ms(tree.command("freeze"))?);
        status.push(tree.wall_ms(tree.git(&["status", "--porcelain"]))?);
        rollback.push(tree.ours("rollback")?);
        tree.forget("trees")?;
        hashing.push(tree.ours("freeze")?);
        b3sum.push(tree.b3sum_ms()?);
        bare.push(tree.bare()?);
    }
    tree.forget("")?;
    let memory = peak_mb(tree.command("freeze"))?;
    let item_ms = tree.no_op_item_cpu_ms()?;
    let ratio = |name: &str, ours: Vec<f64>, floor: f64, most| {
        Figure::new(name, "ms", median(ours), Goal::RatioAtMost(most)).beside(floor)
    };
    let first_ms = median(first.clone());
    Ok(vec![
        ratio(
            "first freeze, beside git add and write-tree",
            first,
            median(add),
            1.5,
        ),
        ratio(
            "freeze of an unchanged tree, beside git status",
            again,
            median(status),
            1.1,
        ),
        ratio(
            "dropping a copy with 10 changes, beside the first freeze",
            rollback,
            first_ms,
            0.1,
        ),
        ratio(
            "hashing in a freeze, beside b3sum",
            hashing.clone(),
            median(b3sum),
            1.3,
        ),
        Figure::new(
            "the same, beside a bare loop on as many threads",
            "ms",
            median(hashing),
            Goal::Nothing,
        )
        .beside(median(bare)),
        Figure::new("memory of a freeze", "MB", memory, Goal::AtMost(200.0)),
        Figure::new(
            "CPU of an item that does nothing, of 1,000 in a plan",
            "ms",
            item_ms,
            Goal::AtMost(ITEM_CPU_MS_MAX),
        ),
    ])
}

impl<'a> Tree<'a> {
    fn make(rig: &'a Rig) -> Result<Self, Fault> {
        let tree = Self {
            rig,
            root: rig.path("freeze-tree"),
            kept: rig.path("freeze-kept"),
        };
        let mut make = Command::new(program());
        make.arg("make").arg(&tree.root).args([FILES, BYTES]);
        measure_process(make)?;
        measure_process(tree.git(&["init", "--quiet"]))?;
        measure_process(tree.git(&["add", "--all"]))?;
        measure_process(tree.git(&["commit", "--quiet", "--message", "all"]))?;
        measure_process(tree.git(&["status"]))?;
        Ok(tree)
    }

    fn git(&self, words: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(&self.root)
            .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
            .args(["-c", "gc.auto=0", "-c", "commit.gpgsign=false"])
            .args(words)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        command
    }

    /// Into an index of its own. The contents are in the repository already: git needs no more than to find that.
    fn git_add(&self) -> Result<f64, Fault> {
        let index = self.rig.path("freeze-index");
        if index.exists() {
            fs::remove_file(&index).map_err(Fault::file(&index))?;
        }
        let mut took_ms = 0.0;
        for words in [&["add", "--all"][..], &["write-tree"]] {
            let mut command = self.git(words);
            command.env("GIT_INDEX_FILE", &index);
            took_ms += self.wall_ms(command)?;
        }
        Ok(took_ms)
    }

    fn command(&self, word: &str) -> Command {
        let mut command = Command::new(program());
        command.arg(word).arg(&self.kept).arg(&self.root);
        command
    }

    fn wall_ms(&self, command: Command) -> Result<f64, Fault> {
        Ok(measure_process(command)?.wall.as_secs_f64() * 1e3)
    }

    /// What the program itself measured.
    fn ours(&self, word: &str) -> Result<f64, Fault> {
        told_ms(self.command(word))
    }

    /// The program hashes one file after the other. It takes names as arguments only, of which there are too many for
    /// one command.
    fn b3sum_ms(&self) -> Result<f64, Fault> {
        let mut took_ms = 0.0;
        for files in files_below(&self.root)?.chunks(B3SUM_FILES_MAX) {
            let mut command = Command::new(B3SUM.path());
            command.arg("--").args(files);
            took_ms += self.wall_ms(command)?;
        }
        Ok(took_ms)
    }

    fn bare(&self) -> Result<f64, Fault> {
        let mut command = Command::new(program());
        command.arg("hash").arg(&self.root);
        told_ms(command)
    }

    /// A whole plan, shared by its items: the process, two freezes, runs, receipts.
    fn no_op_item_cpu_ms(&self) -> Result<f64, Fault> {
        let item = |n: usize| {
            let id = format!("item-{n:04}");
            format!("- {{id: {id}, agent_id: agent-1, description: do nothing}}\n")
        };
        let plan: String = (0..ITEMS).map(item).collect();
        let done = r#"{"calls": [{"tool": "done", "arguments": {"reason": "nothing"}}]}"#;
        let (plan_file, script) = (self.rig.path("plan.yaml"), self.rig.path("nothing.jsonl"));
        fs::write(&plan_file, plan).map_err(Fault::file(&plan_file))?;
        fs::write(&script, done).map_err(Fault::file(&script))?;
        let mut command = self.rig.bonded(&self.rig.fresh("work.db")?);
        command
            .arg("work")
            .arg(&plan_file)
            .arg("--repo")
            .arg(&self.root);
        command.args(["--quiet", "--jobs", "32", "--model"]);
        command.arg(format!("script:{}", script.display()));
        let measured = measure_process(command)?;
        Ok(measured.cpu.as_secs_f64() * 1e3 / ITEMS as f64)
    }

    /// Removes a part of what is kept.
    fn forget(&self, part: &str) -> Result<(), Fault> {
        let dir = self.kept.join(part);
        match dir.exists() {
            true => fs::remove_dir_all(&dir).map_err(Fault::file(&dir)),
            false => Ok(()),
        }
    }
}

fn told_ms(command: Command) -> Result<f64, Fault> {
    let text = measure_process(command)?.stdout;
    let number = text.split_whitespace().next();
    let us = number.and_then(|number| number.parse::<f64>().ok());
    let us = us.ok_or_else(|| Fault::unmeasured(format!("a number was expected, not {text:?}")))?;
    Ok(us / 1e3)
}

fn files_below(root: &Path) -> Result<Vec<PathBuf>, Fault> {
    let mut left = vec![root.to_owned()];
    let mut files = vec![];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir).map_err(Fault::file(&dir))? {
            let path = entry.map_err(Fault::file(&dir))?.path();
            match path.is_dir() {
                true if path.ends_with(".git") => {}
                true => left.push(path),
                false => files.push(path),
            }
        }
    }
    Ok(files)
}

fn program() -> PathBuf {
    Path::new(root()).join("target/release/tree_cost")
}
