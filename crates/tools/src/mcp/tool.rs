//! A tool that a server executes.
//!
//! It adds to a bare call what makes it safe: the arguments are an object, the time is bounded by the server's
//! settings besides the call's own, an interrupted call is repeated at most once, and what the server wrote
//! meanwhile is settled before the result is given out.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Invocation, ToolSpec};
use futures_util::future::BoxFuture;
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, RequestMetaObject};
use serde_json::{Map, Value};

use super::asking::changed;
use super::content::shown;
use super::error::TOOL_FAILED;
use super::listing::Offered;
use super::pin::{Pinned, difference};
use super::upkeep::Upkeep;
use crate::fault::{self, ToolFault};
use crate::queue::Queue;
use crate::tool::{Tool, ToolValue};

/// Where a server finds the key of a call. It is the same for every execution of the call.
const KEY: &str = "bonded/idempotencyKey";

/// How much is said at most about what was put aside.
const NOTE_CHARS_MAX: usize = 1200;

pub(super) struct McpTool {
    upkeep: Arc<Upkeep>,
    queue: Arc<Queue>,
    pinned: Pinned,
    /// Held by every tool of a server that only one run uses.
    _lease: Option<Arc<Lease>>,
}

/// A server that ends when nobody can call its tools any more.
pub(super) struct Lease(pub(super) Arc<Upkeep>);

impl Drop for Lease {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl McpTool {
    pub(super) fn new(
        upkeep: Arc<Upkeep>,
        queue: Arc<Queue>,
        pinned: Pinned,
        lease: Option<Arc<Lease>>,
    ) -> Self {
        Self {
            upkeep,
            queue,
            pinned,
            _lease: lease,
        }
    }

    async fn run(&self, arguments: Value, call: &Invocation) -> Result<ToolValue, ToolFault> {
        let Value::Object(arguments) = arguments else {
            let message = "the arguments are not an object";
            return Err(ToolFault::new(fault::BAD_ARGUMENTS, message));
        };
        let asking = self.ask(&arguments, call);
        let result = match self.upkeep.server().request_timeout_ms {
            None => asking.await?,
            Some(timeout_ms) => tokio::time::timeout(Duration::from_millis(timeout_ms), asking)
                .await
                .map_err(|_| ToolFault::timeout())??,
        };
        let shown = shown(&result);
        if shown.is_error {
            return Err(ToolFault::new(TOOL_FAILED, shown.text));
        }
        Ok(ToolValue::shown(shown.text, shown.images))
    }

    /// What the server makes in a call that a person approved stays; what it made otherwise is put aside.
    async fn run_watched(
        &self,
        arguments: Value,
        call: &Invocation,
    ) -> Result<ToolValue, ToolFault> {
        let approval = match self.upkeep.server().sandbox() {
            Some(sandbox) if call.approved() => sandbox.approval().await,
            _ => None,
        };
        let ran = self.run(arguments, call).await;
        // A tree may be large.
        let _ = tokio::task::spawn_blocking(move || drop(approval)).await;
        let Some(put_aside) = self.upkeep.settle().await else {
            return ran;
        };
        let note: String = put_aside.chars().take(NOTE_CHARS_MAX).collect();
        match ran {
            Ok(value) => {
                let text = format!("{value}\n\n(sandbox: {note})");
                Ok(ToolValue::shown(text, value.images()))
            }
            Err(fault) => Err(ToolFault::new(
                fault.code,
                format!("{} (sandbox: {note})", fault.message),
            )),
        }
    }

    /// A call that was interrupted is made once more, where the rule for interrupted calls lets it. Every
    /// execution carries the same key.
    async fn ask(
        &self,
        arguments: &Map<String, Value>,
        call: &Invocation,
    ) -> Result<Value, ToolFault> {
        let request = || self.request(arguments.clone(), call.key());
        match self.upkeep.ask(&self.pinned, request()).await {
            Err(miss) if miss.may_be_repeated(self.spec().effect) => {
                let second = self.upkeep.ask(&self.pinned, request()).await;
                second.map_err(|miss| miss.fault)
            }
            first => first.map_err(|miss| miss.fault),
        }
    }

    /// The key is in the metadata, where a server that knows nothing of it does not look.
    fn request(&self, arguments: Map<String, Value>, key: String) -> ClientRequest {
        let mut meta = RequestMetaObject::default();
        meta.insert(KEY.into(), key.into());
        let tool = self.pinned.offered.tool.clone();
        let mut params = CallToolRequestParams::new(tool).with_arguments(arguments);
        params.meta = Some(meta);
        ClientRequest::CallToolRequest(CallToolRequest::new(params))
    }
}

impl Tool for McpTool {
    fn may_be_deferred(&self) -> bool {
        true
    }

    /// What a server cannot do, it need not be believed.
    fn is_vouched_by_server(&self) -> bool {
        let sandbox = self.upkeep.server().sandbox();
        sandbox.is_none_or(|sandbox| !sandbox.leaves_nothing())
    }

    fn spec(&self) -> &ToolSpec {
        &self.pinned.offered.spec
    }

    fn queue(&self) -> Option<&Queue> {
        Some(&self.queue)
    }

    fn change_since(&self, pinned: &ToolSpec) -> Option<ToolFault> {
        let Offered { tool, spec } = &self.pinned.offered;
        let change = difference(tool, pinned, Some(spec))?;
        self.upkeep.warn_of_change(tool, &change);
        Some(changed(&self.upkeep.server().name, &change))
    }

    fn sandbox(&self) -> Option<&Arc<str>> {
        let sandbox = self.upkeep.server().sandbox()?;
        Some(sandbox.in_force())
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(self.run_watched(arguments, call))
    }
}
