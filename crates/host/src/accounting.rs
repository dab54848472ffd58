//! Accounts: what a run asked models and tools for, read from its log entry by entry.
//!
//! Nothing is written here, and nothing is asked of a provider: an account follows from the log alone,
//! so that it can be made again at any time, by any process, and comes out the same.
//!
//! A request is accounted for by the entry that settles it, whether that is a decision, a rejected
//! reply, a summary or a failure; what began is remembered until then. A call is accounted for once,
//! also where it was refused, skipped or denied and nothing was executed; only those that stand behind
//! the end of a run are not.

// An event that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

mod books;

use std::sync::Arc;

use bonded_kernel::{
    Answer, AttemptFailed, Call, Entry, Event, FINAL_REPORT, FailureClass, GoalGiven, Hash, Millis,
    Money, Outcome, Reserve, RunConfig, RunId, SkipReason, Target, ToolFinished, Usage, Verdict,
};

pub use books::{Booked, Books, accounts};

/// One line of an account.
#[derive(Clone, Debug, PartialEq)]
pub struct Account {
    /// Where in the log it was settled.
    pub seq: u64,
    /// When the request or the call began.
    pub at: Millis,
    /// How long it took, in milliseconds; zero for a call that was never executed.
    pub latency_ms: u64,
    /// `None` where it went well.
    pub error: Option<String>,
    /// What was asked, and what is known of it alone.
    pub kind: AccountKind,
}

/// Whether a model was asked or a tool was called. Boxed, because the two are large and of different
/// size.
#[derive(Clone, Debug, PartialEq)]
pub enum AccountKind {
    /// One attempt at one target. A turn with retries has several.
    Model(Box<ModelAccount>),
    /// One call of a tool, of an agent or of the final report.
    Tool(Box<ToolAccount>),
}

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelAccount {
    /// The provider as the run's target names it.
    pub provider: String,
    /// The model as the run's target names it.
    pub model: String,
    /// Who answered, where the reply says so; a router may have passed the request on.
    pub actual_provider: Option<Arc<str>>,
    /// Which model answered, where the reply says so.
    pub actual_model: Option<Arc<str>>,
    /// What the provider counted; zero where it did not say.
    pub usage: Usage,
    /// What the provider charged, else the usage at the target's price; `None` where neither is known.
    pub cost: Option<Money>,
    /// The most that a request can have used which nobody accounted for.
    pub unsettled: Option<Reserve>,
    /// Why the model stopped; `None` where the attempt failed and there was no reply.
    pub stop_reason: Option<Arc<str>>,
}

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAccount {
    /// The part of the tool's name before `__`, `builtin` where it has none, `unknown` for a call that
    /// was refused.
    pub server: String,
    /// The whole name of the tool; a final report that was written as a tag ends in `_xml`.
    pub command: String,
    /// The length of the arguments as the model wrote them, in characters.
    pub characters_in: usize,
    /// The length of the output that the model was shown, in characters; zero where nothing was
    /// executed.
    pub characters_out: usize,
    /// Whether the call was written as a tag.
    pub is_tag: bool,
    /// Set where the output was not put before the model as it was.
    pub dropped: Option<DroppedTokens>,
    /// The run that the call made, where it called an agent.
    pub child: Option<RunId>,
}

/// An output that no window had room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DroppedTokens {
    /// The tokens that the output would have needed.
    pub original: u64,
    /// The tokens of the sentence that stands in its place.
    pub replacement: u64,
    /// The tokens that the next request would have held with it.
    pub projected: u64,
    /// The tokens that the window takes which it exceeds most; below zero where the reply alone is
    /// larger than the window.
    pub limit: i64,
}

/// Reads accounts from a log: [`take`](Self::take) each entry in order.
///
/// It must see every entry from the first on: the targets and their prices stand in the first, and a
/// call is known by its place in the decision before it.
#[derive(Debug, Default)]
pub struct Bookkeeper {
    /// From the first entry, with what later goals changed; without it no target can be named, and no request is accounted
    /// for.
    config: Option<Arc<RunConfig>>,
    /// The request that is under way: when it began, its target, and what was reserved for it. Whatever
    /// settles it takes it, so that none is counted twice.
    request: Option<(Millis, u32, Reserve)>,
    /// The calls of the last decision, which later entries name by their index.
    calls: Vec<Call>,
    /// When the call that runs was invoked, for the time at which its account begins.
    invoked_at: Millis,
    /// How many entries a forked run has from another.
    taken_over: u64,
}

impl Bookkeeper {
    /// The run that an entry's call makes, where it calls an agent.
    pub fn child(&self, entry: &Entry) -> Option<RunId> {
        let Event::ToolInvoked { call, tool, .. } = &entry.event else {
            return None;
        };
        self.is_agent(tool).then(|| child_of(entry, *call))
    }

