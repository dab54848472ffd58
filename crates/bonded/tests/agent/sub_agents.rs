//! Agents that other agents call.

use serde_json::{Value, json};

use crate::reply::{Reply, call, echo, report, text};
use crate::world::World;

const CHILD: &str = "---\ndescription: Knows things.\n---\nYou are the child.";

fn with_child(front_matter: &str) -> World {
    let child = CHILD.replacen("---\n", &format!("---\n{front_matter}"), 1);
    World::new()
        .front("agents: child.ai")
        .file("child.ai", child)
}

fn ask_child(prompt: &str) -> Reply {
    let arguments = json!({ "prompt": prompt, "reason": "a title", "format": "sub-agent" });
    call("agent__child", arguments)
}

#[test]
fn an_agent_is_a_tool_to_its_caller_and_a_run_of_its_own() {
    let world = with_child("").says([ask_child("find it"), report("found it"), report("all done")]);
    let outcome = world.run(&[], "do it").good();
    let [asked, of_child, told] = outcome.requests.as_slice() else {
        panic!("three requests were expected: {outcome:#?}");
    };
    assert_eq!(asked.tools(), ["agent__child", "tool_output"]);
    assert_eq!(of_child["messages"][0]["content"], "You are the child.");
    assert_eq!(of_child["messages"][1]["content"], "find it");
    assert!(
        of_child.last().contains("format=\"sub-agent\""),
        "{}",
        of_child.last()
    );
    assert_ne!(of_child.nonce(), asked.nonce());
    assert!(told.said().contains("found it"));
    assert_eq!(outcome.tool_texts(), ["found it"]);
    assert_eq!(outcome.report()["content"], "all done");
}

#[test]
fn the_accounts_of_an_agent_lead_to_its_caller() {
    let world = with_child("").says([ask_child("find it"), report("found it"), report("all done")]);
    let outcome = world.run(&[], "do it").good();
    let run = &outcome.result["runId"];
    let accounts = outcome.accounts("llm");
    assert_eq!(
        outcome.account_fields("llm", "callPath"),
        ["agent", "agent:child", "agent"]
    );
    assert_eq!(
        outcome.account_fields("llm", "agentId"),
        ["agent", "child", "agent"]
    );
    assert_eq!(&accounts[1]["parentTxnId"], run);
    for account in &accounts {
        assert_eq!(&account["originTxnId"], run);
    }
    assert_ne!(accounts[1]["txnId"], *run);
    let of_call = outcome
        .accounts("tool")
        .into_iter()
        .find(|it| it["command"] == "agent__child");
    let of_call = of_call.expect("a call has an account");
    assert_eq!(of_call["childTxnId"], accounts[1]["txnId"]);
    assert_eq!(of_call["mcpServer"], "agent");
    let child = accounts[1]["txnId"].as_str().expect("a run has an id");
    assert!(!world.log(child).is_empty());
}

fn schema_of(world: &World, tool: &str) -> Value {
    let request = world.requests().swap_remove(0);
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    let found = tools.into_iter().find(|it| it["function"]["name"] == tool);
    found
        .map(|it| it["function"]["parameters"].clone())
        .unwrap_or_default()
}

#[test]
fn an_agent_without_a_schema_takes_prompt_reason_and_format_and_refuses_a_call_that_lacks_one() {
    for missing in ["prompt", "reason", "format"] {
        let mut arguments = json!({ "prompt": "p", "reason": "r", "format": "sub-agent" });
        arguments
            .as_object_mut()
            .expect("it is an object")
            .remove(missing);
        let world = with_child("").says([call("agent__child", arguments), report("done")]);
        let outcome = world.run(&[], "do it").good();
        assert_eq!(outcome.requests.len(), 2, "{missing}");
        let told = outcome.tool_texts()[0];
        assert!(
            told.starts_with("(tool failed: ") && told.contains(missing),
            "{told}"
        );
        let schema = schema_of(&world, "agent__child");
        assert_eq!(schema["required"], json!(["prompt", "reason", "format"]));
        assert_eq!(schema["properties"]["format"]["const"], "sub-agent");
    }
}

#[test]
fn an_agent_with_a_schema_is_given_its_fields_and_not_the_reason() {
    let input = "input:\n  format: json\n  schema:\n    type: object\n    required: [city]\n    properties:\n      city: {type: string}\n    additionalProperties: false\n";
    let arguments = json!({ "city": "Athens", "reason": "a title" });
    let world = with_child(input).says([
        call("agent__child", arguments),
        report("sunny"),
        report("done"),
    ]);
    let outcome = world.run(&[], "do it").good();
    let schema = schema_of(&world, "agent__child");
    assert_eq!(schema["required"], json!(["city", "reason"]));
    let given = outcome.requests[1]["messages"][1]["content"].as_str();
    let given: Value = serde_json::from_str(given.unwrap_or_default()).unwrap_or_default();
    assert_eq!(given, json!({ "city": "Athens" }));
    assert_eq!(outcome.tool_texts(), ["sunny"]);
}

