//! What waits for a person, over all runs, with everything that is needed to decide.

use bonded_host::PendingReview;
use bonded_host::shapes::waiting::change::change_of;
use bonded_host::shapes::waiting::command::command_of;
use bonded_host::shapes::waiting::{executed, note_of};
use bonded_kernel::{Event, Run};
use serde::Serialize;

use super::Console;
use super::access::{self, Access, Deed};
use super::reading::{ReadRun, SourceDto};
use super::refusal::ConsoleRefusal;
use super::rows;
use super::run_page::SandboxDto;

/// More cards than that nobody works through at once; the next ones come when these are decided.
const CARDS_MAX: usize = 100;

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Inbox"))]
pub(super) struct InboxDto {
    calls: Vec<WaitingDto>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "WaitingCall"))]
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
    reply: String,
    untrusted: bool,
    /// The outputs that nobody vouches for, the newest first.
    sources: Vec<SourceDto>,
    /// How many older ones are not listed.
    sources_left: usize,
    /// Which of approve, cancel, fork and resume this person may do at all.
    may: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "FileChange"))]
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
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Command"))]
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
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "CallLimits"))]
struct CallLimitsDto {
    time_ms: u64,
    output_bytes: u64,
}

/// Every call that waits, the longest wait first. Where a called agent waits, its own run is in the list too, and has
/// the card: so only runs whose log ends with a question are read.
pub(super) async fn inbox(console: &Console, access: &Access) -> Result<InboxDto, ConsoleRefusal> {
    let mut calls = vec![];
    for listed in rows::newest(&console.host, access).await? {
        let last = listed.ends.as_ref().map(|ends| &ends.last.event);
        if !matches!(last, Ok(Event::ReviewAsked { .. })) || calls.len() >= CARDS_MAX {
            continue;
        }
        match access.sight.permits(&listed, Deed::Read).await {
            Ok(()) => {}
            Err(refusal) if refusal.is_fault() => return Err(refusal),
            Err(_) => continue,
        }
        let read = ReadRun::of(&console.host, &listed.run).await?;
        // It may have been answered meanwhile.
        if let Some(call) = read.run.waiting_call() {
            let run = listed.run.clone();
            let may = access::offers(access, &listed).await;
            calls.push(WaitingDto::of(&read, &PendingReview { run, call }, may));
        }
    }
    calls.sort_by_key(|card| card.since);
    Ok(InboxDto { calls })
}

impl WaitingDto {
    /// A call with what a person must know of it.
    pub(super) fn of(read: &ReadRun, waits: &PendingReview, may: Vec<&'static str>) -> Self {
        let (run, call) = (&read.run, &waits.call);
        let parent = run.config().parent.as_ref();
        let root = parent.map_or(run.id(), |parent| &parent.origin);
        let spec = run.catalog().spec(&call.tool);
        let limits = &run.config().limits;
        Self {
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
            untrusted: run.marked_by().is_some(),
            reply: read.reply.clone(),
            sources: read.sources.iter().cloned().collect(),
            sources_left: read.sources_left,
            may,
        }
    }
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