    /// Whether a tool of this name is one of the agents that the run may call.
    fn is_agent(&self, tool: &str) -> bool {
        let config = self.config.as_ref();
        let agent = config.and_then(|config| config.agent.as_ref());
        agent.is_some_and(|agent| agent.agents.iter().any(|it| it.tool == tool))
    }

    /// The accounts that an entry settles.
    ///
    /// Most entries settle none, and one decision settles a request and every call in it that was
    /// refused at once. A call that ran is settled by its own `ToolFinished`.
    pub fn take(&mut self, entry: &Entry) -> Vec<Account> {
        match &entry.event {
            Event::RunStarted(started) => {
                self.config = Some(Arc::new(started.config.clone()));
                self.taken_over = started.forked_from.as_ref().map_or(0, |it| it.entries);
                vec![]
            }
            Event::AttemptStarted {
                target, reserved, ..
            } => {
                self.request = Some((entry.at, *target, *reserved));
                vec![]
            }
            Event::AttemptFailed(failed) => self.failed(entry, failed),
            Event::ReplyRejected {
                reason,
                answer,
                calls,
            } => {
                let error = Some(format!("rejected: {}", reason.as_str()));
                let mut accounts = self.replied(entry, answer, calls, error);
                accounts.extend(refused(entry, calls));
                accounts
            }
            Event::ContextSummarised(made) => self.replied(entry, &made.answer, &[], None),
            Event::DecisionMade(decision) => {
                self.calls.clone_from(&decision.calls);
                let mut accounts = self.replied(entry, &decision.answer, &decision.calls, None);
                accounts.extend(refused(entry, &decision.calls));
                accounts
            }
            Event::ToolInvoked { .. } => {
                self.invoked_at = entry.at;
                vec![]
            }
            Event::ToolFinished(finished) => self.finished(entry, finished),
            Event::ProgressReported { call, .. } => self.without_execution(entry, *call, None),
            Event::CallSkipped { call, reason, .. } => match reason {
                SkipReason::ContextBudget => {
                    self.without_execution(entry, *call, Some("budget_exceeded_prior_tool"))
                }
                SkipReason::Untrusted => {
                    self.without_execution(entry, *call, Some("denied_by_policy"))
                }
                SkipReason::SecretNotKept => {
                    self.without_execution(entry, *call, Some("secret_not_kept"))
                }
                SkipReason::BesideTheReport => {
                    self.without_execution(entry, *call, Some("beside_the_report"))
                }
                SkipReason::AfterTheEnd => vec![],
            },
            Event::CallReviewed(reviewed) if reviewed.verdict != Verdict::Approved => {
                self.without_execution(entry, reviewed.call, Some("denied_by_a_person"))
            }
            Event::GoalGiven(given) => self.pursued(given),
            // Nothing was paid for, and nothing was called.
            Event::RunResumed {}
            | Event::PersonSpoke { .. }
            | Event::TargetLearned { .. }
            | Event::CallRepaired { .. }
            | Event::ContextGuarded(_)
            | Event::ContextCompacted(_)
            | Event::TurnFailed { .. }
            | Event::ReviewAsked { .. }
            | Event::CallReviewed(_)
            | Event::MemoryEdited(_)
            | Event::RunEnded(_) => vec![],
        }
    }

    /// A goal may be asked of other models than those before.
    fn pursued(&mut self, given: &GoalGiven) -> Vec<Account> {
        if let (Some(config), Some(targets)) = (&mut self.config, &given.targets) {
            Arc::make_mut(config).targets.clone_from(targets);
        }
        vec![]
    }

    /// The account of a call that has an answer without having been executed. A progress report is one
    /// without an error.
    fn without_execution(&self, entry: &Entry, call: u32, error: Option<&str>) -> Vec<Account> {
        let call = self.calls.get(call as usize);
        let account = |call| tool_account(entry, call, error.map(str::to_owned));
        call.map(account).into_iter().collect()
    }

    fn target(&self, index: u32) -> Option<&Target> {
        self.config.as_ref()?.targets.get(index as usize)
    }

    /// A failed attempt has no usage. Where the provider may charge for it all the same, what was
    /// reserved is unsettled, so that a sum over accounts never claims less than may have been spent.
    fn failed(&mut self, entry: &Entry, failed: &AttemptFailed) -> Vec<Account> {
        let Some((at, target, reserved)) = self.request.take() else {
            return vec![];
        };
        let Some(target) = self.target(target) else {
            return vec![];
        };
        let class = failed.class.as_str();
        let error = if failed.class == FailureClass::Interrupted {
            failed.message.to_string()
        } else {
            format!("{class}: {}", failed.message)
        };
        vec![Account {
            seq: entry.seq,
            at,
            latency_ms: failed.latency_ms,
            error: Some(error),
            kind: AccountKind::Model(Box::new(ModelAccount {
                provider: target.provider.clone(),
                model: target.model.clone(),
                actual_provider: None,
                actual_model: None,
                usage: Usage::default(),
                cost: None,
                unsettled: failed.billable.then_some(reserved),
                stop_reason: None,
            })),
        }]
    }

