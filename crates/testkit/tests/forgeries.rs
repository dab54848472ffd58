//! The properties can fail: each is shown evidence that breaks it, and must say so.

use std::collections::BTreeSet;

use bonded_kernel::{
    AgentConfig, AttemptFailed, BATCH, CallReviewed, ContextGuarded, Encoding, Event, FIND_TOOLS,
    FailureClass, GuardPoint, Head, Millis, Permission, Policy, Refusal, RefusalCode, RejectReason,
    Report, ReportFormat, ReportSource, ReportSpec, ReportStatus, Rule, SkipReason, TOOL_OUTPUT,
    TerminationKind, ToolPattern, Verdict, Window, replay,
};
use bonded_testkit::sim::{
    Faults, History, Manner, PROPERTIES, Plan, Sabotage, Temper, World, same_log, violations,
};

/// A plan for a long calm run with one target and every limit set, and none of them reached.
fn calm(seed: u64) -> Plan {
    let mut plan = Plan::of(seed);
    plan.narrow.clear();
    plan.faults = Faults::NONE;
    plan.temper = Temper::Endless;
    plan.provider_lies = false;
    plan.config.agent = None;
    plan.config.policy = None;
    plan.config.looping = None;
    plan.config.conversation = false;
    plan.config.overall = None;
    plan.goals.clear();
    plan.config.repairs = false;
    plan.manners = vec![];
    plan.config.targets.truncate(1);
    plan.config.targets[0].window = None;
    let limits = &mut plan.config.limits;
    (
        limits.turns_max,
        limits.calls_per_turn_max,
        limits.attempts_per_turn_max,
    ) = (20, 8, 5);
    (limits.tokens_max, limits.cost_max, limits.repeats_max) = (Some(10_000_000), None, 0);
    limits.elapsed_ms_max = Some(900_000);
    limits.tool_output_bytes_max = 32_768;
    plan
}

fn broken_properties(history: &History) -> Vec<&'static str> {
    let broken = violations(history).into_iter();
    broken.map(|violation| violation.property).collect()
}

fn events<'a>(history: &'a mut History, kind: &str) -> Vec<&'a mut Event> {
    let events = history.entries.iter_mut().map(|entry| &mut entry.event);
    events.filter(|event| event.kind() == kind).collect()
}

fn first<'a>(history: &'a mut History, kind: &str) -> &'a mut Event {
    let mut found = events(history, kind);
    assert!(!found.is_empty(), "the run has no {kind}");
    found.swap_remove(0)
}

fn swap_decisions(history: &mut History) {
    let mut decisions = events(history, "decision_made");
    let (one, rest) = decisions.split_first_mut().expect("a decision");
    std::mem::swap(*one, rest[0]);
}

fn overstate_usage(history: &mut History) {
    if let Event::DecisionMade(decision) = first(history, "decision_made") {
        let usage = decision.answer.usage.get_or_insert_default();
        usage.output = 1_000_000;
    }
}

fn understate_usage(history: &mut History) {
    for event in events(history, "decision_made") {
        if let Event::DecisionMade(decision) = event {
            decision.answer.usage = None;
        }
    }
}

fn limit_the_first_request(history: &mut History) {
    let failed = AttemptFailed {
        class: FailureClass::RateLimit,
        message: "".into(),
        status: None,
        retry_after_ms: Some(u64::from(u32::MAX)),
        request_id: None,
        latency_ms: 0,
        billable: false,
        overflow: None,
    };
    *first(history, "decision_made") = Event::AttemptFailed(Box::new(failed));
}

fn ask_in_vain_again(history: &mut History) {
    *first(history, "decision_made") = Event::ReplyRejected {
        reason: RejectReason::Empty,
        answer: Box::default(),
        calls: vec![],
    };
    let mut attempts = events(history, "attempt_started");
    let (one, rest) = attempts.split_first_mut().expect("an attempt");
    if let (Event::AttemptStarted { request, .. }, Event::AttemptStarted { request: later, .. }) =
        (&**one, &mut *rest[0])
    {
        *later = *request;
    }
}

fn refuse_the_first_execution(history: &mut History) {
    let call = history.executions[0].call as usize;
    if let Event::DecisionMade(decision) = first(history, "decision_made") {
        decision.calls[call].refused = Some(Refusal {
            code: RefusalCode::UnknownTool,
            message: "".into(),
        });
    }
}

