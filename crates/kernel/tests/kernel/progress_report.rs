//! Progress reports: said to the people who watch, answered by the kernel, and never an action.

use bonded_kernel::{Encoding, Event, PROGRESS_REPORT, RefusalCode, ReplyCall, TerminationKind};
use serde_json::json;

use crate::agent_common::{ENCODINGS, agent, markdown, report_in, tag, tool_tag};
use crate::batch::{batch, look_at, member, results};
use crate::common::{Setup, World, call, look, noise, reply, text};

fn telling(encoding: Encoding) -> Setup {
    let mut setup = agent(encoding);
    setup.config.own_tools.progress = true;
    setup
}

fn progress(said: &str) -> ReplyCall {
    call(PROGRESS_REPORT, &json!({ "progress": said }).to_string())
}

fn told(world: &World) -> Vec<String> {
    let told = world.entries.iter().filter_map(|entry| match &entry.event {
        Event::ProgressReported { progress, .. } => Some(progress.to_string()),
        _ => None,
    });
    told.collect()
}

#[test]
fn a_progress_report_is_recorded_and_answered_in_the_same_step() {
    let mut world = telling(Encoding::Native).begin();
    world.reply(reply([progress("looking around"), look("a")]));
    assert_eq!(told(&world), ["looking around"]);
    world.ok("a spade");
    let shown: Vec<String> = world.results().into_iter().map(|(_, text)| text).collect();
    assert_eq!(shown, [r#"{"ok":true}"#, "a spade"]);
    assert_eq!(world.invoked(), [(1, "look".to_owned())]);
    world.reply(reply([markdown("tidy")]));
    assert_eq!(world.ended(), Some(TerminationKind::Done));
}

#[test]
fn where_calls_are_tags_progress_has_a_slot_of_its_own() {
    let rows = ["looking around", "{\"progress\": \"looking around\"}"];
    for payload in rows {
        let mut world = telling(Encoding::Xml).calls(1).begin();
        assert!(world.notices_text().contains("-PROGRESS"));
        let said = tag("PROGRESS", "", payload);
        let looked = tool_tag(1, "look", r#"{"path":"a"}"#);
        world.reply(text(&format!("{said}{looked}")));
        world.ok("a spade");
        assert_eq!(told(&world), ["looking around"]);
        let (_, answer) = &world.conversation()[2];
        assert!(
            answer.contains("-PROGRESS (agent__progress_report)"),
            "{answer}"
        );
        world.reply(report_in(Encoding::Xml, "tidy"));
        assert_eq!(world.ended(), Some(TerminationKind::Done));
    }
}

#[test]
fn the_progress_slot_and_tool_are_offered_only_where_the_run_says_so() {
    for encoding in ENCODINGS {
        let silent = agent(encoding).begin();
        assert!(!silent.notices_text().contains("PROGRESS"));
        assert!(
            !silent
                .offered_tools()
                .iter()
                .any(|tool| tool == PROGRESS_REPORT)
        );
        let telling = telling(encoding).begin();
        let native = telling
            .offered_tools()
            .iter()
            .any(|tool| tool == PROGRESS_REPORT);
        assert_eq!(native, encoding != Encoding::Xml);
        assert_eq!(
            telling.notices_text().contains("PROGRESS"),
            encoding == Encoding::Xml
        );
    }
}

#[test]
fn the_first_report_of_a_reply_takes_no_place_under_the_cap_and_more_do() {
    let mut world = telling(Encoding::Native).calls(1).begin();
    world.reply(reply([progress("one"), look("a")]));
    world.ok("a spade");
    world.reply(reply([look("b"), progress("two")]));
    world.ok("a rake");
    assert_eq!(told(&world), ["one", "two"]);
    world.reply(reply([
        progress("three"),
        progress("four"),
        progress("five"),
        look("c"),
    ]));
    assert_eq!(told(&world), ["one", "two", "three", "four"]);
    let refused = world
        .entries
        .iter()
        .rev()
        .find_map(|entry| match &entry.event {
            Event::DecisionMade(decision) => {
                let codes = decision
                    .calls
                    .iter()
                    .map(|call| Some(call.refused.as_ref()?.code));
                Some(codes.collect::<Vec<Option<RefusalCode>>>())
            }
            _ => None,
        });
    let capped = Some(RefusalCode::TooManyCalls);
    assert_eq!(refused, Some(vec![None, None, capped, capped]));
}

#[test]
fn turns_with_nothing_but_progress_reports_are_no_progress() {
    let mut world = telling(Encoding::Native)
        .limit(|limits| limits.repeats_max = 3)
        .begin();
    for turn in 1..=3 {
        assert_eq!(world.run.turn(), turn);
        world.reply(reply([progress(&format!("still at it {turn}"))]));
    }
    assert_eq!(world.ended(), Some(TerminationKind::NoProgress));
    assert!(
        world.reason().contains("without a valid action"),
        "{}",
        world.reason()
    );
}

#[test]
fn the_same_progress_report_beside_other_calls_is_no_repetition() {
    let mut world = telling(Encoding::Native)
        .limit(|limits| limits.repeats_max = 3)
        .begin();
    for turn in 1..=6 {
        world.reply(reply([
            progress("still at it"),
            look(&format!("path {turn}")),
        ]));
        world.ok(&format!("thing {turn}"));
    }
    assert_eq!(world.ended(), None);
    // And it does not hide one either.
    for _ in 1..=3 {
        world.reply(reply([look("a"), progress("once more")]));
        world.ok("a spade");
    }
    assert_eq!(world.ended(), Some(TerminationKind::NoProgress));
}

#[test]
fn a_progress_report_goes_through_though_the_context_is_full() {
    let mut setup = telling(Encoding::Native).windows(&[30_000]);
    setup.config.own_tools.batch = true;
    let mut world = setup.begin();
    world.reply(reply([look("a"), progress("reading"), look("b")]));
    world.ok(&noise(60_000));
    assert_eq!(told(&world), ["reading"]);
    assert_eq!(world.count("call_skipped"), 1);
    assert!(world.is_asking());
}

#[test]
fn a_batch_may_hold_a_progress_report() {
    let mut setup = telling(Encoding::Native);
    setup.config.own_tools.batch = true;
    let mut world = setup.begin();
    let said = member("p", PROGRESS_REPORT, json!({ "progress": "looking" }));
    world.reply(reply([batch(json!([said, look_at("a")]))]));
    world.ok("a spade");
    assert_eq!(told(&world), ["looking"]);
    let results = results(&world);
    assert_eq!(results[0]["ok"], true);
    assert_eq!(results[1]["output"], "a spade");
}
