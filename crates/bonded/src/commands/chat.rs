//! `bonded chat`: a conversation at a terminal, in lines that stay where they were printed.
//!
//! Each message is a goal of the same run, which is driven, shown and asked about as `bonded run` does it. Nothing is kept
//! but the log, so that a conversation whose process was killed is continued like any other run.

mod shown;
mod slash;
mod talk;

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

use tokio::signal::unix::SignalKind;

use crate::args::ChatArgs;
use crate::error::{CliError, Code};
use crate::prompt::{Entered, Prompt};
use crate::resumable_run::{self, Next};
use crate::style::{Look, Stream};
use crate::{goal, output, raw_mode, signals};
use slash::Slash;
use talk::Talk;

/// Stands below the first prompt.
const HINT: &str = "/help   Ctrl-J new line   Ctrl-D quit";

/// Whether a person can be talked with.
pub(crate) fn is_at_a_terminal() -> bool {
    std::io::stdin().is_terminal() && output::stderr_is_terminal()
}

/// Nothing is recorded before the first message.
pub(crate) async fn chat(args: &ChatArgs, store: Option<&Path>) -> Result<ExitCode, CliError> {
    if !is_at_a_terminal() {
        return Err(no_terminal());
    }
    let first = args.goal.as_deref().map(first_message).transpose()?;
    let mut talk = Box::pin(Talk::open(args, store)).await?;
    signals::stop_turns_on_signal();
    resumable_run::continued_by(Next::Chat);
    // What is typed while the agent works is the beginning of the next message.
    let held = match Look::of(Stream::Err).redraws() {
        true => raw_mode::hold_keys().ok(),
        false => None,
    };
    talk.greet().await?;
    let ended = Box::pin(converse(&mut talk, first, store)).await;
    drop(held);
    talk.close().await;
    ended
}

fn no_terminal() -> CliError {
    let message = "bonded chat needs a terminal, and stdin or stderr is not one";
    CliError::new(Code::Usage, message)
        .hint("in scripts and pipes: bonded run \"GOAL\", and bonded run -c \"GOAL\" to continue")
}

fn first_message(argument: &str) -> Result<String, CliError> {
    if argument == "-" {
        let message = "bonded chat reads messages from the terminal, not from stdin";
        return Err(CliError::new(Code::Usage, message).hint("read a file: bonded chat @FILE"));
    }
    goal::read(argument)
}

/// One message after another, until the person leaves or the process is to end.
async fn converse(
    talk: &mut Talk<'_>,
    first: Option<String>,
    store: Option<&Path>,
) -> Result<ExitCode, CliError> {
    let mut prompt = Prompt::new(talk.sent().await?);
    let mut hint = Some(HINT);
    if let Some(first) = first {
        shown::typed(&first);
        talk.hear(first).await;
    }
    while !signals::interrupt().is_cancelled() {
        let entered;
        (prompt, entered) = ask(prompt, hint.take()).await;
        match entered {
            Entered::Message(text) => match Slash::read(&text) {
                None => talk.hear(text).await,
                Some(Ok(command)) => {
                    if slash::carry_out(&command, talk, store).await {
                        break;
                    }
                }
                Some(Err(error)) => shown::error(&error),
            },
            Entered::Left => break,
            Entered::Stopped => {}
            Entered::HungUp => return Ok(of_signal(SignalKind::hangup())),
        }
    }
    talk.farewell();
    Ok(match signals::interrupt().is_cancelled() {
        true => ExitCode::from(signals::interrupted_code()),
        false => ExitCode::SUCCESS,
    })
}

/// The prompt has a thread of its own: it waits for keys, and signals are heard meanwhile.
async fn ask(mut prompt: Prompt, hint: Option<&'static str>) -> (Prompt, Entered) {
    let stop = signals::interrupt();
    let asking = tokio::task::spawn_blocking(move || {
        let entered = prompt.ask(hint, &stop);
        (prompt, entered)
    });
    let asked = asking.await;
    asked.unwrap_or_else(|_| (Prompt::new(vec![]), Entered::HungUp))
}

fn of_signal(kind: SignalKind) -> ExitCode {
    let number = u8::try_from(kind.as_raw_value()).unwrap_or_default();
    ExitCode::from(signals::BY_SIGNAL + number)
}
