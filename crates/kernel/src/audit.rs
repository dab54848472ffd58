//! The audit of a log: every recorded input goes through the kernel again, and every step is compared.
//!
//! A log holds only what happened, and not what came in. But each step begins with the record of its input, or with what the
//! run did by itself: so the input is read back from the first entry of a step, given to the kernel once more, and what the
//! kernel makes of it must be the entries that follow, word for word.

use crate::decode::looped::RecordedReply;
use crate::entry::Entry;
use crate::event::{
    Answer, AttemptFailed, Call, Event, InputRecord, Outcome, ReplyRecord, ToolFinished,
};
use crate::model::{Failure, FailureClass, Finish, Reply, ReplyCall};
use crate::profile::is_own_code;
use crate::run::{BadLog, Run, ToolOutput, replay};
use crate::step::{Input, start_as, step_as};
use crate::termination::{Termination, TerminationKind};

/// A log that this kernel would have written in the same words.
#[derive(Clone, Debug)]
pub struct Audit {
    /// How many steps the log was made in, the first one included.
    pub steps: u64,
    /// How many entries it has.
    pub entries: u64,
    /// The run as the log leaves it.
    pub run: Run,
}

/// The first place where this kernel would have done something else.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// The step, counted from 1.
    pub step: u64,
    /// The entry of the log, by sequence number.
    pub seq: u64,
    /// The turn in which that entry stands.
    pub turn: u32,
    /// What the log says, as JSON; `None` where it ends.
    pub recorded: Option<String>,
    /// What this kernel says, as JSON; `None` where it says nothing.
    pub computed: Option<String>,
}

