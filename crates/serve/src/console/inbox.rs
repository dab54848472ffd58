//! What waits for a person, over all runs, with everything that is needed to decide.

use bonded_host::shapes::listing;
use bonded_host::shapes::waiting::change::change_of;
use bonded_host::shapes::waiting::command::command_of;
use bonded_host::shapes::waiting::{executed, note_of};
use bonded_host::{Host, PendingReview, Status};
use bonded_kernel::{Entry, Event, Run};
use bonded_state::ListFilter;
use serde::Serialize;

use super::refusal::ConsoleRefusal;
use super::run_page::SandboxDto;

/// So many of the newest runs are looked at.
const LOOKED_AT_MAX: usize = 2_000;
/// More cards than that nobody works through at once; the next ones come when these are decided.
const CARDS_MAX: usize = 100;

/// Of a card: texts in which what was copied is looked for.
const SOURCES_MAX: usize = 8;
const SOURCE_BYTES_MAX: usize = 32_768;

#[derive(Debug, Serialize)]
pub(super) struct InboxDto {
    calls: Vec<WaitingDto>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WaitingDto {
    run_id: String,
    /// The run that goes on after the verdict.
    root_id: String,
    goal: String,
    turn: u32,
    call: u32,
    tool: String,
    effect: Option<&'static str>,
    /// What is executed, with every letter to be seen.
    arguments: String,
    /// As the model wrote it.
    written: String,
    why: String,
    digest: String,
    since: u64,
    note: Option<&'static str>,
    change: Option<ChangeDto>,
    command: Option<CommandDto>,
    sandbox: Option<SandboxDto>,
    limits: CallLimitsDto,
    said: String,
    untrusted: bool,
    sources: Vec<SourceDto>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ChangeDto {
    path: String,
    is_new: bool,
    is_guarded: bool,
    before: Option<String>,
    after: Option<String>,
    /// Why the call will fail.
    fault: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CommandDto {
    command: String,
    args: Option<Vec<String>>,
    directory: String,
    stdin: Option<String>,
    time_ms: u64,
    network: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CallLimitsDto {
    time_ms: u64,
    output_bytes: u64,
}

/// An output that nobody vouches for.
#[derive(Debug, Serialize)]
struct SourceDto {
    turn: u32,
    call: u32,
    tool: String,
    seq: u64,
    text: String,
}

/// Every call that waits, the longest wait first.
pub(super) async fn inbox(host: &Host) -> Result<InboxDto, ConsoleRefusal> {
    let filter = ListFilter {
        prefix: None,
        limit: LOOKED_AT_MAX,
    };
    let mut calls = vec![];
    for listed in host.store.list(filter).await? {
        if listing::status(&*host.store, &listed).await != Some(Status::AwaitingReview) {
            continue;
        }
        let run = host.load(&listed.run).await?;
        // Where a called agent waits, its own run is in the list too, and has the card.
        if let Some(waits) = PendingReview::of(&*host.store, &run).await?
            && waits.run == listed.run
            && calls.len() < CARDS_MAX
        {
            calls.push(waiting(host, &run, &waits).await?);
        }
    }
    calls.sort_by_key(|card| card.since);
    Ok(InboxDto { calls })
}

/// A call with what a person must know of it. `of` is the run that was asked about; the call may be of one below it.
pub(super) async fn waiting(
    host: &Host,
    of: &Run,
    waits: &PendingReview,
) -> Result<WaitingDto, ConsoleRefusal> {
    let below = match waits.run == *of.id() {
        true => None,
        false => Some(host.load(&waits.run).await?),
    };
    let run = below.as_ref().unwrap_or(of);
    let call = &waits.call;
    let root = host.root_of(run.id()).await?;
    let entries = host.store.load(run.id(), 0).await?;
    let said = entries.iter().rev().find_map(|entry| match &entry.event {
        Event::DecisionMade(decision) => Some(decision.answer.text.to_string()),
        _ => None,
    });
    let spec = run.catalog().spec(&call.tool);
    let limits = &run.config().limits;
    Ok(WaitingDto {
        run_id: waits.run.to_string(),
        root_id: root.to_string(),
        goal: run.goal().to_string(),
        turn: call.turn,
        call: call.call,
        tool: call.tool.to_string(),
        effect: spec.map(|it| it.effect.as_str()),
        arguments: executed(&call.arguments),
        written: call.arguments.to_string(),
        why: call.why.to_string(),
        digest: call.digest.to_string(),
        since: run.last_at().0,
        note: note_of(call),
        change: change(run, waits),
        command: command(run, waits),
        sandbox: SandboxDto::of(run),
        limits: CallLimitsDto {
            time_ms: limits.tool_timeout_ms,
            output_bytes: limits.tool_output_bytes_max,
        },
        said: said.unwrap_or_default(),
        untrusted: run.marked_by().is_some(),
        sources: sources(run, &entries),
    })
}

/// The outputs that nobody vouches for, the newest first: what a call was copied from is most often near it.
fn sources(run: &Run, entries: &[Entry]) -> Vec<SourceDto> {
    let policy = run.config().policy.as_deref();
    let untrusted = entries.iter().rev().filter_map(|entry| match &entry.event {
        Event::ToolFinished(finished) => {
            let is_untrusted = policy.is_some_and(|it| it.is_untrusted(&finished.tool));
            (is_untrusted || finished.marked).then_some((entry, finished))
        }
        _ => None,
    });
    untrusted
        .take(SOURCES_MAX)
        .map(|(entry, finished)| SourceDto {
            turn: entry.turn,
            call: finished.call,
            tool: finished.tool.to_string(),
            seq: entry.seq,
            text: beginning(&finished.output).to_owned(),
        })
        .collect()
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(SOURCE_BYTES_MAX.min(text.len()))]
}

fn change(run: &Run, waits: &PendingReview) -> Option<ChangeDto> {
    let change = match change_of(run, &waits.call)? {
        Ok(change) => change,
        Err(fault) => {
            return Some(ChangeDto {
                path: String::new(),
                is_new: false,
                is_guarded: false,
                before: None,
                after: None,
                fault: Some(fault),
            });
        }
    };
    let texts = change.texts();
    Some(ChangeDto {
        path: change.path().to_owned(),
        is_new: texts.is_some_and(|(before, _)| before.is_none()),
        is_guarded: change.is_guarded(),
        before: texts.and_then(|(before, _)| before).map(str::to_owned),
        after: texts.map(|(_, after)| after.to_owned()),
        fault: None,
    })
}

fn command(run: &Run, waits: &PendingReview) -> Option<CommandDto> {
    let (call, terms) = command_of(run, &waits.call)?;
    Some(CommandDto {
        directory: match call.cwd {
            Some(cwd) => format!("{}/{cwd}", terms.dir),
            None => terms.dir,
        },
        command: call.command,
        args: call.args,
        stdin: call.stdin,
        time_ms: terms.timeout_ms,
        network: terms.has_network,
    })
}
