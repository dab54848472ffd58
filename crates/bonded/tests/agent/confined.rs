//! Tool servers run in the sandbox of the run, or in the one that their entry asks for.

use serde_json::{Value, json};

use crate::reply::{echo, report};
use crate::world::World;

/// What the log says of the sandbox of a server whose entry has these fields: demanded, and in force.
fn told(own: &Value, flags: &[&str]) -> (Value, Value) {
    let world = World::new().front("tools: test");
    let mut server = world.tool_server(&json!({}));
    for (field, value) in own.as_object().into_iter().flatten() {
        server[field] = value.clone();
    }
    let world = world
        .config(&json!({ "mcpServers": { "test": server } }))
        .says([echo("hello")])
        .then_always(report("done"));
    let outcome = world.run(flags, "do it");
    assert_eq!(outcome.tool_texts(), ["hello"], "{outcome:#?}");
    let log = world.log(outcome.run_id());
    let of = |kind: &str| {
        let entry = log.iter().find(|entry| entry["kind"] == kind);
        entry.expect("it is logged")["data"]["sandbox"].clone()
    };
    (of("tool_invoked"), of("tool_finished"))
}

#[test]
fn a_server_is_confined_as_the_run_says_or_closer_where_its_entry_says_so() {
    for (own, flags, level) in [
        (json!({}), &[][..], "workspace-write"),
        (json!({}), &["--sandbox", "read-only"], "read-only"),
        (
            json!({ "sandbox": "read-only" }),
            &["--sandbox", "full"],
            "read-only",
        ),
        (json!({ "sandbox": "full" }), &[], "workspace-write"),
        (json!({ "sandbox": "full" }), &["--sandbox", "full"], "full"),
        (json!({ "sandboxNetwork": true }), &[], "workspace-write"),
    ] {
        let (demanded, in_force) = told(&own, flags);
        assert_eq!(demanded, level, "{own} {flags:?}");
        let in_force = in_force.as_str().expect("it is told").to_owned();
        assert!(
            in_force.starts_with(&format!("{level}: ")),
            "{own}: {in_force}"
        );
    }
}

#[test]
fn a_level_that_is_none_is_an_error_that_names_the_levels() {
    let world = World::new().front("tools: test");
    let mut server = world.tool_server(&json!({}));
    server["sandbox"] = json!("half");
    let world = world.config(&json!({ "mcpServers": { "test": server } }));
    let outcome = world.run(&[], "do it");
    assert_eq!(outcome.code, Some(4), "{outcome:#?}");
    let said = &outcome.stderr;
    assert!(said.contains("read-only, workspace-write, full"), "{said}");
}
