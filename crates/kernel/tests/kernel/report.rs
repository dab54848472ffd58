//! The final report: three ways in, one shape out, always in the format that was asked for.

use bonded_kernel::{
    Catalog, FINAL_REPORT, Report, ReportFault, ReportFormat, ReportSource, ReportSpec,
    ReportStatus, ReportWarning, Shortfall, SyntheticReason, from_call, from_text, from_xml,
    report_tool_spec, synthetic,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn spec(format: ReportFormat) -> ReportSpec {
    let schema = None;
    ReportSpec { format, schema }
}

fn json_spec() -> ReportSpec {
    let schema = json!({
        "type": "object",
        "properties": { "data": { "$ref": "#/$defs/data" }, "n": { "type": "integer" } },
        "required": ["data"],
        "$defs": { "data": { "type": "object", "additionalProperties": { "type": "object" } } }
    });
    ReportSpec {
        format: ReportFormat::Json,
        schema: Some(schema),
    }
}

fn content(report: &Report) -> &str {
    report.content.as_deref().unwrap_or_default()
}

#[test]
fn a_format_is_known_by_its_id_and_by_its_other_names() {
    for format in ReportFormat::ALL {
        assert_eq!(ReportFormat::parse(format.as_str()), Some(format));
        assert_eq!(
            serde_json::to_value(format).expect("JSON"),
            json!(format.as_str())
        );
    }
    for (name, wanted) in [
        ("text", Some(ReportFormat::Pipe)),
        ("plain", Some(ReportFormat::Pipe)),
        ("plaintext", Some(ReportFormat::Pipe)),
        ("Plain-Text", Some(ReportFormat::Pipe)),
        ("ansi", Some(ReportFormat::Tty)),
        ("terminal", Some(ReportFormat::Tty)),
        ("html", None),
        ("", None),
    ] {
        assert_eq!(ReportFormat::parse(name), wanted, "{name}");
    }
}

#[test]
fn the_tool_of_each_format_has_a_usable_schema_that_takes_a_report() {
    let slack =
        json!([{"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "hi"}}]}]);
    for format in ReportFormat::ALL {
        let spec = match format {
            ReportFormat::Json => json_spec(),
            other => spec(other),
        };
        let arguments = match format {
            ReportFormat::Json => {
                json!({"report_format": "json", "content_json": {"data": {"x": {}}}})
            }
            ReportFormat::SlackBlockKit => {
                json!({"report_format": "slack-block-kit", "messages": slack})
            }
            other => {
                json!({"report_format": other.as_str(), "report_content": "hi", "encoding": "raw"})
            }
        };
        let tool = report_tool_spec(&spec);
        let catalog = Catalog::new([tool]).expect("a usable schema");
        assert_eq!(catalog.check_arguments(FINAL_REPORT, &arguments), Ok(()));
        let (report, warnings) = from_call(&spec, &arguments).expect("a report");
        assert_eq!(
            (report.format, report.status),
            (format, ReportStatus::Success)
        );
        assert_eq!((report.source, warnings), (ReportSource::ToolCall, vec![]));
        let log = serde_json::to_string(&report).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Report>(&log).expect("a report"),
            report
        );
    }
}

#[test]
fn a_text_report_is_taken_under_its_names_and_decoded() {
    let cases = [
        json!({"report_format": "markdown", "report_content": "Größe?"}),
        json!({"format": "markdown", "content": "Größe?"}),
        json!({"report_content": "Größe?", "encoding": "raw"}),
        json!({"report_content": "Größe?", "status": "failure"}),
        json!({"report_content": "R3LDtsOfZT8=", "encoding": "base64"}),
        json!({"report_content": "R3LDtsOf\n ZT8", "encoding": "BASE64"}),
        json!({"report_content": "R3LDtsOfZT8", "encoding": "base64", "metadata": {"a": 1}}),
    ];
    for arguments in cases {
        let (report, warnings) =
            from_call(&spec(ReportFormat::Markdown), &arguments).expect("a report");
        assert_eq!(content(&report), "Größe?", "{arguments}");
        assert_eq!(report.metadata.as_ref(), arguments.get("metadata"));
        assert_eq!(warnings, []);
    }
    let url_safe = json!({"report_content": "fn5-Pz8_", "encoding": "base64"});
    let (report, _) = from_call(&spec(ReportFormat::Pipe), &url_safe).expect("a report");
    assert_eq!(content(&report), "~~~???");
}

#[test]
fn a_report_that_names_another_format_is_kept_in_the_one_asked_for_with_a_warning() {
    let arguments = json!({"report_format": "json", "report_content": "# Hi", "metadata": 3});
    let (report, warnings) =
        from_call(&spec(ReportFormat::Markdown), &arguments).expect("a report");
    assert_eq!(
        (report.format, content(&report)),
        (ReportFormat::Markdown, "# Hi")
    );
    let other = ReportWarning::OtherFormat {
        found: "json".into(),
        expected: "markdown",
    };
    assert_eq!(warnings, [other.clone(), ReportWarning::DroppedMetadata]);
    let (report, warnings) =
        from_xml(&spec(ReportFormat::Markdown), Some("json"), "# Hi").expect("a report");
    assert_eq!(
        (report.format, warnings),
        (ReportFormat::Markdown, vec![other])
    );
    let alias = json!({"format": "text", "content": "x"});
    let (_, warnings) = from_call(&spec(ReportFormat::Pipe), &alias).expect("a report");
    assert_eq!(warnings, [], "another name of the same format");
}

#[test]
fn a_report_without_usable_content_is_a_fault_that_says_what_to_pass() {
    let markdown = spec(ReportFormat::Markdown);
    let cases = [
        (json!("plain"), "not an object"),
        (json!({"report_format": "markdown"}), "no report_content"),
        (json!({"report_content": null}), "no report_content"),
        (json!({"report_content": " \n"}), "empty"),
        (json!({"report_content": 7}), "must be a string"),
        (json!({"report_content": {"a": 1}}), "must be a string"),
        (
            json!({"report_content": "x", "encoding": "gzip"}),
            "raw or base64",
        ),
        (
            json!({"report_content": "x", "encoding": 1}),
            "raw or base64",
        ),
        (
            json!({"report_content": "*", "encoding": "base64"}),
            "not base64",
        ),
        (
            json!({"report_content": "/w==", "encoding": "base64"}),
            "UTF-8",
        ),
        (
            json!({"report_content": "IA==", "encoding": "base64"}),
            "empty",
        ),
    ];
    for (arguments, wanted) in cases {
        let fault = from_call(&markdown, &arguments)
            .expect_err("no report")
            .to_string();
        assert!(fault.contains(wanted), "{arguments}: {fault}");
    }
    assert!(matches!(
        from_xml(&markdown, None, "\n"),
        Err(ReportFault::Empty { .. })
    ));
}

#[test]
fn json_in_the_text_of_a_json_report_is_parsed_where_the_schema_wants_it() {
    let wanted = json!({"data": {"x": {"y": 1}}, "n": 5});
    let cases = [
        (json!({"data": {"x": {"y": 1}}, "n": 5}), 0),
        (json!({"data": "{\"x\": {\"y\": 1}}", "n": 5}), 1),
        (json!({"data": "{'x': {'y': 1}}", "n": "5"}), 2),
        (json!({"data": "{\"x\": \"{\\\"y\\\": 1}\"}", "n": "5"}), 3),
        (json!("{\"data\": {\"x\": {\"y\": 1}}, \"n\": 5}"), 0),
    ];
    for (given, repairs) in cases {
        let arguments = json!({"report_format": "json", "content_json": given});
        let (report, warnings) = from_call(&json_spec(), &arguments).expect("a report");
        assert_eq!(report.content_json, Some(wanted.clone()), "{given}");
        assert_eq!(content(&report), wanted.to_string());
        assert_eq!(warnings.len(), repairs, "{warnings:?}");
    }
    let deep: Value = json!({"data": {"a": "{}", "b": "{}", "c": "{}", "d": "{}", "e": "{}"}});
    for (given, wanted) in [
        (deep, "does not fit its schema: /data/e"),
        (json!({"n": 1}), "content_json"),
        (json!({"data": "words"}), "/data"),
        (json!("words"), "not JSON"),
    ] {
        let fault =
            from_call(&json_spec(), &json!({"content_json": given})).expect_err("no report");
        assert!(fault.to_string().contains(wanted), "{fault}");
    }
}

#[test]
fn a_schema_that_no_report_can_be_checked_against_is_found_before_the_run() {
    assert_eq!(json_spec().check(), Ok(()));
    assert_eq!(ReportSpec::default().check(), Ok(()));
    for schema in [
        json!({"type": "objekt"}),
        json!({"$ref": "#/nowhere"}),
        json!(7),
    ] {
        let spec = ReportSpec {
            format: ReportFormat::Json,
            schema: Some(schema),
        };
        assert!(
            matches!(spec.check(), Err(ReportFault::BadSchema { .. })),
            "{spec:?}"
        );
        let report = from_xml(&spec, None, "{}");
        assert!(
            matches!(report, Err(ReportFault::BadSchema { .. })),
            "{spec:?}"
        );
    }
}

#[test]
fn a_tag_brings_the_payload_alone() {
    let payload = r#"{"data": {}, "status": "mine", "report_format": "mine"}"#;
    let (report, warnings) = from_xml(&json_spec(), Some("json"), payload).expect("a report");
    assert_eq!(report.content_json, serde_json::from_str(payload).ok());
    assert_eq!(
        (report.source, report.status),
        (ReportSource::Xml, ReportStatus::Success)
    );
    assert_eq!((report.metadata, warnings), (None, vec![]));
    let (report, warnings) =
        from_xml(&json_spec(), None, "```json\n{data: {}}\n```").expect("a report");
    assert_eq!(report.content_json, Some(json!({"data": {}})));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let faults = [
        (json_spec(), "no JSON at all", "not JSON"),
        (
            json_spec(),
            "{\"data\": {\"x\": {\"y\": \"cut he",
            "ends inside",
        ),
        (json_spec(), "{\"n\": 1}", "schema"),
        (spec(ReportFormat::SlackBlockKit), "just text", "not JSON"),
    ];
    for (spec, payload, wanted) in faults {
        let fault = from_xml(&spec, None, payload)
            .expect_err("no report")
            .to_string();
        assert!(fault.contains(wanted), "{payload}: {fault}");
    }
    let opaque = "  {\"a\": broken <x>";
    let (report, _) =
        from_xml(&spec(ReportFormat::SubAgent), Some("sub-agent"), opaque).expect("a report");
    assert_eq!(content(&report), opaque);
}

#[test]
fn slack_messages_in_odd_shapes_become_messages_of_blocks() {
    let section = |text: &str| json!({"type": "section", "text": {"type": "mrkdwn", "text": text}});
    let hi = json!([{"blocks": [section("*hi*")]}]);
    let cases = [
        (
            json!([{"blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "**hi**"}}]}]),
            hi.clone(),
        ),
        (
            json!({"messages": [{"blocks": [{"type": "section", "text": "**hi**"}]}]}),
            hi.clone(),
        ),
        (
            json!({"blocks": "[{\"type\": \"section\", \"text\": \"*hi*\"}]"}),
            hi.clone(),
        ),
        (json!([{"type": "section", "text": "*hi*"}]), hi.clone()),
        (json!(["*hi*"]), hi.clone()),
        (json!([{"text": "*hi*"}]), hi.clone()),
        (json!("[\"*hi*\"]"), hi),
        (
            json!(["a", {"type": "divider", "x": 1}, {"type": "header", "text": "**T**"}, "b"]),
            json!([
                {"blocks": [section("a")]},
                {"blocks": [{"type": "divider"}, {"type": "header", "text": {"type": "plain_text", "text": "T"}}]},
                {"blocks": [section("b")]},
            ]),
        ),
        (
            json!([{"type": "context", "elements": ["x", {"type": "plain_text", "text": "y"}]}]),
            json!([
                {"blocks": [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}, {"type": "mrkdwn", "text": "y"}]}]}
            ]),
        ),
        (
            json!([{"type": "section", "text": "a", "fields": ["b", {"text": "c"}]}]),
            json!([{"blocks": [section("a\nb\nc")]}]),
        ),
    ];
    let slack = spec(ReportFormat::SlackBlockKit);
    for (given, wanted) in cases {
        let arguments = json!({"messages": given, "metadata": {"mine": 1, "slack": "theirs"}});
        let (report, _) = from_call(&slack, &arguments).expect("a report");
        assert_eq!(report.messages, Some(wanted.clone()), "{given}");
        assert_eq!(
            report.metadata,
            Some(json!({"mine": 1, "slack": {"messages": wanted}}))
        );
    }
}

#[test]
fn slack_messages_over_a_limit_are_a_fault_that_names_the_place() {
    let block = json!({"type": "section", "text": "x"});
    let cases = [
        (json!([]), "there is none"),
        (json!(vec!["x"; 21]), "21 messages"),
        (json!([{"blocks": vec![block; 51]}]), "message 1: 51 blocks"),
        (json!([{"blocks": []}]), "no blocks"),
        (
            json!(["a", "x".repeat(2901)]),
            "message 2, block 1: 2901 characters",
        ),
        (
            json!([{"type": "header", "text": "x".repeat(151)}]),
            "151 characters",
        ),
        (
            json!([{"type": "context", "elements": vec!["x"; 11]}]),
            "11 elements",
        ),
        (json!([{"type": "context"}]), "needs elements"),
        (json!([{"type": "image", "url": "x"}]), "no text"),
        (json!([7]), "must be an object"),
        (json!([[[[["x"]]]]]), "nested"),
    ];
    for (given, wanted) in cases {
        let fault = from_call(
            &spec(ReportFormat::SlackBlockKit),
            &json!({"messages": given}),
        );
        let fault = fault.expect_err("no report").to_string();
        assert!(fault.contains(wanted), "{wanted}: {fault}");
    }
}

#[test]
fn only_text_that_is_a_report_is_taken_for_one() {
    let markdown = spec(ReportFormat::Markdown);
    let text = "Here it is:\n```json\n{\"report_format\": \"markdown\", \"report_content\": \"# Hi\"}\n```";
    let (report, warnings) = from_text(&markdown, text).expect("a report");
    assert_eq!(
        (report.source, content(&report)),
        (ReportSource::Text, "# Hi")
    );
    assert_eq!((report.status, warnings), (ReportStatus::Success, vec![]));
    let wrapped = r#"{"report_format": "json", "content_json": {"data": {}}}"#;
    for text in [wrapped, r#"{"data": {}}"#] {
        let (report, _) = from_text(&json_spec(), text).expect("a report");
        assert_eq!(report.content_json, Some(json!({"data": {}})), "{text}");
        assert_eq!(content(&report), r#"{"data":{}}"#);
    }
    for (spec, text) in [
        (&markdown, "# Hi"),
        (&markdown, "{\"a\": 1}"),
        (&markdown, "{\"format\": \"html\", \"content\": \"x\"}"),
        (&markdown, "{\"format\": \"markdown\"}"),
        (
            &markdown,
            "{\"format\": \"markdown\", \"content\": \"cut he",
        ),
        (&markdown, "[1, 2]"),
        (&json_spec(), "{\"n\": 1}"),
        (&spec(ReportFormat::Json), "{\"data\": {}}"),
    ] {
        assert_eq!(from_text(spec, text), None, "{text}");
    }
}

#[test]
fn a_run_without_a_report_gets_one_that_says_so() {
    let shortfall = Shortfall {
        reason: SyntheticReason::MaxTurnsExhausted,
        turns_completed: 2,
        report_attempts: 3,
        last_stop_reason: Some("stop"),
        cause: Some("The model wrote no report."),
    };
    let text = "Session completed without a final report after 2 turns. The model wrote no report.";
    for format in ReportFormat::ALL {
        let report = synthetic(&spec(format), &shortfall);
        assert_eq!(
            (report.status, report.source),
            (ReportStatus::Failure, ReportSource::Synthetic)
        );
        assert_eq!(report.format, format);
        assert!(content(&report).contains(text), "{format}");
        let metadata = report.metadata.expect("it has some");
        assert_eq!(metadata["reason"], "max_turns_exhausted");
        assert_eq!(metadata["turns_completed"], 2);
        assert_eq!(metadata["final_report_attempts"], 3);
        assert_eq!(metadata["last_stop_reason"], "stop");
        assert_eq!(report.content_json.is_some(), format == ReportFormat::Json);
        assert_eq!(
            report.messages.is_some(),
            format == ReportFormat::SlackBlockKit
        );
    }
    let once = Shortfall {
        turns_completed: 1,
        cause: None,
        ..shortfall
    };
    let report = synthetic(&spec(ReportFormat::Pipe), &once);
    assert_eq!(
        content(&report),
        "Session completed without a final report after 1 turn."
    );
}

proptest! {
    #[test]
    fn any_payload_gives_a_report_or_a_fault(payload in "[\\[\\]{}\",:a-z*\n ]{0,80}") {
        for format in ReportFormat::ALL {
            let _ = from_xml(&spec(format), None, &payload);
            let _ = from_text(&spec(format), &payload);
            let arguments = json!({"report_content": payload, "encoding": "base64"});
            let _ = from_call(&spec(format), &arguments);
        }
    }
}
