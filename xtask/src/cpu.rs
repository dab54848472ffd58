//! CPU time of processes that this one has waited for, as Linux accounts it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::fault::Fault;

/// The unit of these fields is the same on every architecture that Rust's toolchains run on.
const TICKS_PER_SECOND: u64 = 100;

/// Where the fields lie in `/proc/self/stat`, counted after the program's name, which may hold spaces.
const CHILDREN_USER: usize = 13;
const CHILDREN_SYSTEM: usize = 14;

/// User and system time of all children that were waited for, and of those that they waited for.
pub(crate) fn of_children() -> Result<Duration, Fault> {
    let path = Path::new("/proc/self/stat");
    let stat = fs::read_to_string(path).map_err(Fault::file(path))?;
    let ticks = children_ticks(&stat)
        .ok_or_else(|| Fault::unmeasured("/proc/self/stat does not read as on Linux"))?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

fn children_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ticks(CHILDREN_USER)? + ticks(CHILDREN_SYSTEM)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b c) S 1 7 7 0 -1 4194560 112 9 0 0 1 2 30 4 20 0 1 0 99 1000 10";
        assert_eq!(children_ticks(stat), Some(34));
        assert_eq!(children_ticks("7 (a) S 1"), None);
    }
}
