//! Schemas and bodies of strangers.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::server::{Server, question, report, report_json, write_agent};
use crate::person::Person;

/// What a server may have taken by the end of an attack; what the attacks wanted was 20 GB.
const MEMORY_MAX: u64 = 700 * 1024 * 1024;
/// How long somebody else may wait for a word.
const OTHERS_WAIT_MAX: Duration = Duration::from_secs(15);

/// A schema in which two branches look into the same child, again and again.
fn branching() -> Value {
    let branch = |tag: u32| {
        json!({
            "type": "object",
            "properties": { "child": { "$ref": "#/$defs/node" }, "tag": { "type": "integer", "minimum": tag } },
        })
    };
    json!({
        "type": "object",
        "properties": { "child": { "$ref": "#/$defs/node" } },
        "$defs": { "node": { "anyOf": [branch(1), branch(2), { "type": "string" }] } },
    })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(false), |child, _| json!({ "child": child, "tag": 7 }))
}

fn wishing(model: &str, schema: &Value) -> Value {
    let mut question = question(model);
    question["response_format"] =
        json!({ "type": "json_schema", "json_schema": { "name": "x", "schema": schema } });
    question
}

/// A server with an agent that answers `value`, and then a report of another kind.
fn serving(person: &Person, value: &Value) -> Server {
    write_agent(
        person,
        "agent",
        &[report_json(value), report_json(value)],
        "maxRetries: 1",
    );
    Server::start(person, &["agent"], &["--no-token"])
}

/// Several ask what takes long, and meanwhile somebody else is answered.
#[test]
fn a_schema_whose_branches_meet_again_holds_nobody_up() {
    let person = Person::new();
    let server = serving(&person, &nested(60));
    let asked = wishing("agent", &branching());
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| server.chat("", &asked)))
            .collect();
        for _ in 0..20 {
            let began = Instant::now();
            assert_eq!(server.get("/health").status, 200);
            assert!(began.elapsed() < OTHERS_WAIT_MAX, "{:?}", began.elapsed());
        }
        for reply in asking {
            let reply = reply.join().expect("it is answered");
            assert_ne!(reply.status, 200, "it does not fit: {reply:?}");
        }
    });
    assert!(server.memory_max() < MEMORY_MAX, "{}", server.memory_max());
}

#[test]
fn a_server_that_checks_is_ended_when_it_is_asked_to() {
    let person = Person::new();
    let server = serving(&person, &nested(60));
    let asked = wishing("agent", &branching());
    let mut streams: Vec<_> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut streams {
        server.begin_chat(stream, "", &asked);
    }
    let (took, code) = server.terminate();
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert_eq!(code, Some(0));
}

/// All refer to all: there are more ways through the schema than anybody can go.
#[test]
fn a_schema_with_endlessly_many_ways_is_not_walked() {
    let person = Person::new();
    let server = serving(&person, &json!({ "a": "x" }));
    let all: Vec<Value> = (0..16)
        .map(|number| json!({ "$ref": format!("#/$defs/n{number}") }))
        .collect();
    let definitions: serde_json::Map<String, Value> = (0..16)
        .map(|number| (format!("n{number}"), json!({ "allOf": all })))
        .collect();
    let schema = json!({
        "type": "object", "properties": { "a": { "$ref": "#/$defs/n0" } }, "$defs": definitions,
    });
    let reply = server.chat("", &wishing("agent", &schema));
    assert_ne!(reply.status, 200, "{reply:?}");
    assert!(server.memory_max() < MEMORY_MAX, "{}", server.memory_max());
    assert_eq!(server.get("/health").status, 200);
}

