//! A tiny world: a run, a clock and a log. Every step that a test makes is checked for what holds always.

use bonded_kernel::{
    Catalog, Effect, Entry, Event, Failure, FailureClass, Finish, Head, Input, Limits, Message,
    Millis, Outcome, Price, Reply, ReplyCall, Run, RunConfig, RunId, RunStarted, Step, Target,
    TerminationKind, ToolEffect, ToolOutput, ToolSpec, Usage, Vocabulary, audit,
    estimate_tokens_for, next, replay, request, start, step,
};
use serde_json::json;

pub(crate) const BEGIN: Millis = Millis(1_000_000);

/// What a run is started with; tests change what they are about.
pub(crate) struct Setup {
    pub(crate) goal: String,
    pub(crate) system: String,
    pub(crate) config: RunConfig,
}

pub(crate) fn setup() -> Setup {
    let limits = Limits::default();
    Setup {
        goal: "tidy the shed".into(),
        system: "Be brief.".into(),
        config: RunConfig {
            limits,
            output_tokens_max: 1_000,
            repairs: false,
            ..RunConfig::new("/shed", vec![target(0)])
        },
    }
}

pub(crate) fn target(index: usize) -> Target {
    Target::new(format!("provider-{index}"), "http://localhost:1", "model")
}

impl Setup {
    pub(crate) fn limit(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.config.limits);
        self
    }

    pub(crate) fn targets(mut self, count: usize) -> Self {
        self.config.targets = (0..count).map(target).collect();
        self
    }

    pub(crate) fn price(mut self, price: Price) -> Self {
        for target in &mut self.config.targets {
            target.price = Some(price);
        }
        self
    }

    pub(crate) fn system(mut self, system: &str) -> Self {
        self.system = system.into();
        self
    }

    pub(crate) fn started(self) -> RunStarted {
        let catalog = Catalog::of_run(specs(), &self.config)
            .expect("three well-formed tools and those of the kernel");
        RunStarted::new(self.goal.into(), self.system.into(), self.config, catalog)
    }

    pub(crate) fn begin(self) -> World {
        World::new(self.started())
    }
}

pub(crate) fn specs() -> [ToolSpec; 3] {
    let spec = |name: &str, effect, argument: &str| ToolSpec {
        name: name.into(),
        description: format!("The tool {name}."),
        schema: json!({
            "type": "object",
            "properties": { argument: { "type": "string" } },
            "required": [argument],
            "additionalProperties": false
        }),
        effect,
        sandbox: None,
        resource: Some("the shed".into()),
        deferred: false,
    };
    [
        spec("look", ToolEffect::Read, "path"),
        spec("put", ToolEffect::Idempotent, "value"),
        spec("push", ToolEffect::Write, "text"),
    ]
}

/// What a text is estimated at where nobody knows the vocabulary.
pub(crate) fn estimated(text: &str) -> u64 {
    estimate_tokens_for(text, Vocabulary::Unknown)
}

/// A text that is estimated at so many tokens, of which no vocabulary makes much less: no word is in it twice.
pub(crate) fn noise(tokens: usize) -> String {
    let mut state: u32 = 0x2545_f491;
    let mut text = String::new();
    while estimated(&text) < tokens as u64 {
        let lacking = tokens as u64 - estimated(&text);
        for _ in 0..lacking.div_ceil(2) {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            // Nothing that means something in tags or in JSON.
            text.push(match char::from(b'!' + (state % 93) as u8) {
                '<' | '>' | '&' | '"' | '\\' => '~',
                other => other,
            });
        }
    }
    text
}

pub(crate) fn run_id() -> RunId {
    RunId::new("run-1").expect("letters, a dash and a digit")
}

/// A call with an id that tells it from the others of a test.
pub(crate) fn call(tool: &str, arguments: &str) -> ReplyCall {
    ReplyCall {
        id: format!("id-{tool}-{arguments}").chars().take(40).collect(),
        tool: tool.into(),
        arguments: arguments.into(),
    }
}

pub(crate) fn look(path: &str) -> ReplyCall {
    call("look", &json!({ "path": path }).to_string())
}

pub(crate) fn put(value: &str) -> ReplyCall {
    call("put", &json!({ "value": value }).to_string())
}