fn repeat_an_execution(history: &mut History, tool: &str) {
    let found = history.executions.iter().find(|one| one.tool == tool);
    let again = found.expect("the tool was executed").clone();
    history.executions.push(again);
}

fn outlast_the_limit(history: &mut History) {
    if let Event::RunEnded(ended) = first(history, "run_ended") {
        ended.elapsed_ms = 3_600_000;
    }
}

fn forget_a_result(history: &mut History) {
    *first(history, "tool_finished") = Event::RunResumed {};
}

fn show_the_model_a_gap(history: &mut History) {
    let mut forged = history.clone();
    forget_a_result(&mut forged);
    history.live = replay(&forged.entries).ok();
}

fn ask_about_everything(history: &mut History, permission: Permission) {
    let tools = ToolPattern::new("*");
    let rules = vec![Rule { tools, permission }];
    history.config.policy = Some(Box::new(Policy {
        rules,
        ..Policy::default()
    }));
}

fn distrust_everything(history: &mut History) {
    history.config.policy = Some(Box::new(Policy {
        untrusted: vec![ToolPattern::new("*")],
        after_untrusted: Permission::Ask,
        ..Policy::default()
    }));
}

/// As if the run had not been allowed what it did.
fn read_only(history: &mut History) {
    history.config.policy = Some(Box::new(Policy {
        reads_only: true,
        ..Policy::default()
    }));
}

fn answer_nobody(history: &mut History) {
    *first(history, "tool_finished") = Event::CallReviewed(Box::new(CallReviewed {
        call: 0,
        tool: "push".into(),
        verdict: Verdict::Approved,
        digest: None,
        by: "nobody".into(),
    }));
}

type Forge = fn(&mut History);

/// What breaks each property.
/// Makes the first output one of the kernel's own tools.
fn answer_of(history: &mut History, tool: &str, output: String) {
    if let Event::ToolFinished(finished) = first(history, "tool_finished") {
        finished.tool = tool.into();
        finished.output = output.into();
    }
}

