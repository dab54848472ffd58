//! The last turn: it goes on while attempts are left, a text is better than no report, and nothing is asked twice in the
//! same words.

use bonded_kernel::{
    Edition, Encoding, Event, FailureClass, Finish, Message, Reply, ReportFormat, ReportSource,
    TerminationKind,
};
use serde_json::json;

use crate::agent_common::{
    ENCODINGS, REPORT, agent, final_tag, markdown, report_call, report_in, stopped,
};
use crate::common::{Setup, World, call, done, failure, look, reply, text};

/// An agent whose only turn is the last.
fn last(encoding: Encoding) -> Setup {
    agent(encoding).turns(1).attempts(3)
}

#[test]
fn a_withdrawn_tool_is_refused_and_the_model_sees_it_and_is_asked_again() {
    for encoding in [Encoding::Native, Encoding::XmlFinal] {
        let mut world = last(encoding).begin();
        world.reply(reply([look("a")]));
        assert_eq!(world.ended(), None, "{encoding:?}");
        assert_eq!(world.asked(), (1, 2), "another attempt of the same turn");
        let results = world.results();
        assert!(results[0].1.contains("no tool may be used any more"));
        assert_eq!(results[0].0, look("a").id, "the answer names its call");
        world.reply(report_in(encoding, "tidy"));
        assert_eq!(world.content(), "tidy");
        assert!(
            world
                .run
                .report()
                .is_some_and(|it| it.source != ReportSource::Text)
        );
        assert!(world.invoked().iter().all(|(_, tool)| tool == REPORT));
        let assistant = world
            .roles()
            .iter()
            .filter(|it| **it == "assistant")
            .count();
        assert_eq!(
            assistant, 1,
            "no more replies are kept than there are turns"
        );
    }
}

#[test]
fn withdrawn_tools_use_the_attempts_up_and_no_more() {
    for repeats_max in [0, 3] {
        let setup = last(Encoding::Native).attempts(5);
        let mut world = setup.limit(|it| it.repeats_max = repeats_max).begin();
        for _ in 0..5 {
            assert_eq!(world.ended(), None);
            world.reply(reply([look("a")]));
        }
        assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
        assert_eq!(world.synthetic_reason(), "max_turns_exhausted");
        assert_eq!(world.count("attempt_started"), 5);
    }
}

#[test]
fn a_run_that_began_before_the_rule_ends_with_the_first_withdrawn_tool() {
    let mut world = last(Encoding::Native).edition(1).begin();
    world.reply(reply([look("a")]));
    assert_eq!(world.synthetic_reason(), "max_turns_exhausted");
}

#[test]
fn a_report_found_wanting_in_the_last_turn_is_answered_and_asked_for_again() {
    let mut world = last(Encoding::Native).begin();
    let wrong = report_call(&json!({ "report_format": "markdown", "report_content": 5 }));
    world.reply(reply([wrong]));
    assert!(world.results()[0].1.contains("must be a string"));
    world.reply(reply([markdown("tidy")]));
    assert!(world.is_reported_by(ReportSource::ToolCall));
    assert_eq!(world.run.turn(), 1);
}

#[test]
fn reasoning_alone_in_the_last_turn_is_followed_by_another_attempt() {
    let mut world = last(Encoding::Native).begin();
    world.reply(Reply {
        reasoning: "hm".into(),
        ..text("")
    });
    assert_eq!(world.asked(), (1, 2));
    assert!(world.notices_text().contains("reasoning alone"));
    world.reply(reply([markdown("tidy")]));
    assert_eq!(world.content(), "tidy");
}

#[test]
fn a_provider_that_fails_after_a_withdrawn_tool_is_asked_the_same_again() {
    let mut world = last(Encoding::Native).begin();
    world.reply(reply([look("a")]));
    let shown = world.run.messages().to_vec();
    world.fail_and_wait(FailureClass::Network);
    assert_eq!(world.run.messages(), shown, "the refusal is still shown");
    world.reply(text(""));
    assert_eq!(world.ended(), Some(TerminationKind::TurnsExhausted));
}

#[test]
fn a_run_taken_up_between_two_attempts_of_the_last_turn_goes_on_with_the_second() {
    let mut world = last(Encoding::Native).begin();
    world.reply(reply([look("a")]));
    let mut other = World::from_log(world.entries.clone());
    other.resume();
    assert_eq!(other.run.turn(), 1);
    assert!(
        other.results()[0]
            .1
            .contains("no tool may be used any more")
    );
    other.reply(reply([markdown("tidy")]));
    assert_eq!(other.content(), "tidy");
}

#[test]
fn a_plain_run_whose_context_is_full_has_its_attempts_too() {
    let mut setup = crate::common::setup().windows(&[1_010]);
    setup.config.limits.attempts_per_turn_max = 3;
    let mut world = setup.begin();
    assert_eq!(world.offered_tools(), ["done"], "the context is full");
    world.reply(reply([look("a")]));
    assert_eq!(world.ended(), None);
    world.reply(reply([done("tidy")]));
    assert_eq!(world.reason(), "tidy");
}

