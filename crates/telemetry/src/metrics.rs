//! Figures as Prometheus reads them.

// What ends in a new way must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use std::time::Duration;

use bonded_kernel::TerminationKind;
use prometheus::core::Collector;
use prometheus::{
    CounterVec, Encoder as _, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter,
    IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry, TextEncoder,
};

use crate::facts::{EndedCall, EndedPart, EndedRequest, RequestOutcome, RunFacts, outcome_name};
use crate::labels::Labels;

/// In seconds, for what a model or a tool takes.
const LONG: [f64; 14] = [
    0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 1200.0,
];
/// In seconds, for what a store takes.
const SHORT: [f64; 13] = [
    0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// A run that is no agent's.
const NO_AGENT: &str = "none";

/// How a queue stands.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueFigures {
    /// Its name.
    pub name: String,
    /// How many of its runs wait.
    pub queued: u64,
    /// How many are driven.
    pub driven: u64,
    /// How long the oldest that could be driven has waited, in seconds; 0 where none waits.
    pub oldest_s: f64,
}

/// All figures of a process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    runs: RunFigures,
    models: ModelFigures,
    store: StoreFigures,
    ready: IntGauge,
    spans_dropped: IntCounter,
    names: Names,
}

/// Runs, their turns and their calls.
#[derive(Debug)]
struct RunFigures {
    driven: IntGauge,
    taken_up: IntCounterVec,
    ended: IntCounterVec,
    turn_seconds: Histogram,
    tool_seconds: HistogramVec,
}

/// Requests to models.
#[derive(Debug)]
struct ModelFigures {
    seconds: HistogramVec,
    failures: IntCounterVec,
    rejected: IntCounterVec,
    tokens: IntCounterVec,
    cost: CounterVec,
}

/// The store, and the queues in it.
#[derive(Debug)]
struct StoreFigures {
    append_seconds: Histogram,
    append_failures: IntCounter,
    leases_lost: IntCounter,
    queue_runs: IntGaugeVec,
    queue_oldest: GaugeVec,
}

/// The names that are labels, each kind by itself.
#[derive(Debug, Default)]
struct Names {
    agents: Labels,
    providers: Labels,
    models: Labels,
    tools: Labels,
    queues: Labels,
}

/// Registers what is counted; every name is ours, and none stands here twice.
struct Registering<'a>(&'a Registry);

impl Registering<'_> {
    fn add<C: Collector + Clone + 'static>(&self, made: prometheus::Result<C>) -> C {
        let collector = made.expect("names and labels are well formed");
        let registered = self.0.register(Box::new(collector.clone()));
        registered.expect("no figure has the name of another");
        collector
    }

    fn counter(&self, name: &str, help: &str) -> IntCounter {
        self.add(IntCounter::new(name, help))
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.add(IntCounterVec::new(Opts::new(name, help), labels))
    }

    fn gauge(&self, name: &str, help: &str) -> IntGauge {
        self.add(IntGauge::new(name, help))
    }

    fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Histogram {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.add(Histogram::with_opts(options))
    }

    fn histograms(&self, name: &str, help: &str, labels: &[&str]) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(LONG.to_vec());
        self.add(HistogramVec::new(options, labels))
    }
}

impl RunFigures {
    fn new(of: &Registering<'_>) -> Self {
        Self {
            driven: of.gauge("bonded_runs_driven", "Runs that this process drives now."),
            taken_up: of.counters(
                "bonded_runs_taken_up_total",
                "Runs that this process began to drive: new ones, and those that were resumed.",
                &["how"],
            ),
            ended: of.counters(
                "bonded_runs_ended_total",
                "Runs that ended while this process drove them, by agent and termination.",
                &["agent", "termination"],
            ),
            turn_seconds: of.histogram(
                "bonded_turn_seconds",
                "Time from the first request of a turn to the end of its calls.",
                &LONG,
            ),
            tool_seconds: of.histograms(
                "bonded_tool_seconds",
                "Time that a call of a tool or an agent took, by outcome.",
                &["tool", "outcome"],
            ),
        }
    }
}

impl ModelFigures {
    fn new(of: &Registering<'_>) -> Self {
        Self {
            seconds: of.histograms(
                "bonded_request_seconds",
                "Time that a request to a model took, whether it was answered or failed.",
                &["provider", "model"],
            ),
            failures: of.counters(
                "bonded_request_failures_total",
                "Requests to models that got no reply, by kind of failure.",
                &["provider", "model", "kind"],
            ),
            rejected: of.counters(
                "bonded_replies_rejected_total",
                "Replies of models that could not be acted upon, by reason.",
                &["provider", "model", "reason"],
            ),
            tokens: of.counters(
                "bonded_tokens_total",
                "Tokens as providers counted them. Cached and cache_written are parts of input.",
                &["provider", "model", "type"],
            ),
            cost: of.add(CounterVec::new(
                Opts::new(
                    "bonded_cost_dollars_total",
                    "What replies cost, as the provider says or by price.",
                ),
                &["provider", "model"],
            )),
        }
    }
}

impl StoreFigures {
    fn new(of: &Registering<'_>) -> Self {
        Self {
            append_seconds: of.histogram(
                "bonded_append_seconds",
                "Time until the store acknowledged a step.",
                &SHORT,
            ),
            append_failures: of.counter(
                "bonded_append_failures_total",
                "Steps that the store refused, or did not acknowledge.",
            ),
            leases_lost: of.counter(
                "bonded_leases_lost_total",
                "Runs that this process could no longer count on holding while it drove them.",
            ),
            queue_runs: of.add(IntGaugeVec::new(
                Opts::new("bonded_queue_runs", "Runs of a queue, by state."),
                &["queue", "state"],
            )),
            queue_oldest: of.add(GaugeVec::new(
                Opts::new(
                    "bonded_queue_oldest_seconds",
                    "How long the oldest run has waited that could be driven.",
                ),
                &["queue"],
            )),
        }
    }
}

