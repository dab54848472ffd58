//! The matrix: every boundary, and random moments.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::SEED;
use crate::boundary::{Boundary, Lookout, files_below};
use crate::place::finish;
use crate::plans::{furnish, one_item, script, three_items};
use crate::rng::{Rng, number, seed, tell};
use crate::runs::Finished;
use crate::snapshot::Snapshot;
use crate::world::{End, Kill, World};

const KILLS_DEFAULT: u64 = 16;
const WORKERS: u64 = 2;

/// What a plan comes to when nobody disturbs it, and the tree that it began with.
pub(crate) struct Undisturbed {
    template: TempDir,
    plan: Value,
    pub(crate) before: Snapshot,
    pub(crate) repository: Snapshot,
    pub(crate) end: End,
    boundaries: Vec<Boundary>,
    pub(crate) took: Duration,
}

impl Undisturbed {
    pub(crate) fn new(plan: Value) -> Self {
        let template = tempfile::tempdir().expect("a temporary directory can be made");
        let tree = template.path();
        furnish(tree);
        let before = Snapshot::of_tree(tree);
        let repository = Snapshot::of_repository(tree);
        let world = World::new(tree, &script(), &plan);
        let began = Instant::now();
        let done = finish(world.begin());
        let took = began.elapsed();
        let end = world.end(&done);
        world.check_receipts();
        world.check_remains(&repository);
        let boundaries = boundaries(&world);
        Self {
            template,
            plan,
            before,
            repository,
            end,
            boundaries,
            took,
        }
    }

    pub(crate) fn world(&self) -> World {
        self.world_with(&script())
    }

    pub(crate) fn world_with(&self, script: &[Value]) -> World {
        World::new(self.template.path(), script, &self.plan)
    }

    /// How many entries the logs have in the end.
    pub(crate) fn entries(&self) -> u32 {
        let entries = self.boundaries.iter().filter_map(|it| match it {
            Boundary::Entries(entries) => Some(*entries),
            Boundary::There(_) => None,
        });
        entries.max().unwrap_or_default()
    }

    /// All that must hold after a kill, and that the plan comes to its end all the same.
    pub(crate) fn check(&self, world: &World, finished: &Finished) {
        let done = finish(world.begin_again());
        let end = world.end(&done);
        let differs = self.end.tree.difference(&end.tree);
        assert_eq!(differs, Vec::<String>::new(), "{done:?}");
        assert_eq!(end, self.end, "{done:?}");
        world.check_not_repeated(finished);
        world.check_runs();
        world.check_receipts();
        world.check_remains(&self.repository);
    }
}

/// Everything that a plan of one item leaves behind one after the other, also in the tree.
fn boundaries(world: &World) -> Vec<Boundary> {
    let dir = world.dir();
    let entries = Lookout::new(&dir).entries();
    let mut all: Vec<Boundary> = (1..=entries).map(Boundary::Entries).collect();
    let there = |pattern: &str| Boundary::There(pattern.to_owned());
    all.extend(
        [
            "store.db",
            "store.db.work/keys/ed25519.key",
            "store.db.work/copies/*/a/merged",
            "store.db.work/copies/*/a/boot",
            "store.db.work/copies/*/a/upper/tests-were-here.txt",
            "work/.git/bonded-publish",
            "work/.git/bonded-publish/journal",
            "store.db.work/trees/*/journal.json",
            "work/ignored/new",
            "work/moved/renamed.txt",
            "work/to_folder/a/b",
            "store.db.work/trees/*/history.jsonl",
            "store.db.work/chains",
            "store.db.work/chains/*",
        ]
        .map(there),
    );
    let kept = files_below(&dir, "store.db.work/plans");
    all.extend(kept.iter().map(|pattern| there(pattern)));
    all
}

#[test]
fn a_plan_that_is_killed_at_any_boundary_has_happened_or_not_and_comes_to_the_same_end() {
    let one = Undisturbed::new(one_item());
    kill_at_every_boundary(&one, &[&one.before, &one.end.tree]);
    if number("BONDED_WORK_CRASH_PLANS") > Some(1) {
        let three = Undisturbed::new(three_items());
        kill_at_every_boundary(&three, &[&one.before, &one.end.tree, &three.end.tree]);
    }
}

/// `trees` are those before and after each publish.
fn kill_at_every_boundary(undisturbed: &Undisturbed, trees: &[&Snapshot]) {
    let boundaries = &undisturbed.boundaries;
    let [next, made, publishing] = [const { AtomicU64::new(0) }; 3];
    in_parallel(|_| {
        while let Some(boundary) = boundaries.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
            with_context(&format!("{boundary:?}"), || {
                let world = undisturbed.world();
                let mut finished = Finished::default();
                if world.kill(world.begin(), &Kill::At(boundary)).is_ok() {
                    made.fetch_add(1, Ordering::Relaxed);
                    let is_publishing = world.check_after_kill(trees, &undisturbed.repository);
                    publishing.fetch_add(u64::from(is_publishing), Ordering::Relaxed);
                    finished = world.finished();
                }
                undisturbed.check(&world, &finished);
            });
        }
    });
    let (made, all) = (made.into_inner(), boundaries.len() as u64);
    let publishing = publishing.into_inner();
    tell(&format!(
        "{made} kills at {all} boundaries, {publishing} while it was published"
    ));
    // Some are there for less time than it takes to look.
    assert!(made * 10 >= all * 8, "{made} of {all}");
    assert!(publishing > 0);
}

#[test]
fn a_plan_that_is_killed_at_random_moments_has_happened_or_not_and_comes_to_the_same_end() {
    let kills = number("BONDED_WORK_CRASH_KILLS").unwrap_or(KILLS_DEFAULT);
    let seed = seed(SEED);
    let undisturbed = Undisturbed::new(three_items());
    let first = Undisturbed::new(one_item()).end.tree;
    let trees = [&undisturbed.before, &first, &undisturbed.end.tree];
    let made = AtomicU64::new(0);
    in_parallel(|worker| {
        let mut rng = Rng::of(seed, worker);
        while made.load(Ordering::Relaxed) < kills {
            with_context(&format!("BONDED_WORK_CRASH_SEED={seed}"), || {
                let world = undisturbed.world();
                let mut finished = Finished::default();
                // The second kill meets the process that recovers.
                for _ in 0..=rng.below(2) {
                    let moment = moment(&mut rng, &undisturbed);
                    if world.kill(world.begin_again(), &moment).is_err() {
                        break;
                    }
                    made.fetch_add(1, Ordering::Relaxed);
                    world.check_after_kill(&trees, &undisturbed.repository);
                    world.check_not_repeated(&finished);
                    finished = world.finished();
                }
                undisturbed.check(&world, &finished);
            });
        }
    });
    tell(&format!(
        "{} kills, BONDED_WORK_CRASH_SEED={seed}",
        made.into_inner()
    ));
}

fn moment(rng: &mut Rng, undisturbed: &Undisturbed) -> Kill<'static> {
    let within = u64::try_from(undisturbed.took.as_micros()).unwrap_or(u64::MAX);
    Kill::After(Duration::from_micros(rng.below(within + within / 10)))
}

fn in_parallel(work: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        let work = &work;
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| scope.spawn(move || work(worker)))
            .collect();
        for worker in workers {
            if let Err(panic) = worker.join() {
                resume_unwind(panic);
            }
        }
    });
}

/// Says where it was when something did not hold.
pub(crate) fn with_context(context: &str, check: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(check)) {
        tell(&format!("at {context}"));
        resume_unwind(panic);
    }
}