const FORGERIES: &[(&str, Forge)] = &[
    ("nothing_held_is_invoked_unapproved", |h| {
        ask_about_everything(h, Permission::Ask);
    }),
    ("nothing_held_is_invoked_unapproved", |h| {
        ask_about_everything(h, Permission::Deny);
    }),
    ("nothing_held_is_invoked_unapproved", distrust_everything),
    ("a_run_that_reads_only_changes_nothing", read_only),
    ("a_run_that_reads_only_changes_nothing", |h| {
        read_only(h);
        // What was executed is hidden, and what was offered is not.
        h.executions.clear();
    }),
    ("every_verdict_answers_one_question", answer_nobody),
    ("a_batch_has_the_results_of_its_members", |h| {
        let results = r#"{"results":[{"id":"nobody","output":"here"}]}"#;
        answer_of(h, BATCH, results.into());
    }),
    ("no_page_is_longer_than_an_output_may_be", |h| {
        let bytes_max = h.config.limits.tool_output_bytes_max as usize;
        answer_of(h, TOOL_OUTPUT, "x".repeat(bytes_max + 1));
    }),
    ("nothing_strange_was_seen", |h| {
        h.complaints.push("strange".into());
    }),
    ("the_run_ended", |h| h.live = None),
    ("the_run_ended", |h| h.live = replay(&h.entries[..4]).ok()),
    ("exactly_one_end_and_it_is_last", |h| {
        h.entries.pop();
    }),
    ("replay_equals_the_live_run", |h| {
        h.live = replay(&h.entries[..4]).ok();
    }),
    ("nothing_begins_after_the_end", |h| {
        h.executions[0].log_seq = u64::MAX;
    }),
    ("nothing_begins_after_the_end", |h| {
        h.requests[0].log_seq = u64::MAX;
    }),
    ("replay_equals_the_live_run", show_the_model_a_gap),
    ("the_audit_passes", swap_decisions),
    ("the_audit_passes", forget_a_result),
    ("no_acknowledged_entry_is_lost", |h| {
        let lost = h.acknowledged[1].seq;
        h.entries.retain(|entry| entry.seq != lost);
    }),
    ("no_acknowledged_entry_is_lost", |h| {
        h.acknowledged[1].hash = Head::EMPTY.hash;
    }),
    ("time_never_falls_in_the_log", |h| {
        h.entries[3].at = Millis(0);
    }),
    ("turns_stay_within_the_cap", |h| {
        h.config.limits.turns_max = 1;
    }),
    ("turns_stay_within_the_cap", |h| {
        h.entries.iter_mut().for_each(|entry| entry.turn = 1);
    }),
    ("calls_stay_within_the_cap", |h| {
        h.config.limits.calls_per_turn_max = 0;
    }),
    ("attempts_stay_within_the_cap", |h| {
        h.config.limits.attempts_per_turn_max = 0;
    }),
    ("nothing_is_asked_beyond_the_budget", |h| {
        h.config.limits.tokens_max = Some(100);
    }),
    ("the_reserve_covers_every_honest_request", overstate_usage),
    ("honest_spending_stays_within_the_budget", |h| {
        h.config.limits.tokens_max = Some(100);
    }),
    ("honest_spending_stays_within_the_budget", understate_usage),
    ("elapsed_time_stays_within_the_limit", outlast_the_limit),
    ("rate_limits_are_honoured", limit_the_first_request),
    ("every_execution_was_decided", |h| {
        h.executions[0].arguments = "{}".into();
    }),
    ("every_execution_was_decided", |h| {
        h.executions[0].turn = 999;
    }),
    ("every_execution_was_logged_before", |h| {
        h.executions[0].log_seq = 1;
    }),
    ("every_execution_was_logged_before", |h| {
        h.executions[0].call = 999;
    }),
    (
        "refused_calls_are_never_executed",
        refuse_the_first_execution,
    ),
    ("a_push_is_executed_at_most_once", |h| {
        repeat_an_execution(h, "push");
    }),
    ("only_a_resume_repeats_a_call", |h| {
        repeat_an_execution(h, "look");
    }),
    ("every_accepted_call_has_an_outcome", forget_a_result),
    ("success_is_never_made_up", |h| {
        h.executions[0].output = None;
    }),
    ("success_is_never_made_up", |h| {
        h.executions[0].output = Some("other".into());
    }),
    ("every_call_is_answered", show_the_model_a_gap),
    ("nothing_is_asked_in_vain_twice", ask_in_vain_again),
    ("summaries_are_few", |h| {
        h.config.context_summary = false;
        if let Event::AttemptStarted { summary, .. } = first(h, "attempt_started") {
            *summary = Some(3);
        }
    }),
    ("each_request_was_logged_and_sent_once", |h| {
        h.requests.push(h.requests[0].clone());
    }),
    ("each_request_was_logged_and_sent_once", |h| {
        h.requests[1].log_seq = 1;
    }),
];

/// A calm run of an agent whose only window is small: its tools flood it, and it goes to its last turn.
fn flooded(seed: u64) -> Plan {
    let mut plan = calm(seed);
    plan.config.repairs = true;
    plan.config.output_tokens_max = 128;
    plan.config.agent = Some(Box::new(AgentConfig {
        name: "simulated".into(),
        encoding: Encoding::Native,
        nonce: "51dec0de".into(),
        report: ReportSpec::default(),
        tools: vec![],
        agents: vec![],
        config_files: vec![],
        quotes_are_text: true,
        handed_down: None,
        deferred_above: None,
    }));
    plan.config.targets[0].window = Some(Window {
        tokens: 6_000,
        buffer: 0,
        vocabulary: Default::default(),
    });
    plan
}

/// Whether tools were executed, one output was dropped, and the run had to report itself.
fn ended_in_a_full_context(history: &History) -> bool {
    let dropped = |event: &Event| matches!(event, Event::ToolFinished(it) if it.dropped.is_some());
    let exhausted = |event: &Event| matches!(event, Event::RunEnded(it) if it.termination.kind == TerminationKind::TurnsExhausted);
    let any = |passes: &dyn Fn(&Event) -> bool| history.entries.iter().any(|it| passes(&it.event));
    let asked_last = history.requests.last().map(|sent| sent.turn);
    let last = history.entries.last().map(|entry| entry.turn);
    history.executions.len() > 1 && any(&dropped) && any(&exhausted) && asked_last == last
}

