//! Instructions without attributes: what is read, what is dropped with its reason, what fails as a whole.

use bonded_kernel::{
    Element, INSTRUCTION_TAGS, InstructionFault, InstructionRules, Instructions, Problem,
    read_instructions,
};
use serde_json::{Value, json};

const LENIENT: InstructionRules<'_> = InstructionRules {
    allowed: &[],
    strict: false,
    instructions_max: 50,
};
const STRICT: InstructionRules<'_> = InstructionRules {
    strict: true,
    ..LENIENT
};

fn read(text: &str) -> Instructions {
    let read = read_instructions(text, LENIENT);
    assert!(read.is_ok(), "{read:?} of {text}");
    read.expect("checked just now")
}

fn fails(text: &str, rules: InstructionRules<'_>) -> InstructionFault {
    let read = read_instructions(text, rules);
    assert!(read.is_err(), "{read:?} of {text}");
    read.expect_err("checked just now")
}

/// The instructions, each as its tag and its arguments.
fn taken(text: &str) -> Vec<(&'static str, Value)> {
    let items = read(text).items.into_iter();
    items
        .filter_map(|item| match item {
            Element::Instruction { tag, arguments } => Some((tag, arguments)),
            Element::Dropped(_) => None,
        })
        .collect()
}

fn dropped(text: &str) -> Vec<InstructionFault> {
    let items = read(text).items.into_iter();
    items
        .filter_map(|item| match item {
            Element::Dropped(fault) => Some(fault),
            Element::Instruction { .. } => None,
        })
        .collect()
}

const RAM: &str = "<ram_add><key>plan</key><value>look first</value></ram_add>";

#[test]
fn each_of_the_eight_instructions_is_read_with_its_children() {
    let rows = [
        (
            "<state_add><state>executing</state></state_add>",
            "state_add",
            json!({ "state": "executing" }),
        ),
        (
            "<state_delete><state>idle</state></state_delete>",
            "state_delete",
            json!({ "state": "idle" }),
        ),
        (
            RAM,
            "ram_add",
            json!({ "key": "plan", "value": "look first" }),
        ),
        (
            "<ram_delete><key>plan</key></ram_delete>",
            "ram_delete",
            json!({ "key": "plan" }),
        ),
        (
            "<record_add><keywords>a, b</keywords><value>{\"title\":\"T\"}</value></record_add>",
            "record_add",
            json!({ "keywords": "a, b", "value": "{\"title\":\"T\"}" }),
        ),
        (
            "<record_issue><key>k</key><value>v</value><metadata>{}</metadata></record_issue>",
            "record_issue",
            json!({ "key": "k", "value": "v", "metadata": "{}" }),
        ),
        (
            "<record_update><key>k</key><value>v</value></record_update>",
            "record_update",
            json!({ "key": "k", "value": "v" }),
        ),
        (
            "<record_search><query>meeting</query></record_search>",
            "record_search",
            json!({ "query": "meeting" }),
        ),
    ];
    for (text, tag, arguments) in &rows {
        assert_eq!(taken(text), [(*tag, arguments.clone())], "{text}");
        assert!(read_instructions(text, STRICT).is_ok(), "{text}");
    }
    let tags: Vec<&str> = rows.iter().map(|row| row.1).collect();
    assert_eq!(tags, INSTRUCTION_TAGS);
}

#[test]
fn instructions_come_in_the_order_of_the_document() {
    let text = format!(
        "<state_add><state>planning</state></state_add>\n{RAM}\n\
         <record_search>\n  <query>q</query>\n</record_search>"
    );
    let tags: Vec<&str> = taken(&text).into_iter().map(|it| it.0).collect();
    assert_eq!(tags, ["state_add", "ram_add", "record_search"]);
}

#[test]
fn a_reply_of_nothing_holds_nothing() {
    for text in ["", " \n\t", "\u{feff}", "<!-- nothing to do -->"] {
        assert_eq!(read(text), Instructions::default(), "{text:?}");
        assert!(read_instructions(text, STRICT).is_ok(), "{text:?}");
    }
}