#[test]
fn prose_in_the_last_turn_is_the_report_where_the_model_writes_no_other() {
    for encoding in ENCODINGS {
        // Its only attempt.
        let mut world = last(encoding).attempts(1).begin();
        world.reply(text("\nThe shed is tidy.\n"));
        assert!(world.is_reported_by(ReportSource::Text), "{encoding:?}");
        assert_eq!(world.ended(), Some(TerminationKind::Done));
        assert_eq!(world.content(), "The shed is tidy.");
        assert_eq!(world.roles().last(), Some(&"assistant"));
        // Told once that texts are ignored, and said again.
        let mut world = last(encoding).attempts(5).begin();
        world.reply(text("The shed is tidy."));
        assert_eq!(world.ended(), None, "there may be a better one");
        world.reply(text("The shed is tidy, as I said."));
        assert_eq!(world.content(), "The shed is tidy, as I said.");
        // What comes after it does not take it away.
        let mut world = last(encoding).attempts(3).begin();
        world.reply(text("The shed is tidy."));
        world.reply(text(""));
        world.fail_and_wait(FailureClass::Network);
        assert_eq!(world.content(), "The shed is tidy.", "{encoding:?}");
        // In the turns before it a text is none, however often it is said.
        let mut world = agent(encoding).turns(5).attempts(2).begin();
        while world.ended().is_none() {
            world.reply(text("I think about it."));
        }
        assert!(world.is_reported_by(ReportSource::Text), "{encoding:?}");
        assert_eq!((world.run.turn(), world.count("attempt_started")), (5, 10));
        assert_eq!(world.roles(), ["user", "assistant"]);
        // A report is better.
        let mut world = last(encoding).begin();
        world.reply(text("The shed is tidy."));
        world.reply(report_in(encoding, "# Tidy"));
        assert_eq!(world.content(), "# Tidy");
    }
}

#[test]
fn what_is_no_report_is_not_taken_for_one() {
    let cut = stopped(Finish::Length, text("The shed is"));
    let withheld = stopped(Finish::ContentFilter, text("The shed is"));
    let foreign = final_tag("tidy").replace("0123abcd", "9999ffff");
    for said in [cut, withheld, text(&foreign), text(" \n ")] {
        let mut world = last(Encoding::XmlFinal).attempts(1).begin();
        world.reply(said.clone());
        assert_eq!(world.synthetic_reason(), "max_turns_exhausted", "{said:?}");
    }
    let mut world = agent(Encoding::Native).turns(3).attempts(2).begin();
    while world.ended().is_none() {
        world.reply(Reply {
            reasoning: "hm".into(),
            ..text("")
        });
    }
    assert_eq!(world.run.turn(), 3);
    assert_eq!(world.synthetic_reason(), "max_turns_exhausted");
    let mut world = agent(Encoding::Native).turns(2).attempts(1).begin();
    world.reply(text("I begin."));
    world.fail_as(FailureClass::Network);
    assert_eq!(
        world.synthetic_reason(),
        "max_turns_exhausted",
        "not in the last turn"
    );
}

#[test]
fn a_report_in_an_earlier_text_is_not_given_up_for_prose() {
    let mut world = agent(Encoding::Native).turns(2).attempts(1).begin();
    world.reply(text(
        r#"{"report_format":"markdown","report_content":"tidy"}"#,
    ));
    world.reply(text("I have reported."));
    assert_eq!(world.content(), "tidy");
}

#[test]
fn prose_is_read_as_the_format_wants_it() {
    let schema = json!({ "type": "object", "required": ["tidy"] });
    let rows = [
        (
            ReportFormat::Json,
            None,
            "Here:\n```json\n{\"tidy\":true}\n```",
            true,
        ),
        (
            ReportFormat::Json,
            Some(schema.clone()),
            "{\"tidy\":true}",
            true,
        ),
        (ReportFormat::Json, Some(schema), "{\"tired\":true}", false),
        (ReportFormat::Json, None, "The shed is tidy.", false),
        (
            ReportFormat::SlackBlockKit,
            None,
            "The *shed* is tidy.",
            true,
        ),
        (ReportFormat::SubAgent, None, "The shed is tidy.", true),
    ];
    for (format, schema, said, is_report) in rows {
        let setup = last(Encoding::Native).attempts(1).reports(format, schema);
        let mut world = setup.begin();
        world.reply(text(said));
        let source = world.report().source;
        assert_eq!(source == ReportSource::Text, is_report, "{format} {said}");
        assert_eq!(world.report().format, format);
    }
}

/// The digests of the requests that were answered with something of no use, in order, and of the one under way.
fn digests(world: &World) -> Vec<String> {
    let digest = |event: &Event| match event {
        Event::AttemptStarted { request, .. } => Some(format!("{request:?}")),
        _ => None,
    };
    let events = world.entries.iter().map(|entry| &entry.event);
    events.filter_map(digest).collect()
}

