//! CPU time of processes, as Linux accounts it: of those that this one has waited for, and of one under way.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::fault::Fault;

/// The unit of these fields is the same on every architecture that Rust's toolchains run on.
const TICKS_PER_SECOND: u64 = 100;

/// Where the fields lie in `/proc/self/stat`, counted after the program's name, which may hold spaces: user and system
/// time, one after the other.
const OWN: usize = 11;
const CHILDREN: usize = 13;

/// User and system time of all children that were waited for, and of those that they waited for.
pub(crate) fn of_children() -> Result<Duration, Fault> {
    read(Path::new("/proc/self/stat"), CHILDREN)
}

/// User and system time of all threads of a process, those that have ended too.
pub(crate) fn of_process(id: u32) -> Result<Duration, Fault> {
    read(Path::new(&format!("/proc/{id}/stat")), OWN)
}

/// What all processes of the machine have used since it started.
pub(crate) fn of_machine() -> Result<Duration, Fault> {
    let path = Path::new("/proc/stat");
    let stat = fs::read_to_string(path).map_err(Fault::file(path))?;
    // User, nice and system time; waiting is not counted.
    let fields = stat.split_whitespace().skip(1).take(3);
    let ticks: Option<u64> = fields.map(|it| it.parse::<u64>().ok()).sum();
    let ticks = ticks.ok_or_else(|| Fault::unmeasured("/proc/stat does not read as on Linux"))?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// The same, with all children of that process that it has waited for.
pub(crate) fn of_process_and_ended(id: u32) -> Result<Duration, Fault> {
    let stat = format!("/proc/{id}/stat");
    Ok(read(Path::new(&stat), OWN)? + read(Path::new(&stat), CHILDREN)?)
}

fn read(path: &Path, first: usize) -> Result<Duration, Fault> {
    let stat = fs::read_to_string(path).map_err(Fault::file(path))?;
    let ticks = ticks(&stat, first).ok_or_else(|| {
        Fault::unmeasured(format!("{} does not read as on Linux", path.display()))
    })?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// The sum of two fields.
fn ticks(stat: &str, first: usize) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(field(first)? + field(first + 1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b c) S 1 7 7 0 -1 4194560 112 9 0 0 1 2 30 4 20 0 1 0 99 1000 10";
        assert_eq!(ticks(stat, CHILDREN), Some(34));
        assert_eq!(ticks(stat, OWN), Some(3));
        assert_eq!(ticks("7 (a) S 1", OWN), None);
    }
}
