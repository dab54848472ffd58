//! A model behind a bad line: it answers as its temper is, late, wrongly, or not at all.

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bonded_kernel::{
    Failure, FailureClass, Finish, Message, Offer, Overflow, Reply, Request, Target, ToolSpec,
    Usage,
};
use bonded_transport::Transport;
use futures_util::future::BoxFuture;

use super::agent_reply;
use super::conversation::unanswered_call;
use super::ledger::{Place, Sent};
use super::loop_reply;
use super::process::Process;
use super::reply;
use crate::rng::Rng;

/// More requests than any run of a world can need.
const REQUESTS_MAX: usize = 2_000;

/// How often each ordinal was asked for: a request that a crash cut off may be answered otherwise.
pub(crate) type Asked = Arc<Mutex<BTreeMap<u32, u64>>>;

/// The model as one process sees it.
#[derive(Debug)]
pub(crate) struct SimModel {
    process: Arc<Process>,
    asked: Asked,
}

/// What becomes of a request.
struct Fate {
    delay_ms: u64,
    outcome: Result<Reply, Failure>,
    panics: bool,
}

impl SimModel {
    pub(crate) fn new(process: Arc<Process>, asked: Asked) -> Self {
        Self { process, asked }
    }

    fn times_asked(&self, ordinal: u32) -> u64 {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let times = asked.entry(ordinal).or_default();
        *times += 1;
        *times
    }

    /// Writes down what was sent, and looks whether it is fit to be sent.
    fn witness(&self, request: &Request<'_>, fate: &Fate) {
        let shared = &self.process.shared;
        let log_seq = shared.head().seq;
        self.process.witness_effect("a request");
        if let Some(call) = unanswered_call(request.messages) {
            let turn = request.turn;
            shared.complain(format!("the request of turn {turn} leaves {call}"));
        }
        let mut ledger = shared.ledger();
        ledger.tally.requests += 1;
        ledger.sent.push(Sent {
            turn: request.turn,
            attempt: request.attempt,
            target: request.target.clone(),
            output_tokens_max: request.output_tokens_max,
            log_seq,
            held_tokens: input_tokens(request),
            room_tokens: room_tokens(request),
            offered: request.tools().map(|spec| spec.name.clone()).collect(),
            usage: fate.outcome.as_ref().ok().and_then(|reply| reply.usage),
        });
        if ledger.sent.len() == REQUESTS_MAX {
            ledger.complaints.push(format!("{REQUESTS_MAX} requests"));
            drop(ledger);
            self.process.die(Place::InRequest);
        }
    }

    fn decide(&self, request: &Request<'_>) -> Fate {
        let shared = &self.process.shared;
        let numbers = [
            u64::from(request.ordinal),
            self.times_asked(request.ordinal),
        ];
        let mut rng = Rng::derive(shared.seed, "model", &numbers);
        let rng = &mut rng;
        let plan = &shared.plan;
        if let Some(failure) = self.refusal(request, &numbers) {
            shared.ledger().tally.failures += 1;
            return Fate {
                delay_ms: failure.latency_ms,
                outcome: Err(failure),
                panics: false,
            };
        }
        if rng.chance(plan.faults.request) {
            shared.ledger().tally.failures += 1;
            return failure(rng, request);
        }
        let mut reply = reply::write(rng, plan.temper, request);
        agent_reply::dress(rng, &plan.config, request, &mut reply);
        loop_reply::dress(rng, &plan.config, &mut reply);
        fit(&mut reply, request.output_tokens_max);
        reply.usage = rng.chance(800).then(|| usage(rng, request, &reply));
        if let Some(usage) = reply.usage.as_mut().filter(|_| plan.provider_lies) {
            usage.output = usage.output.saturating_mul(rng.between(1, 50));
            usage.input = usage.input.saturating_mul(rng.between(1, 3));
        }
        let delay_ms = rng.between(0, 3_000);
        reply.latency_ms = delay_ms;
        Fate {
            delay_ms,
            outcome: Ok(reply),
            panics: rng.chance(plan.faults.request / 100),
        }
    }
}

impl SimModel {
    /// What the service of the target does not take of a request.
    fn refusal(&self, request: &Request<'_>, numbers: &[u64]) -> Option<Failure> {
        let shared = &self.process.shared;
        let is_asked = |target: &Target| target.model == request.target.model;
        let asked = shared.plan.config.targets.iter().position(is_asked)?;
        let mut rng = Rng::derive(shared.seed, "refusal", numbers);
        if let Some(window) = shared.plan.narrow.get(asked).copied().flatten()
            && let Some(failure) = too_large(&mut rng, request, window)
        {
            return Some(failure);
        }
        let manner = shared.plan.manners.get(asked)?;
        manner.refuse(&mut rng, request)
    }
}

