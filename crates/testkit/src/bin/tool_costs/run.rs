//! A command in the sandbox and the same one without, in turns, from the call of `run` to its output.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bonded_kernel::{Invocation, Limits, Mask, Outcome};
use bonded_testkit::invocation;
use bonded_tools::sandbox::{Launcher, LightLauncher, SandboxPolicy};
use bonded_tools::{Registry, Sandbox, Workdir, builtin};
use serde_json::json;

use super::{Costs, Fault};

pub(super) async fn costs(launcher: &str, dir: &str, commands: u32) -> Result<Costs, Fault> {
    let dir = Path::new(dir);
    let program = PathBuf::from(launcher);
    let launcher = match LightLauncher::beside(&program) {
        Some(light) => Launcher::Light(light),
        None => Launcher::Program(program),
    };
    let confined = Runner::new(dir, &launcher)?;
    let plain = Runner::new(dir, &Launcher::None)?;
    let (mut ours, mut other) = (vec![], vec![]);
    for _ in 0..commands.max(1) {
        ours.push(confined.run().await?);
        other.push(plain.run().await?);
    }
    // The first command has the machine looked over, which is done once for a process.
    ours.remove(0);
    Ok((median(ours), median(other)))
}

struct Runner {
    registry: Registry,
    call: Invocation,
}

impl Runner {
    fn new(dir: &Path, launcher: &Launcher) -> Result<Self, Fault> {
        let sandbox = Sandbox::prepare(SandboxPolicy::default(), dir, launcher)?;
        let registry = Registry::new(builtin(Workdir::open(dir)?, &Arc::new(sandbox)))?;
        let arguments = json!({ "command": "true", "args": [] });
        let call = invocation(&registry, &Limits::default(), "run", &arguments);
        Ok(Self { registry, call })
    }

    async fn run(&self) -> Result<Duration, Fault> {
        let begun = Instant::now();
        let output = self.registry.invoke(&self.call, &Mask::default()).await;
        let took = begun.elapsed();
        match output.outcome {
            Outcome::Ok if output.text.contains("\"exit\":0") => Ok(took),
            _ => Err(output.text.into()),
        }
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