impl Metrics {
    /// Nothing has happened yet. `version` is that of the program.
    pub fn new(version: &str) -> Self {
        let registry = Registry::new();
        let of = Registering(&registry);
        of.add(IntGaugeVec::new(
            Opts::new("bonded_build_info", "The program, by its version."),
            &["version"],
        ))
        .with_label_values(&[version])
        .set(1);
        Self {
            runs: RunFigures::new(&of),
            models: ModelFigures::new(&of),
            store: StoreFigures::new(&of),
            ready: of.gauge("bonded_ready", "Whether /readyz says ready."),
            spans_dropped: of.counter(
                "bonded_spans_dropped_total",
                "Spans of traces that were not delivered.",
            ),
            names: Names::default(),
            registry: registry.clone(),
        }
    }

    /// Everything in the text format of Prometheus, and the type of that.
    pub fn render(&self) -> (String, String) {
        let encoder = TextEncoder::new();
        let mut text = vec![];
        // Writing into memory does not fail, and every figure has a help text and samples.
        let _written = encoder.encode(&self.registry.gather(), &mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        (text, encoder.format_type().to_owned())
    }

    /// What is looked up when figures are read: how the queues stand, and whether the process is ready. `None` leaves the
    /// queues out: what is not known is not told.
    pub fn look(&self, is_ready: bool, queues: Option<&[QueueFigures]>) {
        self.ready.set(i64::from(is_ready));
        self.store.queue_runs.reset();
        self.store.queue_oldest.reset();
        for queue in queues.unwrap_or_default() {
            let name = self.names.queues.of(&queue.name);
            let add = |state: &str, count: u64| {
                let gauge = self.store.queue_runs.with_label_values(&[name, state]);
                gauge.add(i64::try_from(count).unwrap_or(i64::MAX));
            };
            add("queued", queue.queued);
            add("driven", queue.driven);
            // Of those that are one label, the oldest counts.
            let oldest = self.store.queue_oldest.with_label_values(&[name]);
            oldest.set(oldest.get().max(queue.oldest_s));
        }
    }

    /// So many spans were not delivered.
    pub(crate) fn spans_dropped(&self, count: u64) {
        self.spans_dropped.inc_by(count);
    }

    pub(crate) fn run_taken_up(&self, is_new: bool) {
        let how = if is_new { "started" } else { "resumed" };
        self.runs.taken_up.with_label_values(&[how]).inc();
        self.runs.driven.inc();
    }

    pub(crate) fn run_left(&self) {
        self.runs.driven.dec();
    }

    pub(crate) fn appended(&self, took: Duration) {
        self.store.append_seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn append_failed(&self) {
        self.store.append_failures.inc();
    }

    pub(crate) fn lease_lost(&self) {
        self.store.leases_lost.inc();
    }

    pub(crate) fn take(&self, facts: &RunFacts, ended: &EndedPart<'_>) {
        match ended {
            EndedPart::Request(request) => self.request(request),
            EndedPart::Call(call) => self.call(call),
            EndedPart::Turn { began, ended, .. } => {
                self.runs.turn_seconds.observe(seconds(*ended - *began));
            }
            EndedPart::Run { end, .. } => self.run(facts, end.termination.kind),
        }
    }

    fn run(&self, facts: &RunFacts, kind: TerminationKind) {
        let agent = facts.agent.as_deref().unwrap_or(NO_AGENT);
        let labels = [self.names.agents.of(agent), kind.as_str()];
        self.runs.ended.with_label_values(&labels).inc();
    }

    fn request(&self, request: &EndedRequest<'_>) {
        let provider = self.names.providers.of(&request.target.provider);
        let model = self.names.models.of(&request.target.model);
        self.models
            .seconds
            .with_label_values(&[provider, model])
            .observe(seconds(request.latency_ms));
        match &request.outcome {
            RequestOutcome::Failed(failed) => {
                let labels = [provider, model, failed.class.as_str()];
                self.models.failures.with_label_values(&labels).inc();
            }
            RequestOutcome::Replied { rejected, .. } => {
                if let Some(reason) = rejected {
                    let labels = [provider, model, reason.as_str()];
                    self.models.rejected.with_label_values(&labels).inc();
                }
            }
        }
        let usage = &request.usage;
        for (kind, count) in [
            ("input", usage.input),
            ("output", usage.output),
            ("cached", usage.cached),
            ("cache_written", usage.written),
        ] {
            if count > 0 {
                let labels = [provider, model, kind];
                self.models.tokens.with_label_values(&labels).inc_by(count);
            }
        }
        if let Some(cost) = request.cost {
            let labels = [provider, model];
            self.models
                .cost
                .with_label_values(&labels)
                .inc_by(cost.dollars());
        }
    }

    fn call(&self, call: &EndedCall<'_>) {
        let finished = call.finished;
        let labels = [
            self.names.tools.of(&finished.tool),
            outcome_name(finished.outcome),
        ];
        self.runs
            .tool_seconds
            .with_label_values(&labels)
            .observe(seconds(finished.latency_ms));
    }
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}
