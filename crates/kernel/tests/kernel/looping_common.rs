//! A run that works in loops, for the tests of it.

use bonded_kernel::{
    Catalog, Entry, Finish, Limits, LoopConfig, Memory, Reply, RunConfig, RunStarted, ToolEffect,
    ToolSpec, request,
};
use bonded_kernel::{RuleId, Scope, Segment, WorkspaceId};
use serde_json::{Value, json};

use crate::common::{World, target, text};

/// What a loop is started with; tests change what they are about.
pub(crate) struct Looped {
    pub(crate) goal: String,
    pub(crate) config: RunConfig,
    pub(crate) looping: LoopConfig,
}

/// Segments of every state, not sorted by it.
const SEGMENTS: [(&str, &str); 9] = [
    ("default", "D1"),
    ("planning", "P1"),
    ("default", "D2"),
    ("executing", "X1"),
    ("evaluating", "V1"),
    ("idle", "I1"),
    ("executing", "X2"),
    ("record_organizing", "O1"),
    ("paging", "G1"),
];

pub(crate) fn looped() -> Looped {
    let segment = |(condition, prompt): (&str, &str)| Segment {
        condition: condition.into(),
        prompt: prompt.into(),
    };
    let segments: Vec<Segment> = SEGMENTS.into_iter().map(segment).collect();
    let scope = Scope::default_of(WorkspaceId::from_bytes([7; 16]));
    let mut looping = LoopConfig::new(RuleId::from_bytes([8; 16]), scope, &segments);
    looping.prompt_hash = "5e".repeat(32);
    let limits = Limits {
        turns_max: 100,
        calls_per_turn_max: 50,
        ..Limits::default()
    };
    Looped {
        goal: "tidy the notes".into(),
        config: RunConfig {
            limits,
            output_tokens_max: 1_000,
            ..RunConfig::new("/shed", vec![target(0)])
        },
        looping,
    }
}

impl Looped {
    pub(crate) fn with(mut self, change: impl FnOnce(&mut LoopConfig)) -> Self {
        change(&mut self.looping);
        self
    }

    pub(crate) fn limit(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.config.limits);
        self
    }

    pub(crate) fn memory(self, memory: &Value) -> Self {
        self.with(|looping| looping.memory = memory.to_string().into())
    }

    pub(crate) fn begin(mut self) -> World {
        self.config.looping = Some(Box::new(self.looping));
        let catalog = Catalog::of_run(record_specs(), &self.config).expect("well-formed tools");
        World::new(RunStarted::new(
            self.goal.into(),
            "".into(),
            self.config,
            catalog,
        ))
    }
}

fn record_specs() -> [ToolSpec; 4] {
    let spec = |name: &str, effect, fields: &[&str], required: &[&str]| {
        let one = |field: &&str| {
            let schema = match *field {
                "ids" => json!({ "type": "array", "items": { "type": "string" } }),
                _ => json!({ "type": "string" }),
            };
            ((*field).to_owned(), schema)
        };
        let properties: serde_json::Map<String, Value> = fields.iter().map(one).collect();
        ToolSpec {
            name: name.into(),
            description: name.into(),
            schema: json!({ "type": "object", "properties": properties, "required": required }),
            effect,
            sandbox: None,
            resource: None,
            deferred: false,
        }
    };
    let kept = ToolEffect::Idempotent;
    let pair = ["key", "value"];
    let issue = ["key", "value", "metadata"];
    let note = ["keywords", "value"];
    [
        spec("record_add", kept, &note, &note),
        spec("record_issue", kept, &issue, &issue),
        spec("record_update", kept, &pair, &pair),
        spec("record_search", ToolEffect::Read, &["query", "ids"], &[]),
    ]
}

pub(crate) fn ram(key: &str, value: &str) -> String {
    format!("<ram_add><key>{key}</key><value>{value}</value></ram_add>\n")
}

pub(crate) fn state(label: &str) -> String {
    format!("<state_add><state>{label}</state></state_add>\n")
}

pub(crate) fn note(value: &str) -> String {
    format!("<record_add><keywords>k</keywords><value>{value}</value></record_add>\n")
}

pub(crate) fn change(key: &str) -> String {
    format!("<record_update><key>{key}</key><value>new</value></record_update>\n")
}

pub(crate) fn search(query: &str) -> String {
    format!("<record_search><query>{query}</query></record_search>\n")
}

pub(crate) fn thinking(said: &str, reasoning: &str) -> Reply {
    Reply {
        reasoning: reasoning.into(),
        finish: Finish::Stop,
        ..text(said)
    }
}

impl World {
    /// The model says this, and what it asks for outside is done well.
    pub(crate) fn says(&mut self, said: &str) -> Vec<Entry> {
        let mut entries = self.reply(text(said));
        while matches!(self.effect, bonded_kernel::Effect::Invoke(_)) {
            entries.extend(self.ok("ok"));
        }
        entries
    }

    /// The model says this, and the next turn begins.
    pub(crate) fn loops(&mut self, said: &str) {
        self.says(said);
        self.wake();
    }

    pub(crate) fn memory(&self) -> &Memory {
        self.run.memory().expect("the run works in loops")
    }

    pub(crate) fn kept(&self, key: &str) -> Value {
        self.memory().get(key).cloned().unwrap_or_default()
    }

    pub(crate) fn code(&self) -> Option<&str> {
        self.run.termination()?.code()
    }

    /// The system text of the request under way.
    pub(crate) fn system(&self) -> String {
        request(&self.run).map_or(String::new(), |request| request.system.to_owned())
    }

    /// The one message of the request under way.
    pub(crate) fn message(&self) -> String {
        let request = request(&self.run).expect("the run is asking");
        let [bonded_kernel::Message::User { text, .. }] = request.messages else {
            unreachable!("one message: {:?}", request.messages);
        };
        text.to_string()
    }

    /// Everything that the log keeps, with the texts that lie beside it.
    pub(crate) fn log(&self) -> String {
        let mut log = String::new();
        for entry in &self.entries {
            log.push_str(&String::from_utf8_lossy(&entry.body));
            let mut event = entry.event.clone();
            for text in event.texts_mut() {
                log.push_str(text.as_str());
            }
        }
        log
    }
}
