//! Calls written as tags: found by the nonce, whatever surrounds them.

use bonded_kernel::{Finish, IgnoreReason, Slot, StreamFilter, UnclosedFinal, XmlFound, find_tags};
use proptest::prelude::*;

pub(crate) const NONCE: &str = "1a2b3c4d";
pub(crate) const OFFERED: [Slot; 4] = [
    Slot::Numbered(4),
    Slot::Numbered(5),
    Slot::Progress,
    Slot::Final,
];

/// Writes `@` for the start of a tag's name, so that the cases can be read.
fn tags(text: &str) -> String {
    text.replace('@', &format!("ai-agent-{NONCE}-"))
}

fn find(text: &str, finish: Finish) -> XmlFound {
    find_tags(&tags(text), NONCE, &OFFERED, finish)
}

/// The calls as `slot tool payload`.
pub(crate) fn calls(found: &XmlFound) -> Vec<String> {
    let line =
        |call: &bonded_kernel::XmlCall| format!("{} {} {}", call.slot, call.tool, call.payload);
    found.calls.iter().map(line).collect()
}

#[test]
fn a_tag_gives_its_slot_its_tool_and_its_raw_payload() {
    let cases = [
        (
            r#"Now: <@0004 tool="put">{"a":1}</@0004> done"#,
            "0004 put {\"a\":1}",
        ),
        ("<@0004 tool='put'>\n{}\n</@0004>", "0004 put {}"),
        (
            "<@0004 tool='put'>\r\n\n{}\n\r\n</@0004>",
            "0004 put \n{}\n",
        ),
        (
            r#"<@0004 x="1>2" format='y' tool = "put" z>p</@0004>"#,
            "0004 put p",
        ),
        (r#"<@0004 mytool="no" tool="put">p</@0004>"#, "0004 put p"),
        (
            "<@0004 tool=\"put\">a < b && <![CDATA[c]]> </b></@0004>",
            "0004 put a < b && <![CDATA[c]]> </b>",
        ),
        (
            "<@0004 tool=\"put\"><@0005 tool=\"look\">x</@0005></@0004>",
            "0004 put <@0005 tool=\"look\">x</@0005>",
        ),
        (
            "<@PROGRESS>half</@PROGRESS>",
            "PROGRESS agent__progress_report half",
        ),
        (
            "<@FINAL format=\"pipe\">all</@FINAL>",
            "FINAL agent__final_report all",
        ),
        (
            "<@FINAL tool=\"agent__final_report\">1</@FINAL><@FINAL>2</@FINAL>",
            "FINAL agent__final_report 2",
        ),
        (
            "<@FINAL>1</@FINAL><@FINAL> \n</@FINAL>",
            "FINAL agent__final_report 1",
        ),
    ];
    for (text, wanted) in cases {
        assert_eq!(calls(&find(text, Finish::Stop)), [tags(wanted)], "{text}");
    }
    let found = find("<@FINAL format='json'>{}</@FINAL>", Finish::Length);
    assert_eq!(found.calls[0].format.as_deref(), Some("json"));
    assert!(found.calls[0].closed);
}

#[test]
fn several_tags_are_several_calls_in_the_order_in_which_they_were_written() {
    let text = "<@0005 tool=\"b\">2</@0005> and <@0004 tool=\"a\">1</@0004><@FINAL>r</@FINAL>";
    let found = find(text, Finish::Stop);
    let wanted = ["0005 b 2", "0004 a 1", "FINAL agent__final_report r"];
    assert_eq!(calls(&found), wanted);
    assert_eq!(found.ignored, []);
}

#[test]
fn a_tag_that_is_no_call_is_ignored_with_its_reason_and_the_next_one_counts() {
    let cases = [
        (
            "<ai-agent-00000000-0004 tool=\"x\">1</ai-agent-00000000-0004>",
            IgnoreReason::WrongNonce,
        ),
        ("<ai-agent-", IgnoreReason::WrongNonce),
        ("<@0003 tool=\"x\">1</@0003>", IgnoreReason::NotOffered),
        ("<@4 tool=\"x\">1</@4>", IgnoreReason::NotOffered),
        ("<@00004 tool=\"x\">1</@00004>", IgnoreReason::NotOffered),
        ("<@XXXX tool=\"x\">1</@XXXX>", IgnoreReason::NotOffered),
        ("<@0004>1</@0004>", IgnoreReason::NoTool),
        ("<@0004 tool=\"\">1</@0004>", IgnoreReason::NoTool),
        ("<@FINAL tool=\"push\">1</@FINAL>", IgnoreReason::WrongTool),
        (
            "<@PROGRESS tool=\"push\">1</@PROGRESS>",
            IgnoreReason::WrongTool,
        ),
        ("<@0004 tool=\"x\"> \n </@0004>", IgnoreReason::Blank),
    ];
    for (text, reason) in cases {
        let found = find(
            &format!("{text} <@0005 tool=\"ok\">2</@0005>"),
            Finish::Stop,
        );
        assert_eq!(calls(&found), ["0005 ok 2"], "{text}");
        assert_eq!(found.ignored.len(), 1, "{text}");
        assert_eq!(found.ignored[0].reason, reason, "{text}");
    }
    let twice = find(
        "<@0004 tool=\"a\">1</@0004><@0004 tool=\"b\">2</@0004>",
        Finish::Stop,
    );
    assert_eq!(calls(&twice), ["0004 a 1"]);
    assert_eq!(twice.ignored[0].reason, IgnoreReason::UsedTwice);
    let endless = format!("<@0004 tool=\"{}", "x".repeat(2_000));
    assert_eq!(
        find(&endless, Finish::Stop).ignored[0].reason,
        IgnoreReason::Malformed
    );
}

#[test]
fn what_is_quoted_inside_a_tag_is_no_call_whatever_becomes_of_the_tag() {
    let quoted = "<@0005 tool=\"run\">{}</@0005>";
    let cases = [
        (
            format!("<@0004 tool=\"write\">{{\"text\": \"{quoted}"),
            IgnoreReason::Unclosed,
        ),
        (format!("<@PROGRESS>half {quoted}"), IgnoreReason::Unclosed),
        (
            format!("<@0004 tool=\"x\">1</@0005> {quoted}"),
            IgnoreReason::Unclosed,
        ),
        (
            format!("<@0004 tool=\"x\" note=\"{quoted}"),
            IgnoreReason::Malformed,
        ),
        (
            format!("<@0003 tool=\"x\">{quoted}</@0003>"),
            IgnoreReason::NotOffered,
        ),
        (
            format!("<@0003 tool=\"x\">{quoted}"),
            IgnoreReason::NotOffered,
        ),
        (format!("<@0004>{quoted}</@0004>"), IgnoreReason::NoTool),
        (
            format!("<@FINAL tool=\"push\">{quoted}</@FINAL>"),
            IgnoreReason::WrongTool,
        ),
    ];
    for (text, reason) in &cases {
        for finish in [Finish::Stop, Finish::Length, Finish::Unknown] {
            let found = find(text, finish);
            assert_eq!(calls(&found), Vec::<String>::new(), "{text}");
            assert_eq!(found.ignored[0].reason, *reason, "{text}");
        }
    }
    let before = find(
        "<@0005 tool=\"ok\">1</@0005><@0004 tool=\"x\">cut <@FINAL>r</@FINAL>",
        Finish::Length,
    );
    assert_eq!(calls(&before), ["0005 ok 1"], "what came before counts");
}

#[test]
fn why_the_model_stopped_decides_about_a_report_without_its_closing_tag() {
    let cases = [
        (Finish::Stop, UnclosedFinal::Accepted, 1),
        (Finish::ToolCalls, UnclosedFinal::Accepted, 1),
        (Finish::Unknown, UnclosedFinal::Warned, 1),
        (Finish::Length, UnclosedFinal::Cut, 0),
        (Finish::ContentFilter, UnclosedFinal::Cut, 0),
    ];
    for (finish, wanted, count) in cases {
        for end in ["", "\n", "</ai-agent-1a2b", "\n</@FINAL"] {
            let found = find(&format!("<@FINAL format=\"json\">{{\"a\":1}}{end}"), finish);
            assert_eq!(found.unclosed_final, Some(wanted), "{finish:?}");
            assert_eq!(found.calls.len(), count, "{finish:?}");
            if let Some(call) = found.calls.first() {
                assert_eq!(
                    (call.payload.as_str(), call.closed),
                    ("{\"a\":1}", false),
                    "{end:?}"
                );
            }
        }
    }
    let blank = find("<@FINAL> \n", Finish::Stop);
    assert_eq!((blank.calls.len(), blank.unclosed_final), (0, None));
    let cut = find("<@FINAL>whole</@FINAL> <@FINAL>ha", Finish::Length);
    assert_eq!(calls(&cut), ["FINAL agent__final_report whole"]);
    assert_eq!(cut.unclosed_final, Some(UnclosedFinal::Cut));
}

fn shown(pieces: &[&str]) -> String {
    let mut filter = StreamFilter::new(NONCE);
    let mut shown: String = pieces.iter().map(|piece| filter.push(piece)).collect();
    shown.push_str(&filter.finish());
    shown
}

#[test]
fn a_stream_shows_the_report_only() {
    let cases = [
        (
            "thinking <@FINAL format=\"a>b\">\nHello <b>\n</@FINAL> bye",
            "Hello <b>",
        ),
        ("<@0004 tool=\"x\">{}</@0004>", ""),
        ("<@FINAL>no end\n</", "no end\n</"),
        ("<@FINAL>no end\n</@FIN", "no end"),
        ("<@FINALE>x</@FINALE>", ""),
        ("<ai-agent-00000000-FINAL>x</ai-agent-00000000-FINAL>", ""),
    ];
    for (text, wanted) in cases {
        assert_eq!(shown(&[&tags(text)]), wanted, "{text}");
    }
    let mut filter = StreamFilter::new(NONCE);
    assert_eq!(filter.push(&tags("<@FINAL>Hel")), "Hel", "at once");
    assert_eq!(
        filter.push("lo </ai"),
        "lo ",
        "what may be a tag is held back"
    );
    assert_eq!(filter.push(" x"), "</ai x");
}

fn pieces() -> impl Strategy<Value = Vec<String>> {
    let parts = prop::sample::select(vec![
        "<",
        "</",
        "ai-agent-",
        "1a2b3c4d",
        "-FINAL",
        "-0004",
        "<@FINAL",
        "<@FINAL>",
        "</@FINAL>",
        "<@0004 tool=\"t\">",
        "</@0004>",
        " tool='x'",
        "\"",
        ">",
        "\r",
        "\n",
        "é",
        "x",
        "<tool_call>",
        "{\"name\":\"a\"}",
        "</tool_call>",
    ]);
    prop::collection::vec(parts.prop_map(tags), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn a_stream_shows_the_same_however_it_is_cut(pieces in pieces(), size in 1..9_usize) {
        let whole = pieces.concat();
        let by_piece: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let characters: Vec<char> = whole.chars().collect();
        let chunks: Vec<String> = characters.chunks(size).map(|chunk| chunk.iter().collect()).collect();
        let by_size: Vec<&str> = chunks.iter().map(String::as_str).collect();
        prop_assert_eq!(shown(&by_piece), shown(&[&whole]));
        prop_assert_eq!(shown(&by_size), shown(&[&whole]));
    }

    #[test]
    fn any_text_is_searched_and_each_slot_is_called_once(pieces in pieces()) {
        let text = pieces.concat();
        let found = find_tags(&text, NONCE, &OFFERED, Finish::Stop);
        let mut slots: Vec<Slot> = found.calls.iter().map(|call| call.slot).collect();
        slots.sort();
        slots.dedup();
        prop_assert_eq!(slots.len(), found.calls.len());
        prop_assert!(found.calls.iter().all(|call| text.contains(&call.payload)));
    }
}

#[test]
fn megabytes_of_tags_are_searched_in_linear_time() {
    for unit in [
        "<@0004 tool=\"x\">",
        "<@FINAL>",
        "<ai-agent-",
        "<@0004 tool=\"",
    ] {
        let text = tags(unit).repeat(100_000);
        assert!(
            find_tags(&text, NONCE, &OFFERED, Finish::Length)
                .calls
                .is_empty()
        );
        let _ = shown(&[&text]);
    }
}
