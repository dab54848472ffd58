//! A built-in tool by itself: no run, no log, no queue.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bonded_kernel::Limits;
use bonded_testkit::invocation;
use bonded_tools::sandbox::{Launcher, SandboxPolicy};
use bonded_tools::{Registry, Sandbox, Tool, Workdir, builtin};
use serde_json::json;

use super::{Costs, Fault, cpu};

const TOOL: &str = "read";

pub(super) async fn costs(dir: &str, calls: u32) -> Result<Costs, Fault> {
    let dir = Path::new(dir);
    let sandbox = Sandbox::prepare(SandboxPolicy::default(), dir, &Launcher::None)?;
    let tools = builtin(Workdir::open(dir)?, &Arc::new(sandbox));
    let tool = tools.iter().find(|tool| tool.spec().name == TOOL);
    let tool: Arc<dyn Tool> = tool.cloned().ok_or("there is no such tool")?;
    let registry = Registry::new(tools)?;
    let arguments = json!({ "path": "note-0.txt" });
    let call = invocation(&registry, &Limits::default(), TOOL, &arguments);
    let before = cpu();
    for _ in 0..calls {
        tool.call(arguments.clone(), &call).await?;
    }
    Ok(((cpu() - before) / calls.max(1), Duration::ZERO))
}