pub(crate) fn push(text: &str) -> ReplyCall {
    call("push", &json!({ "text": text }).to_string())
}

pub(crate) fn done(reason: &str) -> ReplyCall {
    call("done", &json!({ "reason": reason }).to_string())
}

pub(crate) fn reply(calls: impl IntoIterator<Item = ReplyCall>) -> Reply {
    Reply {
        calls: calls.into_iter().collect(),
        usage: Some(Usage {
            input: 40,
            output: 8,
            cached: 0,
            written: 0,
        }),
        finish: Finish::ToolCalls,
        ..Reply::default()
    }
}

pub(crate) fn text(text: &str) -> Reply {
    Reply {
        text: text.into(),
        finish: Finish::Stop,
        ..reply([])
    }
}

pub(crate) fn failure(class: FailureClass) -> Failure {
    Failure::new(class, "it broke")
}

pub(crate) fn output(outcome: Outcome, text: &str) -> ToolOutput {
    ToolOutput {
        outcome,
        text: text.into(),
        latency_ms: 3,
        ..ToolOutput::default()
    }
}

/// A run with its log, its clock, and what it waits for.
pub(crate) struct World {
    pub(crate) run: Run,
    pub(crate) entries: Vec<Entry>,
    pub(crate) effect: Effect,
    pub(crate) now: Millis,
    /// After how many entries each step ended, and the effect then.
    pub(crate) boundaries: Vec<(usize, String)>,
    /// Whether the log that the world began with consists of whole steps.
    whole: bool,
}

impl World {
    pub(crate) fn new(started: RunStarted) -> Self {
        let (run, first) = start(run_id(), BEGIN, started);
        let mut world = Self {
            effect: next(&run),
            run,
            entries: vec![],
            now: BEGIN,
            boundaries: vec![],
            whole: true,
        };
        world.commit(first);
        world
    }

    /// Takes up the run that a log tells of.
    pub(crate) fn from_log(entries: Vec<Entry>) -> Self {
        let run = replay(&entries).expect("the log of a run");
        let now = entries.last().map_or(BEGIN, |entry| entry.at);
        Self {
            effect: next(&run),
            boundaries: vec![(entries.len(), format!("{:?}", next(&run)))],
            whole: audit(&entries).is_ok(),
            run,
            entries,
            now,
        }
    }

    /// One step, made durable: returns its entries.
    pub(crate) fn input(&mut self, input: Input) -> Vec<Entry> {
        let made = step(&mut self.run, self.now, input);
        self.commit(made)
    }

    fn commit(&mut self, made: Step) -> Vec<Entry> {
        let head = self.entries.last().map_or(Head::EMPTY, Entry::head);
        let fresh = made.entries().to_vec();
        assert_eq!(made.before(), head, "a step follows the log");
        let after = fresh.last().map_or(head, Entry::head);
        assert_eq!(made.after(), after);
        self.entries.extend(fresh.iter().cloned());
        self.effect = made.release(after).expect("the head is the step's own");
        assert_eq!(
            format!("{:?}", self.effect),
            format!("{:?}", next(&self.run))
        );
        self.boundaries
            .push((self.entries.len(), format!("{:?}", self.effect)));
        fresh
    }

    pub(crate) fn after(&mut self, ms: u64) -> &mut Self {
        self.now = self.now.plus(ms);
        self
    }

    /// The turn and attempt that a reply would answer; `(0, 0)` when the run asks nothing.
    pub(crate) fn asked(&self) -> (u32, u32) {
        match self.effect {
            Effect::Ask { turn, attempt } => (turn, attempt),
            _ => (0, 0),
        }
    }

    pub(crate) fn reply(&mut self, reply: Reply) -> Vec<Entry> {
        let (turn, attempt) = self.asked();
        self.input(Input::Reply {
            turn,
            attempt,
            reply: Box::new(reply),
        })
    }

    pub(crate) fn fail(&mut self, failure: Failure) -> Vec<Entry> {
        let (turn, attempt) = self.asked();
        self.input(Input::Failed {
            turn,
            attempt,
            failure: Box::new(failure),
        })
    }

