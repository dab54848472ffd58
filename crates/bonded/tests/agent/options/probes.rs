//! One probe for each option.

use serde_json::{Value, json};

use super::{Probe, Seen};
use crate::reply::{Reply, calls, echo, message, refusal, report, report_tag};
use crate::world::World;

/// An agent behind a router, which is sent every setting, with tools at hand.
fn routed() -> World {
    let world = World::new();
    let router = json!({ "type": "openrouter", "baseUrl": world.base_url(), "apiKey": "k" });
    let server = world.tool_server(&json!({}));
    world
        .front("models: openrouter/some/model")
        .config(&json!({ "providers": { "openrouter": router }, "mcpServers": { "test": server } }))
        .then_always(report("done"))
}

fn with_tools() -> World {
    routed().front("tools: test")
}

/// A report that is right in every transport.
fn any_report() -> Reply {
    let arguments = json!({ "report_format": "pipe", "report_content": "done" }).to_string();
    let function = json!({ "name": "agent__final_report", "arguments": arguments });
    let said = json!({
        "role": "assistant",
        "content": report_tag("pipe", "done"),
        "tool_calls": [{ "id": "call_1", "type": "function", "function": function }],
    });
    message(&said, "tool_calls")
}

fn anthropic() -> World {
    World::of_messages(&json!({ "input_tokens": 20, "output_tokens": 5 }))
}

fn with_agents() -> World {
    let agent = "---\ndescription: Is there.\n---\nHello.";
    routed().file("a.ai", agent).file("b.ai", agent)
}

fn with_skills() -> World {
    let skill = |name| format!("---\nname: {name}\ndescription: Is there.\n---\n");
    let file = |name| format!("../home/.agents/skills/{name}/SKILL.md");
    routed()
        .file(&file("one"), skill("one"))
        .file(&file("two"), skill("two"))
}

fn offered(seen: &Seen) -> Value {
    json!(seen.outcome.requests[0].tools())
}

/// How the first tool call ended.
fn first_call(seen: &Seen) -> Value {
    seen.outcome.accounts("tool")[0]["status"].clone()
}

fn field(seen: &Seen, name: &'static str) -> Value {
    seen.asked(name)
}

fn probe(
    key: &'static str,
    (wins, loses): (&'static str, &'static str),
    (seen, unsaid): (Value, Value),
    look: fn(&Seen) -> Value,
) -> Probe {
    let stage = routed;
    Probe {
        key,
        wins,
        loses,
        seen,
        unsaid,
        stage,
        look,
    }
}