#[test]
fn a_schema_of_ten_megabytes_is_refused_with_a_word() {
    let person = Person::new();
    let server = serving(&person, &json!({}));
    let long = json!({ "type": "object", "description": "x".repeat(9 * 1024 * 1024) });
    let reply = server.chat("", &wishing("agent", &long));
    assert_eq!((reply.status, reply.code().as_str()), (400, "bad_schema"));
    assert!(reply.body.contains("bytes"), "{}", reply.body);

    let longer = json!({ "description": "x".repeat(11 * 1024 * 1024) });
    assert_eq!(server.chat("", &wishing("agent", &longer)).status, 413);

    let many: serde_json::Map<String, Value> = (0..90_000)
        .map(|number| (format!("p{number}"), json!(true)))
        .collect();
    let wide = json!({ "type": "object", "properties": many });
    let reply = server.chat("", &wishing("agent", &wide));
    assert_eq!((reply.status, reply.code().as_str()), (400, "bad_schema"));
    assert!(server.memory_max() < MEMORY_MAX, "{}", server.memory_max());
}

#[test]
fn an_agent_file_with_a_schema_of_ten_megabytes_is_refused_with_a_word() {
    let person = Person::new();
    let front = "output:\n  format: json\n  schemaRef: long.json";
    write_agent(&person, "agent", &[report("x")], front);
    let agent = person.path("agent.ai").display().to_string();
    // One that is too long for any file that belongs to an agent, and one that is too long for a schema.
    for bytes in [10 * 1024 * 1024, 700 * 1024] {
        let schema = json!({ "type": "object", "description": "x".repeat(bytes) });
        person.write(person.path("long.json"), schema.to_string());
        let done = person.bonded(&["run", "--agent", &agent, "why?"]);
        assert_eq!(done.code, Some(5), "{done:?}");
        assert!(done.stderr.contains("bytes"), "{done:?}");
        assert!(done.stderr.len() < 4096, "{}", done.stderr.len());
    }
}

#[test]
fn patterns_that_would_fill_the_memory_or_go_back_for_ever_are_stopped() {
    let person = Person::new();
    let texts: Vec<Value> = (0..2000)
        .map(|_| json!(format!("{}!", "a".repeat(50))))
        .collect();
    let server = serving(&person, &json!({ "texts": texts }));
    let heap: serde_json::Map<String, Value> = (0..5000)
        .map(|number| {
            (
                format!("p{number}"),
                json!({ "pattern": format!("\\w{{250}}{number}") }),
            )
        })
        .collect();
    let heap = json!({ "type": "object", "properties": heap });
    let reply = server.chat("", &wishing("agent", &heap));
    assert_eq!((reply.status, reply.code().as_str()), (400, "bad_schema"));

    let items = json!({ "pattern": "^(?=(a+)+$)(a|aa)+$" });
    let backwards = json!({ "type": "object", "properties": { "texts": { "items": items } } });
    let began = Instant::now();
    let reply = server.chat("", &wishing("agent", &backwards));
    assert_ne!(reply.status, 200);
    assert!(
        began.elapsed() < Duration::from_secs(60),
        "{:?}",
        began.elapsed()
    );
    assert!(server.memory_max() < MEMORY_MAX, "{}", server.memory_max());
}

#[test]
fn bodies_that_are_too_deep_or_too_wide_are_refused_by_every_server() {
    let person = Person::new();
    write_agent(&person, "agent", &[report("Because.")], "");
    let data = person.path("data").display().to_string();
    let server = Server::start(
        &person,
        &["agent"],
        &["--no-token", "--mcp", "--data", &data],
    );
    let deep = "[".repeat(3_000_000);
    let wide = format!("[{}1]", "{\"a\":1},".repeat(1_000_000));
    let mixed = format!("{{\"messages\":{wide}}}");
    let paths = [
        "/v1/chat/completions",
        "/v1/responses",
        "/mcp",
        "/api/v1/auth/login",
    ];
    for path in paths {
        for body in [&deep, &wide, &mixed] {
            let accept = "Accept: application/json, text/event-stream\r\n";
            let reply = server.ask(&format!("POST {path}"), accept, body.as_bytes());
            assert!((400..500).contains(&reply.status), "{path}: {reply:?}");
        }
    }
    let taken = server.memory_max();
    assert!(taken < MEMORY_MAX, "{taken}");
    assert_eq!(server.chat("", &question("agent")).status, 200);
}
