//! Whether a request goes on with a run that waits for its client, and with what.
//!
//! Clients of chats send all that was said, again and again; those of responses may name the one before. Either way the
//! results that stand last name their calls, and these the run. The log is the truth: what a request repeats of the run's
//! past is not read, but for the calls that wait, which must be the same. A request that stands further back than the log
//! is answered only where it is the one that was answered last.

use std::collections::BTreeMap;

use bonded_host::{ClientResults, Host};
use bonded_kernel::{self as kernel, Event, Hash, Invocation, Outcome, Run, ToolFinished, Usage};
use serde_json::Value;

use super::access::Caller;
use super::answer;
use super::call_handle::CallHandle;
use super::conversation::{Role, Utterance};
use super::refusal::AgentRefusal;
use super::request::AgentRequest;

/// How many entries are read at a time.
const PART_ENTRIES: usize = 128;

/// Where a call stands in its run: its turn, and its place there.
type CallPlace = (u32, u32);

/// A run that goes on, or has, with what its client brought.
#[derive(Debug)]
pub(super) struct Resumption {
    /// As its log has it.
    pub(super) run: Run,
    /// Empty where the log has them already.
    pub(super) results: ClientResults,
    /// The newest call whose result was brought: the answer is what came after it.
    pub(super) place: CallPlace,
    /// Identifies what was brought.
    pub(super) digest: Hash,
}

/// What a request ends with: results, and the user's words behind them.
struct Tail<'a> {
    newest: &'a str,
    words: String,
}

impl<'a> Tail<'a> {
    /// `None` where no result is last, besides words.
    fn of(utterances: &'a [Utterance]) -> Option<Self> {
        let spoke = |it: &Utterance| matches!(it.role, Role::User | Role::Instruction);
        let end = utterances.iter().rposition(|it| !spoke(it))?;
        let newest = utterances.get(end)?.answers.as_deref()?;
        let after = utterances.iter().skip(end + 1);
        let words: Vec<&str> = after
            .map(|it| it.text.trim())
            .filter(|it| !it.is_empty())
            .collect();
        Some(Self {
            newest,
            words: words.join("\n\n"),
        })
    }
}

/// What a client says of the calls of one run.
struct BroughtResults<'a> {
    caller: Caller,
    run: &'a Run,
    asked: &'a AgentRequest,
    results: BTreeMap<CallPlace, &'a str>,
    words: &'a str,
}

/// `None` where the request begins a run of its own.
pub(super) async fn of(
    host: &Host,
    caller: Caller,
    asked: &AgentRequest,
) -> Result<Option<Resumption>, AgentRefusal> {
    let Some(tail) = Tail::of(&asked.utterances) else {
        return match &asked.previous {
            Some(_) => Err(results_wanted()),
            None => Ok(None),
        };
    };
    // Of a conversation that goes on elsewhere the calls are a part of what was said.
    let may_begin = !tail.words.is_empty() && asked.previous.is_none();
    let Some(run) = run_of(host, caller, tail.newest).await? else {
        return match may_begin {
            true => Ok(None),
            false => Err(unknown_call(tail.newest, asked.param)),
        };
    };
    if asked.previous.as_ref().is_some_and(|it| it != run.id()) {
        return Err(contradicts(
            asked.param,
            "the results are for calls of another response",
        ));
    }
    if run.termination().is_some() && may_begin {
        return Ok(None);
    }
    let brought = BroughtResults::of(caller, &run, asked, &tail.words)?;
    let waiting = kernel::handed_out(&run);
    let results = match brought.for_calls(&waiting)? {
        Some(results) => results,
        None => {
            brought.compare_with_log(host).await?;
            ClientResults::default()
        }
    };
    let (place, digest) = (brought.place(), brought.digest());
    Ok(Some(Resumption {
        place,
        digest,
        results,
        run,
    }))
}

/// The run that a call belongs to, where this caller was told of the call.
async fn run_of(host: &Host, caller: Caller, id: &str) -> Result<Option<Run>, AgentRefusal> {
    let Some(handle) = CallHandle::parse(id) else {
        return Ok(None);
    };
    let head = host.store.head(&handle.run).await;
    if head
        .map_err(|error| answer::store_failed(&error))?
        .is_none()
    {
        return Ok(None);
    }
    let run = host.load(&handle.run).await;
    let run = run.map_err(|error| answer::unusable(&error))?;
    Ok(handle.is_of(caller, &run).then_some(run))
}

impl Resumption {
    /// What the run had used before.
    pub(super) fn used(&self) -> Usage {
        match self.results.is_empty() {
            // What came after the results is told a second time.
            true => Usage::default(),
            false => self.run.spend().used().0,
        }
    }
}

impl<'a> BroughtResults<'a> {
    /// All results of the run that the request has: a group of calls may be answered in any order.
    fn of(
        caller: Caller,
        run: &'a Run,
        asked: &'a AgentRequest,
        words: &'a str,
    ) -> Result<Self, AgentRefusal> {
        let mut results = BTreeMap::new();
        for utterance in &asked.utterances {
            let Some(handle) = utterance.answers.as_deref().and_then(CallHandle::parse) else {
                continue;
            };
            if !handle.is_of(caller, run) {
                continue;
            }
            let earlier = results.insert(handle.place(), utterance.text.as_str());
            if earlier.is_some_and(|earlier| earlier != utterance.text) {
                let message = "a call has two results that differ; send one";
                return Err(AgentRefusal::bad_request(
                    "result_given_twice",
                    Some(asked.param),
                    message,
                ));
            }
        }
        Ok(Self {
            caller,
            run,
            asked,
            results,
            words,
        })
    }