#[test]
fn an_agent_with_a_json_report_answers_with_its_json() {
    let output = "output:\n  format: json\n  schema: {type: object, required: [sum]}\n";
    let in_json = text(&crate::reply::report_tag("json", r#"{"sum": 3}"#));
    let world = with_child(output).says([ask_child("add"), in_json, report("done")]);
    let outcome = world.run(&[], "do it").good();
    let answered: Value = serde_json::from_str(outcome.tool_texts()[0]).unwrap_or_default();
    assert_eq!(answered, json!({ "sum": 3 }));
}

#[test]
fn an_agent_that_fails_is_a_failed_call_and_its_caller_goes_on() {
    let world = with_child("maxTurns: 1\nmaxRetries: 1\n").says([
        ask_child("find it"),
        text(""),
        report("done without it"),
    ]);
    let outcome = world.run(&[], "do it").good();
    let told = outcome.tool_texts()[0];
    assert!(told.starts_with("(tool failed: "), "{told}");
    assert_eq!(outcome.account_fields("tool", "status")[0], "failed");
    assert_eq!(outcome.report()["content"], "done without it");
}

#[test]
fn an_agent_uses_its_own_options_and_tools_and_what_was_overridden_for_all() {
    let child = "temperature: 0.7\ntools: test\n";
    let world = with_child(child);
    let server = world.tool_server(&json!({}));
    let world = world
        .front("temperature: 0.1")
        .config(&json!({ "mcpServers": { "test": server } }))
        .says([
            ask_child("find it"),
            echo("hello"),
            report("found"),
            report("done"),
        ]);
    let outcome = world
        .run(&["--override", "maxOutputTokens=77"], "do it")
        .good();
    let temperatures: Vec<&Value> = outcome
        .requests
        .iter()
        .map(|it| &it["temperature"])
        .collect();
    assert_eq!(temperatures, [0.1, 0.7, 0.7, 0.1]);
    assert!(outcome.requests[1].tools().contains(&"test__test"));
    for request in &outcome.requests {
        assert_eq!(request["max_tokens"], 77);
    }
}

#[test]
fn agents_below_an_agent_are_run_too_and_the_call_path_shows_them() {
    let world = with_child("agents: grandchild.ai\n")
        .file("grandchild.ai", CHILD.replace("child", "grandchild"))
        .says([
            ask_child("ask on"),
            call(
                "agent__grandchild",
                json!({ "prompt": "p", "reason": "r", "format": "sub-agent" }),
            ),
            report("from below"),
            report("from the middle"),
            report("done"),
        ]);
    let outcome = world.run(&[], "do it").good();
    let paths = outcome.account_fields("llm", "callPath");
    let middle = "agent:child";
    assert_eq!(
        paths,
        ["agent", middle, "agent:child:grandchild", middle, "agent"]
    );
}

#[test]
fn what_agents_spend_counts_against_the_budget_of_the_first() {
    let world = with_child("").says([
        ask_child("find it").usage(100, 10),
        report("found it").usage(40_000, 10),
        report("never asked"),
    ]);
    let outcome = world.run(&["--max-tokens", "40000"], "do it").failed();
    assert_eq!(
        outcome.result["termination"]["kind"], "budget_exhausted",
        "{outcome:#?}"
    );
    assert_eq!(outcome.requests.len(), 2);
}

#[test]
fn agents_that_cannot_be_called_are_refused_before_anything_runs() {
    let none = World::new()
        .front("agents: child.ai")
        .file("child.ai", "---\nmaxTurns: 3\n---\nHello.");
    none.run(&[], "do it")
        .refused(4, &["child.ai", "description"]);
    let circle = with_child("agents: agent.ai\n").front("description: Calls itself.");
    circle
        .run(&[], "do it")
        .refused(4, &["calls itself", "child.ai"]);
    with_child("toolName: batch\n")
        .run(&[], "do it")
        .refused(4, &["batch", "reserved"]);
    let twice = World::new()
        .front("agents: [child.ai, other/child.ai]")
        .file("child.ai", CHILD)
        .file("other/child.ai", CHILD);
    twice.run(&[], "do it").refused(4, &["child", "toolName"]);
    World::new()
        .front("agents: gone.ai")
        .run(&[], "do it")
        .refused(4, &["gone.ai"]);
}

#[test]
fn an_agent_is_called_by_the_name_that_it_gives_itself() {
    let arguments = json!({ "prompt": "p", "reason": "r", "format": "sub-agent" });
    let world = with_child("toolName: expert\n").says([
        call("agent__expert", arguments),
        report("found it"),
        report("done"),
    ]);
    let outcome = world.run(&[], "do it").good();
    assert_eq!(outcome.tool_texts(), ["found it"]);
    assert_eq!(outcome.account_fields("llm", "agentId")[1], "expert");
}
