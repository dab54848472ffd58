//! What begins with a slash is a command and not a message. A name that is not one is never sent.
//!
//! Those that a command line has too are read and carried out as that command, with the run of the conversation.

use std::ffi::OsString;
use std::path::Path;

use bonded_kernel::{RunId, nearest, short};

use super::shown;
use super::talk::Talk;
use crate::args::{Cli, Command};
use crate::commands::{diff, fork, show, undo};
use crate::error::{CliError, Code};
use crate::usage::in_our_words;
use crate::{output, signals};

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlashDeed {
    Help,
    Exit,
    Model,
    Limits,
    Cost,
    Compact,
    Resume,
    /// The command of this name.
    OfRun(&'static str),
}

/// Names, what may follow, what is done, and how that is described.
const TABLE: [(&[&str], &str, SlashDeed, &str); 11] = [
    (&["help"], "", SlashDeed::Help, "list these commands"),
    (
        &["model"],
        "[PROVIDER/MODEL]",
        SlashDeed::Model,
        "show the model, or choose another from the next message on",
    ),
    (&["limits"], "", SlashDeed::Limits, "show the limits"),
    (
        &["cost"],
        "",
        SlashDeed::Cost,
        "show turns, time, tokens and cost so far",
    ),
    (
        &["diff"],
        "[--turn N]",
        SlashDeed::OfRun("diff"),
        "show what the conversation changed",
    ),
    (
        &["undo"],
        "[--turn N] [--redo]",
        SlashDeed::OfRun("undo"),
        "undo what it changed",
    ),
    (
        &["show"],
        "[--turn N]",
        SlashDeed::OfRun("show"),
        "show its steps",
    ),
    (
        &["fork"],
        "--turn N [-m MODEL]",
        SlashDeed::OfRun("fork"),
        "start a new run from turn N",
    ),
    (
        &["compact"],
        "",
        SlashDeed::Compact,
        "begin the next message with a summary in place of what was said",
    ),
    (
        &["resume"],
        "",
        SlashDeed::Resume,
        "continue what was stopped",
    ),
    (
        &["exit", "quit"],
        "",
        SlashDeed::Exit,
        "leave; the conversation is kept",
    ),
];

/// A command as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slash {
    deed: SlashDeed,
    words: Vec<String>,
}

impl Slash {
    /// Nothing where the text is a message.
    pub(super) fn read(text: &str) -> Option<Result<Self, CliError>> {
        let mut words = text.strip_prefix('/')?.split_whitespace();
        let name = words.next().unwrap_or_default();
        let row = TABLE.iter().find(|(names, ..)| names.contains(&name));
        let Some((_, takes, deed, _)) = row else {
            return Some(Err(unknown(name)));
        };
        let words: Vec<String> = words.map(str::to_owned).collect();
        Some(match takes.is_empty() && !words.is_empty() {
            true => Err(CliError::new(
                Code::Usage,
                format!("/{name} takes nothing after its name"),
            )),
            false => Ok(Self { deed: *deed, words }),
        })
    }
}

fn unknown(name: &str) -> CliError {
    let names = TABLE.iter().flat_map(|(names, ..)| names.iter().copied());
    let message = format!("there is no command /{}", short(name));
    let hint = "/help lists them; to send text that begins with /, type a space first";
    let message = match nearest(name, names) {
        Some(meant) => format!("{message}. Did you mean /{meant}?"),
        None => message,
    };
    CliError::new(Code::Usage, message).hint(hint)
}

/// Carries a command out; says whether the person leaves.
pub(super) async fn carry_out(slash: &Slash, talk: &mut Talk<'_>, store: Option<&Path>) -> bool {
    let done = match slash.deed {
        SlashDeed::Exit => return true,
        SlashDeed::Help => {
            help();
            Ok(())
        }
        SlashDeed::Model => model(talk, &slash.words).await,
        SlashDeed::Limits => limits(talk).await,
        SlashDeed::Cost => cost(talk).await,
        SlashDeed::Compact => compact(talk).await,
        SlashDeed::Resume => resume(talk).await,
        SlashDeed::OfRun(name) => of_run(talk, name, &slash.words, store).await,
    };
    if let Err(error) = done {
        shown::error(&error);
    }
    false
}

fn help() {
    let usages = TABLE.map(|(names, takes, _, what)| {
        let names: Vec<String> = names.iter().map(|name| format!("/{name}")).collect();
        (format!("{} {takes}", names.join(", ")), what)
    });
    let width = usages.iter().map(|(usage, _)| usage.len()).max();
    let width = width.unwrap_or_default() + 1;
    for (usage, what) in usages {
        output::stderr(&format!("{usage:<width$}{what}"));
    }
}

