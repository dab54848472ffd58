//! A command that waits, as it would run: with what it is given, where, within what, and for how long at most.

use bonded_kernel::{Run, SandboxLevel, WaitingCall};
use serde::Deserialize;

/// As the model wrote it; who shows it makes every letter visible.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CommandCall {
    /// A line for a shell; with arguments, a program.
    pub command: String,
    /// Given to the program as they are, without a shell.
    pub args: Option<Vec<String>>,
    /// Inside the working directory; nothing for that itself.
    pub cwd: Option<String>,
    /// What the command reads.
    pub stdin: Option<String>,
    timeout_ms: Option<u64>,
}

/// What holds for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTerms {
    /// The working directory of the run, absolute.
    pub dir: String,
    /// How far it may reach.
    pub level: SandboxLevel,
    /// Whether it runs also where the machine can enforce only a part of that.
    pub is_best_effort: bool,
    /// Whether it reaches the network.
    pub has_network: bool,
    /// It is ended after so long.
    pub timeout_ms: u64,
}

/// The command of a call, and what holds for it; nothing where it is no call of the built-in tool for commands.
pub fn command_of(run: &Run, call: &WaitingCall) -> Option<(CommandCall, CommandTerms)> {
    let spec = run.catalog().spec(&call.tool)?;
    if &*call.tool != "run" || spec.sandbox.is_none() {
        return None;
    }
    let command: CommandCall = serde_json::from_str(&call.arguments).ok()?;
    let demanded = run.config().sandbox.as_deref().cloned().unwrap_or_default();
    let most_ms = run.config().limits.tool_timeout_ms;
    let terms = CommandTerms {
        dir: run.config().dir.clone(),
        level: demanded.level,
        is_best_effort: demanded.best_effort,
        has_network: demanded.network || demanded.level == SandboxLevel::Full,
        timeout_ms: command.timeout_ms.map_or(most_ms, |own| own.min(most_ms)),
    };
    Some((command, terms))
}