impl Transport for SimModel {
    fn send(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let fate = self.decide(request);
        self.witness(request, &fate);
        let process = self.process.clone();
        Box::pin(async move {
            process.pass(Place::InRequest).await;
            tokio::time::sleep(Duration::from_millis(fate.delay_ms)).await;
            process.pass(Place::InRequest).await;
            if fate.panics {
                process.shared.ledger().tally.panics += 1;
                // Unlike `panic!` this does not write to the terminal.
                resume_unwind(Box::new("the transport lost its head"));
            }
            fate.outcome
        })
    }
}

/// The refusal of a request that a window does not hold, with more or less said of it.
fn too_large(rng: &mut Rng, request: &Request<'_>, window: u64) -> Option<Failure> {
    let sent = input_tokens(request);
    if sent <= window {
        return None;
    }
    let message = format!("{sent} tokens are more than {window}");
    let mut failure = Failure::new(FailureClass::Overflow, message);
    failure.status = Some(400);
    failure.overflow = rng.weighted(&[
        (
            6,
            Some(Overflow {
                window: Some(window),
                sent: Some(sent),
            }),
        ),
        (
            2,
            Some(Overflow {
                window: Some(window),
                sent: None,
            }),
        ),
        (1, None),
        // Nobody need be believed.
        (
            1,
            Some(Overflow {
                window: Some(u64::MAX),
                sent: Some(0),
            }),
        ),
    ]);
    Some(failure)
}

fn failure(rng: &mut Rng, request: &Request<'_>) -> Fate {
    use FailureClass::*;
    let (class, status) = rng.weighted(&[
        (20, (RateLimit, Some(429))),
        (20, (Model, Some(500))),
        (8, (Model, Some(503))),
        (15, (Network, None)),
        (12, (Timeout, None)),
        (10, (Malformed, Some(200))),
        (4, (Overflow, Some(400))),
        (1, (Auth, Some(401))),
        (1, (Quota, Some(402))),
        // Only the kernel may say so; one that comes from outside must not be taken at its word.
        (2, (Interrupted, None)),
    ]);
    let mut failure = Failure::new(class, format!("simulated {}", class.as_str()));
    failure.status = status;
    failure.billable = match class {
        Timeout | Malformed => true,
        Network => rng.chance(500),
        _ => false,
    };
    if matches!(class, RateLimit | Model) && rng.chance(500) {
        failure.retry_after_ms = Some(rng.pick(&[0, 1, 10, 1_000, 20_000, 90_000]));
    }
    let delay_ms = match class {
        Timeout if rng.chance(200) => 3_600_000,
        Timeout => request.target.timeout_ms,
        _ => rng.between(0, 2_000),
    };
    failure.latency_ms = delay_ms;
    Fate {
        delay_ms,
        outcome: Err(failure),
        panics: false,
    }
}

/// Cuts a reply where its output limit ends, as a provider does.
fn fit(reply: &mut Reply, tokens_max: u32) {
    let tokens_max = u64::from(tokens_max);
    while output_tokens(reply) > tokens_max {
        reply.finish = Finish::Length;
        let halve = |text: &mut String| text.truncate(text.floor_char_boundary(text.len() / 2));
        match reply.calls.last_mut() {
            Some(call) if !call.arguments.is_empty() => halve(&mut call.arguments),
            Some(_) => {
                reply.calls.pop();
            }
            None => {
                halve(&mut reply.text);
                halve(&mut reply.reasoning);
            }
        }
    }
}

fn output_tokens(reply: &Reply) -> u64 {
    let calls = reply.calls.iter();
    let called: usize = calls
        .map(|call| call.tool.len() + call.arguments.len())
        .sum();
    (reply.text.len() + reply.reasoning.len() + called).div_ceil(4) as u64 + 4
}

/// Counts as an honest provider does: four bytes a token, and a few for each message.
fn usage(rng: &mut Rng, request: &Request<'_>, reply: &Reply) -> Usage {
    let input = input_tokens(request);
    Usage {
        input,
        output: output_tokens(reply),
        cached: rng.below(input + 1),
        written: 0,
    }
}

fn input_tokens(request: &Request<'_>) -> u64 {
    let tools = match request.offer {
        Offer::All if !request.catalog.defers() => request.catalog.text().len(),
        _ => request.tools().map(spec_bytes).sum(),
    };
    let notices: usize = request.notices.iter().map(|notice| notice.len()).sum();
    let messages: usize = request.messages.iter().map(message_tokens).sum();
    ((request.system.len() + tools + notices) / 4 + messages) as u64
}

fn spec_bytes(spec: &ToolSpec) -> usize {
    spec.name.len() + spec.description.len() + spec.schema.to_string().len()
}

fn room_tokens(request: &Request<'_>) -> Option<u64> {
    let window = request.target.window?;
    let kept_free = window.buffer + u64::from(request.output_tokens_max);
    Some(window.tokens.saturating_sub(kept_free))
}

fn message_tokens(message: &Message) -> usize {
    let bytes = match message {
        Message::User { text, .. } | Message::Tool { text, .. } => text.len(),
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter();
            text.len()
                + calls
                    .map(|call| call.tool.len() + call.arguments.len())
                    .sum::<usize>()
        }
    };
    bytes / 4 + 3
}
