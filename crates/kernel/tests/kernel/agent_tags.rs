//! Calls and reports that are written as tags.

use bonded_kernel::{Encoding, Finish, Offer, ReportFormat, ReportSource, ToolChoice, request};
use serde_json::json;

use crate::agent_common::{
    ENCODINGS, NONCE, REPORT, agent, final_tag, look_in, report_in, stopped, tag, tool_tag,
};
use crate::common::{World, call, look, reply, text};

fn tool_choice(world: &World) -> Option<ToolChoice> {
    request(&world.run).and_then(|request| request.tool_choice())
}

#[test]
fn each_encoding_offers_what_the_contract_says() {
    let rows = [
        (
            Encoding::Native,
            Offer::All,
            Some(ToolChoice::Required),
            true,
        ),
        (
            Encoding::XmlFinal,
            Offer::WithoutTerminal,
            Some(ToolChoice::Auto),
            false,
        ),
        (Encoding::Xml, Offer::None, None, false),
    ];
    for (encoding, offer, choice, native_report) in rows {
        let mut setup = agent(encoding);
        setup.config.targets[0].sampling.tool_choice = Some(ToolChoice::Required);
        let world = setup.begin();
        assert_eq!(world.offer(), Some(offer));
        assert_eq!(tool_choice(&world), choice, "{encoding:?}");
        let offered = world.offered_tools();
        assert_eq!(
            offered.contains(&REPORT.to_owned()),
            native_report,
            "{encoding:?}"
        );
        let has_tags = world.notices_text().contains(&format!("{NONCE}-FINAL"));
        assert_eq!(has_tags, encoding != Encoding::Native);
        let system = request(&world.run).map(|request| request.system.to_owned());
        assert_eq!(
            system.as_deref(),
            Some("Be brief."),
            "the system text has no tool text"
        );
    }
}