#[test]
fn values_are_text_with_entities_decoded_once_and_character_data_unwrapped() {
    let rows = [
        (" \n two\nlines \n", "two\nlines"),
        ("a\r\nb", "a\nb"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&quot;x&apos;", "\"x'"),
        ("&amp;lt;", "&lt;"),
        ("&nbsp; &#65; & &", "&nbsp; &#65; & &"),
        ("<![CDATA[<b>&lt;</b>]]>", "<b>&lt;</b>"),
        ("a <![CDATA[</value>]]> b", "a </value> b"),
        ("<p>kept <br> as it is</p>", "<p>kept <br> as it is</p>"),
        ("an <value>inner</value> one", "an <value>inner</value> one"),
        (
            "<ram_delete><key>x</key></ram_delete>",
            "<ram_delete><key>x</key></ram_delete>",
        ),
        ("<!DOCTYPE html>", "<!DOCTYPE html>"),
        ("ünïcode → ✓", "ünïcode → ✓"),
        ("", ""),
    ];
    for (written, value) in rows {
        let text = format!("<ram_add><key>k</key><value>{written}</value></ram_add>");
        let expected = json!({ "key": "k", "value": value });
        assert_eq!(taken(&text), [("ram_add", expected)], "{written}");
    }
}

#[test]
fn ids_stand_between_commas_or_blanks_or_in_elements_of_their_own() {
    for ids in [
        "a,b",
        "a b",
        " a ,\n b ",
        "<id>a</id><id>b</id>",
        "<id>a</id>\n<id> b </id>",
    ] {
        let text = format!("<record_search><ids>{ids}</ids></record_search>");
        let expected = json!({ "ids": ["a", "b"] });
        assert_eq!(taken(&text), [("record_search", expected)], "{ids}");
    }
}

#[test]
fn what_stands_between_instructions_is_ignored_unless_reading_is_strict() {
    let rows = [
        (format!("Sure, here you are:\n{RAM}"), Problem::Prose, 1),
        (format!("```xml\n{RAM}\n```"), Problem::Prose, 1),
        (format!("{RAM}\nif 1 < 2 then"), Problem::Prose, 2),
        (format!("{RAM}\nx <y and no more"), Problem::Prose, 2),
        (
            format!("{RAM}<![CDATA[<ram_delete><key>k</key></ram_delete>]]>"),
            Problem::Prose,
            1,
        ),
        (
            format!("<?xml version=\"1.0\"?>\n{RAM}"),
            Problem::Processing,
            1,
        ),
        (format!("{RAM}\n\n</done>"), Problem::StrayClose, 3),
    ];
    for (text, problem, line) in rows {
        assert_eq!(taken(&text).len(), 1, "{text}");
        let fault = fails(&text, STRICT);
        assert_eq!((fault.problem, fault.line), (problem, line), "{text}");
    }
}

#[test]
fn an_unknown_element_is_skipped_with_its_content() {
    let rows = [
        "<think><ram_delete><key>plan</key></ram_delete></think>",
        "<think>a <think>b</think> <ram_delete><key>plan</key></ram_delete></think>",
        "<note color=\"red\"><ram_delete><key>plan</key></ram_delete></note>",
        "<nothing/>",
        "<RAM_DELETE><key>plan</key></RAM_DELETE>",
        "<think><![CDATA[</think>]]><ram_delete><key>plan</key></ram_delete></think>",
    ];
    for unknown in rows {
        let text = format!("{unknown}\n{RAM}");
        let tags: Vec<&str> = taken(&text).into_iter().map(|it| it.0).collect();
        assert_eq!(tags, ["ram_add"], "{unknown}");
        let problems: Vec<Problem> = dropped(&text).into_iter().map(|it| it.problem).collect();
        assert_eq!(problems, [Problem::UnknownTag], "{unknown}");
        assert_eq!(
            fails(&text, STRICT).problem,
            Problem::UnknownTag,
            "{unknown}"
        );
    }
}

#[test]
fn an_instruction_that_the_prompt_does_not_allow_is_unknown() {
    let allowed = ["ram_add".to_owned()];
    let rules = InstructionRules {
        allowed: &allowed,
        ..LENIENT
    };
    let text = format!("{RAM}<ram_delete><key>plan</key></ram_delete>");
    let read = read_instructions(&text, rules).expect("all elements are closed");
    let [
        Element::Instruction { tag: "ram_add", .. },
        Element::Dropped(fault),
    ] = &read.items[..]
    else {
        unreachable!("{read:?}");
    };
    assert_eq!(
        (fault.problem, fault.tag.as_str()),
        (Problem::UnknownTag, "ram_delete")
    );
}

