//! `run`, with an agent and without, and `resume`.

use std::fs;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::agents;
use crate::model::TOOL;
use crate::moments::{each, signalled};
use crate::place::{Done, Place, call, done, finish, start, with};
use crate::rng::Rng;

const CALLS: usize = 5;
const EACH: usize = 4;
const REPLY_DELAY_MS: u64 = 10;

/// A run that somebody may end at any moment.
struct Scene {
    place: Place,
    words: Vec<String>,
    /// The tool whose calls are counted, and how.
    tool: &'static str,
    count: fn(&Place) -> usize,
}

impl Scene {
    /// Commands, each of which leaves a line.
    fn plain() -> Self {
        let place = Place::new();
        let mut lines: Vec<_> = (0..CALLS)
            .map(|n| call("run", json!({ "command": format!("echo {n} >> ran") })))
            .collect();
        lines.push(done("counted"));
        let lines = lines
            .into_iter()
            .map(|it| with(it, "delay_ms", REPLY_DELAY_MS));
        let script = place.script(&lines.collect::<Vec<_>>());
        Self {
            place,
            words: ["run", "--id", "run", "--model", &script, "count"]
                .map(str::to_owned)
                .to_vec(),
            tool: "run",
            count: ran,
        }
    }

    fn agent() -> Self {
        let (place, agent) = agents::place();
        let words = ["run", "--id", "run"].map(str::to_owned).to_vec();
        Self {
            place,
            words: [words, agent, vec!["count".to_owned()]].concat(),
            tool: TOOL,
            count: agents::counted,
        }
    }

    fn begin(&self, signal: Signal, after: Duration) -> Done {
        signalled(start(&mut self.place.command(&self.words)), signal, after)
    }

    /// Goes on with the run, or begins it where nothing is known of it.
    fn go_on(&self, signal: Option<(Signal, Duration)>) -> Done {
        let words = match self.place.status("run") {
            Some(_) => ["resume", "run", "--trust"].map(str::to_owned).to_vec(),
            None => self.words.clone(),
        };
        let child = start(&mut self.place.command(&words));
        match signal {
            Some((signal, after)) => signalled(child, signal, after),
            None => finish(child),
        }
    }

    /// The process ended as it must, and left the run as it must.
    fn check_end(&self, signal: Signal, ended: &Done) -> Option<String> {
        let status = self.place.status("run");
        let by_itself = (Some(0), Some("succeeded"));
        let known = (ended.code, status.as_deref());
        let is_left =
            |status: Option<&str>| matches!(status, None | Some("interrupted" | "succeeded"));
        let is_due = match signal {
            // Before the program listens, a signal ends the process.
            Signal::INT => {
                matches!(known.0, Some(130) | None) && is_left(known.1) || known == by_itself
            }
            Signal::TERM => {
                matches!(known.0, Some(143) | None) && is_left(known.1) || known == by_itself
            }
            Signal::HUP => {
                matches!(known.0, Some(129) | None) && is_left(known.1) || known == by_itself
            }
            // It ends only what has not begun yet, and so has said nothing.
            Signal::PIPE => {
                let is_early = known.0.is_none() && ended.stderr.is_empty();
                is_early && is_left(known.1) || known == by_itself
            }
            _ => known.0.is_none() && is_left(known.1) || known == by_itself,
        };
        assert!(is_due, "{status:?}: {ended:?}");
        status
    }

    /// The run comes to its end, and what was in its log is in it still.
    fn check_whole(&self) {
        let status = self.place.status("run");
        let before = status.as_ref().map_or(vec![], |_| self.place.log("run"));
        let resumed = self.go_on(None);
        let after = self.place.log("run");
        assert_eq!(
            after.get(..before.len()),
            Some(&before[..]),
            "entries were lost"
        );
        assert_eq!(resumed.code, Some(0), "{resumed:?}");
        assert!(resumed.stdout.contains("counted"), "{resumed:?}");
        assert_eq!(self.place.status("run").as_deref(), Some("succeeded"));
        self.place.passes_the_audit("run");
        self.place
            .check_witness(self.tool, (self.count)(&self.place));
    }
}

fn ran(place: &Place) -> usize {
    let lines = fs::read_to_string(place.work().join("ran")).unwrap_or_default();
    lines.lines().count()
}

fn undisturbed(scene: &Scene) {
    let ended = finish(start(&mut scene.place.command(&scene.words)));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    scene
        .place
        .check_witness(scene.tool, (scene.count)(&scene.place));
}

fn run(name: &str, scene: fn() -> Scene) {
    each(
        name,
        || undisturbed(&scene()),
        |signal, _, after| {
            let scene = scene();
            let ended = scene.begin(signal, after);
            scene.check_end(signal, &ended);
            scene.check_whole();
        },
    );
}

/// The process that is sent the signal is one that goes on after a kill.
fn resume(name: &str, scene: fn() -> Scene) {
    each(
        name,
        || undisturbed(&scene()),
        |signal, rng: &mut Rng, after| {
            let scene = scene();
            scene.begin(Signal::KILL, after);
            let then =
                Duration::from_micros(rng.below(u64::try_from(after.as_micros()).unwrap_or(0) + 1));
            let ended = scene.go_on(Some((signal, then)));
            scene.check_end(signal, &ended);
            scene.check_whole();
        },
    );
}

#[test]
fn a_run_that_is_sent_any_signal_is_whole_and_goes_on() {
    run("run", Scene::plain);
}

#[test]
fn a_run_of_an_agent_that_is_sent_any_signal_is_whole_and_goes_on() {
    run("run --agent", Scene::agent);
}

#[test]
fn a_run_that_is_being_resumed_is_whole_and_goes_on() {
    resume("resume", Scene::plain);
}

#[test]
fn a_run_of_an_agent_that_is_being_resumed_is_whole_and_goes_on() {
    resume("resume of an agent", Scene::agent);
}

#[test]
fn many_goals_that_a_signal_came_between_are_each_done_once_in_the_end() {
    let scene = || {
        let place = Place::new();
        let lines = [
            call("run", json!({ "command": "echo x >> ran" })),
            done("counted"),
        ];
        let script = place.script(&lines.map(|it| with(it, "delay_ms", REPLY_DELAY_MS)));
        let goals: String = (0..EACH)
            .map(|n| format!("{{\"id\":\"g{n}\",\"goal\":\"count\"}}\n"))
            .collect();
        let file = place.path("goals.jsonl");
        fs::write(&file, goals).expect("goals can be written");
        let file = file.display().to_string();
        let words = ["run", "--each", &file, "--jobs", "2", "--model", &script];
        let words: Vec<String> = words.map(str::to_owned).to_vec();
        (place, words)
    };
    let undisturbed = || {
        let (place, words) = scene();
        let ended = finish(start(&mut place.command(&words)));
        assert_eq!(ended.code, Some(0), "{ended:?}");
    };
    each("each", undisturbed, |signal, _, after| {
        let (place, words) = scene();
        signalled(start(&mut place.command(&words)), signal, after);
        let before = ran(&place);
        let again = finish(start(&mut place.command(&words)));
        let statuses: Vec<_> = (0..EACH).map(|n| place.status(&format!("g{n}"))).collect();
        assert!(
            statuses.iter().all(|it| it.as_deref() == Some("succeeded")),
            "{statuses:?} {again:?}"
        );
        // A command that was cut off is told as such and is not made again.
        assert!(
            (before..=EACH).contains(&ran(&place)),
            "{before} {}",
            ran(&place)
        );
    });
}
