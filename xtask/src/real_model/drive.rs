//! Has the program work with the model, and looks at what came of it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::cage;
use super::check::Outcome;
use super::listener::Listener;
use super::model::Model;
use crate::fault::Fault;

pub(super) const TURNS_MAX: u64 = 4;
pub(super) const RETRIES_MAX: u64 = 2;
pub(super) const CALLS_MAX: u64 = 3;
pub(super) const OUTPUT_TOKENS_MAX: u64 = 256;

/// A model on a busy machine is slow, and a request that is given up cannot be accounted.
const TIMEOUT_MS: &str = "600000";

/// What an agent is given here: all built-in tools but `run`, which starts commands.
const TOOLS: &str = "append,edit,list,read,search,write";

const GOALS: [&str; 3] = [
    "Read the file harbour.txt and report in one sentence what it says.",
    "List the files here and report their names.",
    "Write the word hello into a file hello.txt, then report that it is done.",
];

const QUESTION: &str = "What does the file harbour.txt say about the boats?";

#[derive(Clone, Copy, Debug)]
pub(super) enum Surface {
    NativeAgent,
    XmlFinalAgent,
    Plain,
    /// What a person asks in the first minute: a model may answer it in text.
    Question,
}

impl Surface {
    pub(super) const ALL: [Self; 4] = [
        Self::Question,
        Self::NativeAgent,
        Self::XmlFinalAgent,
        Self::Plain,
    ];

    fn id(self, number: usize) -> String {
        let name = match self {
            Self::NativeAgent => "native",
            Self::XmlFinalAgent => "xml-final",
            Self::Plain => "plain",
            Self::Question => "question",
        };
        format!("{name}-{number}")
    }

    fn goal(self, number: usize) -> &'static str {
        match self {
            Self::Question => QUESTION,
            _ => GOALS[number % GOALS.len()],
        }
    }

    /// Without an agent every built-in tool is offered, also `run`.
    fn starts_commands(self) -> bool {
        matches!(self, Self::Plain | Self::Question)
    }
}

impl fmt::Display for Surface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NativeAgent => "an agent, native calls",
            Self::XmlFinalAgent => "an agent, its report as a tag",
            Self::Plain => "no agent, built-in tools",
            Self::Question => "no agent, a question about a file",
        })
    }
}

pub(super) struct Driver<'a> {
    model: &'static Model,
    listener: &'a Listener,
    program: PathBuf,
    /// All that the program may write to.
    scratch: PathBuf,
}

impl<'a> Driver<'a> {
    pub(super) fn set_up(
        dir: &Path,
        program: &Path,
        model: &'static Model,
        listener: &'a Listener,
    ) -> Result<Self, Fault> {
        let scratch = dir.join("runs");
        if scratch.exists() {
            fs::remove_dir_all(&scratch).map_err(Fault::file(&scratch))?;
        }
        let desk = scratch.join("desk");
        fs::create_dir_all(&desk).map_err(Fault::file(&desk))?;
        // A place that a link leads to has another name in a cage.
        let scratch = scratch.canonicalize().map_err(Fault::file(&scratch))?;
        let name = model.name;
        // Its window is left out: the server is asked for it.
        let config = format!(
            "{{\"providers\":{{\"local\":{{\"type\":\"llamacpp\",\"baseUrl\":\"{}\"}}}}}}\n",
            listener.base_url()
        );
        let agent = format!(
            "---\nmodels: local/{name}\ntools: [{TOOLS}]\n---\nYou do what is asked with the tools, then report.\n"
        );
        let files = [
            (
                "harbour.txt",
                "The tide is out and the boats lie on the sand.\n",
            ),
            (".ai-agent.json", config.as_str()),
            ("agent.ai", agent.as_str()),
        ];
        for (name, text) in files {
            let path = desk.join(name);
            fs::write(&path, text).map_err(Fault::file(&path))?;
        }
        Ok(Self {
            model,
            listener,
            program: program.to_owned(),
            scratch,
        })
    }

    /// Where commands may be started, that needs a cage.
    pub(super) fn can_drive(&self, surface: Surface) -> bool {
        !surface.starts_commands() || cage::works(&self.scratch)
    }

    /// Makes so many runs, prints what came of each, and tells what does not hold.
    pub(super) fn drive_all(&self, surface: Surface, runs: usize) -> Result<Vec<String>, Fault> {
        let mut findings = vec![];
        let mut delivered = 0;
        for number in 0..runs {
            let id = surface.id(number);
            let outcome = self.drive(surface, &id, surface.goal(number))?;
            let heard = self.listener.heard();
            let found = outcome.findings(&heard);
            println!(
                "{id}: {}, {} requests, {} + {} tokens, {} findings",
                outcome.termination(),
                heard.requests,
                heard.input_tokens,
                heard.output_tokens,
                found.len()
            );
            findings.extend(found.iter().map(|what| format!("{id}: {what}")));
            if matches!(surface, Surface::Question) {
                println!("  {}", outcome.reason());
            }
            delivered += usize::from(outcome.is_success());
        }
        println!("{delivered} of {runs} runs delivered an answer");
        if matches!(surface, Surface::Question) && self.model.answers && delivered == 0 {
            findings.push("no question about a file was answered".into());
        }
        Ok(findings)
    }

    fn drive(&self, surface: Surface, id: &str, goal: &str) -> Result<Outcome, Fault> {
        let mut run = self.bonded(&["run", "--quiet", "--json", "--trust", "--id", id, goal]);
        match surface {
            Surface::NativeAgent => {
                run.args(["--agent", "agent.ai", "--tooling-transport", "native"])
            }
            Surface::XmlFinalAgent => {
                run.args(["--agent", "agent.ai", "--tooling-transport", "xml-final"])
            }
            Surface::Plain | Surface::Question => run
                .args(["--model", self.model.name])
                .args(["--base-url", &self.listener.base_url()]),
        };
        for (flag, max) in [
            ("--max-turns", TURNS_MAX),
            ("--max-retries", RETRIES_MAX),
            ("--max-tool-calls-per-turn", CALLS_MAX),
            ("--max-output-tokens", OUTPUT_TOKENS_MAX),
        ] {
            run.arg(flag).arg(max.to_string());
        }
        run.args(["--llm-timeout-ms", TIMEOUT_MS]);
        if surface.starts_commands() {
            run = cage::around(&self.scratch, &run);
        }
        let (exit_code, result) = said(run)?;
        let look = |words: &[&str]| Ok(said(self.bonded(words))?.1);
        Ok(Outcome {
            exit_code,
            result,
            verify: look(&["verify", id])?,
            replay: look(&["replay", id])?,
            log: look(&["show", "--json", id])?,
            window: self.model.context_window,
        })
    }

    /// The program in its directory, and nothing of the settings of the person who runs it.
    fn bonded(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        let desk = self.scratch.join("desk");
        command
            .arg("--store")
            .arg(self.scratch.join("store.db"))
            .args(words)
            .current_dir(&desk)
            .env_clear()
            .env("HOME", &desk)
            .stdin(Stdio::null());
        command
    }
}

/// The exit code of a process and what it printed: on stdout, or where that is empty, on stderr.
fn said(mut command: Command) -> Result<(Option<i32>, String), Fault> {
    let output = command.output().map_err(|source| Fault::Missing {
        program: "bonded".into(),
        source,
    })?;
    let said = if output.stdout.is_empty() {
        output.stderr
    } else {
        output.stdout
    };
    let text = String::from_utf8_lossy(&said).into_owned();
    Ok((output.status.code(), text))
}