/// What a provider is sent.
pub(super) fn of_requests() -> Vec<Probe> {
    let none = Value::Null;
    let effort = |level: &str| json!({ "effort": level });
    vec![
        Probe {
            stage: || World::new().then_always(report("done")),
            ..probe(
                "models",
                ("second/two", "third/three"),
                (json!("two"), json!("one")),
                |seen| field(seen, "model"),
            )
        },
        probe(
            "tools",
            ("read", "list"),
            (json!(["read", "tool_output"]), json!([])),
            offered,
        ),
        Probe {
            stage: with_agents,
            ..probe(
                "agents",
                ("a.ai", "b.ai"),
                (json!(["agent__a", "tool_output"]), json!([])),
                offered,
            )
        },
        Probe {
            stage: with_skills,
            ..probe(
                "skills",
                ("one", "two"),
                (json!([true, false]), json!([false, false])),
                |seen| {
                    let system = seen.outcome.requests[0].texts()[0].clone();
                    json!([system.contains("- one: "), system.contains("- two: ")])
                },
            )
        },
        probe(
            "temperature",
            ("0.5", "0.9"),
            (json!(0.5), none.clone()),
            |seen| field(seen, "temperature"),
        ),
        // A server that does not speak responses answers nothing that can be used.
        probe(
            "openaiMode",
            ("responses", "chat"),
            (json!(true), json!(false)),
            |seen| json!(field(seen, "messages").is_null()),
        ),
        probe("topP", ("0.5", "0.9"), (json!(0.5), none.clone()), |seen| {
            field(seen, "top_p")
        }),
        probe("topK", ("7", "9"), (json!(7), none.clone()), |seen| {
            field(seen, "top_k")
        }),
        probe(
            "repeatPenalty",
            ("1.1", "1.3"),
            (json!(1.1), none.clone()),
            |seen| field(seen, "repetition_penalty"),
        ),
        probe(
            "reasoning",
            ("high", "low"),
            (effort("high"), none.clone()),
            |seen| field(seen, "reasoning"),
        ),
        probe(
            "defaultReasoning",
            ("high", "low"),
            (effort("high"), none.clone()),
            |seen| field(seen, "reasoning"),
        ),
        probe(
            "reasoningTokens",
            ("2048", "1024"),
            (json!({ "max_tokens": 2048 }), none.clone()),
            |seen| field(seen, "reasoning"),
        ),
        probe(
            "maxOutputTokens",
            ("77", "99"),
            (json!(77), json!(4096)),
            |seen| field(seen, "max_tokens"),
        ),
        Probe {
            stage: anthropic,
            ..probe(
                "caching",
                ("none", "full"),
                (json!(false), json!(true)),
                |seen| {
                    json!(
                        seen.outcome.requests[0]
                            .body
                            .to_string()
                            .contains("cache_control")
                    )
                },
            )
        },
        Probe {
            stage: || with_tools().then_always(any_report()),
            ..probe(
                "toolingTransport",
                ("native", "xml"),
                (json!(true), json!(false)),
                |seen| {
                    json!(
                        seen.outcome.requests[0]
                            .tools()
                            .contains(&"agent__final_report")
                    )
                },
            )
        },
        Probe {
            stage: || routed().front("tools: read"),
            ..probe(
                "toolOutputPaging",
                ("false", "true"),
                (json!(["read"]), json!(["read", "tool_output"])),
                offered,
            )
        },
        Probe {
            stage: || with_tools().then_always(any_report()),
            ..probe(
                "toolSearchAbove",
                ("0", "none"),
                (json!(true), json!(false)),
                |seen| {
                    let offered = seen.outcome.requests[0].tools();
                    json!(offered.contains(&"agent__find_tools"))
                },
            )
        },
        probe(
            "contextSummary",
            ("true", "false"),
            (json!(true), none.clone()),
            |seen| {
                let log = seen.world.log(seen.outcome.run_id());
                log[0]["data"]["config"]["context_summary"].clone()
            },
        ),
        Probe {
            stage: || routed().front("tools: read"),
            ..probe(
                "progressReports",
                ("true", "false"),
                (
                    json!(["agent__progress_report", "read", "tool_output"]),
                    json!(["read", "tool_output"]),
                ),
                offered,
            )
        },
        probe("stream", ("true", "false"), (json!(true), none), |seen| {
            field(seen, "stream")
        }),
    ]
}

/// An agent that reads something and then changes something.
fn changing() -> World {
    let read = ("test__test", json!({ "text": "hello" }));
    let change = ("write", json!({ "path": "note", "content": "x" }));
    routed()
        .front("tools: [test, builtin]")
        .says([calls(&[read, change])])
}

fn status(seen: &Seen) -> Value {
    seen.outcome.result["status"].clone()
}

/// What a run may do without asking.
pub(super) fn of_approvals() -> Vec<Probe> {
    let waits = || (json!("awaiting_review"), json!("succeeded"));
    let stage = changing;
    vec![
        Probe {
            stage,
            ..probe("approvals", ("ask:write", "allow:write"), waits(), status)
        },
        Probe {
            stage,
            ..probe("ask", ("write", "list"), waits(), status)
        },
        Probe {
            stage,
            ..probe(
                "deny",
                ("write", "list"),
                (json!(false), json!(true)),
                |seen| json!(seen.world.path("note").exists()),
            )
        },
        Probe {
            stage,
            ..probe(
                "untrusted",
                ("test__*", "list"),
                (json!(true), json!(false)),
                |seen| json!(seen.outcome.tool_texts()[0].starts_with("<untrusted-")),
            )
        },
        Probe {
            stage,
            ..probe("afterUntrusted", ("ask", "allow"), waits(), status)
        },
        Probe {
            stage: || routed().front("tools: [read, write]"),
            ..probe(
                "readOnly",
                ("true", "false"),
                (
                    json!(["read", "tool_output"]),
                    json!(["read", "tool_output", "write"]),
                ),
                offered,
            )
        },
    ]
}

