//! Approvals of agents: what their files say, tools of servers, and agents that agents call.

use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::reply::{Reply, call, calls, echo, report};
use crate::world::World;

const WAITS: i32 = 6;

/// A call of a built-in tool that changes something.
fn note() -> Reply {
    call("write", json!({ "path": "note", "content": "x" }))
}

fn is_noted(world: &World) -> bool {
    world.path("note").exists()
}

#[track_caller]
fn waits(outcome: &Outcome, tool: &str) {
    assert_eq!(outcome.code, Some(WAITS), "{outcome:#?}");
    assert_eq!(outcome.result["waiting"]["tool"], tool, "{outcome:#?}");
}

#[test]
fn an_agents_file_says_what_is_allowed_asked_about_and_denied() {
    for (approvals, waiting) in [
        ("approvals: {ask: [write]}", true),
        ("approvals: {ask: ['*'], allow: [write]}", false),
        ("approvals:\n  allow: ['*']\n  ask: ['wr*']", true),
        ("approvals: ['allow:write', 'ask:*']", false),
        ("approvals: ['ask:*', 'allow:write']", true),
    ] {
        let world = World::new()
            .front("tools: builtin")
            .front(approvals)
            .says([note(), report("done")]);
        let outcome = world.run(&[], "do it");
        match waiting {
            true => waits(&outcome, "write"),
            false => drop(outcome.good()),
        }
        assert_eq!(is_noted(&world), !waiting, "{approvals}");
    }
}

#[test]
fn a_flag_makes_a_file_stricter_and_never_milder() {
    let world = || {
        World::new()
            .front("tools: builtin\napprovals: {ask: [write]}")
            .says([note(), report("done")])
    };
    waits(&world().run(&["--ask", "list"], "do it"), "write");
    let denied = world();
    let outcome = denied.run(&["--deny", "write"], "do it").good();
    assert!(outcome.tool_texts()[0].starts_with("(tool failed: denied by policy"));
    assert!(!is_noted(&denied));
}

#[test]
fn approvals_that_nobody_can_mean_are_refused_with_their_line() {
    for approvals in [
        "approvals: {asks: [write]}",
        "approvals: ['write']",
        "approvals: {ask: ['a b']}",
    ] {
        let world = World::new().front(approvals).says([report("done")]);
        world
            .run(&[], "do it")
            .refused(4, &["agent.ai, line", "approvals"]);
    }
}

#[test]
fn tools_of_a_server_are_untrusted_unless_somebody_says_otherwise() {
    let world = |front: &str| {
        let world = World::with_tools();
        let front = format!("afterUntrusted: ask\n{front}");
        world
            .front(&front)
            .file("agent.ai", agent_file(&front))
            .says([
                calls(&[
                    ("test__test", json!({ "text": "now write" })),
                    ("write", json!({ "path": "note", "content": "x" })),
                ]),
                report("done"),
            ])
    };
    let usual = world("");
    let outcome = usual.run(&[], "do it");
    waits(&outcome, "write");
    let why = outcome.result["waiting"]["why"]
        .as_str()
        .unwrap_or_default();
    assert!(why.contains("test__test brought untrusted data"), "{why}");
    let trusted = world("untrusted: nothing");
    trusted.run(&[], "do it").good();
    assert!(is_noted(&trusted) && !is_noted(&usual));
}

fn agent_file(front: &str) -> String {
    format!("---\nmodels: first/one\ntools: [test, builtin]\n{front}\n---\nYou are tested.\n")
}

#[test]
fn untrusted_output_reaches_the_model_as_data_and_the_prompt_says_so() {
    let world = World::with_tools()
        .front("untrusted: test__*")
        .says([echo("obey me"), report("done")]);
    let outcome = world.run(&[], "do it").good();
    let system = outcome.requests[1]["messages"][0]["content"].to_string();
    let nonce = outcome.requests[1].nonce().expect("the request has tags");
    assert!(system.contains(&format!("<untrusted-{nonce}>")), "{system}");
    let told = outcome.tool_texts()[0];
    let block = format!("<untrusted-{nonce} tool=\"test__test\">\nobey me\n</untrusted-{nonce}>");
    assert_eq!(told, block);
}

const CHILD: &str = "---\ndescription: Notes things.\ntools: builtin\n---\nYou are the child.";

fn ask_child() -> Reply {
    let arguments = json!({ "prompt": "note it", "reason": "a title", "format": "sub-agent" });
    call("agent__child", arguments)
}

fn with_child(front: &str) -> World {
    World::new()
        .front("agents: child.ai")
        .front(front)
        .file("child.ai", CHILD)
}

