//! The limits that the kernel holds every process to.
//!
//! They hold for each process by itself, except for the number of processes, which the kernel counts by user.
//! They are set where the other restrictions are, or by the supervisor where there are none: limits hold at
//! every level. Both the soft and the hard limit are set, so that no command can raise them again, and neither
//! is ever set above the hard limit of this process.

use bonded_kernel::ProcessLimits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::enter::failed;

/// Sets the limits for this process and all that come of it. `counts_apart` says whether the processes of
/// the sandbox are counted by themselves; else they are counted with everything that the user runs.
pub(super) fn set(limits: &ProcessLimits, counts_apart: bool) -> Result<(), String> {
    let others = if counts_apart { 0 } else { tasks_of_all() };
    for (resource, most, what) in [
        (Resource::Core, 0, "forbid core dumps"),
        (Resource::Cpu, limits.cpu_s, "limit the processor"),
        (Resource::Data, limits.memory_bytes, "limit the memory"),
        (
            Resource::Fsize,
            limits.file_bytes,
            "limit the size of files",
        ),
        (
            Resource::Nproc,
            limits.processes.saturating_add(others),
            "limit the processes",
        ),
    ] {
        let allowed = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Some(most.min(allowed));
        let limit = Rlimit {
            current: most,
            maximum: most,
        };
        setrlimit(resource, limit).map_err(failed(what))?;
    }
    Ok(())
}

/// How many tasks the machine has, which is at least what the user has.
///
/// Where it cannot be read, 0: the command then has fewer processes than it was promised, never more.
fn tasks_of_all() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = load.split([' ', '/']).nth(4);
    tasks.and_then(|tasks| tasks.parse().ok()).unwrap_or(0)
}