#[test]
fn the_instructions_carry_tools_and_slots_only_where_calls_are_tags() {
    let world = agent(Encoding::Xml).calls(2).begin();
    let notices = world.notices_text();
    for part in [
        "0001",
        "0002",
        "look",
        "push",
        r#""path""#,
        &format!("{NONCE}-FINAL"),
    ] {
        assert!(notices.contains(part), "{part}: {notices}");
    }
    assert!(!notices.contains("0003"), "{notices}");
    let world = agent(Encoding::XmlFinal).calls(2).begin();
    let notices = world.notices_text();
    assert!(
        !notices.contains("0001") && !notices.contains(r#""path""#),
        "{notices}"
    );
}

#[test]
fn slots_count_on_from_turn_to_turn_and_a_retry_shows_the_same() {
    let mut world = agent(Encoding::Xml).calls(3).begin();
    world.reply(text("no tag"));
    assert!(world.notices_text().contains("0001, 0002, 0003"));
    world.reply(look_in(Encoding::Xml, 1, 3));
    world.ok("a spade");
    let notices = world.notices_text();
    assert!(
        notices.contains("0004, 0005, 0006") && !notices.contains("0003"),
        "{notices}"
    );
    assert!(
        notices.contains(NONCE),
        "the nonce is that of the whole run"
    );
}

#[test]
fn tagged_calls_run_in_order_and_their_results_come_back_as_user_messages() {
    let mut world = agent(Encoding::Xml).begin();
    let both = format!(
        "First {} then {}",
        tool_tag(1, "look", r#"{"path":"a"}"#),
        tool_tag(2, "push", "{'text': 'b'}")
    );
    world.reply(text(&both));
    world.ok("a spade");
    world.ok("pushed");
    assert_eq!(
        world.invoked(),
        [(0, "look".to_owned()), (1, "push".to_owned())]
    );
    assert_eq!(world.roles(), ["user", "assistant", "user", "user"]);
    let told = world.conversation();
    assert_eq!(told[1].1, both);
    for (at, parts) in [
        (
            2,
            [
                format!("System Notice: tool response for {NONCE}-0001 (look)"),
                "status: ok".into(),
                "a spade".into(),
            ],
        ),
        (
            3,
            [
                format!("System Notice: tool response for {NONCE}-0002 (push)"),
                "status: ok".into(),
                r#"{"text":"b"}"#.into(),
            ],
        ),
    ] {
        for part in parts {
            assert!(told[at].1.contains(&part), "{part}: {}", told[at].1);
        }
    }
    assert_eq!(
        world.count("call_repaired"),
        1,
        "tags are read as patiently as calls"
    );
}

#[test]
fn tags_that_do_not_count_are_ignored_and_the_good_one_beside_them_runs() {
    let good = tool_tag(1, "look", r#"{"path":"a"}"#);
    let bad = [
        r#"<ai-agent-ffffffff-0001 tool="push">{"text":"x"}</ai-agent-ffffffff-0001>"#.to_owned(),
        tool_tag(99, "push", r#"{"text":"x"}"#),
        tool_tag(1, "push", r#"{"text":"x"}"#),
        format!(r#"<ai-agent-{NONCE}-0002 tool="push">{{"text":"x"}}"#),
        tag("0002", "", r#"{"text":"x"}"#),
        tag("PROGRESS", r#"tool="push""#, r#"{"text":"x"}"#),
    ];
    for ignored in bad {
        let mut world = agent(Encoding::Xml).begin();
        world.reply(text(&format!("{good} {ignored}")));
        world.ok("a spade");
        assert_eq!(world.invoked(), [(0, "look".to_owned())], "{ignored}");
        assert_eq!(world.count("attempt_started"), 2, "no attempt was lost");
        assert_eq!(world.run.turn(), 2);
    }
}

#[test]
fn a_slot_of_an_earlier_turn_is_used_and_counts_no_more() {
    let mut world = agent(Encoding::Xml).calls(2).begin();
    world.reply(look_in(Encoding::Xml, 1, 2));
    world.ok("a spade");
    world.reply(text(&tool_tag(1, "push", r#"{"text":"x"}"#)));
    assert_eq!(world.invoked().len(), 1);
    assert_eq!(world.count("reply_rejected"), 1);
}

#[test]
fn the_last_final_tag_wins() {
    for encoding in [Encoding::XmlFinal, Encoding::Xml] {
        let mut world = agent(encoding).begin();
        world.reply(text(&format!(
            "{} hm, no: {}",
            final_tag("first"),
            final_tag("second")
        )));
        assert_eq!(world.content(), "second");
        assert!(world.is_reported_by(ReportSource::Xml));
    }
}

#[test]
fn a_final_tag_of_a_wrong_nonce_is_ignored_and_the_right_one_is_taken() {
    let mut world = agent(Encoding::Xml).begin();
    world.reply(text(
        "<ai-agent-ffffffff-FINAL>no</ai-agent-ffffffff-FINAL>",
    ));
    assert_eq!(world.ended(), None);
    world.reply(report_in(Encoding::Xml, "yes"));
    assert_eq!(world.content(), "yes");
}

#[test]
fn why_the_model_stopped_decides_about_an_unclosed_report() {
    let opened = format!(r#"<ai-agent-{NONCE}-FINAL tool="{REPORT}" format="json">"#);
    let unclosed = format!(r#"{opened}{{"tidy":true}}"#);
    for (finish, accepted) in [
        (Finish::Stop, true),
        (Finish::ToolCalls, true),
        (Finish::Unknown, true),
        (Finish::Length, false),
    ] {
        for encoding in [Encoding::XmlFinal, Encoding::Xml] {
            for format in [ReportFormat::Json, ReportFormat::Pipe] {
                let mut world = agent(encoding).reports(format, None).begin();
                world.reply(stopped(finish, text(&unclosed)));
                assert_eq!(world.run.report().is_some(), accepted, "{finish:?}");
                if !accepted {
                    assert!(
                        world.notices_text().contains("cut"),
                        "{}",
                        world.notices_text()
                    );
                    assert_eq!(world.roles(), ["user"]);
                }
            }
        }
    }
}

#[test]
fn in_xml_final_calls_of_an_older_run_come_first_and_the_report_of_the_same_reply_last() {
    let mut world = agent(Encoding::XmlFinal).edition(1).begin();
    world.reply(bonded_kernel::Reply {
        text: final_tag("tidy"),
        ..reply([look("a")])
    });
    world.ok("a spade");
    assert_eq!(
        world.invoked(),
        [(0, "look".to_owned()), (1, REPORT.to_owned())]
    );
    assert_eq!(
        world.roles(),
        ["user", "assistant", "tool"],
        "no XML-PAST in xml-final"
    );
}

#[test]
fn numbered_tags_are_no_calls_in_xml_final() {
    let mut world = agent(Encoding::XmlFinal).begin();
    world.reply(text(&tool_tag(1, "push", r#"{"text":"x"}"#)));
    assert!(world.invoked().is_empty());
}

#[test]
fn in_xml_tags_are_the_only_way_to_call() {
    let mut world = agent(Encoding::Xml).begin();
    world.reply(reply([look("a")]));
    assert!(world.invoked().is_empty(), "{:?}", world.invoked());
}

#[test]
fn in_native_no_tag_is_a_call() {
    let mut world = agent(Encoding::Native).begin();
    world.reply(text(&final_tag("tidy")));
    assert_eq!(world.ended(), None);
}

#[test]
fn the_last_turn_shows_and_takes_only_the_final_slot() {
    let mut world = agent(Encoding::Xml).turns(1).begin();
    let notices = world.notices_text();
    assert!(notices.contains(&format!("{NONCE}-FINAL")), "{notices}");
    assert!(
        !notices.contains("0001") && !notices.contains("look"),
        "{notices}"
    );
    let both = format!(
        "{}{}",
        tool_tag(1, "push", r#"{"text":"x"}"#),
        final_tag("tidy")
    );
    world.reply(text(&both));
    assert_eq!(world.invoked(), [(0, REPORT.to_owned())]);
}

#[test]
fn the_instructions_are_never_stored() {
    for encoding in ENCODINGS {
        let mut world = agent(encoding).begin();
        world.reply(look_in(encoding, 1, 10));
        world.ok("a spade");
        let told = world.conversation();
        assert!(
            told.iter()
                .all(|(_, text)| !text.contains("# System Notice"))
        );
    }
}

#[test]
fn a_native_id_that_looks_like_a_slot_does_not_steal_its_name() {
    let mut world = agent(Encoding::XmlFinal)
        .reports(ReportFormat::Json, None)
        .begin();
    let mut thief = call("look", &json!({ "path": "a" }).to_string());
    thief.id = format!("{NONCE}-FINAL");
    world.reply(bonded_kernel::Reply {
        text: final_tag("no JSON"),
        ..reply([thief])
    });
    world.ok("a spade");
    let told = world.conversation();
    let last = told
        .last()
        .map(|(_, text)| text.clone())
        .unwrap_or_default();
    assert!(
        last.contains(&format!("{NONCE}-FINAL ({REPORT})")),
        "{last}"
    );
}
