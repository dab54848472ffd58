//! Models of every family, asked in every mode, by the real program: each request is one that its provider takes. The
//! provider is a strict one on loopback, which holds requests to the official SDKs' types and refuses what services are
//! known to refuse, by a table of its own (`xtask/wires/refusals.toml`).

mod models;
mod strict;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;
use std::thread;

use serde_json::json;

use crate::world::{Outcome, World};
use models::{LEARNED, MODELS, Model};
use strict::Strict;

/// Who asks a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// A run without an agent, with one of its own tools.
    Plain,
    /// An agent without tools.
    Agent,
    AgentWithTools,
}

/// What is tried with each model: its name, who asks, and what is said to it.
type Mode = (&'static str, Asks, &'static [&'static str]);

const MODES: [Mode; 9] = [
    ("run", Asks::Plain, &["--stream"]),
    ("plain", Asks::Agent, &[]),
    ("turns", Asks::AgentWithTools, &[]),
    (
        "last-turn",
        Asks::AgentWithTools,
        &["--reasoning", "medium", "--max-turns", "2"],
    ),
    (
        "native",
        Asks::AgentWithTools,
        &[
            "--tooling-transport",
            "native",
            "--temperature",
            "0.7",
            "--top-p",
            "0.9",
        ],
    ),
    ("off", Asks::AgentWithTools, &["--reasoning", "none"]),
    (
        "minimal",
        Asks::AgentWithTools,
        &["--reasoning", "minimal", "--stream"],
    ),
    (
        "high",
        Asks::AgentWithTools,
        &["--reasoning", "high", "--stream"],
    ),
    ("max", Asks::AgentWithTools, &["--reasoning", "max"]),
];

/// What is written behind a refusal that the program learned from.
const OVERCOME: &str = " (overcome)";

/// What went wrong with one model in one mode, in the provider's words or the run's.
type Refused = BTreeMap<(String, &'static str), Vec<String>>;

fn try_one(strict: &Strict, model: &Model, mode: &Mode) -> Vec<String> {
    let (tried, asks, flags) = *mode;
    let world = match asks {
        Asks::AgentWithTools => World::with_tools(),
        Asks::Agent | Asks::Plain => World::new(),
    };
    let base_url = strict.base_url(model, tried);
    let mut provider =
        json!({ "type": model.kind, "baseUrl": base_url, "apiKey": "sk-of-the-tests" });
    if let Some(route) = model.route {
        provider["openaiMode"] = json!(route);
    }
    let name = format!("{}/{}", model.provider, model.name);
    let world = world
        // What is refused once is refused again.
        .front("maxRetries: 1")
        .front(&format!("models: {name}"))
        .config(&json!({ "providers": { model.provider: provider } }));
    let outcome = match asks {
        Asks::Plain => plain_run(world, &name, flags),
        Asks::Agent | Asks::AgentWithTools => world.run(flags, "do it"),
    };
    let said = strict.refusals(model, tried);
    match (said.is_empty(), outcome.code) {
        (true, Some(0)) => vec![],
        (true, _) => vec![format!("the run failed: {}", outcome.stderr.trim())],
        // A refusal that the program learned from has cost a request all the same.
        (false, Some(0)) => said.iter().map(|it| format!("{it}{OVERCOME}")).collect(),
        (false, _) => said,
    }
}

/// The model of the strict provider reads files that it calls so.
fn plain_run(mut world: World, model: &str, flags: &[&str]) -> Outcome {
    for name in ["t0c1", "t1c3", "t1c4", "t2c1"] {
        world = world.file(name, name);
    }
    world.write();
    let fixed = ["run", "--json", "--tools", "read", "--max-retries", "1"];
    let fixed = fixed.iter().chain(flags).copied();
    let arguments: Vec<&str> = fixed.chain(["--model", model, "do it"]).collect();
    world.bonded(&arguments)
}

/// Every model in every mode, some at a time.
fn try_all(strict: &Strict, models: &[Model]) -> Refused {
    let all = models
        .iter()
        .flat_map(|model| MODES.iter().map(move |mode| (model, mode)));
    let left = Mutex::new(all);
    let refused = Mutex::new(Refused::new());
    let next = || left.lock().expect("no thread panics with it").next();
    let workers = thread::available_parallelism().map_or(2, |count| count.get() * 2);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((model, mode)) = next() {
                    let said = try_one(strict, model, mode);
                    if !said.is_empty() {
                        let mut refused = refused.lock().expect("no thread panics with it");
                        refused.insert((model.to_string(), mode.0), said);
                    }
                }
            });
        }
    });
    refused.into_inner().expect("no thread panicked with it")
}

/// The list that a person reads: what was refused, and then which model in which mode.
fn listed(refused: &Refused) -> String {
    let mut by_words: BTreeMap<&str, BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for ((model, mode), said) in refused {
        for words in said {
            let models = by_words.entry(words).or_default();
            models.entry(model).or_default().push(mode);
        }
    }
    let mut text = String::new();
    for (words, models) in by_words {
        writeln!(text, "{words}").expect("writing to memory");
        for (model, modes) in models {
            writeln!(text, "    {model}: {}", modes.join(", ")).expect("writing to memory");
        }
    }
    text
}

#[test]
fn no_request_is_refused_by_the_service_that_it_is_for() {
    let Some(strict) = Strict::start() else {
        return;
    };
    let refused = try_all(&strict, MODELS);
    let tried = MODELS.len() * MODES.len();
    assert!(
        refused.is_empty(),
        "{} of {tried} were refused\n{}",
        refused.len(),
        listed(&refused)
    );
}

#[test]
fn what_a_gateway_refuses_once_is_not_asked_of_it_again() {
    let Some(strict) = Strict::start() else {
        return;
    };
    let mut refused = try_all(&strict, LEARNED);
    refused.retain(|_, said| !matches!(said.as_slice(), [once] if once.ends_with(OVERCOME)));
    assert!(refused.is_empty(), "not overcome\n{}", listed(&refused));
}
