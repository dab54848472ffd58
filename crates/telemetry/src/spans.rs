//! What has ended, as spans with the names of OpenTelemetry's conventions for generative AI.
//!
//! Every id follows from the log: a run that another process takes up continues its trace, and the run of an agent that was
//! called stands below the call. No text of a prompt, an answer, an argument or an output is in a span.

// What ends in a new way must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::sync::Arc;

use bonded_kernel::{Hash, Millis, Outcome, RunEnded, RunId, TerminationKind};

use crate::facts::{EndedCall, EndedPart, EndedRequest, RequestOutcome, RunFacts, outcome_name};
use crate::otlp::{Attribute, Span, SpanKind, SpanLink, SpanParts, Value};

/// Ids that providers and models make up are cut there.
const ID_CHARACTERS_MAX: usize = 128;

type TraceId = [u8; 16];
type SpanId = [u8; 8];

/// The spans of one run.
#[derive(Debug)]
pub(crate) struct Spans {
    run: RunId,
    trace: TraceId,
    /// That of the run, which is also that of its first goal.
    root: SpanId,
}

fn trace_of(origin: &RunId) -> TraceId {
    let hash = Hash::of(format!("trace/{origin}").as_bytes());
    first(hash.as_bytes())
}

fn span_of(words: &str) -> SpanId {
    first(Hash::of(words.as_bytes()).as_bytes())
}

/// A hash is longer than any id.
fn first<const N: usize>(hash: &[u8]) -> [u8; N] {
    let mut id = [0; N];
    id.copy_from_slice(hash.get(..N).unwrap_or(&[0; N]));
    id
}

/// The call that began a run, as both of them know it.
fn called(child: &RunId) -> SpanId {
    span_of(&format!("call/{child}"))
}

fn run_span(run: &RunId) -> SpanId {
    span_of(&format!("run/{run}"))
}

impl Spans {
    pub(crate) fn of(facts: &RunFacts) -> Self {
        let origin = facts.parent.as_ref().map_or(&facts.id, |it| &it.origin);
        Self {
            run: facts.id.clone(),
            trace: trace_of(origin),
            root: run_span(&facts.id),
        }
    }

    pub(crate) fn span(&self, facts: &RunFacts, ended: &EndedPart<'_>) -> Span {
        match ended {
            EndedPart::Request(request) => self.request(facts, request),
            EndedPart::Call(call) => self.call(call),
            EndedPart::Turn { turn, began, ended } => self.made(SpanParts {
                id: self.turn(*turn),
                parent: Some(self.goal(facts)),
                name: format!("turn {turn}"),
                began: *began,
                ended: *ended,
                attributes: vec![Attribute::new("bonded.turn", Value::Int(u64::from(*turn)))],
                ..SpanParts::default()
            }),
            EndedPart::Run { end, ended } => self.run(facts, end, *ended),
        }
    }

    fn made(&self, mut parts: SpanParts) -> Span {
        let run = Value::text(self.run.as_str());
        parts.attributes.push(Attribute::new("bonded.run.id", run));
        Span::new(self.trace, parts)
    }

    fn turn(&self, turn: u32) -> SpanId {
        span_of(&format!("turn/{}/{turn}", self.run))
    }

    /// Each later goal has a span of its own below that of the run.
    fn goal(&self, facts: &RunFacts) -> SpanId {
        match facts.goal {
            1 => self.root,
            goal => span_of(&format!("goal/{}/{goal}", self.run)),
        }
    }

    fn run(&self, facts: &RunFacts, end: &RunEnded, ended: Millis) -> Span {
        let kind = end.termination.kind;
        // The entry counts over all goals.
        let (usage, cost) = end.used();
        let before = &facts.before;
        let turns = end.turns.saturating_sub(before.turns);
        let input = usage.input.saturating_sub(before.usage.input);
        let output = usage.output.saturating_sub(before.usage.output);
        let cost = cost.minus(before.cost);
        let mut attributes = vec![
            operation("invoke_agent"),
            Attribute::new("gen_ai.conversation.id", Value::text(self.run.as_str())),
            Attribute::new("bonded.termination", Value::text(kind.as_str())),
            Attribute::new("bonded.turns", Value::Int(turns.into())),
            Attribute::new("gen_ai.usage.input_tokens", Value::Int(input)),
            Attribute::new("gen_ai.usage.output_tokens", Value::Int(output)),
        ];
        if facts.goal > 1 {
            let goal = Value::Int(facts.goal.into());
            attributes.push(Attribute::new("bonded.goal", goal));
        }
        if cost.0 > 0 {
            let cost = Value::Double(cost.dollars());
            attributes.push(Attribute::new("bonded.cost.dollars", cost));
        }
        if let Some(target) = facts.targets.first() {
            attributes.push(provider(&target.provider, target.family.as_deref()));
            attributes.push(model(&target.model));
        }
        let name = match &facts.agent {
            Some(agent) => {
                attributes.push(Attribute::new("gen_ai.agent.name", Value::text(agent)));
                format!("invoke_agent {agent}")
            }
            None => "invoke_agent".to_owned(),
        };
        let error = (!matches!(kind, TerminationKind::Done | TerminationKind::Blocked))
            .then(|| kind.as_str().into());
        self.made(SpanParts {
            id: self.goal(facts),
            parent: match facts.goal {
                1 => facts.parent.as_ref().map(|_| called(&self.run)),
                _ => Some(self.root),
            },
            links: facts.forked_from.iter().map(link).collect(),
            name,
            began: facts.began,
            ended,
            attributes,
            error,
            ..SpanParts::default()
        })
    }