    /// The results of all calls that wait; `None` where none of them has any. Some alone are refused, as OpenAI does.
    fn for_calls(&self, waiting: &[Invocation]) -> Result<Option<ClientResults>, AgentRefusal> {
        let result = |call: &Invocation| self.results.get(&(call.turn(), call.call()));
        let missing: Vec<&Invocation> = waiting.iter().filter(|it| result(it).is_none()).collect();
        if missing.len() == waiting.len() {
            return Ok(None);
        }
        if !missing.is_empty() {
            let ids = missing
                .iter()
                .map(|call| CallHandle::write(self.caller, self.run, call));
            let ids: Vec<String> = ids.collect();
            let message = format!(
                "no result was sent for {}; send one for each call",
                ids.join(", ")
            );
            return Err(AgentRefusal::bad_request(
                "missing_result",
                Some(self.asked.param),
                message,
            ));
        }
        let mut results = ClientResults::default();
        for call in waiting {
            self.check_said(call)?;
            let text = result(call).expect("none of them is missing");
            results.add(call.turn(), call.call(), (*text).to_owned());
        }
        results.add_words(self.words);
        Ok(Some(results))
    }

    /// The call that the client executed must be the one that waits. A client of responses may leave it out.
    fn check_said(&self, call: &Invocation) -> Result<(), AgentRefusal> {
        let id = CallHandle::write(self.caller, self.run, call);
        let mut said = self.asked.utterances.iter().flat_map(|it| &it.calls);
        let Some(said) = said.find(|it| it.id == id) else {
            return match self.asked.previous {
                Some(_) => Ok(()),
                None => Err(contradicts(
                    self.asked.param,
                    "a result stands without its call",
                )),
            };
        };
        let value = |text: &str| serde_json::from_str::<Value>(text).ok();
        let is_same = said.arguments == call.arguments()
            || value(&said.arguments).is_some_and(|it| value(call.arguments()) == Some(it));
        match said.tool == call.tool() && is_same {
            true => Ok(()),
            false => Err(contradicts(
                self.asked.param,
                "a call has another tool or other arguments than the agent gave it",
            )),
        }
    }

    /// The request was answered before, so it may be answered again: its newest result is the newest that the log has.
    async fn compare_with_log(&self, host: &Host) -> Result<(), AgentRefusal> {
        let newest = newest_of_client(host, self.run).await?;
        let Some((place, finished)) = newest else {
            return Err(behind(self.asked.param));
        };
        let text = self.results.get(&place).filter(|_| place == self.place());
        match text {
            None => Err(behind(self.asked.param)),
            // The run ended while the client was at work: its end is the answer.
            Some(_) if finished.outcome == Outcome::Interrupted => Ok(()),
            Some(text) if host.is_recorded(self.run, &finished, text) => Ok(()),
            Some(_) => Err(AgentRefusal::conflict(
                "result_differs",
                self.asked.param,
                "another result of this call was taken before",
            )),
        }
    }

    fn place(&self) -> CallPlace {
        let newest = self.results.keys().next_back();
        newest.copied().unwrap_or_default()
    }

    fn digest(&self) -> Hash {
        let results: Vec<_> = self.results.iter().collect();
        let written =
            serde_json::to_string(&results).expect("numbers and texts are written as JSON");
        Hash::of(written.as_bytes())
    }
}

/// The newest output of a tool of the client's that the log has, and where the call stood.
async fn newest_of_client(
    host: &Host,
    run: &Run,
) -> Result<Option<(CallPlace, Box<ToolFinished>)>, AgentRefusal> {
    let (mut newest, mut after) = (None, 0);
    loop {
        let part = host.store.load_part(run.id(), after, PART_ENTRIES).await;
        let part = part.map_err(|error| answer::store_failed(&error))?;
        for entry in &part {
            after = entry.seq;
            if let Event::ToolFinished(finished) = &entry.event
                && run.is_client_tool(&finished.tool)
            {
                newest = Some(((entry.turn, finished.call), finished.clone()));
            }
        }
        if part.len() < PART_ENTRIES {
            return Ok(newest);
        }
    }
}

/// The id may be anybody's: nothing is said of whether there is such a run.
fn unknown_call(id: &str, param: &'static str) -> AgentRefusal {
    let short: String = id.chars().take(64).collect();
    let message = format!(
        "a result is for the call {short:?}, which no agent of this server has made for you"
    );
    AgentRefusal::bad_request("unknown_call", Some(param), message)
}

fn contradicts(param: &'static str, how: &str) -> AgentRefusal {
    let message = format!("the conversation is not what the run's log has: {how}");
    AgentRefusal::bad_request("history_contradicts", Some(param), message)
}

fn behind(param: &'static str) -> AgentRefusal {
    let message = "the run has continued since these calls; send the conversation as it is now";
    AgentRefusal::conflict("history_behind", param, message)
}

pub(super) fn results_wanted() -> AgentRefusal {
    let message = "previous_response_id continues a response that ended in calls: send the output of each in input; \
                   after an answer, send what was said before in input instead";
    AgentRefusal::bad_request("not_supported", Some("previous_response_id"), message)
}
