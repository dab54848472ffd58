//! Queues: how many calls of the tools that are bound to one run at a time.

use std::time::{Duration, Instant};

use bonded_testkit::http;
use bonded_testkit::process::Process;
use serde_json::{Value, json};

use crate::reply::{Reply, call, calls, report};
use crate::world::{Outcome, World};

const SLEEP_MS: u64 = 700;

/// Two goals, each with a slow call, and a queue for their calls.
fn world(concurrent: u32) -> World {
    let slow = || call("test__slow", json!({ "ms": SLEEP_MS }));
    let replies: [Reply; 4] = [slow(), slow(), report("done"), report("done")];
    let world = queued(concurrent).says(replies);
    world.write();
    world
}

fn queued(concurrent: u32) -> World {
    let world = World::new().front("tools: test");
    let mut server = world.tool_server(&json!({}));
    server["queue"] = json!("narrow");
    let config = json!({ "mcpServers": { "test": server }, "queues": { "narrow": { "concurrent": concurrent } } });
    world
        .config(&config)
        .file("goals.jsonl", "\"one\"\n\"two\"\n")
}

fn both(world: &World, flags: &[&str]) -> Outcome {
    let fixed = ["run", "--agent", "agent.ai", "--each", "goals.jsonl"];
    let outcome = world.bonded(&[&fixed[..], &["--jobs", "2"], flags].concat());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome
}

/// How long two runs of one process take whose calls share a queue.
fn two_runs(concurrent: u32) -> Duration {
    let world = world(concurrent);
    let began = Instant::now();
    let outcome = both(&world, &[]);
    let last = outcome
        .requests
        .iter()
        .map(|it| it.at)
        .max()
        .expect("there were requests");
    last.duration_since(began)
}

/// How long three calls of one reply take, from the request that brought them to the next.
fn one_reply(concurrent: u32) -> Duration {
    let slow = || ("test__slow", json!({ "ms": SLEEP_MS }));
    let replies = [calls(&[slow(), slow(), slow()]), report("done")];
    let outcome = queued(concurrent).says(replies).run(&[], "slow").good();
    let at: Vec<Instant> = outcome.requests.iter().map(|it| it.at).collect();
    at[1].duration_since(at[0])
}

#[test]
fn calls_of_one_reply_run_at_the_same_time_as_far_as_their_queue_allows() {
    let (narrow, wide) = (one_reply(1), one_reply(4));
    assert!(narrow >= Duration::from_millis(3 * SLEEP_MS), "{narrow:?}");
    assert!(
        narrow > wide + Duration::from_millis(SLEEP_MS * 3 / 2),
        "{narrow:?} {wide:?}"
    );
}

/// The most calls that were under way at once, by what the tool servers wrote as each began and ended.
fn most_at_once(world: &World) -> usize {
    let text = std::fs::read_to_string(world.path("spans")).expect("calls were made");
    let (mut now, mut most) = (0, 0);
    for line in text.lines() {
        match line {
            "begin" => now += 1,
            _ => now -= 1,
        }
        most = most.max(now);
    }
    assert_eq!(now, 0, "what began has ended: {text}");
    most
}

/// An agent with these servers, each with a queue of its own for so many calls. All write to the same file.
fn watched(servers: &[&str], concurrent: u32) -> World {
    let world = World::new().front(&format!("tools: [{}, batch]", servers.join(", ")));
    let spans = json!({ "SPAN_FILE": world.path("spans") });
    let mut config = json!({ "mcpServers": {}, "queues": {} });
    for name in servers {
        let mut server = world.tool_server(&spans);
        server["queue"] = json!(name);
        config["mcpServers"][name] = server;
        config["queues"][name] = json!({ "concurrent": concurrent });
    }
    world.config(&config)
}

/// Long enough for a call to be met by another on a busy machine.
const MET_MS: u64 = 1_500;

#[test]
fn members_of_a_batch_run_at_the_same_time_as_far_as_their_queue_allows() {
    for (concurrent, most) in [(1, 1), (4, 3)] {
        let member =
            |id: &str| json!({ "id": id, "tool": "test__slow", "parameters": { "ms": MET_MS } });
        let batch = json!({ "calls": [member("a"), member("b"), member("c")] });
        let world =
            watched(&["test"], concurrent).says([call("agent__batch", batch), report("done")]);
        world.run(&[], "slow").good();
        assert_eq!(most_at_once(&world), most);
    }
}

#[test]
fn a_call_in_another_queue_does_not_wait() {
    let slow = |tool: &'static str| (tool, json!({ "ms": MET_MS }));
    let replies = || {
        [
            calls(&[slow("one__slow"), slow("one__slow"), slow("two__slow")]),
            report("done"),
        ]
    };
    let world = watched(&["one", "two"], 1).says(replies());
    world.run(&[], "slow").good();
    assert_eq!(most_at_once(&world), 2);
}