fn forge_report(history: &mut History, change: fn(&mut Report)) {
    if let Event::RunEnded(ended) = first(history, "run_ended") {
        let text = ended.report.as_ref().expect("an agent delivers a report");
        let mut report: Report = serde_json::from_str(text).expect("a report");
        change(&mut report);
        let text = serde_json::to_string(&report).expect("a report is JSON");
        ended.report = Some(text.into());
    }
}

fn skip_the_first_execution(history: &mut History) {
    let (turn, call) = (history.executions[0].turn, history.executions[0].call);
    let entry = history.entries.iter_mut().find(|entry| entry.turn == turn);
    entry.expect("the turn has entries").event = Event::CallSkipped {
        call,
        tool: "look".into(),
        reason: SkipReason::ContextBudget,
    };
}

fn guard_before_the_first_call(history: &mut History) {
    *first(history, "decision_made") = Event::ContextGuarded(Box::new(ContextGuarded {
        at: GuardPoint::TurnPreflight,
        blocked: vec![],
        still_over: vec![],
    }));
}

fn show_what_was_dropped(history: &mut History) {
    for event in events(history, "tool_finished") {
        if let Event::ToolFinished(finished) = event
            && finished.dropped.is_some()
        {
            finished.output = "all of it".into();
        }
    }
}

/// What breaks each property of agents.
const AGENT_FORGERIES: &[(&str, Forge)] = &[
    ("no_request_exceeds_a_window", |h| {
        h.requests[0].held_tokens = 6_000;
    }),
    ("the_last_turn_is_for_the_report", |h| {
        let last = h.requests.last_mut().expect("a request was sent");
        last.offered.push("look".into());
    }),
    ("the_last_turn_is_for_the_report", |h| {
        h.config.limits.turns_max = 1;
    }),
    (
        "nothing_starts_in_a_full_context",
        guard_before_the_first_call,
    ),
    ("skipped_calls_are_never_executed", skip_the_first_execution),
    ("a_dropped_output_is_never_shown", show_what_was_dropped),
    ("an_agent_delivers_one_report", |h| {
        if let Event::RunEnded(ended) = first(h, "run_ended") {
            ended.report = None;
        }
    }),
    ("an_agent_delivers_one_report", |h| {
        forge_report(h, |report| report.format = ReportFormat::Tty);
    }),
    ("the_status_follows_the_source", |h| {
        forge_report(h, |report| report.status = ReportStatus::Success);
    }),
    ("the_status_follows_the_source", |h| {
        forge_report(h, |report| report.source = ReportSource::Xml);
    }),
    ("what_was_booked_is_what_providers_reported", |h| {
        for sent in &mut h.requests {
            let usage = sent.usage.get_or_insert_default();
            usage.output += 1;
        }
    }),
    ("a_rejected_reply_executes_nothing", |h| {
        h.executions[0].turn = 999;
    }),
    ("rate_limits_are_honoured", limit_the_first_request),
];

/// What breaks each property of runs that work in loops.
const LOOP_FORGERIES: &[(&str, Forge)] = &[
    ("the_memory_is_the_fold_of_the_log", |h| {
        if let Some(looping) = &mut h.config.looping {
            looping.memory = r#"{"forged":1}"#.into();
        }
    }),
    ("no_loop_goes_beyond_its_scope", |h| {
        let mut invoked = events(h, "tool_invoked");
        for event in &mut invoked {
            if let Event::ToolInvoked { tool, .. } = event {
                *tool = "record_add".into();
            }
        }
    }),
    ("a_log_without_replies_has_none", |h| {
        if let Event::DecisionMade(decision) = first(h, "decision_made") {
            decision.answer.text = "what the model wrote".into();
        }
    }),
    ("a_log_without_replies_has_none", |h| {
        if let Event::DecisionMade(decision) = first(h, "decision_made") {
            decision.answer.withheld = None;
        }
    }),
];

/// A calm run that works in loops, makes notes, and does not keep what the model wrote.
fn loops(seed: u64) -> Plan {
    let mut plan = calm(seed);
    plan.config.looping = Plan::of(seed).config.looping;
    if let Some(looping) = &mut plan.config.looping {
        looping.keeps_text = false;
        looping.scope.max_notes_per_loop = 1;
        looping.scope.strict_scope = false;
    }
    plan
}