/// Why a log does not pass.
#[derive(Clone, Debug, thiserror::Error)]
pub enum AuditFault {
    /// It is no log of a run at all, so that nothing was compared.
    #[error("the entries are not the log of a run: {0}")]
    BadLog(#[from] BadLog),
    /// This kernel would have written something else; the first difference is told.
    #[error("step {} differs", .0.step)]
    Diverged(Box<Divergence>),
}

/// Replays a log step by step.
///
/// ```
/// # use bonded_kernel::{Catalog, Millis, RunConfig, RunId, RunStarted, Target, start};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = RunConfig::new("/tmp", vec![Target::new("local", "http://localhost:8080", "small")]);
/// # let catalog = Catalog::of_run([], &config)?;
/// # let started = RunStarted::new("What is 6 times 7?".into(), "".into(), config, catalog);
/// use bonded_kernel::audit;
///
/// let (_, step) = start(RunId::new("run-1")?, Millis(0), started);
/// let audit = audit(step.entries())?;
/// assert_eq!((audit.steps, audit.entries), (1, 2));
/// # Ok(())
/// # }
/// ```
pub fn audit(entries: &[Entry]) -> Result<Audit, AuditFault> {
    replay(entries)?;
    let (mut run, mut at) = begin(entries)?;
    let mut steps = 1;
    while at < entries.len() {
        steps += 1;
        let rest = &entries[at..];
        let input = recorded_input(&run, rest);
        let computed = step_as(rest[0].format, &mut run, rest[0].at, input);
        compare(steps, rest, computed.entries())?;
        at += computed.entries().len();
    }
    Ok(Audit {
        steps,
        entries: entries.len() as u64,
        run,
    })
}

/// The first step; or, of a forked run, what it took over, which its own settings did not produce.
fn begin(entries: &[Entry]) -> Result<(Run, usize), AuditFault> {
    let first = entries.first().ok_or(BadLog::Empty)?;
    let Event::RunStarted(started) = &first.event else {
        return Err(BadLog::NoStart.into());
    };
    if let Some(origin) = &started.forked_from {
        let taken = usize::try_from(origin.entries).unwrap_or(entries.len());
        let taken = taken.clamp(1, entries.len());
        return Ok((replay(&entries[..taken])?, taken));
    }
    let started = (**started).clone();
    let (run, computed) = start_as(first.format, first.run.clone(), first.at, started);
    compare(1, entries, computed.entries())?;
    Ok((run, computed.entries().len()))
}

/// The reply that an entry of a log holds, as the provider gave it.
pub fn recorded_reply(log: &[Entry], at: usize) -> Option<Reply> {
    let rest = log.get(at..)?;
    let record = rest.first()?.event.reply()?;
    Some(given_reply(record, rest))
}

fn given_reply(record: ReplyRecord<'_>, rest: &[Entry]) -> Reply {
    match record.rejected {
        None => reply_of(record.answer, &as_written(record.calls, rest)),
        Some(_) => reply_of(record.answer, record.calls),
    }
}

fn compare(step: u64, recorded: &[Entry], computed: &[Entry]) -> Result<(), AuditFault> {
    // An input that changes nothing leaves no entry, so a step without entries cannot stand in a log.
    let count = computed.len().max(1);
    for i in 0..count {
        let (recorded, computed) = (recorded.get(i), computed.get(i));
        let equal = match (recorded, computed) {
            (Some(a), Some(b)) => a.turn == b.turn && a.at == b.at && a.event == b.event,
            _ => false,
        };
        if !equal {
            let place = recorded.or(computed);
            return Err(AuditFault::Diverged(Box::new(Divergence {
                step,
                seq: place.map_or(0, |entry| entry.seq),
                turn: place.map_or(0, |entry| entry.turn),
                recorded: recorded.map(describe),
                computed: computed.map(describe),
            })));
        }
    }
    Ok(())
}

fn describe(entry: &Entry) -> String {
    String::from_utf8_lossy(&entry.body).into_owned()
}

/// What must have come in for the log to go on with these entries. An event that is no record of an input stands first in
/// a step that began by itself.
fn recorded_input(run: &Run, rest: &[Entry]) -> Input {
    // Room is made before what needs it is recorded: for the images of an output, and for its words.
    let is_room = |entry: &&Entry| matches!(entry.event, Event::ContextCompacted(_));
    let made = rest.iter().take_while(is_room).count();
    if let (1.., Some(finished)) = (made, rest.get(made))
        && matches!(finished.event, Event::ToolFinished(_))
    {
        return recorded_input(run, &rest[made..]);
    }
    if let Some(reply) = withheld_reply(rest) {
        return Input::Recorded {
            turn: run.turn(),
            attempt: attempt_of(run),
            reply: Box::new(reply),
        };
    }
    match rest[0].event.input() {
        InputRecord::Reply(record) => Input::Reply {
            turn: run.turn(),
            attempt: attempt_of(run),
            reply: Box::new(given_reply(record, rest)),
        },
        InputRecord::Failure(failed) if failed.class == FailureClass::Interrupted => {
            stopping_input(run, rest)
        }
        InputRecord::Failure(failed) => failed_input(run, failed),
        InputRecord::Output(finished) if finished.outcome == Outcome::Interrupted => {
            stopping_input(run, rest)
        }
        InputRecord::Output(finished) => returned_input(run.turn(), finished),
        InputRecord::Edit(edit) => Input::MemoryEdited(edit.clone()),
        InputRecord::Review(reviewed) => Input::Reviewed {
            turn: run.turn(),
            call: reviewed.call,
            digest: reviewed.digest,
            verdict: reviewed.verdict.clone(),
            by: reviewed.by.to_string(),
        },
        InputRecord::Said(text) => Input::Said { text: text.clone() },
        InputRecord::Goal(given) => Input::Goal(Box::new(given.clone())),
        InputRecord::Resumed => Input::Resumed,
        InputRecord::End => stopping_input(run, rest),
        InputRecord::None => Input::Woke,
    }
}

/// The attempt of the run that is under way, or was the last.
fn attempt_of(run: &Run) -> u32 {
    run.targets.attempts.next_number().saturating_sub(1)
}

fn failed_input(run: &Run, failed: &AttemptFailed) -> Input {
    Input::Failed {
        turn: run.turn(),
        attempt: attempt_of(run),
        failure: Box::new(Failure {
            class: failed.class,
            message: failed.message.to_string(),
            status: failed.status,
            retry_after_ms: failed.retry_after_ms,
            request_id: failed.request_id.as_deref().map(str::to_owned),
            latency_ms: failed.latency_ms,
            billable: failed.billable,
            overflow: failed.overflow,
        }),
    }
}

fn returned_input(turn: u32, finished: &ToolFinished) -> Input {
    Input::ToolReturned {
        turn,
        call: finished.call,
        output: Box::new(ToolOutput {
            outcome: finished.outcome,
            text: match &finished.dropped {
                Some(dropped) => dropped.output.to_string(),
                None => finished.output.to_string(),
            },
            cut_from_bytes: finished.cut_from_bytes,
            original: finished.original.as_ref().map(ToString::to_string),
            latency_ms: finished.latency_ms,
            tokens: finished.tokens,
            spent: finished.spent,
            marked: finished.marked,
            sandbox: finished.sandbox.clone(),
            code: finished.code.clone(),
            images: finished.images.clone(),
        }),
    }
}

/// A reply that the log does not keep as it was, as far as it does.
fn withheld_reply(rest: &[Entry]) -> Option<RecordedReply> {
    let record = rest.first()?.event.reply()?;
    if record.answer.withheld.is_none() && !record.answer.masked {
        return None;
    }
    let later = rest.iter().skip(1).map(|entry| &entry.event);
    let repairs = later.take_while(|event| matches!(event, Event::CallRepaired { .. }));
    Some(RecordedReply {
        answer: record.answer.clone(),
        calls: record.calls.to_vec(),
        rejected: record.rejected,
        repairs: repairs.cloned().collect(),
    })
}

/// Whether the host ended the run, for a reason that the log does not know.
fn is_of_host(termination: &Termination) -> bool {
    let code = termination.code();
    code.is_some_and(|code| !is_own_code(code))
}

/// The calls with the arguments that they had before they were mended.
fn as_written(calls: &[Call], rest: &[Entry]) -> Vec<Call> {
    let mut calls = calls.to_vec();
    for entry in rest.iter().skip(1) {
        let Event::CallRepaired { call, original, .. } = &entry.event else {
            break;
        };
        if let Some(call) = calls.get_mut(*call as usize) {
            call.arguments = original.clone();
        }
    }
    calls
}

fn reply_of(answer: &Answer, calls: &[Call]) -> Reply {
    // Calls that were written as tags stand in the text, those of a batch in its arguments.
    let native = calls.iter().filter(|call| call.is_native());
    let has_calls = native.clone().count() > 0;
    let calls = native.map(|call| ReplyCall {
        id: call.original_id.as_ref().unwrap_or(&call.id).to_string(),
        tool: call
            .original_tool
            .as_ref()
            .unwrap_or(&call.tool)
            .to_string(),
        arguments: call.arguments.to_string(),
    });
    Reply {
        text: answer.text.to_string(),
        reasoning: answer.reasoning.to_string(),
        signed: answer.signed.as_ref().map(ToString::to_string),
        calls: calls.collect(),
        usage: answer.usage,
        cost: answer.cost,
        finish: answer.finish.unwrap_or(Finish::default_of(has_calls)),
        stop_reason: answer.stop_reason.as_deref().map(str::to_owned),
        provider: answer.provider.as_deref().map(str::to_owned),
        model: answer.model.as_deref().map(str::to_owned),
        request_id: answer.request_id.as_deref().map(str::to_owned),
        latency_ms: answer.latency_ms,
    }
}

/// What stopped a run from outside: its reason stands in the termination that follows.
fn stopping_input(run: &Run, rest: &[Entry]) -> Input {
    // Nothing stands between what is stopped and the end, so that it is the next one.
    let Some(ended) = rest.iter().find_map(|entry| entry.event.ended()) else {
        return Input::Woke;
    };
    let termination = &ended.termination;
    let reason = termination.reason();
    match termination.kind {
        TerminationKind::Cancelled if ended.elapsed_ms == run.elapsed_ms() => Input::CancelLeft {
            reason: reason.to_string(),
        },
        TerminationKind::Cancelled => Input::Cancel {
            reason: reason.to_string(),
        },
        TerminationKind::TimedOut => Input::DeadlineReached,
        TerminationKind::Fatal if is_of_host(termination) => Input::HostFailed {
            code: termination.code().unwrap_or_default().to_owned(),
            message: reason.to_string(),
        },
        TerminationKind::Fatal => match reason.strip_prefix("panic: ") {
            Some(message) => Input::Panicked {
                message: message.to_owned(),
            },
            None => Input::Woke,
        },
        TerminationKind::Done
        | TerminationKind::Blocked
        | TerminationKind::TurnsExhausted
        | TerminationKind::NoProgress
        | TerminationKind::BudgetExhausted
        | TerminationKind::Denied => Input::Woke,
    }
}