    pub(crate) fn fail_as(&mut self, class: FailureClass) -> Vec<Entry> {
        self.fail(failure(class))
    }

    /// Fails, and waits as long as the run then asks for.
    pub(crate) fn fail_and_wait(&mut self, class: FailureClass) -> Vec<Entry> {
        let mut fresh = self.fail_as(class);
        if self.waits_ms().is_some() {
            fresh.extend(self.wake());
        }
        fresh
    }

    pub(crate) fn returned(&mut self, output: ToolOutput) -> Vec<Entry> {
        let (turn, call) = match &self.effect {
            Effect::Invoke(invocation) => (invocation.turn(), invocation.call()),
            _ => (0, 0),
        };
        self.input(Input::ToolReturned {
            turn,
            call,
            output: Box::new(output),
        })
    }

    pub(crate) fn ok(&mut self, text: &str) -> Vec<Entry> {
        self.returned(output(Outcome::Ok, text))
    }

    /// Waits as long as the run asks for, if it does.
    pub(crate) fn wake(&mut self) -> Vec<Entry> {
        if let Effect::Wait { until } = self.effect {
            self.now = self.now.max(until);
        }
        self.input(Input::Woke)
    }

    pub(crate) fn resume(&mut self) -> Vec<Entry> {
        self.input(Input::Resumed)
    }

    pub(crate) fn cancel(&mut self, reason: &str) -> Vec<Entry> {
        self.input(Input::Cancel {
            reason: reason.into(),
        })
    }

    /// One turn with one call that returns well.
    pub(crate) fn turn(&mut self, call: ReplyCall, result: &str) {
        self.reply(reply([call]));
        self.ok(result);
    }

    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        kinds(&self.entries)
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.kinds().iter().filter(|found| **found == kind).count()
    }

    pub(crate) fn ended(&self) -> Option<TerminationKind> {
        self.run.termination().map(|termination| termination.kind)
    }

    pub(crate) fn reason(&self) -> &str {
        self.run
            .termination()
            .map_or("", |termination| termination.reason())
    }

    pub(crate) fn notices(&self) -> Vec<String> {
        request(&self.run).map_or(vec![], |request| {
            request.notices.iter().map(|n| n.to_string()).collect()
        })
    }

    /// The provider that the attempt under way goes to.
    pub(crate) fn provider(&self) -> Option<&str> {
        request(&self.run).map(|request| request.target.provider.as_str())
    }

    pub(crate) fn is_asking(&self) -> bool {
        matches!(self.effect, Effect::Ask { .. })
    }

    pub(crate) fn waits_ms(&self) -> Option<u64> {
        match self.effect {
            Effect::Wait { until } => Some(until - self.now),
            _ => None,
        }
    }

    /// The tools that were invoked, in order.
    pub(crate) fn invoked(&self) -> Vec<(u32, String)> {
        let invoked = self.entries.iter().filter_map(|entry| match &entry.event {
            Event::ToolInvoked { call, tool, .. } => Some((*call, tool.to_string())),
            _ => None,
        });
        invoked.collect()
    }

    /// The results that the model was shown: call id and text.
    pub(crate) fn results(&self) -> Vec<(String, String)> {
        let results = self
            .run
            .messages()
            .iter()
            .filter_map(|message| match message {
                Message::Tool { call_id, text, .. } => {
                    Some((call_id.to_string(), text.to_string()))
                }
                _ => None,
            });
        results.collect()
    }
}

/// Whatever a test did, its log rebuilds the run, and the kernel would write it again in the same words.
impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() || !self.whole {
            return;
        }
        let audited = audit(&self.entries);
        assert!(audited.is_ok(), "{audited:?}");
        let replayed = replay(&self.entries).expect("the log of a run");
        assert_eq!(replayed.messages(), self.run.messages());
        assert_eq!(replayed.spend(), self.run.spend());
        assert_eq!(replayed.report(), self.run.report());
        assert_eq!(replayed.memory(), self.run.memory());
        assert_eq!(
            format!("{:?}", next(&replayed)),
            format!("{:?}", next(&self.run))
        );
    }
}

pub(crate) fn kinds(entries: &[Entry]) -> Vec<&'static str> {
    entries.iter().map(|entry| entry.event.kind()).collect()
}
