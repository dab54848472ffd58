//! Clients that ask a server, and what they and the server have seen.

use std::collections::BTreeMap;
use std::process::Command;

use super::Rig;
use super::served::Served;
use crate::bench::process::measure as measure_process;
use crate::fault::Fault;

/// Who may ask; each client is one of them, or several.
pub(super) const PEOPLE: u64 = 100;

/// What the clients ask, and how often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load<'a> {
    /// One after the other, with commas between.
    pub(super) kinds: &'a str,
    pub(super) requests: u64,
    pub(super) clients: u64,
    pub(super) pause_ms: u64,
    pub(super) notes: u64,
    /// The first of the notes that are patched; no two loads on one server have the same.
    pub(super) first: u64,
}

/// What came of it.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    /// By kind.
    p95_ms: BTreeMap<String, f64>,
    pub(super) cpu_per_request_ms: f64,
    pub(super) requests_per_second: f64,
}

impl Load<'_> {
    pub(super) fn on(&self, rig: &Rig, served: &Served) -> Result<Loaded, Fault> {
        let mut command = Command::new(&rig.programs.workspace_load);
        let mut option = |name: &str, number: u64| {
            command.arg(name).arg(number.to_string());
        };
        option("--port", served.port.into());
        option("--clients", self.clients);
        option("--people", PEOPLE);
        option("--requests", self.requests);
        option("--pause-ms", self.pause_ms);
        option("--notes", self.notes);
        option("--first", self.first);
        command.args(["--kinds", self.kinds]);
        let before = served.cpu()?;
        let said = measure_process(command)?.stdout;
        let cpu_ms = (served.cpu()? - before).as_secs_f64() * 1e3;
        read(&said, cpu_ms)
            .ok_or_else(|| Fault::unmeasured(format!("the clients told nothing useful: {said:?}")))
    }
}

impl Loaded {
    pub(super) fn p95_ms(&self, kind: &str) -> f64 {
        self.p95_ms.get(kind).copied().unwrap_or(f64::NAN)
    }
}

/// A line for each kind, `NAME COUNT HALF P95 P99 MAX`, and the last one, `all COUNT WALL`; times in microseconds.
fn read(said: &str, cpu_ms: f64) -> Option<Loaded> {
    let mut p95_ms = BTreeMap::new();
    let mut all = None;
    for line in said.lines() {
        let (name, numbers) = line.split_once(' ')?;
        let numbers: Vec<f64> = numbers
            .split(' ')
            .map(|number| number.parse().ok())
            .collect::<Option<_>>()?;
        match (name, &numbers[..]) {
            ("all", [requests, wall_us]) => all = Some((*requests, *wall_us)),
            (kind, [_, _, p95_us, _, _]) => {
                p95_ms.insert(kind.to_owned(), p95_us / 1e3);
            }
            _ => return None,
        }
    }
    let (requests, wall_us) = all?;
    Some(Loaded {
        p95_ms,
        cpu_per_request_ms: cpu_ms / requests,
        requests_per_second: requests / (wall_us / 1e6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_clients_tell_is_read_or_refused() {
        let said = "read 50 1000 2500 3000 9000\nsearch 50 1000 9000 9000 9000\nall 100 2000000\n";
        let loaded = read(said, 40.0).expect("it is told");
        assert_eq!(loaded.p95_ms("read"), 2.5);
        assert_eq!(loaded.p95_ms("search"), 9.0);
        assert!(loaded.p95_ms("list").is_nan());
        assert_eq!(loaded.cpu_per_request_ms, 0.4);
        assert_eq!(loaded.requests_per_second, 50.0);
        for said in ["", "read 1 2 3 4 5\n", "all x 1\n", "read 1 2\nall 1 1\n"] {
            assert!(read(said, 1.0).is_none(), "{said:?}");
        }
    }
}