    fn request(&self, facts: &RunFacts, request: &EndedRequest<'_>) -> Span {
        let target = request.target;
        let output_max = u64::from(facts.output_tokens_max);
        let mut attributes = vec![
            operation("chat"),
            provider(&target.provider, target.family.as_deref()),
            model(&target.model),
            Attribute::new("gen_ai.request.max_tokens", Value::Int(output_max)),
            Attribute::new("gen_ai.conversation.id", Value::text(self.run.as_str())),
        ];
        attributes.extend(
            facts
                .temperature
                .map(|it| Attribute::new("gen_ai.request.temperature", Value::Double(it))),
        );
        attributes.extend(server(&target.endpoint));
        let error = match &request.outcome {
            RequestOutcome::Replied { rejected, .. } => {
                attributes.extend(answered(request));
                rejected.map(|reason| Arc::from(reason.as_str()))
            }
            RequestOutcome::Failed(failed) => {
                let status = failed.status.map(|status| Value::Int(u64::from(status)));
                attributes.extend(status.map(|it| Attribute::new("http.response.status_code", it)));
                Some(failed.class.as_str().into())
            }
        };
        self.made(SpanParts {
            id: span_of(&format!("request/{}/{}", self.run, request.seq)),
            parent: Some(self.turn(request.turn)),
            name: format!("chat {}", target.model),
            kind: SpanKind::Client,
            began: request.began,
            ended: request.ended,
            attributes,
            error,
            ..SpanParts::default()
        })
    }

    fn call(&self, call: &EndedCall<'_>) -> Span {
        let finished = call.finished;
        let mut attributes = vec![
            operation("execute_tool"),
            Attribute::new("gen_ai.tool.name", Value::text(&finished.tool)),
            Attribute::new("gen_ai.tool.type", Value::text("function")),
        ];
        let id = call.id.map(|id| Value::text(&cut(id)));
        attributes.extend(id.map(|id| Attribute::new("gen_ai.tool.call.id", id)));
        let own = || {
            span_of(&format!(
                "call/{}/{}/{}",
                self.run, call.turn, finished.call
            ))
        };
        let outcome = finished.outcome;
        self.made(SpanParts {
            id: call.child.as_ref().map_or_else(own, called),
            parent: Some(self.turn(call.turn)),
            name: format!("execute_tool {}", finished.tool),
            began: call.began,
            ended: call.ended,
            attributes,
            error: (outcome != Outcome::Ok).then(|| outcome_name(outcome).into()),
            ..SpanParts::default()
        })
    }
}

/// What a reply says of itself.
fn answered(request: &EndedRequest<'_>) -> Vec<Attribute> {
    let RequestOutcome::Replied { answer, calls, .. } = &request.outcome else {
        return vec![];
    };
    let usage = &request.usage;
    let finish = Value::Texts(vec![cut(&answer.stop_reason(calls))]);
    let mut attributes = vec![Attribute::new("gen_ai.response.finish_reasons", finish)];
    let answering = answer.model.as_deref().unwrap_or(&request.target.model);
    attributes.push(Attribute::new(
        "gen_ai.response.model",
        Value::text(&cut(answering)),
    ));
    if answer.usage.is_some() {
        let input = Attribute::new("gen_ai.usage.input_tokens", Value::Int(usage.input));
        let output = Attribute::new("gen_ai.usage.output_tokens", Value::Int(usage.output));
        attributes.extend([input, output]);
    }
    for (name, count) in [
        ("gen_ai.usage.cache_read.input_tokens", usage.cached),
        ("gen_ai.usage.cache_creation.input_tokens", usage.written),
    ] {
        if count > 0 {
            attributes.push(Attribute::new(name, Value::Int(count)));
        }
    }
    let cost = request.cost.map(|cost| Value::Double(cost.dollars()));
    attributes.extend(cost.map(|cost| Attribute::new("bonded.cost.dollars", cost)));
    attributes
}

fn operation(name: &str) -> Attribute {
    Attribute::new("gen_ai.operation.name", Value::text(name))
}

fn model(name: &str) -> Attribute {
    Attribute::new("gen_ai.request.model", Value::text(name))
}

/// The conventions name some providers otherwise than they are called here.
fn provider(name: &str, family: Option<&str>) -> Attribute {
    let name = match family.unwrap_or(name) {
        "google" | "gemini" => "gcp.gemini",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        _ => name,
    };
    Attribute::new("gen_ai.provider.name", Value::text(name))
}

/// The host and the port of an endpoint; a script has neither.
fn server(endpoint: &str) -> Vec<Attribute> {
    let Ok(url) = reqwest::Url::parse(endpoint) else {
        return vec![];
    };
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return vec![];
    };
    vec![
        Attribute::new("server.address", Value::text(host)),
        Attribute::new("server.port", Value::Int(u64::from(port))),
    ]
}

fn link(run: &RunId) -> SpanLink {
    SpanLink::new(trace_of(run), run_span(run))
}

fn cut(id: &str) -> String {
    id.chars().take(ID_CHARACTERS_MAX).collect()
}