/// An agent that calls two others in one reply, which are answered after a while.
fn calling_two(answer: &Reply) -> World {
    let agent = "---\ndescription: Knows things.\n---\nYou are asked.";
    let asks = |tool: &'static str| {
        (
            tool,
            json!({ "prompt": "p", "reason": "r", "format": "sub-agent" }),
        )
    };
    World::new()
        .front("agents: [one.ai, two.ai]")
        .file("one.ai", agent)
        .file("two.ai", agent)
        .says([calls(&[asks("agent__one"), asks("agent__two")])])
        .says([answer.clone(), answer.clone(), report("done")])
}

#[test]
fn agents_that_are_called_in_one_reply_work_at_the_same_time() {
    let mut answer = report("found");
    answer.delay = Duration::from_millis(MET_MS);
    let world = calling_two(&answer);
    let outcome = world.run(&[], "ask both").good();
    let at: Vec<Instant> = outcome.requests.iter().map(|it| it.at).collect();
    assert_eq!(at.len(), 4, "{outcome:#?}");
    // The second was asked before the first had its answer.
    assert!(at[2] < at[1] + answer.delay, "{at:?}");
}

#[test]
fn agents_that_are_called_together_share_what_is_left_of_the_budget() {
    let world = calling_two(&report("found"));
    let outcome = world.run(&["--max-tokens", "200000"], "ask both").good();
    let own = world.log(outcome.run_id());
    let called = own[0]["data"]["config"]["limits"]["tokens_max"].as_u64();
    assert_eq!(called, Some(200_000), "{}", own[0]);
    let used = 160;
    let runs = world.bonded(&["runs", "--json"]);
    let ids = runs
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let ids = ids.filter_map(|it| Some(it["run"].as_str().or(it["runId"].as_str())?.to_owned()));
    let ids: Vec<String> = ids.filter(|id| id != outcome.run_id()).collect();
    assert_eq!(ids.len(), 2, "{}", runs.stdout);
    let mut sum = 0;
    for id in &ids {
        let log = world.log(id);
        sum += log[0]["data"]["config"]["limits"]["tokens_max"]
            .as_u64()
            .unwrap_or(u64::MAX / 4);
    }
    assert!(sum <= 200_000 - used && sum > 190_000, "{sum}");
}

#[test]
fn a_queue_lets_so_many_calls_run_and_the_others_wait() {
    let (narrow, wide) = (two_runs(1), two_runs(2));
    assert!(narrow >= Duration::from_millis(2 * SLEEP_MS), "{narrow:?}");
    assert!(
        narrow > wide + Duration::from_millis(SLEEP_MS / 2),
        "{narrow:?} {wide:?}"
    );
}

#[test]
fn a_server_that_names_a_queue_which_is_not_there_is_refused() {
    let world = World::new().front("tools: test");
    let mut server = world.tool_server(&json!({}));
    server["queue"] = json!("nowhere");
    let world = world.config(&json!({ "mcpServers": { "test": server } }));
    world
        .run(&[], "queue")
        .refused(4, &["nowhere", "default", ".ai-agent.json"]);
}

#[test]
fn a_person_who_asks_for_more_is_told_of_the_call_that_waited_and_of_no_other() {
    let told = |outcome: &Outcome| {
        let lines = outcome.stderr.lines();
        let lines = lines.filter(|line| line.starts_with("queue narrow: test__slow waited "));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let waited = told(&both(&world(1), &["--verbose"]));
    assert_eq!(waited.len(), 1, "{waited:?}");
    assert!(waited[0].ends_with(" ms, 1 before it"), "{waited:?}");
    assert_eq!(told(&both(&world(1), &[])), Vec::<String>::new());
    assert_eq!(told(&both(&world(2), &["--verbose"])), Vec::<String>::new());
}

/// One request to a server, and the body of its answer.
fn ask(address: &str, line: &str, headers: &str, body: Option<&Value>) -> Value {
    let reply = http::ask(address, line, headers, body);
    reply.expect("the server answers").json()
}

#[test]
fn the_health_of_a_server_says_what_its_queues_have_seen_to_those_who_may_ask() {
    let world = world(1);
    let flags = [
        "serve",
        "--agent",
        "agent.ai",
        "--listen",
        "127.0.0.1:0",
        "--token",
        "sesame",
    ];
    let (_server, address) = Process::serve(&mut world.command(&flags));
    let token = "Authorization: Bearer sesame";
    let question = json!({ "model": "agent", "messages": [{ "role": "user", "content": "why?" }] });
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let line = "POST /v1/chat/completions";
            scope.spawn(|| ask(&address, line, token, Some(&question)));
        }
    });
    let health = ask(&address, "GET /health", token, None);
    let queues = health["queues"].as_array().cloned().unwrap_or_default();
    let narrow = queues.iter().find(|queue| queue["name"] == "narrow");
    let narrow = narrow.unwrap_or_else(|| panic!("{health:#}"));
    for (field, expected) in [
        ("concurrent", 1),
        ("running", 0),
        ("waiting", 0),
        ("entered", 2),
    ] {
        assert_eq!(narrow[field], expected, "{field} of {narrow:#}");
    }
    assert!(
        narrow["waitedMsMax"].as_u64() >= Some(SLEEP_MS / 2),
        "{narrow:#}"
    );
    assert_eq!(
        ask(&address, "GET /health", "", None),
        json!({ "status": "ok" })
    );
}
