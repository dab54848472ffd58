//! The model and the tools of a fleet: what each turn asks for is fixed, and every effect is seen when it begins.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bonded_host::{HostError, Toolset};
use bonded_kernel::{
    DONE, Failure, Finish, Invocation, Reply, ReplyCall, Request, RunConfig, RunId, ToolEffect,
    ToolSpec,
};
use bonded_tools::{Registry, Tool, ToolFault, ToolValue};
use bonded_transport::Transport;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::member::FleetMember;

/// The idempotency keys of the calls that were begun, in their order.
pub(super) type EffectsSeen = Arc<Mutex<Vec<String>>>;

/// What a run is to do, as its model's name says it: the run, and how many turns it takes.
pub(super) fn model_name(run: &RunId, turns: u32) -> String {
    format!("{run}/{turns}")
}

/// How a run ends that nobody cancels.
pub(super) fn last_word(run: &str) -> String {
    format!("{run} has done what it was to do")
}

/// An effect may begin while its process holds the run on a lease that lasts by the server's clock.
///
/// Allowed is one more: that of a run which somebody outside has ended, until the driver hears of it. An effect that began in
/// time may last longer than the lease.
fn witness(member: &FleetMember, run: &str, what: &str) {
    let Ok(run) = RunId::new(run) else {
        return;
    };
    let wrong = member.server.look(|rows, now| {
        if rows.has_ended(&run) {
            return None;
        }
        let holder = rows.holder(&run, now);
        let is_ours = holder.is_some_and(|holder| holder.life == member.life);
        let wrong = || {
            let life = member.life;
            format!("{what} of {run} begins in life {life} on a lease that is over: {holder:?}")
        };
        (!is_ours).then(wrong)
    });
    if let Some(wrong) = wrong {
        member.server.complain(wrong);
    }
}

pub(super) struct FleetModel(pub(super) Arc<FleetMember>);

impl Transport for FleetModel {
    fn send(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Reply, Failure>> {
        let model = request.target.model.clone();
        let (run, turns) = model.rsplit_once('/').unwrap_or((&model, "1"));
        witness(&self.0, run, "a request");
        let turns: u32 = turns.parse().unwrap_or(1);
        let reply = reply(run, request.turn, turns);
        let latency_ms = self.0.draw(|rng| rng.between(0, 800));
        Box::pin(async move {
            sleep(Duration::from_millis(latency_ms)).await;
            Ok(Reply {
                latency_ms,
                ..reply
            })
        })
    }
}

fn reply(run: &str, turn: u32, turns: u32) -> Reply {
    let call = |tool: &str, nth: u32, arguments: Value| ReplyCall {
        id: format!("c{turn}-{nth}"),
        tool: tool.into(),
        arguments: arguments.to_string(),
    };
    let calls = match turn >= turns {
        true => vec![call(DONE, 0, json!({ "reason": last_word(run) }))],
        false => {
            let tools = ["push", "put", "push"];
            let many = 1 + turn % 3;
            let calls = tools.iter().take(many as usize).zip(0..);
            let item = |nth| json!({ "item": format!("{run} {turn} {nth}") });
            calls
                .map(|(tool, nth)| call(tool, nth, item(nth)))
                .collect()
        }
    };
    Reply {
        calls,
        finish: Finish::ToolCalls,
        ..Reply::default()
    }
}

pub(super) struct FleetTools {
    pub(super) member: Arc<FleetMember>,
    pub(super) seen: EffectsSeen,
}

impl Toolset for FleetTools {
    fn open<'a>(
        &'a self,
        config: &'a RunConfig,
    ) -> BoxFuture<'a, Result<Arc<Registry>, HostError>> {
        Box::pin(std::future::ready(self.open_now(config)))
    }
}

impl FleetTools {
    fn open_now(&self, config: &RunConfig) -> Result<Arc<Registry>, HostError> {
        let target = config.targets.first();
        let model = target.map_or("", |target| target.model.as_str());
        let run = model.rsplit_once('/').map_or(model, |(run, _)| run);
        let tools = [("push", ToolEffect::Write), ("put", ToolEffect::Idempotent)];
        let tools = tools.map(|(name, effect)| {
            Arc::new(FleetTool {
                spec: spec(name, effect),
                member: Arc::clone(&self.member),
                seen: Arc::clone(&self.seen),
                run: run.to_owned(),
            }) as Arc<dyn Tool>
        });
        let registry = Registry::of_run(tools.to_vec(), config)
            .map_err(|source| HostError::Catalog { source })?;
        Ok(Arc::new(registry))
    }
}

fn spec(name: &str, effect: ToolEffect) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Simulated {name}."),
        schema: json!({
            "type": "object",
            "properties": { "item": { "type": "string" } },
            "required": ["item"],
            "additionalProperties": false,
        }),
        effect,
        sandbox: None,
        resource: None,
        deferred: false,
    }
}

struct FleetTool {
    spec: ToolSpec,
    member: Arc<FleetMember>,
    seen: EffectsSeen,
    run: String,
}

impl Tool for FleetTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        _arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move {
            let key = call.key();
            witness(&self.member, &self.run, &format!("call {key}"));
            {
                let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                let is_again = seen.contains(&key);
                if is_again && self.spec.effect == ToolEffect::Write {
                    let wrong = format!("call {key} begins twice");
                    self.member.server.complain(wrong);
                }
                seen.push(key);
            }
            let lasts_ms = self.member.draw(|rng| rng.between(0, 600));
            sleep(Duration::from_millis(lasts_ms)).await;
            Ok(json!({ "done": true }).into())
        })
    }
}