/// What bounds a run.
pub(super) fn of_limits() -> Vec<Probe> {
    vec![
        Probe {
            stage: || {
                routed()
                    .front("maxRetries: 1")
                    .then_always(report("done").delayed_ms(700))
            },
            ..probe(
                "llmTimeout",
                ("150", "60000"),
                (json!("failed"), json!("ok")),
                |seen| seen.outcome.accounts("llm")[0]["status"].clone(),
            )
        },
        Probe {
            stage: || with_tools().says([calls(&[("test__slow", json!({ "ms": 700 }))])]),
            ..probe(
                "toolTimeout",
                ("150", "60000"),
                (json!("failed"), json!("ok")),
                first_call,
            )
        },
        Probe {
            stage: || with_tools().says([echo("long-output")]),
            ..probe(
                "toolResponseMaxBytes",
                ("64", "100"),
                (json!(64), json!(3200)),
                |seen| json!(seen.outcome.tool_texts()[0].len()),
            )
        },
        Probe {
            stage: || {
                routed()
                    .front("maxTurns: 1")
                    .then_always(refusal(500, "out of order"))
            },
            ..probe("maxRetries", ("2", "5"), (json!(2), json!(3)), |seen| {
                json!(seen.outcome.requests.len())
            })
        },
        probe("maxTurns", ("4", "7"), (json!("4"), json!("10")), |seen| {
            let said = seen.outcome.requests[0].last();
            let turns = said
                .split("Turn 1 of ")
                .nth(1)
                .and_then(|rest| rest.split('.').next());
            json!(turns)
        }),
        Probe {
            stage: || {
                let one = ("test__test", json!({ "text": "hello" }));
                with_tools().says([calls(&vec![one; 4])])
            },
            ..probe(
                "maxToolCallsPerTurn",
                ("2", "3"),
                (json!(2), json!(4)),
                |seen| {
                    let texts = seen.outcome.tool_texts();
                    json!(texts.iter().filter(|text| **text == "hello").count())
                },
            )
        },
        Probe {
            stage: with_tools,
            ..probe(
                "contextWindow",
                ("3000", "90000"),
                (json!(true), json!(false)),
                |seen| json!(seen.outcome.requests[0].tools().is_empty()),
            )
        },
        Probe {
            stage: with_tools,
            ..probe(
                "contextWindowBufferTokens",
                ("130000", "10"),
                (json!(true), json!(false)),
                |seen| json!(seen.outcome.requests[0].tools().is_empty()),
            )
        },
    ]
}

/// What the program does beside the run.
pub(super) fn of_the_process() -> Vec<Probe> {
    vec![
        probe(
            "billingFile",
            ("a.jsonl", "b.jsonl"),
            (json!([true, false]), json!([false, false])),
            |seen| json!(["a.jsonl", "b.jsonl"].map(|name| seen.world.path(name).exists())),
        ),
        probe(
            "sessionsDir",
            ("snapshots", "others"),
            (json!([true, false]), json!([false, false])),
            |seen| {
                let name = format!("{}.json.gz", seen.outcome.run_id());
                json!(["snapshots", "others"].map(|dir| seen.world.path(dir).join(&name).exists()))
            },
        ),
        probe(
            "format",
            ("markdown", "tty"),
            (json!("markdown"), json!("pipe")),
            |seen| seen.outcome.report()["format"].clone(),
        ),
        probe("quiet", ("true", ""), (json!(true), json!(false)), |seen| {
            json!(seen.outcome.stderr.is_empty())
        }),
        probe(
            "verbose",
            ("true", ""),
            (json!(true), json!(false)),
            |seen| {
                json!(
                    seen.outcome
                        .stderr
                        .contains("asking   openrouter/some/model")
                )
            },
        ),
        probe(
            "traceLLM",
            ("true", ""),
            (json!(true), json!(false)),
            |seen| {
                let said = &seen.outcome.stderr;
                json!(said.contains("You are tested.") && said.contains("agent__final_report"))
            },
        ),
        Probe {
            stage: || with_tools().says([echo("a text that is not long")]),
            ..probe(
                "traceMCP",
                ("true", ""),
                (json!(true), json!(false)),
                |seen| {
                    let said = &seen.outcome.stderr;
                    json!(said.contains("trace") && said.contains("a text that is not long"))
                },
            )
        },
        Probe {
            stage: || {
                with_tools()
                    .front("toolResponseMaxBytes: 64\ntoolOutputPaging: false")
                    .says([echo("long-output")])
            },
            ..probe(
                "traceTools",
                ("true", ""),
                (json!(true), json!(false)),
                |seen| {
                    let log = seen.world.log(seen.outcome.run_id());
                    json!(
                        log.iter()
                            .any(|entry| entry.to_string().contains(&"#".repeat(3200)))
                    )
                },
            )
        },
    ]
}

