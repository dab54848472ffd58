//! `bonded demo`: the main job on a fresh machine, with no key and no network.
//!
//! Everything in it is real but the model: the tools, the store, the kill and the resume are what any run has, and
//! the program starts itself as a person would. It works in a scratch directory with a store of its own, and leaves
//! nothing behind unless it is asked to.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use bonded_kernel::{Event, RunId};
use bonded_state::{SqliteStore, Store as _, StoreError};

use crate::args::DemoArgs;
use crate::error::{CliError, Code};
use crate::output;
use crate::style::{Look, Paint, Stream, Styled, Symbol, prose_columns, wrapped};

const GOAL: &str = "The test fails. Find the bug and fix it.";
/// The id of its run: the store is its own, so that it is free.
const RUN: &str = "demo";

/// The turn in which the process is killed, while the model is being asked.
const KILLED_IN_TURN: u32 = 4;
/// The model is asked for longer than this, so that a person sees that it is.
const SEEN_ASKING: Duration = Duration::from_millis(400);

/// The scratch directory goes with the process, unless it is to be kept.
pub(crate) async fn demo(args: &DemoArgs) -> Result<ExitCode, CliError> {
    let scratch = tempfile::Builder::new()
        .prefix("bonded-demo-")
        .tempdir()
        .map_err(|error| failed("make a scratch directory", &error))?;
    let demo = Demo {
        dir: scratch.path().to_owned(),
        pause: Duration::from_millis(if args.fast { 0 } else { 1200 }),
    };
    demo.lay_out()?;
    demo.play().await?;
    if args.keep {
        let kept = scratch.keep();
        output::stderr(&format!("\nkept in {}", kept.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// What goes wrong around the demo is not the person's mistake.
fn failed(what: &str, error: &dyn std::error::Error) -> CliError {
    CliError::new(
        Code::Internal,
        format!("the demo could not {what}: {error}"),
    )
}

/// Where it plays, and how long a person has to read between two acts.
struct Demo {
    dir: PathBuf,
    pause: Duration,
}

impl Demo {
    fn project(&self) -> PathBuf {
        self.dir.join("project")
    }

    fn store(&self) -> PathBuf {
        self.dir.join("store.db")
    }

    /// A small repository with a failing test, and what the model will say.
    fn lay_out(&self) -> Result<(), CliError> {
        let files = [
            ("project/leap.sh", include_str!("../demo/leap.sh")),
            ("project/test.sh", include_str!("../demo/test.sh")),
            ("replies.jsonl", include_str!("../demo/replies.jsonl")),
        ];
        let made = fs::create_dir(self.project()).and_then(|()| {
            files
                .iter()
                .try_for_each(|(path, text)| fs::write(self.dir.join(path), text))
        });
        made.map_err(|error| failed("write its files", &error))?;
        for arguments in [
            &["init", "-q"][..],
            &["add", "."],
            &[
                "-c",
                "user.name=demo",
                "-c",
                "user.email=demo@localhost",
                "commit",
                "-qm",
                "A leap year",
            ],
        ] {
            // Without git the demo only lacks its last picture.
            let _status = Command::new("git")
                .args(arguments)
                .current_dir(self.project())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
        }
        Ok(())
    }

    /// The kill comes when the log says that the model is asked in the turn; the reply is then lost, and asked for
    /// again.
    async fn play(&self) -> Result<(), CliError> {
        say(
            "A scratch repository has a failing test. A scripted model fixes it with real tools, and every step is \
             recorded before the next begins. Halfway through, the process is killed.",
        );
        self.pause().await;
        self.act("$ sh test.sh");
        self.show_command("sh", &["test.sh"])?;
        self.pause().await;

        self.act(&format!("$ bonded run {GOAL:?}"));
        let mut child = self.spawn(&[
            "run",
            "--id",
            RUN,
            "--model",
            &self.script(),
            "--dir",
            &self.project_text(),
            "--sessions-dir",
            &self.dir.join("kept").to_string_lossy(),
            GOAL,
        ])?;
        let relayed = relay(&mut child);
        self.wait_for_turn(KILLED_IN_TURN).await?;
        tokio::time::sleep(SEEN_ASKING).await;
        child
            .kill()
            .map_err(|error| failed("kill the run", &error))?;
        child
            .wait()
            .map_err(|error| failed("wait for the run", &error))?;
        join(relayed);
        // What the run drew last stands there as it was when it died.
        if Look::of(Stream::Err).redraws() {
            say("");
        }
        let look = Look::of(Stream::Err);
        let killed = format!(" kill -9, in turn {KILLED_IN_TURN}, while the model was being asked");
        let mark = Styled::new().with(Paint::Red, look.symbol(Symbol::Bad));
        output::styled(&mark.text(&killed), &look);
        self.pause().await;

        self.act("$ bonded runs");
        self.bonded(&["runs"])?;
        self.pause().await;
        self.act(&format!("$ bonded resume {RUN}"));
        let mut child = self.spawn(&["resume", RUN])?;
        let relayed = relay(&mut child);
        let status = child
            .wait()
            .map_err(|error| failed("wait for the run", &error))?;
        join(relayed);
        if !status.success() {
            return Err(CliError::new(
                Code::RunFailed,
                "the run of the demo did not succeed",
            ));
        }
        self.pause().await;
        self.show_proof()
    }

    /// Test, diff, chain and replay: what a person would do to believe it.
    fn show_proof(&self) -> Result<(), CliError> {
        self.act("$ sh test.sh");
        self.show_command("sh", &["test.sh"])?;
        let color = match Look::of(Stream::Out).color {
            true => "--color=always",
            false => "--color=never",
        };
        self.act("$ git diff -U1");
        self.show_command(
            "git",
            &["--no-pager", "diff", "-U1", "--no-ext-diff", color],
        )?;
        self.act(&format!("$ bonded verify {RUN}"));
        self.bonded(&["verify", RUN])?;
        self.act(&format!("$ bonded replay {RUN}"));
        self.bonded(&["replay", RUN])?;
        say("");
        say("Now with your own model, in your own repository:");
        say("  export OPENAI_API_KEY=...");
        say("  bonded run --model openai/gpt-5-mini \"fix the test\"");
        say("or with a server on this machine (Ollama, LM Studio, vLLM, llama.cpp):");
        say("  bonded run --model ollama/llama3.1 \"fix the test\"");
        say("Check your setup: bonded doctor");
        Ok(())
    }

    fn script(&self) -> String {
        format!("script:{}", self.dir.join("replies.jsonl").display())
    }

    fn project_text(&self) -> String {
        self.project().display().to_string()
    }

    async fn pause(&self) {
        tokio::time::sleep(self.pause).await;
    }

    fn act(&self, line: &str) {
        let look = Look::of(Stream::Err);
        say("");
        output::styled(&Styled::new().with(Paint::Bold, line), &look);
    }

    /// Variables of the person that name a model would make another run of it.
    fn command(&self, arguments: &[&str]) -> Result<Command, CliError> {
        let this =
            std::env::current_exe().map_err(|error| failed("find its own program", &error))?;
        let mut command = Command::new(this);
        command
            .arg("--store")
            .arg(self.store())
            .args(arguments)
            .env_remove("BONDED_MODEL")
            .env_remove("BONDED_BASE_URL")
            .stdin(Stdio::null());
        Ok(command)
    }

    /// Starts this program again. At a terminal it draws there itself.
    fn spawn(&self, arguments: &[&str]) -> Result<Child, CliError> {
        let mut command = self.command(arguments)?;
        if !Look::of(Stream::Err).redraws() {
            command.stderr(Stdio::piped());
        }
        let child = command.spawn();
        child.map_err(|error| failed("start a run", &error))
    }

    /// A command that does not succeed ends the demo: what it shows must be true.
    fn bonded(&self, arguments: &[&str]) -> Result<(), CliError> {
        let status = self.command(arguments)?.status();
        let status = status.map_err(|error| failed("start a command", &error))?;
        if status.success() {
            Ok(())
        } else {
            let message = format!(
                "`bonded {}` did not succeed in the demo",
                arguments.join(" ")
            );
            Err(CliError::new(Code::RunFailed, message))
        }
    }

    /// How the command ends does not matter: the first test is meant to fail.
    fn show_command(&self, program: &str, arguments: &[&str]) -> Result<(), CliError> {
        let status = Command::new(program)
            .args(arguments)
            .current_dir(self.project())
            .status();
        match status {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                say(&format!("({program} is not here)"));
                Ok(())
            }
            Err(error) => Err(failed(&format!("start {program}"), &error)),
            Ok(_) => Ok(()),
        }
    }

    /// Watches the log, as any other process may, until the run has come to this turn.
    async fn wait_for_turn(&self, turn: u32) -> Result<(), CliError> {
        let run = RunId::new(RUN)?;
        let patience = Duration::from_secs(60);
        let watched = tokio::time::timeout(patience, async {
            loop {
                if reached(&self.store(), &run, turn).await? {
                    return Ok(());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        watched.await.unwrap_or_else(|_| {
            Err(CliError::new(
                Code::RunFailed,
                "the run of the demo did not get going",
            ))
        })
    }
}

/// The store and the run come into being while it looks: that they are not there yet is no fault.
async fn reached(store: &Path, run: &RunId, turn: u32) -> Result<bool, CliError> {
    let store = match SqliteStore::open_existing(store) {
        Ok(store) => store,
        Err(StoreError::Missing { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    match store.load(run, 0).await {
        Ok(entries) => Ok(entries.iter().any(|entry| {
            entry.turn == turn && matches!(entry.event, Event::AttemptStarted { .. })
        })),
        Err(StoreError::UnknownRun { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Passes the lines of a run on, as they come.
fn relay(child: &mut Child) -> Option<JoinHandle<()>> {
    let lines = BufReader::new(child.stderr.take()?);
    Some(std::thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            output::stderr(&line);
        }
    }))
}

fn join(relayed: Option<JoinHandle<()>>) {
    if let Some(thread) = relayed {
        // The thread only passes lines on; a panic there is on the screen already.
        let _panic = thread.join();
    }
}

/// On a terminal in rows that break between words.
fn say(line: &str) {
    let look = Look::of(Stream::Err);
    match look.terminal {
        true => {
            let rows = wrapped(line, prose_columns(Stream::Err.size().0));
            rows.iter().for_each(|row| output::stderr(row));
        }
        false => output::stderr(line),
    }
}
