//! What a model is shown when it writes its calls as tags, and that it can do as it is told.

use bonded_kernel::{
    Encoding, FINAL_REPORT, Finish, PROGRESS_REPORT, ReportFormat, ReportSpec, Slot, ToolEffect,
    ToolResponse, ToolSpec, XmlNext, find_tags, tool_response, xml_next,
};
use serde_json::json;

use crate::xml::{NONCE, OFFERED, calls};

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        schema: json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        effect: ToolEffect::Read,
        sandbox: None,
        resource: None,
        deferred: false,
    }
}

fn next<'a>(tools: &'a [&'a ToolSpec], report: &'a ReportSpec) -> XmlNext<'a> {
    XmlNext {
        nonce: NONCE,
        turn: 2,
        turns_max: 9,
        encoding: Encoding::Xml,
        slots: 4..6,
        tools,
        progress: true,
        report,
        final_only: false,
    }
}

#[test]
fn an_answer_that_follows_the_instructions_literally_is_read_as_exactly_these_calls() {
    let put = tool("put");
    for format in ReportFormat::ALL {
        let schema = Some(json!({"type": "object"}));
        let report = ReportSpec { format, schema };
        let tools = [&put];
        let next = next(&tools, &report);
        let answer = xml_next(&next)
            .replace("NAME", "put")
            .replace("ARGUMENTS", "{\"a\":\"b\"}")
            .replace("\nprogress\n", "\nhalf\n")
            .replace("REPORT\n", "[the report]\n");
        let found = find_tags(&answer, NONCE, &OFFERED, Finish::Stop);
        let wanted = [
            "0004 put {\"a\":\"b\"}".to_owned(),
            format!("PROGRESS {PROGRESS_REPORT} half"),
            format!("FINAL {FINAL_REPORT} [the report]"),
        ];
        assert_eq!(calls(&found), wanted, "{answer}");
        assert_eq!(found.ignored, []);
        assert_eq!(found.calls[2].format.as_deref(), Some(format.as_str()));
    }
}

#[test]
fn the_instructions_show_what_may_be_called_and_nothing_else() {
    let (put, report) = (tool("put"), ReportSpec::default());
    let tools = [&put];
    let all = next(&tools, &report);
    let text = xml_next(&all);
    for wanted in [
        "Turn 2 of 9",
        "Slots: 0004, 0005.",
        "- put: Does put.",
        "-PROGRESS",
        "-FINAL",
        "markdown",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let schema = serde_json::to_string(&put.schema).expect("JSON");
    assert!(text.contains(&schema), "the schema is compact JSON");
    let last = XmlNext {
        final_only: true,
        ..all.clone()
    };
    let xml_final = XmlNext {
        encoding: Encoding::XmlFinal,
        ..all.clone()
    };
    for reduced in [last, xml_final] {
        let text = xml_next(&reduced);
        assert!(text.contains("-FINAL tool=\"agent__final_report\" format=\"markdown\">"));
        for hidden in ["0004", "PROGRESS", "Does put", "properties"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    }
    let none = XmlNext { tools: &[], ..all };
    assert!(xml_next(&none).contains("None are left"));
}

#[test]
fn a_tool_response_names_its_slot_and_cuts_only_the_request() {
    let long = "é".repeat(3_000);
    let response = ToolResponse {
        nonce: NONCE,
        slot: Slot::Numbered(7),
        tool: "put",
        status: "ok",
        duration_ms: 1_239,
        request: "{}",
        response: &long,
    };
    let text = tool_response(&response);
    let wanted = format!(
        "System Notice: tool response for 1a2b3c4d-0007 (put)\nstatus: ok\nduration: 1.23s\n\
         <request>\n{{}}\n</request>\n<response>\n{long}\n</response>"
    );
    assert_eq!(text, wanted);
    let cut = ToolResponse {
        request: &long,
        response: "r",
        ..response
    };
    let text = tool_response(&cut);
    let request = text
        .split("<request>\n")
        .nth(1)
        .and_then(|rest| rest.split("\n</request>").next());
    let request = request.expect("it is there");
    assert!(
        request.starts_with("[TRUNCATED] Original size 6000 bytes; truncated to 4096 bytes.\n\né")
    );
    assert!((4093..=4096).contains(&request.len()), "{}", request.len());
}