/// A calm run whose service does not take a temperature.
fn taught(seed: u64) -> Plan {
    let mut plan = calm(seed);
    plan.config.temperature = Some(0.5);
    plan.config.targets[0].accepts = Some(Box::default());
    plan.config.targets[0].sampling = Default::default();
    plan.manners = vec![Manner::Names(["temperature"; 3])];
    plan
}

/// What breaks each property of what is learned.
const LESSON_FORGERIES: &[(&str, Forge)] = &[
    ("a_lesson_is_learned_once", |h| {
        let at = |h: &History, kind| h.entries.iter().position(|it| it.event.kind() == kind);
        let learned = at(h, "target_learned").expect("something was learned");
        let both: Vec<_> = h.entries[learned - 1..=learned].to_vec();
        h.entries.splice(learned + 1..learned + 1, both);
    }),
    ("a_lesson_is_learned_once", |h| {
        *first(h, "attempt_failed") = Event::RunResumed {};
    }),
    ("a_lesson_changes_no_limit", |h| {
        h.requests[1].target.timeout_ms += 1;
    }),
    ("a_lesson_changes_no_limit", |h| {
        h.requests[1].output_tokens_max = h.config.output_tokens_max + 1;
    }),
    ("a_lesson_changes_no_limit", |h| {
        h.config.limits.turns_max += 1;
    }),
    ("what_can_be_met_is_met", |h| {
        *first(h, "target_learned") = Event::RunResumed {};
    }),
    ("attempts_stay_within_the_cap", |h| {
        h.config.limits.attempts_per_turn_max = 1;
        *first(h, "target_learned") = Event::RunResumed {};
    }),
];

/// A calm run whose service takes less than its request.
fn narrowed(seed: u64) -> Plan {
    let mut plan = calm(seed);
    plan.config.targets.truncate(1);
    plan.manners.clear();
    plan.narrow = vec![Some(300)];
    plan
}

/// What breaks the property of windows that are learned.
const WINDOW_FORGERIES: &[(&str, Forge)] = &[
    ("a_window_only_shrinks", |h| {
        let learned = |it: &bonded_kernel::Entry| it.event.kind() == "target_learned";
        let learned = h
            .entries
            .iter()
            .position(learned)
            .expect("something was learned");
        let both: Vec<_> = h.entries[learned - 1..=learned].to_vec();
        h.entries.splice(learned + 1..learned + 1, both);
    }),
    ("a_window_only_shrinks", |h| {
        *first(h, "attempt_failed") = Event::RunResumed {};
    }),
    ("a_window_only_shrinks", |h| {
        let last = h.requests.last_mut().expect("it was asked");
        last.target.window = Some(last.target.window_of(7));
        last.target.window_source = Some(bonded_kernel::WindowSource::Learned);
    }),
];

#[test]
fn the_property_of_windows_notices_what_breaks_it() {
    let seeds = 1..200;
    let plays = seeds.map(|seed| World::planned(seed, narrowed(seed)).play());
    let learned = |h: &History| {
        h.entries
            .iter()
            .any(|it| it.event.kind() == "target_learned")
    };
    let history = plays
        .into_iter()
        .find(learned)
        .expect("some run learns a window");
    assert_eq!(violations(&history), []);
    expect_noticed(&history, WINDOW_FORGERIES);
}

#[test]
fn every_property_of_lessons_notices_what_breaks_it() {
    let history = World::planned(1, taught(1)).play();
    assert_eq!(violations(&history), []);
    expect_noticed(&history, LESSON_FORGERIES);
}

/// A calm run of an agent whose tools have to be found.
fn searching(seed: u64) -> Plan {
    let mut plan = flooded(seed);
    plan.config.targets[0].window = None;
    if let Some(agent) = &mut plan.config.agent {
        agent.deferred_above = Some(0);
    }
    plan
}

/// What breaks the property of what is found.
const SEARCH_FORGERIES: &[(&str, Forge)] = &[
    ("a_tool_that_waits_is_sent_once_it_was_named", |h| {
        // What named it is gone, and it is sent all the same.
        h.requests.iter_mut().for_each(|sent| sent.log_seq = 1);
    }),
    ("a_tool_that_waits_is_sent_once_it_was_named", |h| {
        let searches = |sent: &[String]| sent.iter().any(|name| name == FIND_TOOLS);
        for sent in h.requests.iter_mut().filter(|it| searches(&it.offered)) {
            sent.offered.retain(|name| name == FIND_TOOLS);
        }
    }),
];