async fn model(talk: &mut Talk<'_>, words: &[String]) -> Result<(), CliError> {
    match words {
        [] => {}
        [model] => talk.choose_model(model).await?,
        [_, ..] => {
            let message = "/model takes one model: PROVIDER/MODEL";
            return Err(CliError::new(Code::Usage, message));
        }
    }
    let run = talk.run().await?;
    let config = shown::config(run.as_ref(), talk.setup());
    let targets = talk
        .chosen_models()
        .or(config.map(|it| it.targets.as_slice()));
    shown::named("model", &[shown::models(targets.unwrap_or_default())]);
    Ok(())
}

async fn limits(talk: &Talk<'_>) -> Result<(), CliError> {
    let run = talk.run().await?;
    let config = shown::config(run.as_ref(), talk.setup());
    let (each, all) = match (&run, config) {
        (Some(run), _) => (run.limits_of_goal().clone(), run.overall_limits()),
        (None, Some(config)) => (config.limits.clone(), config.overall.unwrap_or_default()),
        (None, None) => return Ok(()),
    };
    shown::named("each message", &shown::limits(&each));
    shown::named("all messages", &shown::overall_limits(&all));
    Ok(())
}

async fn cost(talk: &Talk<'_>) -> Result<(), CliError> {
    match talk.run().await? {
        Some(run) => shown::named("so far", &shown::used(&run)),
        None => shown::notice("nothing was asked yet"),
    }
    Ok(())
}

async fn compact(talk: &mut Talk<'_>) -> Result<(), CliError> {
    if talk.id().is_none() {
        return Err(no_run("compact"));
    }
    talk.sum_up();
    shown::notice("the next message begins with a summary in place of what was said");
    Ok(())
}

async fn resume(talk: &mut Talk<'_>) -> Result<(), CliError> {
    let Some(run) = talk.run().await? else {
        return Err(no_run("resume"));
    };
    if run.termination().is_some() {
        shown::notice("nothing was stopped: the last message was answered");
        return Ok(());
    }
    talk.resume(run.id()).await
}

/// Ctrl-C meanwhile is for what the command shows, such as a pager.
async fn of_run(
    talk: &Talk<'_>,
    name: &'static str,
    words: &[String],
    store: Option<&Path>,
) -> Result<(), CliError> {
    let id = talk.id().ok_or_else(|| no_run(name))?;
    let cli = read(name, id, words)?;
    let _stop = signals::begin_turn();
    let done = carried_out(&cli.command, store).await;
    signals::end_turn();
    done
}

async fn carried_out(command: &Command, store: Option<&Path>) -> Result<(), CliError> {
    if let Command::Diff(args) = command {
        diff::diff(args, store).await?;
    } else if let Command::Undo(args) = command {
        undo::undo(args, store).await?;
    } else if let Command::Show(args) = command {
        Box::pin(show::show(args, store)).await?;
    } else if let Command::Fork(args) = command {
        Box::pin(fork::fork(args, store)).await?;
    }
    Ok(())
}

/// As if it had been typed in a shell, with the run of the conversation.
fn read(name: &str, id: &RunId, words: &[String]) -> Result<Cli, CliError> {
    let head = ["bonded", name, id.as_str()].map(OsString::from);
    let line: Vec<OsString> = head
        .into_iter()
        .chain(words.iter().map(OsString::from))
        .collect();
    Cli::read(&line).map_err(|error| {
        in_our_words(&error, &line).unwrap_or_else(|| {
            let text = error.render().to_string();
            let text = text.trim().trim_start_matches("error: ");
            CliError::new(Code::Usage, text)
        })
    })
}

fn no_run(name: &str) -> CliError {
    let message = format!("/{name} needs a run, and nothing was asked yet");
    CliError::new(Code::NothingWaits, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_not_a_command_and_a_typo_is_never_sent() {
        for message in ["hello", " /etc/passwd is what?", "a/b"] {
            assert!(Slash::read(message).is_none(), "{message}");
        }
        let said = |text: &str| match Slash::read(text) {
            Some(Err(error)) => error.render(),
            Some(Ok(_)) | None => String::new(),
        };
        assert!(
            said("/dif").contains("Did you mean /diff?"),
            "{}",
            said("/dif")
        );
        assert!(said("/").contains("there is no command /"), "{}", said("/"));
        assert!(
            said("/cost 3").contains("/cost takes nothing"),
            "{}",
            said("/cost 3")
        );
    }

    #[test]
    fn each_command_has_one_meaning() {
        let mut names: Vec<&str> = TABLE
            .iter()
            .flat_map(|(names, ..)| names.iter().copied())
            .collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_command_of_a_run_is_read_with_the_flags_of_that_command() {
        let id = RunId::new("3f2a").expect("a good id");
        let cli = read("diff", &id, &["--turn".into(), "2".into()]).expect("it is read");
        assert!(matches!(cli.command, Command::Diff(args) if args.turn == Some(2)));
        let error = read("diff", &id, &["--trun".into()]).expect_err("there is no such option");
        assert!(
            error.render().contains("Did you mean --turn?"),
            "{}",
            error.render()
        );
    }
}
