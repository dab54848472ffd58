//! Calls: one, or several of one reply at the same time.
//!
//! The kernel says which calls may run beside each other. They are begun together and end in any order,
//! but their results are committed in the order of the reply, so that a log reads the same however fast
//! the tools were.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bonded_kernel::{self as kernel, Effect, Input, Invocation, Mask, Run, ToolOutput};
use bonded_tools::Registry;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio_util::sync::CancellationToken;

use super::{Driver, panic_message};
use crate::client_results::ClientResults;
use crate::counter::Counter;
use crate::host::Host;
use crate::live::{CallNews, LiveCall};

/// Whoever executes a call needs no more of a driver.
///
/// Borrowed parts only, so that calls of a wave can go on while the driver commits.
#[derive(Clone, Copy)]
pub(super) struct CallExecutor<'a> {
    pub(super) host: &'a Host,
    pub(super) run: &'a Run,
    pub(super) registry: &'a Registry,
    pub(super) cancel: &'a CancellationToken,
    pub(super) counter: &'a Counter,
    pub(super) results: &'a ClientResults,
}

impl CallExecutor<'_> {
    /// A tool that panics ends its own run and nothing else. `None` where nothing comes of the call before a person has
    /// spoken, or a client has returned what it made of it.
    pub(super) async fn invoke(&self, invocation: &Invocation) -> Option<Input> {
        let call = AssertUnwindSafe(self.execute(invocation)).catch_unwind();
        Some(match call.await {
            Ok(output) => Input::ToolReturned {
                turn: invocation.turn(),
                call: invocation.call(),
                output: Box::new(output?),
            },
            Err(panic) => Input::Panicked {
                message: self.mask().owned(format!(
                    "tool {:?}: {}",
                    invocation.tool(),
                    panic_message(&*panic)
                )),
            },
        })
    }

    fn mask(&self) -> Arc<Mask> {
        self.host.secrets.mask_of(self.run.config())
    }

    /// The output is masked a second time after the call, and its tokens are counted here, where the
    /// vocabulary is known.
    async fn execute(&self, invocation: &Invocation) -> Option<ToolOutput> {
        let mut output = match self.run.sub_agent(invocation.tool()) {
            Some(agent) => {
                let cancel = self.cancel.child_token();
                // Few runs call agents: the others do not carry what that needs.
                let called = self.host.call_agent(self.run, agent, invocation, cancel);
                Box::pin(called).await?
            }
            None if self.run.is_client_tool(invocation.tool()) => {
                self.results.output(invocation, &self.mask())?
            }
            None => {
                let mut output = self.call_tool(invocation).await;
                // A server's token may have been renewed meanwhile.
                let mask = self.mask();
                output.text = mask.owned(output.text);
                output.original = output.original.map(|text| mask.owned(text));
                output
            }
        };
        output.tokens = self.counter.count(&output.text);
        Some(output)
    }

    /// A person who watches is told when the call puts something out.
    async fn call_tool(&self, invocation: &Invocation) -> ToolOutput {
        let mask = self.mask();
        let Some(sink) = self.host.live.clone() else {
            return self.registry.invoke(invocation, &mask).await;
        };
        let (run, turn, call) = (self.run.id().clone(), invocation.turn(), invocation.call());
        let news = CallNews::Output;
        let on_output = Arc::new(move || {
            let run = &run;
            sink.call(&LiveCall {
                run,
                turn,
                call,
                news,
            });
        });
        let invoked = self.registry.invoke_heard(invocation, &mask, on_output);
        invoked.await
    }

    /// A call that ended before those that its reply has before it.
    fn tell_end(&self, invocation: &Invocation) {
        if let Some(sink) = &self.host.live {
            sink.call(&LiveCall {
                run: self.run.id(),
                turn: invocation.turn(),
                call: invocation.call(),
                news: CallNews::Ended,
            });
        }
    }
}

/// Several calls of one reply that are executed at the same time. Each goes on while what another one returned is made
/// durable; what comes out of order waits here.
pub(crate) struct Wave<'a> {
    /// Dropping them stops them: they are awaited or let go of together.
    calls: FuturesUnordered<BoxFuture<'a, (u32, Option<Input>)>>,
    turn: u32,
    /// Those of which nothing was taken yet.
    open: BTreeSet<u32>,
    /// What came of calls, by their places.
    ended: BTreeMap<u32, Option<Input>>,
}

impl<'a> Wave<'a> {
    /// Begins the calls of a driver that are under way.
    pub(super) fn begin(driver: &Driver<'a>) -> Self {
        // The run goes on while they are under way.
        let run = Arc::new(driver.run.clone());
        let mut under_way = kernel::beside(&run);
        if let Effect::Invoke(first) = kernel::next(&run) {
            under_way.insert(0, first);
        }
        let open = under_way.iter().map(Invocation::call).collect();
        let calls = under_way.into_iter().map(|invocation| {
            let (host, run) = (driver.host, run.clone());
            let (registry, cancel) = (driver.registry.clone(), driver.cancel.clone());
            let (counter, results) = (driver.counter.clone(), driver.results.clone());
            let call = async move {
                // One that began before it may have brought the end.
                if cancel.is_cancelled() || host.interrupt.is_cancelled() {
                    return std::future::pending().await;
                }
                let caller = CallExecutor {
                    host,
                    run: &run,
                    registry: &registry,
                    cancel: &cancel,
                    counter: &counter,
                    results: &results,
                };
                let input = caller.invoke(&invocation).await;
                caller.tell_end(&invocation);
                (invocation.call(), input)
            };
            Box::pin(call) as BoxFuture<'a, _>
        });
        Self {
            calls: calls.collect(),
            turn: driver.run.turn(),
            open,
            ended: BTreeMap::new(),
        }
    }

    /// What came of a call. Where it waits for a person the others come to their ends first: to let go of them would be
    /// not to know what became of them.
    pub(super) async fn returned(&mut self, call: u32) -> Option<Input> {
        let waits =
            |ended: &BTreeMap<u32, Option<Input>>| matches!(ended.get(&call), None | Some(None));
        while waits(&self.ended) {
            let Some((call, input)) = self.calls.next().await else {
                break;
            };
            self.ended.insert(call, input);
        }
        self.open.remove(&call);
        self.ended.remove(&call).flatten()
    }

    /// Whether it is known what came of the call that is up.
    pub(super) fn has_ended(&self, effect: &Effect) -> bool {
        matches!(effect, Effect::Invoke(up) if self.ended.contains_key(&up.call()))
    }

    /// Whether a call is among them, and what came of it was not taken yet.
    pub(super) fn has(&self, turn: u32, call: u32) -> bool {
        self.turn == turn && self.open.contains(&call)
    }
}