    /// A reply whose provider counted nothing leaves what was reserved unsettled.
    fn replied(
        &mut self,
        entry: &Entry,
        answer: &Answer,
        calls: &[Call],
        error: Option<String>,
    ) -> Vec<Account> {
        let Some((at, target, reserved)) = self.request.take() else {
            return vec![];
        };
        let Some(target) = self.target(target) else {
            return vec![];
        };
        let usage = answer.usage.unwrap_or_default();
        vec![Account {
            seq: entry.seq,
            at,
            latency_ms: answer.latency_ms,
            error,
            kind: AccountKind::Model(Box::new(ModelAccount {
                provider: target.provider.clone(),
                model: target.model.clone(),
                actual_provider: answer.provider.clone(),
                actual_model: answer.model.clone(),
                usage,
                cost: cost_of(target, answer),
                unsettled: answer.usage.is_none().then_some(reserved),
                stop_reason: Some(answer.stop_reason(calls)),
            })),
        }]
    }

    /// A call whose index is not in the last decision is passed over: a damaged log gives fewer
    /// accounts and no panic.
    fn finished(&self, entry: &Entry, finished: &ToolFinished) -> Vec<Account> {
        let Some(call) = self.calls.get(finished.call as usize) else {
            return vec![];
        };
        let error = (finished.outcome != Outcome::Ok).then(|| reason_of(&finished.output));
        let mut account = tool_account(entry, call, error);
        account.at = self.invoked_at;
        account.latency_ms = finished.latency_ms;
        if let AccountKind::Tool(tool) = &mut account.kind {
            tool.characters_out = finished.output.chars().count();
            tool.dropped = finished.dropped.as_ref().map(|dropped| DroppedTokens {
                original: dropped.tokens,
                replacement: dropped.stub_tokens,
                projected: dropped.projected,
                limit: dropped.limit,
            });
            let is_agent = self.is_agent(&finished.tool);
            tool.child = is_agent.then(|| child_of(entry, finished.call));
        }
        vec![account]
    }
}

/// The calls that were never executed.
fn refused(entry: &Entry, calls: &[Call]) -> Vec<Account> {
    let account = |call: &Call| {
        let refusal = call.refused.as_ref()?;
        let mut account = tool_account(entry, call, Some(refusal.message.to_string()));
        if let AccountKind::Tool(tool) = &mut account.kind {
            tool.server = "unknown".into();
        }
        Some(account)
    };
    calls.iter().filter_map(account).collect()
}

/// An account with what the call alone says; whoever has more to say fills it in.
fn tool_account(entry: &Entry, call: &Call, error: Option<String>) -> Account {
    let is_tag = call.tag.is_some();
    let command = match &*call.tool {
        FINAL_REPORT if is_tag => format!("{FINAL_REPORT}_xml"),
        tool => tool.to_owned(),
    };
    Account {
        seq: entry.seq,
        at: entry.at,
        latency_ms: 0,
        error,
        kind: AccountKind::Tool(Box::new(ToolAccount {
            server: server_of(&call.tool).to_owned(),
            command,
            characters_in: call.arguments.chars().count(),
            characters_out: 0,
            is_tag,
            dropped: None,
            child: None,
        })),
    }
}

/// Tools of servers are named `SERVER__tool`.
fn server_of(tool: &str) -> &str {
    tool.split_once("__")
        .map_or("builtin", |(server, _)| server)
}

/// A failed call reads `(tool failed: <reason>)`.
fn reason_of(output: &str) -> String {
    let inner = output
        .strip_prefix("(tool failed: ")
        .and_then(|rest| rest.strip_suffix(')'));
    inner.unwrap_or(output).to_owned()
}

/// What a reply cost: what the provider says counts more than the price of the configuration.
pub fn cost_of(target: &Target, answer: &Answer) -> Option<Money> {
    let priced = || Some(target.price?.of(&answer.usage?));
    answer.cost.or_else(priced)
}

/// The run that a call of an agent makes. The same key as the driver makes of the invocation: run, turn and index of the
/// call.
pub fn child_of(entry: &Entry, call: u32) -> RunId {
    child_id(&format!("{}/{}/{call}", entry.run, entry.turn))
}

/// The id of the run that a call of an agent makes: it follows from the call, so that a call that is made
/// again after a crash finds the run of the first time.
pub(crate) fn child_id(key: &str) -> RunId {
    let hash = Hash::of(key.as_bytes()).to_string();
    let short: String = hash
        .chars()
        .filter(char::is_ascii_hexdigit)
        .take(32)
        .collect();
    RunId::new(&short).expect("32 hexadecimal digits name a run")
}
