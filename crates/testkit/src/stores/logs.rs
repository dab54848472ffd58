//! Logs to append, made by the kernel itself.

use bonded_kernel::{
    Catalog, Entry, GoalGiven, Image, Input, Limits, Millis, Outcome, Reply, ReplyCall, Run,
    RunConfig, RunId, RunStarted, Step, Target, ToolEffect, ToolOutput, ToolSpec, start, step,
};
use bonded_state::{Store, StoreError};

/// A run in the making and its steps so far, none of them stored.
#[derive(Debug)]
pub struct Log {
    run: Run,
    pub id: RunId,
    pub steps: Vec<Step>,
}

/// One pixel, whose bytes are no text.
pub const PIXEL: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0....\0\0\0\x01IDAT\xff....\0\0\0\0IEND....";

pub fn id(name: &str) -> RunId {
    RunId::new(name).expect("test ids are well formed")
}

/// A text that is long enough to lie in a blob.
pub fn long(word: &str) -> String {
    word.repeat(3000 / word.len())
}

impl Log {
    /// A run that has just started.
    pub fn start(name: &str, goal: &str) -> Self {
        let target = Target::new("script", "replies.json", "m");
        let config = RunConfig {
            limits: Limits {
                turns_max: 100_000,
                elapsed_ms_max: None,
                ..Limits::default()
            },
            output_tokens_max: 100,
            ..RunConfig::new("/", vec![target])
        };
        let echo = ToolSpec {
            name: "echo".into(),
            description: "Says what it is told.".into(),
            schema: serde_json::json!({"type": "object"}),
            effect: ToolEffect::Read,
            sandbox: None,
            resource: None,
            deferred: false,
        };
        let catalog = Catalog::new([echo]).expect("the catalogue is well formed");
        let started = RunStarted::new(goal.into(), "be brief".into(), config, catalog);
        let id = id(name);
        let (run, first) = start(id.clone(), Millis(1000), started);
        Self {
            run,
            id,
            steps: vec![first],
        }
    }

    /// A run that has started and made this many turns, each of two steps.
    pub fn with_turns(name: &str, turns: u32) -> Self {
        let mut log = Self::start(name, "say something");
        for turn in 1..=turns {
            log.turn(&format!("output {turn}"));
        }
        log
    }

    /// One turn: a call of the tool and what it returned.
    pub fn turn(&mut self, output: &str) {
        let turn = self.turns() + 1;
        self.reply("echo", format!(r#"{{"text":"turn {turn}"}}"#));
        let output = ToolOutput {
            outcome: Outcome::Ok,
            text: output.into(),
            latency_ms: 1,
            ..ToolOutput::default()
        };
        self.take(Input::ToolReturned {
            turn,
            call: 0,
            output: Box::new(output),
        });
    }

    /// One turn whose call returned an image beside its text.
    pub fn turn_with_image(&mut self, output: &str) -> Image {
        let turn = self.turns() + 1;
        self.reply("echo", format!(r#"{{"text":"turn {turn}"}}"#));
        let image = Image::read(PIXEL).expect("a pixel is an image");
        let output = ToolOutput {
            text: output.into(),
            images: vec![image.clone()],
            ..ToolOutput::default()
        };
        self.take(Input::ToolReturned {
            turn,
            call: 0,
            output: Box::new(output),
        });
        image
    }

    pub fn end(&mut self) {
        self.reply("done", r#"{"reason":"all said"}"#.into());
    }

    /// Another goal, once it has ended.
    pub fn goal(&mut self, goal: &str) {
        let limits = Limits {
            turns_max: 1_000,
            elapsed_ms_max: None,
            ..Limits::default()
        };
        self.take(Input::Goal(Box::new(GoalGiven::new(goal, limits))));
    }

    /// The turns that are over.
    fn turns(&self) -> u32 {
        self.run.turn() - 1
    }

    fn reply(&mut self, tool: &str, arguments: String) {
        let call = ReplyCall {
            id: format!("call-{}", self.steps.len()),
            tool: tool.into(),
            arguments,
        };
        let reply = Reply {
            calls: vec![call],
            ..Reply::default()
        };
        self.take(Input::Reply {
            turn: self.turns() + 1,
            attempt: 1,
            reply: Box::new(reply),
        });
    }

    fn take(&mut self, input: Input) {
        let now = Millis(1000 + self.steps.len() as u64);
        let step = step(&mut self.run, now, input);
        assert!(!step.entries().is_empty(), "the kernel ignored the input");
        self.steps.push(step);
    }

    /// Everything that was said so far.
    pub fn entries(&self) -> Vec<Entry> {
        let entries = self.steps.iter().flat_map(|step| step.entries().iter());
        entries.cloned().collect()
    }

    /// Appends the step of this number, from 0.
    pub async fn append(&self, store: &dyn Store, step: usize) -> Result<(), StoreError> {
        let step = &self.steps[step];
        let head = store.append(step.before(), step.entries().clone()).await?;
        assert_eq!(head, step.after());
        Ok(())
    }

    /// The same for somebody who does not drive the run.
    pub async fn append_as_guest(&self, store: &dyn Store, step: usize) -> Result<(), StoreError> {
        let step = &self.steps[step];
        let entries = step.entries().clone();
        let head = store.append_as_guest(step.before(), entries).await?;
        assert_eq!(head, step.after());
        Ok(())
    }

    pub async fn append_all(&self, store: &dyn Store) {
        for step in 0..self.steps.len() {
            self.append(store, step)
                .await
                .expect("the steps follow each other");
        }
    }
}
