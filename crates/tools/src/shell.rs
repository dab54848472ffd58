//! A line of shell that no model wrote: the tests of a work item.

use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use crate::capture::show_both;
use crate::process;
use crate::sandbox::Sandbox;

/// What a line of shell did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellEnd {
    /// How it ended; `None` where its time ran out first.
    pub status: Option<ExitStatus>,
    /// What it said on both streams, in its order; of much output the beginning and the end.
    pub output: String,
    /// Of all that it wrote, shown or not.
    pub output_bytes: u64,
}

/// Runs a line of shell in the sandbox. None of its processes is alive when this returns.
pub async fn shell(
    sandbox: &Sandbox,
    line: &str,
    dir: &Path,
    timeout: Duration,
    bytes_max: usize,
) -> io::Result<ShellEnd> {
    // One stream, so that what was said about a failure stands where it was said.
    let line = format!("exec 2>&1\n{line}");
    let mut confined = sandbox.command("sh", ["-c", &line], dir)?;
    let finished = process::run(&mut confined, None, bytes_max, timeout).await?;
    if let Some(why) = confined.fault() {
        return Err(io::Error::other(why));
    }
    let (output, _) = show_both(finished.stdout, finished.stderr, bytes_max);
    Ok(ShellEnd {
        status: finished.status,
        output: output.text,
        output_bytes: output.bytes,
    })
}
