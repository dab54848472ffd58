//! A server that is killed again and again while threads of a test ask it things, and the calm after it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::Request;
use crate::killer::{Over, aim, check_lines, joined};
use crate::place::Place;
use crate::rng::{Rng, number, seed, tell};
use crate::rules::text;
use crate::server::{Server, Shared};
use crate::{KILLS, SEED};

const KILLS_DEFAULT: u64 = 7;

/// Long enough for a busy machine; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long after what is aimed at a kill comes, at most.
const AIM_US: u64 = 12_000;

/// A data directory, the server on it, and a seed that says what happens.
pub(crate) struct Storm {
    pub(crate) place: Place,
    pub(crate) shared: Arc<Shared>,
    pub(crate) seed: u64,
    server: Server,
}

impl Storm {
    pub(crate) fn begin(config: &Value) -> Self {
        let seed = seed(SEED);
        tell(&format!("{SEED}={seed}"));
        let shared = Arc::new(Shared::default());
        let place = Place::with_config(config);
        let server = Server::begin(&place, &shared);
        server.wait();
        Self {
            place,
            shared,
            seed,
            server,
        }
    }

    /// The workspace that every directory begins with.
    pub(crate) fn workspace(&self) -> String {
        text(&self.shared.get("/api/workspaces")["workspaces"][0]["workspace_id"])
    }

    /// Makes something that does not exist yet.
    pub(crate) fn made(&self, path: &str, key: &str, body: Value) -> Value {
        let answer = self.shared.insist(&Request {
            method: "POST",
            path: path.into(),
            key: key.into(),
            body: Some(body),
        });
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body
    }

    /// A note of its own for each part of a test.
    pub(crate) fn note(&self, name: &str) -> String {
        let body = json!({ "workspace_id": self.workspace(), "title": name });
        text(&self.made("/api/notes", name, body)["note_id"])
    }

    /// Lets so many threads work until they see that it is over, and kills the server while they do: a moment after the
    /// counter has counted once more. Gives what the threads give.
    pub(crate) fn rage<T: Send>(
        &mut self,
        threads: u64,
        aimed_at: &AtomicU64,
        work: impl Fn(u64, &Shared) -> T + Sync,
    ) -> Vec<T> {
        let kills = number(KILLS).unwrap_or(KILLS_DEFAULT);
        let mut rng = Rng::of(self.seed, threads);
        let shared = self.shared.clone();
        thread::scope(|scope| {
            let (shared, work) = (&shared, &work);
            let workers: Vec<_> = (0..threads)
                .map(|number| scope.spawn(move || work(number, shared)))
                .collect();
            let over = Over(shared);
            for _ in 0..kills {
                aim(&self.server, aimed_at, rng.below(300), rng.below(AIM_US));
                check_lines(&self.server.restart(&self.place, Signal::KILL));
            }
            drop(over);
            workers.into_iter().map(joined).collect()
        })
    }

    /// Kills it once more, with nothing under way, and starts it again.
    pub(crate) fn restart(&mut self) {
        check_lines(&self.server.restart(&self.place, Signal::KILL));
        self.server.wait();
    }

    /// The runs of a workspace, once all have ended.
    pub(crate) fn runs(&self) -> Vec<Value> {
        let workspace = self.workspace();
        let began = Instant::now();
        loop {
            let path = format!("/api/automation/runs?workspace_id={workspace}");
            let runs = self.shared.list(&path, "runs");
            let is_open = |run: &&Value| run["finished_at"].is_null();
            let open = runs.iter().filter(is_open).count();
            if open == 0 {
                return runs;
            }
            assert!(began.elapsed() < PATIENCE, "{open} runs have not ended");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

pub(crate) fn is_over(shared: &Shared) -> bool {
    shared.is_over.load(Ordering::Relaxed)
}