#[test]
fn no_request_is_made_again_that_was_answered_with_something_of_no_use() {
    let replies = || {
        [
            text(""),
            text("just words"),
            stopped(Finish::ContentFilter, text("x")),
            stopped(Finish::MalformedCalls, text("")),
            reply([call("look", "no object")]),
            Reply {
                reasoning: "hm".into(),
                ..text("")
            },
            stopped(Finish::Length, text("cut")),
        ]
    };
    for useless in replies() {
        let mut setup = agent(Encoding::Native).turns(4).attempts(4);
        setup.config.temperature = Some(0.0);
        let mut world = setup.begin();
        while world.is_asking() {
            world.reply(useless.clone());
        }
        let mut made = digests(&world);
        let count = made.len();
        assert!(count > 1, "{useless:?}");
        made.sort_unstable();
        made.dedup();
        assert_eq!(made.len(), count, "{useless:?}");
    }
}

#[test]
fn what_could_not_be_read_is_not_asked_for_twice_in_the_same_words() {
    let mut world = agent(Encoding::Native).attempts(4).begin();
    for _ in 0..4 {
        world.fail(failure(FailureClass::Malformed));
    }
    let mut made = digests(&world);
    made.dedup();
    assert_eq!(made.len(), world.count("attempt_started"));
    // What the provider failed with is no reply: the same request may succeed.
    let mut world = agent(Encoding::Native).attempts(3).begin();
    world.fail_and_wait(FailureClass::Network);
    let made = digests(&world);
    assert_eq!(made[0], made[1]);
}

#[test]
fn a_run_of_an_older_edition_says_what_it_always_said() {
    let mut world = agent(Encoding::Native).attempts(4).edition(1).begin();
    for _ in 0..3 {
        world.reply(text(""));
        assert_eq!(world.notices().len(), 1);
    }
    assert!(Edition::FIRST < world.run.config().edition);
}

#[test]
fn a_good_report_ends_the_run_before_the_calls_that_stand_before_it() {
    for encoding in [Encoding::Native, Encoding::XmlFinal] {
        let mut world = agent(encoding).begin();
        let mut said = report_in(encoding, "tidy");
        said.calls.insert(0, look("a"));
        world.reply(said);
        assert_eq!(world.ended(), Some(TerminationKind::Done), "{encoding:?}");
        assert!(world.invoked().iter().all(|(_, tool)| tool == REPORT));
        assert_eq!(world.count("call_skipped"), 1);
        let results = world.results();
        assert!(results[0].1.contains("not executed"), "{results:?}");
    }
    // One that is found wanting does not.
    let mut world = agent(Encoding::Native).begin();
    let wrong = report_call(&json!({ "report_format": "markdown" }));
    world.reply(reply([look("a"), wrong]));
    assert_eq!(world.invoked()[0].1, "look");
    world.ok("a spade");
    assert_eq!(world.ended(), None);
    // Nor where the run began before the rule.
    let mut world = agent(Encoding::Native).edition(1).begin();
    world.reply(reply([look("a"), markdown("tidy")]));
    assert_eq!(world.invoked()[0].1, "look");
    world.ok("a spade");
    assert_eq!(world.content(), "tidy");
}

#[test]
fn a_slack_report_may_be_a_text() {
    let long = "One line of a long report.\n".repeat(400);
    let reported = |arguments: &serde_json::Value| {
        let setup = agent(Encoding::Native).reports(ReportFormat::SlackBlockKit, None);
        let mut world = setup.begin();
        world.reply(reply([report_call(arguments)]));
        world.run.report().and_then(|it| it.messages)
    };
    for field in ["messages", "report_content", "content", "text"] {
        let arguments = json!({ "report_format": "slack-block-kit", field: "All *tidy*." });
        let messages = reported(&arguments).unwrap_or_default();
        assert_eq!(messages[0]["blocks"][0]["text"]["text"], "All *tidy*.");
    }
    let messages = reported(&json!({ "report_content": long })).unwrap_or_default();
    let blocks = messages[0]["blocks"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert_eq!(blocks.len(), 4, "{}", long.len());
    assert_eq!(
        reported(&json!({ "messages": "[{\"blocks\": [" })),
        None,
        "broken blocks are no text"
    );
    let mut setup = agent(Encoding::Native)
        .edition(1)
        .reports(ReportFormat::SlackBlockKit, None);
    setup.config.limits.turns_max = 5;
    let mut world = setup.begin();
    world.reply(reply([report_call(&json!({ "report_content": "tidy" }))]));
    assert_eq!(world.ended(), None);
}

/// What the model is shown in the last turn has a place for each answer.
#[test]
fn the_answer_to_a_withdrawn_tool_stands_behind_its_call() {
    let mut world = last(Encoding::Native).begin();
    world.reply(reply([look("a")]));
    let messages = world.run.messages();
    let [
        ..,
        Message::Assistant { calls, .. },
        Message::Tool { call_id, .. },
    ] = messages
    else {
        unreachable!("{messages:?}");
    };
    assert_eq!(&calls[0].id, call_id);
}
