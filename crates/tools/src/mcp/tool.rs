//! A tool that a server executes.

use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::{Invocation, ToolSpec};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, RequestMetaObject};
use serde_json::{Map, Value};

use super::content::shown;
use super::error::TOOL_FAILED;
use super::listing::Offered;
use super::upkeep::Upkeep;
use crate::fault::{self, ToolFault};
use crate::queue::Queue;
use crate::tool::{BoxFuture, Tool, ToolValue};

/// Where a server finds the key of a call. It is the same for every execution of the call.
const KEY: &str = "bonded/idempotencyKey";

pub(super) struct McpTool {
    upkeep: Arc<Upkeep>,
    queue: Arc<Queue>,
    /// As the server names it.
    tool: String,
    spec: ToolSpec,
}

impl McpTool {
    pub(super) fn new(upkeep: Arc<Upkeep>, queue: Arc<Queue>, offered: Offered) -> Self {
        Self {
            upkeep,
            queue,
            tool: offered.tool,
            spec: offered.spec,
        }
    }

    async fn run(&self, arguments: Value, call: &Invocation) -> Result<ToolValue, ToolFault> {
        let Value::Object(arguments) = arguments else {
            let message = "the arguments are not an object";
            return Err(ToolFault::new(fault::BAD_ARGUMENTS, message));
        };
        let asking = self.upkeep.ask(self.request(arguments, call.key()));
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
        Ok(ToolValue::Text(shown.text))
    }

    fn request(&self, arguments: Map<String, Value>, key: String) -> ClientRequest {
        let mut meta = RequestMetaObject::default();
        meta.insert(KEY.into(), key.into());
        let mut params = CallToolRequestParams::new(self.tool.clone()).with_arguments(arguments);
        params.meta = Some(meta);
        ClientRequest::CallToolRequest(CallToolRequest::new(params))
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn queue(&self) -> Option<&Queue> {
        Some(&self.queue)
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(self.run(arguments, call))
    }
}
