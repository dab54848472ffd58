//! A run whose model and tools a test speaks for, and the log that it leaves.

use bonded_kernel::{
    Catalog, Effect, Entry, Finish, Head, Input, Millis, Outcome, Reply, ReplyCall, Run, RunConfig,
    RunId, RunStarted, Step, Target, ToolEffect, ToolOutput, ToolSpec, Usage, next, start, step,
};
use serde_json::json;

pub(crate) const BEGIN: Millis = Millis(1_000_000);

/// The settings of a run; tests change what they are about.
pub(crate) fn config() -> RunConfig {
    let target = Target::new("provider-0", "http://localhost:1", "model");
    RunConfig {
        output_tokens_max: 1_000,
        repairs: false,
        ..RunConfig::new("/shed", vec![target])
    }
}

fn specs() -> [ToolSpec; 2] {
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
        spec("push", ToolEffect::Write, "text"),
    ]
}

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

pub(crate) fn push(text: &str) -> ReplyCall {
    call("push", &json!({ "text": text }).to_string())
}

pub(crate) fn done(reason: &str) -> ReplyCall {
    call("done", &json!({ "reason": reason }).to_string())
}

/// A run, its clock and its log.
pub(crate) struct LoggedRun {
    run: Run,
    effect: Effect,
    pub(crate) now: Millis,
    pub(crate) entries: Vec<Entry>,
}

impl LoggedRun {
    pub(crate) fn begin(config: RunConfig) -> Self {
        let catalog = Catalog::of_run(specs(), &config).expect("two well-formed tools");
        let started = RunStarted::new("tidy the shed".into(), "Be brief.".into(), config, catalog);
        let id = RunId::new("run-1").expect("letters, a dash and a digit");
        let (run, first) = start(id, BEGIN, started);
        let mut begun = Self {
            effect: next(&run),
            run,
            now: BEGIN,
            entries: vec![],
        };
        begun.commit(first);
        begun
    }

    fn commit(&mut self, made: Step) {
        self.entries.extend_from_slice(made.entries());
        let head = self.entries.last().map_or(Head::EMPTY, Entry::head);
        self.effect = made.release(head).expect("the head is the step's own");
    }

    fn input(&mut self, input: Input) {
        let made = step(&mut self.run, self.now, input);
        self.commit(made);
    }

    /// The model answers with these calls.
    pub(crate) fn calls(&mut self, calls: impl IntoIterator<Item = ReplyCall>) {
        let Effect::Ask { turn, attempt } = self.effect else {
            unreachable!("the run asks nothing: {:?}", self.effect);
        };
        let reply = Reply {
            calls: calls.into_iter().collect(),
            usage: Some(Usage {
                input: 40,
                output: 8,
                cached: 0,
                written: 0,
            }),
            finish: Finish::ToolCalls,
            ..Reply::default()
        };
        self.input(Input::Reply {
            turn,
            attempt,
            reply: Box::new(reply),
        });
    }

    /// The tool that is up returns.
    pub(crate) fn returned(&mut self, outcome: Outcome, text: &str) {
        let Effect::Invoke(invocation) = &self.effect else {
            unreachable!("the run invokes nothing: {:?}", self.effect);
        };
        let (turn, call) = (invocation.turn(), invocation.call());
        let output = ToolOutput {
            outcome,
            text: text.into(),
            latency_ms: 3,
            ..ToolOutput::default()
        };
        self.input(Input::ToolReturned {
            turn,
            call,
            output: Box::new(output),
        });
    }

    pub(crate) fn ok(&mut self, text: &str) {
        self.returned(Outcome::Ok, text);
    }

    pub(crate) fn cancel(&mut self, reason: &str) {
        let reason = reason.into();
        self.input(Input::Cancel { reason });
    }
}
