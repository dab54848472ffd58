//! What a turn writes, syncs and leaves on the disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::figure::{Figure, Goal};
use super::process::measure as measure_process;
use super::rig::{PLAIN, Rig, TURNS};
use crate::fault::Fault;

const RUNS: usize = 256;

/// Two runs are watched. What the longer one does more is what turns do, without what it takes to make
/// the file and to close it.
const WATCHED_TURNS: [u64; 2] = [10, 110];

pub(crate) fn measure(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let turns = (RUNS * TURNS) as f64;
    let store = rig.fresh("disk-ours")?;
    measure_process(rig.ours_each(&store, RUNS, 32, PLAIN)?)?;
    let db = rig.fresh("disk-floor")?;
    measure_process(rig.floor(&db, RUNS, 32, PLAIN))?;
    let (ours, floor) = (kept_bytes(&store)? / turns, kept_bytes(&db)? / turns);
    let mut figures = vec![
        Figure::new(
            "kept of a turn, short runs",
            "bytes",
            ours,
            Goal::AtMost(1024.0),
        )
        .beside(floor),
    ];
    if strace_works() {
        figures.extend(watched(rig)?);
    } else {
        println!("strace is missing: what is written and synced was not measured");
    }
    Ok(figures)
}

/// All that lies where a store was made: its file and what stands beside it.
pub(crate) fn kept_bytes(store: &Path) -> Result<f64, Fault> {
    let dir = store.parent().unwrap_or(store);
    let mut bytes = 0;
    for entry in fs::read_dir(dir).map_err(Fault::file(dir))? {
        let metadata = entry.and_then(|entry| entry.metadata());
        let metadata = metadata.map_err(Fault::file(dir))?;
        bytes += if metadata.is_file() {
            metadata.len()
        } else {
            0
        };
    }
    Ok(bytes as f64)
}

fn strace_works() -> bool {
    let mut command = Command::new("strace");
    command.args(["-f", "-o", "/dev/null", "true"]);
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    silent.is_ok_and(|status| status.success())
}

/// What the turns of one run do to the disk, as the system sees it.
fn watched(rig: &Rig) -> Result<Vec<Figure>, Fault> {
    let ours = per_turn(rig, |store, model| rig.ours(store, "one", model))?;
    let floor = per_turn(rig, |db, model| rig.floor(db, 1, 1, model))?;
    let figure = |name, unit, at: usize, max| {
        Figure::new(name, unit, ours[at], Goal::AtMost(max)).beside(floor[at])
    };
    Ok(vec![
        figure("written in a turn, one run", "bytes", 0, 4096.0),
        figure("syncs in a turn, one run", "syncs", 1, 2.0),
    ])
}

/// The bytes and the syncs of a turn.
fn per_turn(rig: &Rig, command: impl Fn(&Path, &str) -> Command) -> Result<[f64; 2], Fault> {
    let [short, long] = WATCHED_TURNS;
    let watch_turns = |turns: u64| {
        let store = rig.fresh("written")?;
        watch(rig, &store, &command(&store, &format!("turns-{turns}")))
    };
    let (less, more) = (watch_turns(short)?, watch_turns(long)?);
    let each = |less: u64, more: u64| (more as f64 - less as f64) / (long - short) as f64;
    Ok([each(less.bytes, more.bytes), each(less.syncs, more.syncs)])
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Disk {
    bytes: u64,
    syncs: u64,
}

fn watch(rig: &Rig, store: &Path, command: &Command) -> Result<Disk, Fault> {
    let trace = rig.path("trace.txt");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-y", "-s", "0", "-e", "signal=none"])
        .args([
            "-e",
            "trace=write,writev,pwrite64,pwritev,fsync,fdatasync",
            "-o",
        ])
        .arg(&trace)
        .arg(command.get_program())
        .args(command.get_args());
    measure_process(strace)?;
    let text = fs::read_to_string(&trace).map_err(Fault::file(&trace))?;
    Ok(sum_up(&text, &store.to_string_lossy()))
}

/// Adds up the calls of a trace on files whose path begins so. A call that another thread's call
/// interrupts stands in two lines.
fn sum_up(trace: &str, path: &str) -> Disk {
    let on_file = format!("<{path}");
    let mut disk = Disk::default();
    let mut open: BTreeMap<&str, bool> = BTreeMap::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        if let Some(resumed) = call.strip_prefix("<... ") {
            if open.remove(thread) == Some(true) {
                disk.add(resumed);
            }
        } else if call.ends_with("<unfinished ...>") {
            open.insert(thread, call.contains(&on_file));
        } else if call.contains(&on_file) {
            disk.add(call);
        }
    }
    disk
}

impl Disk {
    fn add(&mut self, call: &str) {
        let result = call.rsplit_once("= ").map(|(_, result)| result.trim());
        if call.starts_with("fsync") || call.starts_with("fdatasync") {
            self.syncs += 1;
        } else if let Some(Ok(bytes)) = result.map(str::parse::<u64>) {
            self.bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_syncs_of_the_store_are_added_up_and_others_left_out() {
        let trace = "\
11 pwrite64(5</x/store.db-wal>, \"\"..., 1048, 32) = 1048
12 write(1<pipe:[5]>, \"\"..., 99) = 99
12 write(9</x/store.db>, \"\"..., 24 <unfinished ...>
11 fdatasync(5</x/store.db-wal> <unfinished ...>
12 <... write resumed>) = 24
11 <... fdatasync resumed>) = 0
11 fsync(6</x>) = 0
11 pwrite64(5</x/store.db-wal>, \"\"..., 7, 32) = -1 ENOSPC (No space left on device)
11 +++ exited with 0 +++
";
        let expected = Disk {
            bytes: 1072,
            syncs: 1,
        };
        assert_eq!(sum_up(trace, "/x/store.db"), expected);
    }
}
