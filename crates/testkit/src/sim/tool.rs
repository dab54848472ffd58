//! The tools of a world. Each writes down when it is executed, before and after its effect.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use bonded_host::{HostError, Toolset};
use bonded_kernel::{
    Invocation, RECORD_ADD, RECORD_ISSUE, RECORD_SEARCH, RECORD_UPDATE, RunConfig, ToolEffect,
    ToolSpec,
};
use bonded_tools::{Registry, Tool, ToolFault, ToolValue};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::ledger::{Execution, Place};
use super::plan::Sabotage;
use super::process::Process;
use crate::rng::Rng;

/// The tools as one process has them.
#[derive(Debug)]
pub(crate) struct SimTools {
    process: Arc<Process>,
}

impl SimTools {
    pub(crate) fn new(process: Arc<Process>) -> Self {
        Self { process }
    }
}

impl Toolset for SimTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        Box::pin(std::future::ready(self.open_now(config)))
    }
}

impl SimTools {
    fn open_now(&self, config: &RunConfig) -> Result<Arc<Registry>, HostError> {
        let specs = match config.looping {
            Some(_) => record_specs().to_vec(),
            None => specs().to_vec(),
        };
        let tools = specs.into_iter().map(|spec| {
            let process = self.process.clone();
            Arc::new(SimTool { spec, process }) as Arc<dyn Tool>
        });
        let registry = Registry::of_run(tools.collect(), config)
            .map_err(|source| HostError::Catalog { source })?;
        Ok(Arc::new(registry))
    }
}

/// `look` reads, `put` may be repeated, `push` may not.
fn specs() -> [ToolSpec; 3] {
    let text = json!({ "type": "string" });
    let spec = |name: &str, effect, properties: Value, required: Value| ToolSpec {
        name: name.into(),
        description: format!("Simulated {name}."),
        schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
        effect,
        sandbox: None,
        resource: None,
        deferred: false,
    };
    [
        spec(
            "look",
            ToolEffect::Read,
            json!({ "at": text }),
            json!(["at"]),
        ),
        spec(
            "put",
            ToolEffect::Idempotent,
            json!({ "key": text, "value": text }),
            json!(["key", "value"]),
        ),
        spec(
            "push",
            ToolEffect::Write,
            json!({ "item": text }),
            json!(["item"]),
        ),
    ]
}

/// What a run that works in loops has: the names are given, what they do is what the others do.
fn record_specs() -> [ToolSpec; 4] {
    let spec = |name: &str, effect| ToolSpec {
        name: name.into(),
        description: format!("Simulated {name}."),
        schema: json!({ "type": "object" }),
        effect,
        sandbox: None,
        resource: None,
        deferred: false,
    };
    [
        spec(RECORD_ADD, ToolEffect::Idempotent),
        spec(RECORD_ISSUE, ToolEffect::Idempotent),
        spec(RECORD_UPDATE, ToolEffect::Idempotent),
        spec(RECORD_SEARCH, ToolEffect::Read),
    ]
}

#[derive(Debug)]
struct SimTool {
    spec: ToolSpec,
    process: Arc<Process>,
}

/// What one execution does besides its work.
#[derive(Clone, Copy)]
enum Mishap {
    None,
    Fails,
    Hangs,
    Panics,
    /// So slow that its time may run out, before or after the effect.
    Dawdles,
}

impl SimTool {
    async fn execute(&self, arguments: &Value, call: &Invocation) -> Result<Value, ToolFault> {
        let (place, mut rng) = self.begin(call);
        let rng = &mut rng;
        let mishap = self.draw_mishap(rng);
        self.process.pass(Place::InToolBeforeEffect).await;
        let longest_ms = match mishap {
            Mishap::Dawdles => call.timeout_ms() * 3 / 2,
            _ => 200,
        };
        sleep(rng.below(longest_ms)).await;
        match mishap {
            Mishap::Fails => {
                let why = format!("there is no {}", rng.below(3));
                let is_looping = self.process.shared.plan.config.looping.is_some();
                let code = match is_looping && rng.chance(300) {
                    true => "CROSS_WORKSPACE_REJECTED",
                    false => "not_found",
                };
                return Err(ToolFault::new(code, why));
            }
            Mishap::Hangs => sleep(u64::from(u32::MAX)).await,
            Mishap::Panics => {
                self.process.shared.ledger().tally.panics += 1;
                resume_unwind(Box::new("the tool broke"));
            }
            Mishap::None | Mishap::Dawdles => {}
        }
        let output = self.work(rng, arguments);
        self.process.shared.ledger().executions[place].output = Some(output.to_string());
        self.process.pass(Place::InToolAfterEffect).await;
        sleep(rng.below(longest_ms)).await;
        Ok(output)
    }

    /// Writes down that the execution begins; what it then does depends on the call and on how often it
    /// was begun before.
    fn begin(&self, call: &Invocation) -> (usize, Rng) {
        let shared = &self.process.shared;
        let log_seq = shared.head().seq;
        self.process.witness_effect("an execution");
        let mut ledger = shared.ledger();
        let key = call.key();
        let times = ledger.times(&key) as u64;
        ledger.tally.executions += 1;
        ledger.executions.push(Execution {
            key,
            turn: call.turn(),
            call: call.call(),
            tool: call.tool().into(),
            arguments: call.arguments().into(),
            log_seq,
            output: None,
        });
        let numbers = [u64::from(call.turn()), u64::from(call.call()), times];
        let rng = Rng::derive(shared.seed, "tool", &numbers);
        (ledger.executions.len() - 1, rng)
    }

    fn draw_mishap(&self, rng: &mut Rng) -> Mishap {
        if !rng.chance(self.process.shared.plan.faults.tool) {
            return Mishap::None;
        }
        self.process.shared.ledger().tally.failures += 1;
        rng.weighted(&[
            (10, Mishap::Fails),
            (4, Mishap::Hangs),
            (1, Mishap::Panics),
            (5, Mishap::Dawdles),
        ])
    }

    fn work(&self, rng: &mut Rng, arguments: &Value) -> Value {
        let argument = |name: &str| arguments[name].as_str().unwrap_or_default().to_owned();
        let mut ledger = self.process.shared.ledger();
        match self.spec.effect {
            ToolEffect::Read => {
                let length = rng.weighted(&[(10, 20), (3, 700), (1, 5_000)]);
                json!({ "seen": argument("at"), "view": "≈".repeat(length) })
            }
            ToolEffect::Idempotent => {
                let before = ledger.stored.insert(argument("key"), argument("value"));
                json!({ "replaced": before.is_some() })
            }
            ToolEffect::Write => {
                ledger.pushed.push(argument("item"));
                json!({ "length": ledger.pushed.len() })
            }
        }
    }
}

async fn sleep(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

impl Tool for SimTool {
    fn may_be_deferred(&self) -> bool {
        true
    }

    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move {
            let sabotage = self.process.shared.plan.sabotage;
            if sabotage == Sabotage::PushTwice && self.spec.effect == ToolEffect::Write {
                self.execute(&arguments, call).await?;
            }
            Ok(self.execute(&arguments, call).await?.into())
        })
    }
}
