//! Thousands of seeded worlds.
//!
//! `BONDED_SIM_SEEDS` says how many, `BONDED_SIM_FROM` with which seed they begin.

use std::io::Write as _;
use std::ops::Range;

use bonded_kernel::Entry;
use bonded_testkit::sim::{
    Faults, Manner, Place, Plan, Tally, Temper, Violation, World, check, same_log,
};

const SEEDS: u64 = 6_000;
const THREADS: u64 = 2;

/// Plays a world twice and checks everything.
fn examine(seed: u64) -> Result<Tally, Violation> {
    let world = World::new(seed);
    let history = world.play();
    check(&history)?;
    same_log(&history, &world.play())?;
    Ok(history.tally)
}

fn examine_all(seeds: impl Iterator<Item = u64>) -> (Tally, Vec<Violation>) {
    let mut total = Tally::default();
    let mut violations = vec![];
    for seed in seeds {
        match examine(seed) {
            Ok(tally) => total.add(&tally),
            Err(violation) => violations.push(violation),
        }
    }
    (total, violations)
}

fn asked_for(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(value.parse().expect("BONDED_SIM_* are whole numbers"))
}

fn seeds() -> Range<u64> {
    let from = asked_for("BONDED_SIM_FROM").unwrap_or(1);
    let count = asked_for("BONDED_SIM_SEEDS").unwrap_or(SEEDS);
    from..from.saturating_add(count)
}

/// The seeds that once failed, one a line, each followed by what it found.
fn kept_seeds() -> Vec<u64> {
    let lines = include_str!("seeds.txt").lines();
    let lines = lines
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let seed = line.split_whitespace().next().unwrap_or_default();
            seed.parse()
                .expect("a line of seeds.txt begins with a seed")
        })
        .collect()
}

fn report(total: &Tally) {
    let Tally {
        worlds,
        places,
        resumes,
        failures,
        turns,
        entries,
        executions,
        requests,
        cancels,
        panics,
        crashes,
        endings,
        agents,
        feats,
    } = total;
    let line = format!(
        "simulated {worlds} worlds: {} crashes at {places} places, {resumes} resumes, {failures} failures, {turns} turns, \
         {requests} requests, {executions} executions, {entries} entries, {cancels} cancels, \
         {panics} panics; crashes {crashes:?}; endings {endings:?}; {agents} agents: {feats:?}\n",
        total.crashes_total(),
    );
    // Not `println!`: the harness would keep the line to itself when all is well.
    let written = std::io::stdout().write_all(line.as_bytes());
    written.expect("the report is written");
}

fn assert_none(violations: &[Violation]) {
    let shown: Vec<String> = violations
        .iter()
        .take(10)
        .map(ToString::to_string)
        .collect();
    let count = violations.len();
    assert!(
        count == 0,
        "{count} worlds broke a property:\n{}",
        shown.join("\n")
    );
}

/// What a thousand worlds show without being planned for it. Summaries are rarer and have worlds of their own.
const FEATS: [&str; 26] = [
    "another goal",
    "another limit field",
    "another route",
    "another window",
    "approved",
    "asked",
    "at the same time",
    "backed off",
    "batched",
    "coded",
    "denied",
    "dropped",
    "found",
    "guarded",
    "left out",
    "left out of custom",
    "other efforts",
    "paged",
    "progress",
    "remembered",
    "repaired",
    "reported",
    "still over",
    "tagged",
    "untrusted",
    "withheld",
];

#[test]
fn thousands_of_seeded_worlds_keep_every_property() {
    let (_, violations) = examine_all(kept_seeds().into_iter());
    assert_none(&violations);

    let seeds = seeds();
    let examined: Vec<(Tally, Vec<Violation>)> = std::thread::scope(|scope| {
        let threads = (0..THREADS).map(|nth| {
            let share = seeds.clone().filter(move |seed| seed % THREADS == nth);
            scope.spawn(move || examine_all(share))
        });
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|result| result.expect("no world panics"))
            .collect()
    });
    let mut total = Tally::default();
    let mut violations = vec![];
    for (tally, found) in examined {
        total.add(&tally);
        violations.extend(found);
    }
    report(&total);
    assert_none(&violations);
    if total.worlds >= 1_000 {
        for place in Place::ALL {
            assert!(
                total.crashes.contains_key(&place),
                "no process died {place:?}"
            );
        }
        for feat in FEATS {
            assert!(
                total.feats.contains_key(feat),
                "nothing was ever \"{feat}\": {:?}",
                total.feats
            );
        }
        assert_eq!(
            total.endings.len(),
            9,
            "a kind of end never came: {:?}",
            total.endings
        );
    }
}

