//! A place whose runs are kept on a server.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use bonded_testkit::patience::{PATIENCE, wait_until};
use bonded_testkit::place::{Done, Place, finish, parse, program, start};
use bonded_testkit::postgres::{Database, PostgresServer};
use bonded_testkit::process::Process;
use serde_json::Value;

pub(crate) struct Shop {
    pub(crate) place: Place,
    pub(crate) database: Database,
}

impl Shop {
    /// A store with a lease of this length; `None` where there is no server to be had.
    pub(crate) fn new(lease_ms: u64) -> Option<Self> {
        let database = PostgresServer::shared()?.database();
        let address = format!("{}&bonded_lease_ms={lease_ms}", database.address("app"));
        Some(Self::at(database, &address))
    }

    /// A store in this database, which is used at this address.
    pub(crate) fn at(database: Database, address: &str) -> Self {
        Self::made_by(&program(), database, address)
    }

    /// The same, made by this build of the program.
    pub(crate) fn made_by(program: &Path, database: Database, address: &str) -> Self {
        let owner = Place::with_store(&database.address("owner"));
        let words = ["store", "init", "--grant", "app"];
        finish(start(&mut owner.command_of(program, &words))).succeeds();
        let place = Place::with_store(address);
        Self { place, database }
    }

    /// The lines of a file that commands of the agent write to.
    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.place.work().join(name));
        text.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Queues a run that plays this script.
    #[track_caller]
    pub(crate) fn queue(&self, id: &str, lines: &[Value], flags: &[&str]) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let script = self.place.write(&format!("{id}.jsonl"), text);
        let script = format!("script:{}", script.display());
        let words = [
            "run", "--detach", "--id", id, "--model", &script, "the goal",
        ];
        let queued = self.place.bonded(&[&words, flags].concat());
        queued.succeeds();
        assert_eq!(queued.stdout.trim(), id);
    }

    /// Starts a worker, which is ready when this returns.
    pub(crate) fn worker(&self, flags: &[&str]) -> Process {
        let words = [&["worker"], flags].concat();
        let worker = Process::begin(&mut self.place.command(&words));
        worker.wait_until_told("worker of");
        worker
    }

    /// How many runs have not ended.
    pub(crate) fn open(&self) -> usize {
        let open = "SELECT count(*) FROM bonded.drive WHERE state <> 3";
        self.database.sql(open).parse().expect("it is a number")
    }

    /// What a run waits for, as it is listed.
    pub(crate) fn waits_for(&self, id: &str) -> String {
        let listed = self.place.bonded(&["runs", "--json"]);
        let mut runs = listed.stdout.lines().map(parse);
        let run = runs.find(|run| run["runId"] == id).unwrap_or_default();
        run["waitsFor"].as_str().unwrap_or_default().to_owned()
    }

    fn is_driven_by(&self, process: &Child) -> bool {
        let name = "SELECT w.name FROM bonded.drive d JOIN bonded.worker w ON w.id = d.worker";
        let name = self.database.sql(name);
        name.starts_with(&format!("process {} ", process.id()))
    }

    /// Starts processes that resume the run until one drives it, or found that it had ended; gives that one, and how long the
    /// run was nobody's.
    pub(crate) fn take_over(&self) -> (Child, Duration) {
        let began = Instant::now();
        loop {
            let mut next = start(&mut self.place.command(&["resume", "run"]));
            let has_ended = |child: &mut Child| {
                child
                    .try_wait()
                    .expect("a child can be looked at")
                    .is_some()
            };
            wait_until("it drives or ends", || {
                has_ended(&mut next) || self.is_driven_by(&next)
            });
            if !has_ended(&mut next) {
                return (next, began.elapsed());
            }
            match next.wait().expect("a child can be waited for").success() {
                true => return (next, began.elapsed()),
                false => {
                    let failed = finish(next);
                    let is_expected = ["run-held", "lease-lost"].contains(&failed.error());
                    assert!(is_expected, "{failed:?}");
                }
            }
            assert!(began.elapsed() < PATIENCE, "nobody took it over");
        }
    }

    /// Takes the run over and drives it to its end. A driver that stands still on a busy machine loses its lease, and is taken
    /// over too.
    pub(crate) fn finish(&self) -> Done {
        let began = Instant::now();
        loop {
            let done = finish(self.take_over().0);
            let is_lost = done.code == Some(3) && done.error() == "lease-lost";
            if !is_lost || began.elapsed() > PATIENCE {
                return done;
            }
        }
    }
}