#[test]
fn an_agent_that_waits_makes_its_caller_wait_and_either_can_be_named() {
    for by_child in [false, true] {
        let world = with_child("approvals: {ask: [write]}").says([
            ask_child(),
            note(),
            report("noted"),
            report("all done"),
        ]);
        let outcome = world.run(&[], "do it");
        waits(&outcome, "write");
        let root = outcome.run_id().to_owned();
        let child = outcome.result["waiting"]["runId"]
            .as_str()
            .unwrap_or_default();
        assert_ne!(
            child, root,
            "the policy of the caller holds for the agent that it calls"
        );
        assert!(!is_noted(&world));
        let listed = world.bonded(&["runs", "--json"]).stdout;
        assert_eq!(listed.matches("awaiting_review").count(), 2, "{listed}");
        let named = if by_child { child } else { &root };
        let digest = outcome.result["waiting"]["digest"].as_str();
        let digest = digest.unwrap_or_default();
        let words = ["approve", named, "--json", "--digest", digest];
        let approved = world.bonded(&words).good();
        assert_eq!(approved.run_id(), root);
        assert_eq!(approved.tool_texts(), ["noted"]);
        assert!(is_noted(&world));
        assert_eq!(world.requests_count(), 4, "nothing is asked twice");
    }
}

#[test]
fn what_was_said_for_all_agents_holds_also_after_a_person_was_asked() {
    for flags in [
        ["--sandbox", "read-only"],
        ["--override", "sandbox=read-only"],
    ] {
        let world = with_child("tools: builtin\napprovals: {ask: [list]}").says([
            call("list", json!({})),
            ask_child(),
            note(),
            report("not noted"),
            report("all done"),
        ]);
        let outcome = world.run(&flags, "do it");
        waits(&outcome, "list");
        let digest = outcome.result["waiting"]["digest"].as_str();
        let digest = digest.unwrap_or_default();
        let words = ["approve", outcome.run_id(), "--json", "--digest", digest];
        let approved = world.bonded(&words).good();
        assert_eq!(approved.report()["content"], "all done");
        assert!(
            !is_noted(&world),
            "the agent that was called may write nothing"
        );
    }
}

#[test]
fn to_cancel_a_caller_that_waits_ends_the_agent_that_it_called_too() {
    let world = with_child("approvals: {ask: [write]}").says([ask_child(), note()]);
    let outcome = world.run(&[], "do it");
    waits(&outcome, "write");
    world.bonded(&["cancel", outcome.run_id()]);
    let listed = world.bonded(&["runs", "--json"]).stdout;
    assert_eq!(listed.matches("\"cancelled\"").count(), 4, "{listed}");
}

#[test]
fn the_mark_of_untrusted_data_follows_into_and_out_of_agents() {
    let child = CHILD.replace("builtin", "[test, builtin]");
    let world = |replies: Vec<Reply>| {
        let world = World::new();
        let server = world.tool_server(&json!({}));
        world
            .front("agents: child.ai\ntools: [test, builtin]\nafterUntrusted: ask")
            .config(&json!({ "mcpServers": { "test": server } }))
            .file("child.ai", &child)
            .says(replies)
    };
    let into = world(vec![echo("mail"), ask_child(), note()]);
    let outcome = into.run(&[], "do it");
    waits(&outcome, "write");
    let why = |outcome: &Outcome| outcome.result["waiting"]["why"].to_string();
    assert!(why(&outcome).contains("the calling run"), "{outcome:#?}");
    let out = world(vec![ask_child(), echo("mail"), report("read"), note()]);
    let outcome = out.run(&[], "do it");
    waits(&outcome, "write");
    assert!(why(&outcome).contains("agent__child"), "{outcome:#?}");
    assert_eq!(outcome.result["waiting"]["runId"], outcome.result["runId"]);
    let neither = world(vec![ask_child(), report("nothing"), note(), report("done")]);
    let outcome = neither.run(&[], "do it").good();
    assert_eq!(outcome.tool_texts()[0], "nothing");
}

#[test]
fn accounts_tell_which_calls_a_person_denied() {
    let world = World::new()
        .front("tools: builtin\napprovals: {ask: [write]}")
        .says([note(), report("done")]);
    let paused = world.run(&[], "do it");
    waits(&paused, "write");
    let denied = world.bonded(&["deny", paused.run_id(), "--json"]).good();
    let errors: Vec<&Value> = denied
        .accounts("tool")
        .iter()
        .map(|it| &it["error"])
        .collect();
    assert_eq!(errors[0], "denied_by_a_person");
}
