//! `bonded show`: what a run did, step by step.
//!
//! It only reads, whoever drives the run meanwhile. Without a turn each entry is a line, and entries that say
//! nothing to a person are passed over; with a turn each is shown whole. What tools and models wrote is made
//! harmless before it is shown.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::{Status, agent};
use bonded_kernel::{Entry, Event, RunId};
use bonded_state::{ListFilter, Store};

use crate::args::ShowArgs;
use crate::error::{CliError, Code};
use crate::render::story::{Story, plan_of};
use crate::render::{line, pager};
use crate::style::{Look, Stream, Styled};
use crate::{output, settings};
use bonded_host::shapes::listing;
use bonded_host::shapes::{json, text};

/// A damaged log is an error here: nothing of it would be certain.
pub(crate) async fn show(args: &ShowArgs, named: Option<&Path>) -> Result<ExitCode, CliError> {
    let (store, run) = settings::find_run_to_read(named, &args.run).await?;
    let entries = store.load(&run, 0).await?;
    if let Some(turn) = args.turn {
        check_turn(&run, &entries, turn)?;
    }
    if !args.json && args.turn.is_none() && Look::of(Stream::Out).redraws() {
        say_what_it_waits_for(&*store, named, &run).await?;
        return at_terminal(args, &store, &run, &entries).await;
    }
    if !args.json {
        output::stdout(&heading(&*store, &run, &entries).await?);
        say_what_it_waits_for(&*store, named, &run).await?;
    }
    let print = |entry: &Entry| match (args.json, args.turn) {
        (_, Some(turn)) if turn != entry.turn => {}
        (true, _) => output::stdout(&json::entry(entry)),
        (false, Some(_)) => output::stdout(&whole(entry)),
        (false, None) => {
            if let Some(line) = line::of(entry) {
                output::stdout(&line);
            }
        }
    };
    entries.iter().for_each(print);
    if args.follow {
        follow(&store, &run, &entries, print).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// At a terminal the run looks as it did while it was driven.
async fn at_terminal(
    args: &ShowArgs,
    store: &Arc<dyn Store>,
    run: &RunId,
    entries: &[Entry],
) -> Result<ExitCode, CliError> {
    let status = status_of(&**store, run).await?;
    let mut story = Story::new(Look::of(Stream::Out), Stream::Out.size().0);
    let mut lines = story.heading(run, status, entries);
    lines.extend(entries.iter().flat_map(|entry| story.lines(entry)));
    if !args.follow {
        lines.extend(story.end(run, status, entries));
        pager::show(&lines);
        return Ok(ExitCode::SUCCESS);
    }
    let look = Look::of(Stream::Out);
    let print = |lines: Vec<Styled>| {
        lines
            .iter()
            .for_each(|line| output::styled_stdout(line, &look));
    };
    print(lines);
    let story = std::cell::RefCell::new(story);
    follow(store, run, entries, |entry| {
        print(story.borrow_mut().lines(entry));
    })
    .await?;
    let entries = store.load(run, 0).await?;
    let status = status_of(&**store, run).await?;
    print(story.into_inner().end(run, status, &entries));
    Ok(ExitCode::SUCCESS)
}

/// Ends with the run. Waiting costs nothing: the store says when there is more.
async fn follow(
    store: &Arc<dyn Store>,
    run: &RunId,
    shown: &[Entry],
    print: impl Fn(&Entry),
) -> Result<(), CliError> {
    let mut last = shown.last().map_or((0, false), place);
    while !last.1 {
        store.changed(run, last.0).await?;
        for entry in store.load(run, last.0).await? {
            print(&entry);
            last = place(&entry);
        }
    }
    Ok(())
}

/// How far it was shown, and whether that was the end.
fn place(entry: &Entry) -> (u64, bool) {
    (entry.seq, matches!(entry.event, Event::RunEnded(_)))
}

fn check_turn(run: &RunId, entries: &[Entry], turn: u32) -> Result<(), CliError> {
    let turns = entries.last().map_or(0, |entry| entry.turn);
    if turn <= turns {
        return Ok(());
    }
    let message = format!("run {run} has no turn {turn}; it has {turns}");
    Err(CliError::new(Code::NoSuchTurn, message))
}

async fn status_of(store: &dyn Store, run: &RunId) -> Result<Status, CliError> {
    let filter = ListFilter {
        prefix: Some(run.to_string()),
        limit: 1_000,
    };
    let listed = store.list(filter).await?;
    let listed = listed.iter().find(|listed| &listed.run == run);
    let status = match listed {
        Some(listed) => listing::status(store, listed).await,
        None => None,
    };
    Ok(status.unwrap_or(Status::Interrupted))
}

/// What a person asks first: which run, how it stands, what it was for, and the command that goes on with it.
async fn heading(store: &dyn Store, run: &RunId, entries: &[Entry]) -> Result<String, CliError> {
    let status = status_of(store, run).await?;
    let mut lines = vec![
        format!("run      {run}"),
        format!("status   {}", status.as_str()),
    ];
    if let Some(Event::RunStarted(started)) = entries.first().map(|entry| &entry.event) {
        lines.push(format!("goal     {}", text::brief(&started.goal, 200)));
        let prices = started.config.targets.iter().filter_map(agent::listed);
        lines.extend(prices.map(|price| format!("price    {price}")));
    }
    if let Some(Event::RunEnded(ended)) = entries.last().map(|entry| &entry.event) {
        let termination = &ended.termination;
        let reason = text::brief(termination.reason(), 400);
        lines.push(format!("end      {}: {reason}", termination.kind.as_str()));
    } else if let Some(plan) = plan_of(entries).filter(|_| status == Status::Interrupted) {
        lines.push(format!("resume   bonded work --resume {plan}"));
    } else if status == Status::Interrupted {
        lines.push(format!("resume   bonded resume {}", text::short_id(run)));
    } else if status == Status::AwaitingReview {
        let id = text::short_id(run);
        lines.push(format!("next     bonded approve {id}, or bonded deny {id}"));
    } else if status == Status::AwaitingClient {
        let id = text::short_id(run);
        lines.push(format!(
            "next     its client answers, or bonded cancel {id}"
        ));
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// Of a run in a queue. It is on stderr: it is no part of the run.
async fn say_what_it_waits_for(
    store: &dyn Store,
    named: Option<&Path>,
    run: &RunId,
) -> Result<(), CliError> {
    if status_of(store, run).await? != Status::Queued {
        return Ok(());
    }
    let waits = settings::waits(named, vec![run.clone()]).await?;
    for waits_for in waits.values() {
        output::stderr(&format!("queued: waits for {waits_for}"));
    }
    Ok(())
}

/// An entry with everything it holds.
fn whole(entry: &Entry) -> String {
    let seq = entry.seq;
    let at = text::local_time(entry.at);
    let kind = entry.event.kind();
    let mut lines = vec![format!(
        "#{seq} {kind}  {at}  {}",
        &entry.hash.to_string()[..16]
    )];
    let mut part = |name: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("  {name}:"));
            lines.extend(text.lines().map(|line| format!("    {}", printable(line))));
        }
    };
    // What has no form of its own is shown as it is kept, so that a new kind of event is shown whole too.
    if let Event::DecisionMade(decision) = &entry.event {
        part("reasoning", &decision.answer.reasoning);
        part("text", &decision.answer.text);
        for call in &decision.calls {
            let (id, tool) = (text::brief(&call.id, 80), text::brief(&call.tool, 80));
            part(&format!("call {id} {tool}"), &call.arguments);
            if let Some(refusal) = &call.refused {
                part("refused", &refusal.message);
            }
        }
    } else if let Event::ContextSummarised(made) = &entry.event {
        part("summary", &made.answer.text);
    } else if let Event::ToolFinished(finished) = &entry.event {
        let outcome = format!("{} {:?}", finished.tool, finished.outcome);
        part(&outcome, &finished.output);
    } else {
        part("entry", &String::from_utf8_lossy(&entry.body));
    }
    lines.join("\n")
}

/// Output of tools must not be able to drive the reader's terminal.
fn printable(line: &str) -> String {
    line.chars()
        .map(|c| {
            if c.is_control() && c != '\t' {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect()
}
