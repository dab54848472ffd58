//! Runs that need what not every machine has.

use std::os::unix::fs::symlink;
use std::process::Command;

use bonded_testkit::patience::wait_until;
use bonded_testkit::place::{call, done, program, report};
use bonded_testkit::process::Process;
use bonded_testkit::tool_server;
use rustix::process::Signal;
use serde_json::json;

use crate::shop::Shop;

/// Serves tools where this program is started as a server.
#[test]
fn serve_tools() {
    tool_server::serve_where_it_is_asked_to();
}

fn begin(command: &mut Command) -> Process {
    let worker = Process::begin(command);
    worker.wait_until_told("worker of");
    worker
}

#[test]
fn a_run_waits_for_a_worker_that_has_the_program_of_its_tool_server() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let mut server = tool_server::of_this_program("at_hand::serve_tools", &json!({}));
    let programs = tempfile::tempdir().expect("a directory can be made");
    let name = "tools-for-this-test";
    let target = server["command"].as_str().unwrap_or_default();
    symlink(target, programs.path().join(name)).expect("a link can be made");
    server["command"] = json!(name);
    let config = json!({ "mcpServers": { "test": server } }).to_string();
    let config = shop
        .place
        .write("config.json", config)
        .display()
        .to_string();
    let lines = [
        call("test__echo", json!({ "text": "hello" })),
        report("all done"),
    ];
    let agent = shop
        .place
        .agent("asker", &lines, "tools: test\ndescription: Asks.");
    let agent = agent.display().to_string();
    let words = ["run", "--detach", "--id", "r", "--agent", &agent];
    let words = [&words[..], &["--config", &config, "--trust", "go"]].concat();
    let path = std::env::var("PATH").expect("there is one");
    let path = format!("{}:{path}", programs.path().display());
    let chief = shop
        .place
        .agent("chief", &[report("done too")], "agents: asker.ai");
    let chief = chief.display().to_string();
    let calling = ["run", "--detach", "--id", "chief", "--agent", &chief];
    let calling = [&calling[..], &["--config", &config, "--trust", "go"]].concat();
    let with_programs = |words: &[&str]| {
        let mut command = shop.place.command(words);
        command.env("PATH", &path);
        command
    };
    for words in [words, calling] {
        Process::begin(&mut with_programs(&words))
            .finish()
            .succeeds();
    }
    let other = shop.worker(&[]);
    let expected = format!("a worker that has the program {name}");
    // An agent that is called has servers too.
    for run in ["r", "chief"] {
        wait_until("it says so", || shop.waits_for(run) == expected);
    }
    let worker = begin(&mut with_programs(&["worker"]));
    for run in ["r", "chief"] {
        worker.line_with(&format!("run {run}: succeeded"));
    }
    for worker in [worker, other] {
        worker.end(Signal::TERM).succeeds();
    }
}

#[test]
fn a_run_waits_for_a_worker_that_can_enforce_its_sandbox() {
    let Some(shop) = Shop::new(10_000) else {
        return;
    };
    let echo = call("run", json!({ "command": "echo once >> ran" }));
    shop.queue("r", &[echo, done("ok")], &[]);
    shop.queue("free", &[done("ok")], &["--sandbox-best-effort"]);
    // No process below may make namespaces.
    let none = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" worker";
    let mut unshare = shop
        .place
        .command_of("unshare".as_ref(), &["-r", "sh", "-c", none]);
    let other = begin(unshare.arg(program()));
    other.line_with("run free: succeeded");
    let expected = "a worker that has the sandbox workspace-write";
    wait_until("it says so", || shop.waits_for("r") == expected);
    assert!(shop.lines("ran").is_empty());
    let worker = shop.worker(&[]);
    worker.line_with("run r: succeeded");
    assert_eq!(shop.lines("ran"), ["once"]);
    for worker in [worker, other] {
        worker.end(Signal::TERM).succeeds();
    }
}