#[test]
fn a_wrong_instruction_is_dropped_with_its_reason_and_the_rest_is_read() {
    let missing = |child| Problem::MissingChild { child };
    let rows = [
        ("<ram_add><key>k</key></ram_add>", missing("value")),
        ("<ram_add><value>v</value></ram_add>", missing("key")),
        ("<ram_add/>", missing("key")),
        ("<ram_add>\n</ram_add>", missing("key")),
        (
            "<record_add><value>v</value></record_add>",
            missing("keywords"),
        ),
        (
            "<ram_add id=\"1\"><key>k</key><value>v</value></ram_add>",
            Problem::Attribute,
        ),
        (
            "<ram_add><key kind='x'>k</key><value>v</value></ram_add>",
            Problem::Attribute,
        ),
        (
            "<ram_add><key>a</key><key>b</key><value>v</value></ram_add>",
            Problem::DuplicateChild { child: "key" },
        ),
        (
            "<ram_add><key>a</key><value>v</value><note>n</note></ram_add>",
            Problem::UnknownChild,
        ),
        (
            "<ram_add>plan<key>a</key><value>v</value></ram_add>",
            Problem::NoChild,
        ),
        (
            "<ram_add><key>a</key></key><value>v</value></ram_add>",
            Problem::NoChild,
        ),
        (
            "<ram_add><key> </key><value>v</value></ram_add>",
            Problem::EmptyChild { child: "key" },
        ),
        (
            "<state_add><state/></state_add>",
            Problem::EmptyChild { child: "state" },
        ),
        ("<record_search></record_search>", Problem::OneOf),
        (
            "<record_search><query>q</query><ids>a</ids></record_search>",
            Problem::OneOf,
        ),
        (
            "<record_search><ids> , </ids></record_search>",
            Problem::EmptyChild { child: "ids" },
        ),
        (
            "<record_search><ids><b>a</b></ids></record_search>",
            Problem::BadIds,
        ),
    ];
    for (wrong, problem) in rows {
        let text = format!("{RAM}\n{wrong}\n{RAM}");
        assert_eq!(taken(&text).len(), 2, "{wrong}");
        let faults = dropped(&text);
        assert_eq!(faults.len(), 1, "{wrong}");
        assert_eq!((faults[0].problem, faults[0].line), (problem, 2), "{wrong}");
        let told = faults[0].to_string();
        assert!(
            told.starts_with("line 2: ") && told.contains("Write <"),
            "{told}"
        );
        assert_eq!(fails(&text, STRICT).problem, problem, "{wrong}");
    }
}

#[test]
fn what_has_no_end_fails_the_reply_as_a_whole() {
    let rows = [
        ("<ram_add><key>k</key><value>v</value>", "ram_add", 2),
        ("<ram_add><key>k</key><value>v</ram_add>", "value", 2),
        ("<ram_add><key>k<value>v</value></ram_add>", "key", 2),
        ("<ram_add", "ram_add", 2),
        ("<ram_add><key", "key", 2),
        ("<ram_add>\n<key>k</key>", "ram_add", 2),
        ("<think>hm", "think", 2),
        (
            "<ram_add><key>k</key><value><![CDATA[v</value></ram_add>",
            "value",
            2,
        ),
        ("<!-- and so on", "!--", 2),
        ("<?xml", "!--", 2),
        ("<ram_add><!-- and so on</ram_add>", "ram_add", 2),
    ];
    for (endless, tag, line) in rows {
        for rules in [LENIENT, STRICT] {
            let fault = fails(&format!("{RAM}\n{endless}"), rules);
            assert_eq!(fault.problem, Problem::Unclosed, "{endless}");
            assert_eq!((fault.tag.as_str(), fault.line), (tag, line), "{endless}");
        }
    }
}

#[test]
fn declarations_fail_the_reply_as_a_whole() {
    for declared in [
        "<!DOCTYPE x [<!ENTITY a \"b\">]>",
        "<!doctype x>",
        "<!ENTITY a \"b\">",
        "<ram_add><!DOCTYPE x><key>k</key><value>&a;</value></ram_add>",
    ] {
        let fault = fails(&format!("{RAM}\n{declared}{RAM}"), LENIENT);
        assert_eq!(
            (fault.problem, fault.line),
            (Problem::Declaration, 2),
            "{declared}"
        );
    }
}

#[test]
fn text_without_any_element_fails_the_reply_as_a_whole() {
    for text in [
        "I am done.",
        "1 < 2",
        "{\"tool\":\"ram_add\"}",
        "rm -rf / &lt;ram_add&gt;",
    ] {
        let fault = fails(text, LENIENT);
        assert_eq!(fault.problem, Problem::NoElement, "{text}");
        assert!(
            !fault.to_string().contains(text),
            "a fault does not repeat what was said"
        );
    }
}

#[test]
fn more_instructions_than_allowed_are_counted_and_not_kept() {
    let rules = InstructionRules {
        instructions_max: 2,
        ..LENIENT
    };
    let text = format!("{}{}", RAM.repeat(5), "<x/>".repeat(100));
    let read = read_instructions(&text, rules).expect("all elements are closed");
    assert_eq!(read.items.len(), 2 + 20);
    assert_eq!(read.instructions_left_out, 3);
    assert_eq!(read.faults_left_out, 80);
}
