//! What tools cost, each beside the least that the same work can cost. Prints two numbers, ours and the other's.
//!
//! | arguments | numbers |
//! |---|---|
//! | `read DIR CALLS` | CPU of one `read` of a note, called as a function, in ns; the second number is 0 |
//! | `mcp SERVER CALLS` | CPU of this process for one call of a stdio server's tool, in ns; the SDK's bare client |
//! | `family TIMES` | CPU of what is known of a model by its name, once, in ns; of a look into a map of all names |
//! | `run LAUNCHER DIR COMMANDS` | time of one command in the sandbox, in ns; the same command without it |

mod family;
mod mcp;
mod read;
mod run;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Ours, and what it is compared with.
type Costs = (Duration, Duration);

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // There is nobody to tell if stderr is closed.
            let _ = writeln!(std::io::stderr(), "tool_costs: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Fault> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // As the program has it.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build()?;
    let (ours, other) = match words.as_slice() {
        ["read", dir, calls] => runtime.block_on(read::costs(dir, calls.parse()?))?,
        ["family", times] => family::costs(times.parse()?)?,
        ["mcp", server, calls] => runtime.block_on(mcp::costs(server, calls.parse()?))?,
        ["run", launcher, dir, commands] => {
            runtime.block_on(run::costs(launcher, dir, commands.parse()?))?
        }
        _ => return Err("the arguments are not among those that are known".into()),
    };
    writeln!(
        std::io::stdout(),
        "{} {}",
        ours.as_nanos(),
        other.as_nanos()
    )?;
    Ok(())
}

/// What this process has used of the processor so far, all its threads together.
fn cpu() -> Duration {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    let whole = Duration::from_secs(used.tv_sec.unsigned_abs());
    whole + Duration::from_nanos(used.tv_nsec.unsigned_abs())
}