/// An agent whose first turn runs a command.
fn running(command: &str) -> World {
    let call = calls(&[("run", json!({ "command": command }))]);
    routed().front("tools: run").says([call])
}

/// What the command of the first turn printed.
fn printed(seen: &Seen) -> Value {
    let shown: Value = seen.outcome.tool_texts()[0].parse().unwrap_or_default();
    shown["stdout"].clone()
}

/// How far commands reach.
pub(super) fn of_the_sandbox() -> Vec<Probe> {
    vec![
        Probe {
            stage: || running("echo x > made 2>/dev/null && echo written || echo refused"),
            ..probe(
                "sandbox",
                ("read-only", "full"),
                (json!("refused\n"), json!("written\n")),
                printed,
            )
        },
        Probe {
            stage: || running("true"),
            ..probe(
                "sandboxRequired",
                ("true", "false"),
                (json!(true), json!(null)),
                |seen| {
                    let log = seen.world.log(seen.outcome.run_id());
                    let config = &log[0]["data"]["config"];
                    config["sandbox"]["required"].clone()
                },
            )
        },
        Probe {
            stage: || running("true"),
            ..probe(
                "sandboxBestEffort",
                ("true", "false"),
                (json!(true), json!(null)),
                |seen| {
                    let log = seen.world.log(seen.outcome.run_id());
                    let config = &log[0]["data"]["config"];
                    config["sandbox"]["best_effort"].clone()
                },
            )
        },
        Probe {
            stage: || running("true"),
            ..probe(
                "sandboxShow",
                ("/usr", "/etc"),
                (json!(["/usr"]), json!(null)),
                |seen| {
                    let log = seen.world.log(seen.outcome.run_id());
                    let config = &log[0]["data"]["config"];
                    config["sandbox"]["show"].clone()
                },
            )
        },
        Probe {
            stage: || {
                let world = routed().front("tools: run");
                let url = world.base_url();
                let address = url
                    .split("//")
                    .nth(1)
                    .and_then(|rest| rest.split('/').next());
                let address = address.expect("a host and a port").replace(':', "/");
                let command = format!(
                    "(echo > /dev/tcp/{address}) 2>/dev/null && echo online || echo offline"
                );
                let call = json!({ "command": "bash", "args": ["-c", command] });
                world.says([calls(&[("run", call)])])
            },
            ..probe(
                "sandboxNetwork",
                ("true", "false"),
                (json!("online\n"), json!("offline\n")),
                printed,
            )
        },
        Probe {
            stage: || running("echo ${FOR_COMMANDS-none}"),
            ..probe(
                "sandboxEnv",
                ("FOR_COMMANDS", "ANOTHER"),
                (json!("handed on\n"), json!("none\n")),
                printed,
            )
        },
    ]
}

/// An agent whose first turn shows a limit of its processes.
fn limited(name: &str) -> World {
    let words = name.split(' ').count() + 1;
    running(&format!(
        "grep '^{name} ' /proc/self/limits | tr -s ' ' | cut -d ' ' -f {words}"
    ))
}

/// What the processes of commands may use.
pub(super) fn of_processes() -> Vec<Probe> {
    let line = |number: u64| json!(format!("{number}\n"));
    vec![
        Probe {
            stage: || limited("Max cpu time"),
            ..probe(
                "sandboxCpuMs",
                ("4001", "9000"),
                (line(5), line(3600)),
                printed,
            )
        },
        Probe {
            stage: || limited("Max data size"),
            ..probe(
                "sandboxMemoryBytes",
                ("1073741824", "2147483648"),
                (line(1 << 30), line(16 << 30)),
                printed,
            )
        },
        Probe {
            stage: || limited("Max processes"),
            ..probe(
                "sandboxProcesses",
                ("500", "600"),
                (line(500), line(4096)),
                printed,
            )
        },
        Probe {
            stage: || limited("Max file size"),
            ..probe(
                "sandboxFileBytes",
                ("1048576", "2097152"),
                (line(1 << 20), line(8 << 30)),
                printed,
            )
        },
    ]
}