/// A run in which nothing goes wrong but that its services refuse what they would not take, and nothing is scarce.
fn refused(seed: u64) -> Plan {
    let mut plan = Plan::of(seed);
    plan.faults = Faults::NONE;
    plan.temper = Temper::Diligent;
    plan.crashes_max = 0;
    plan.provider_lies = false;
    plan.narrow.clear();
    plan.goals.clear();
    plan.config.agent = None;
    plan.config.policy = None;
    plan.config.looping = None;
    plan.config.conversation = false;
    plan.config.overall = None;
    let limits = &mut plan.config.limits;
    (limits.turns_max, limits.repeats_max) = (400, 0);
    limits.attempts_per_turn_max = 3;
    (limits.elapsed_ms_max, limits.tokens_max, limits.cost_max) = (None, None, None);
    for target in &mut plan.config.targets {
        target.window = None;
    }
    plan
}

#[test]
fn a_run_whose_service_takes_less_than_anybody_knew_makes_room_or_ends_explicitly() {
    let (mut learned, mut worlds, mut ended_well) = (0, 0, 0);
    let plans = (1..=SEEDS).map(|seed| (seed, refused(seed)));
    for (seed, mut plan) in plans.take(300) {
        plan.manners.clear();
        plan.config.targets.truncate(1);
        plan.narrow = vec![Some([1_500, 3_000, 6_000][seed as usize % 3])];
        plan.config.output_tokens_max = 200;
        plan.config.limits.turns_max = 30;
        let history = World::planned(seed, plan).play();
        assert_eq!(check(&history), Ok(()));
        let of = |kind: &str| {
            history
                .entries
                .iter()
                .filter(|it| it.event.kind() == kind)
                .count()
        };
        // A lesson, another, and the refusal that ends it.
        assert!(
            of("attempt_failed") <= 3,
            "{seed}: {}",
            of("attempt_failed")
        );
        learned += of("target_learned");
        worlds += 1;
        ended_well += usize::from(history.tally.endings.contains_key("done"));
    }
    assert!(
        learned > worlds / 10,
        "{learned} lessons in {worlds} worlds"
    );
    assert!(ended_well > worlds / 10, "{ended_well} of {worlds}");
}

#[test]
fn a_run_whose_services_take_what_is_left_ends_as_its_model_says() {
    let plans = (1..=SEEDS).map(|seed| (seed, refused(seed)));
    let teaches = |plan: &Plan| {
        let first = plan.manners.first();
        first.is_some_and(|it| *it != Manner::Easy && it.can_be_met())
    };
    let mut lessons = 0;
    for (seed, plan) in plans.filter(|(_, plan)| teaches(plan)).take(300) {
        let history = World::planned(seed, plan).play();
        assert_eq!(check(&history), Ok(()));
        let learned = |entry: &&Entry| entry.event.kind() == "target_learned";
        lessons += history.entries.iter().filter(learned).count();
        let endings: Vec<&str> = history.tally.endings.keys().copied().collect();
        let is_models = matches!(endings[..], ["done"] | ["blocked"]);
        assert!(is_models, "world {seed}: {endings:?}");
    }
    assert!(lessons > 100, "only {lessons} lessons");
}

/// Agents whose windows are full of what is too short to be taken out, with and without a process that dies.
#[test]
fn worlds_that_sum_up_what_was_said_keep_every_property() {
    let mut total = Tally::default();
    for seed in 1..=200 {
        let mut plan = Plan::of(seed);
        plan.temper = Temper::Endless;
        plan.config.context_summary = true;
        plan.config.output_tokens_max = 128;
        let limits = &mut plan.config.limits;
        (limits.turns_max, limits.tool_output_bytes_max) = (60, 900);
        (limits.repeats_max, limits.tokens_max, limits.cost_max) = (0, None, None);
        limits.elapsed_ms_max = None;
        let Some(_) = &plan.config.agent else {
            continue;
        };
        for target in &mut plan.config.targets {
            target.window = Some(bonded_kernel::Window {
                tokens: 6_000,
                buffer: 0,
                vocabulary: Default::default(),
            });
        }
        let history = World::planned(seed, plan).play();
        check(&history).unwrap_or_else(|violation| panic!("{violation}"));
        total.add(&history.tally);
    }
    report(&total);
    assert!(total.feats.contains_key("summed up"), "{:?}", total.feats);
}