#[test]
fn the_property_of_what_is_found_notices_what_breaks_it() {
    let mut plays = (1..200).map(|seed| World::planned(seed, searching(seed)).play());
    let finds = |h: &History| {
        let found = |sent: &[String]| {
            let has = |tool: &str| sent.iter().any(|name| name == tool);
            has(FIND_TOOLS) && has("look")
        };
        h.requests.iter().any(|it| found(&it.offered))
    };
    let history = plays.find(finds).expect("some run finds a tool");
    assert_eq!(violations(&history), []);
    expect_noticed(&history, SEARCH_FORGERIES);
}

#[track_caller]
fn expect_noticed(history: &History, forgeries: &[(&str, Forge)]) {
    for (row, (property, forge)) in forgeries.iter().enumerate() {
        let mut forged = history.clone();
        forge(&mut forged);
        let broken = broken_properties(&forged);
        assert!(
            broken.contains(property),
            "row {row}: {property} holds, {broken:?} do not"
        );
    }
}

#[test]
fn every_property_of_agents_notices_what_breaks_it() {
    let mut histories = (1..200).map(|seed| World::planned(seed, flooded(seed)).play());
    let history = histories.find(ended_in_a_full_context);
    let history = history.expect("one of many floods fills the context");
    assert_eq!(violations(&history), []);
    expect_noticed(&history, AGENT_FORGERIES);
}

#[test]
fn every_property_of_loops_notices_what_breaks_it() {
    let has_calls = |history: &History| {
        let mut turns = history
            .entries
            .iter()
            .filter_map(|entry| match entry.event {
                Event::ToolInvoked { .. } => Some(entry.turn),
                _ => None,
            });
        let first = turns.next();
        first.is_some() && turns.next() == first
    };
    let plans = (1..).map(|seed| (seed, loops(seed)));
    let mut histories = plans
        .filter(|(_, plan)| plan.config.looping.is_some())
        .take(50)
        .map(|(seed, plan)| World::planned(seed, plan).play());
    let history = histories
        .find(has_calls)
        .expect("one of many does something");
    assert_eq!(violations(&history), []);
    expect_noticed(&history, LOOP_FORGERIES);
}

#[test]
fn every_property_notices_what_breaks_it() {
    let history = World::planned(1, calm(1)).play();
    assert_eq!(
        violations(&history),
        [],
        "the true history keeps every property"
    );
    expect_noticed(&history, FORGERIES);
}

#[test]
fn no_property_goes_without_a_forgery() {
    let rows = FORGERIES
        .iter()
        .chain(AGENT_FORGERIES)
        .chain(LOOP_FORGERIES)
        .chain(LESSON_FORGERIES)
        .chain(WINDOW_FORGERIES)
        .chain(SEARCH_FORGERIES);
    let forged: BTreeSet<&str> = rows.map(|(property, _)| *property).collect();
    let all: BTreeSet<&str> = PROPERTIES.iter().map(|(property, _)| *property).collect();
    assert_eq!(forged, all);
}

#[test]
fn tools_that_execute_a_push_twice_are_noticed() {
    let mut plan = calm(2);
    plan.sabotage = Sabotage::PushTwice;
    let broken = broken_properties(&World::planned(2, plan).play());
    assert!(
        broken.contains(&"a_push_is_executed_at_most_once"),
        "{broken:?}"
    );
    assert!(
        broken.contains(&"only_a_resume_repeats_a_call"),
        "{broken:?}"
    );
}

#[test]
fn a_store_that_drops_an_acknowledged_append_is_noticed() {
    let mut plan = calm(3);
    plan.sabotage = Sabotage::LoseAppend;
    let broken = broken_properties(&World::planned(3, plan).play());
    assert!(
        broken.contains(&"no_acknowledged_entry_is_lost"),
        "{broken:?}"
    );
}

#[test]
fn two_different_logs_are_told_apart() {
    let history = World::new(4).play();
    assert_eq!(same_log(&history, &history.clone()), Ok(()));
    let mut shorter = history.clone();
    shorter.entries.pop();
    assert!(same_log(&history, &shorter).is_err());
    assert!(same_log(&shorter, &history).is_err());
    let mut later = history.clone();
    later.entries[1].at = later.entries[1].at.plus(1);
    assert!(same_log(&history, &later).is_err());
}
