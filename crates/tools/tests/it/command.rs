//! What `run` does, and that nothing of it stays.

use std::io::Read;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use bonded_kernel::Outcome;
use bonded_tools::sandbox::SandboxPolicy;
use serde_json::{Value, json};

use crate::world::{World, make_fifo};

const PATIENCE: Duration = Duration::from_secs(60);

/// Watches who holds the pipe `alive`: it is told when somebody opened it, and when everybody who did is
/// dead.
struct Watch {
    opened: Receiver<()>,
    dead: Receiver<()>,
}

fn watch(world: &World) -> Watch {
    let path = world.path("alive");
    make_fifo(&path);
    let (tell_opened, opened) = channel();
    let (tell_dead, dead) = channel();
    std::thread::spawn(move || {
        let mut pipe = std::fs::File::open(path).expect("it is there");
        tell_opened.send(()).expect("the test waits for it");
        pipe.read_to_end(&mut Vec::new()).expect("it can be read");
        tell_dead.send(()).expect("the test waits for it");
    });
    Watch { opened, dead }
}

/// A child of a child holds the pipe for as long as it lives.
const GRANDCHILD: &str = "sh -c 'exec 9>alive; sleep 1000 & wait' &";

#[tokio::test]
async fn a_command_gives_its_exit_and_its_output() {
    let world = World::new();
    let table: &[(Value, Value)] = &[
        (
            json!({ "command": "echo out; echo err >&2; exit 3" }),
            json!([3, null, "out\n", "err\n"]),
        ),
        (json!({ "command": "kill -9 $$" }), json!([null, 9, "", ""])),
        (
            json!({ "command": "printf '%s|'", "args": ["$HOME *"] }),
            json!("spawn_failed"),
        ),
        (
            json!({ "command": "printf", "args": ["%s|", "$HOME *", "b"] }),
            json!([0, null, "$HOME *|b|", ""]),
        ),
        (json!({ "command": "cat" }), json!([0, null, "", ""])),
        (
            json!({ "command": "cat; echo", "stdin": "given" }),
            json!([0, null, "given\n", ""]),
        ),
        (
            json!({ "command": "true", "stdin": "unread ".repeat(100_000) }),
            json!([0, null, "", ""]),
        ),
        (
            json!({ "command": "printf '\\377ok'" }),
            json!([0, null, "\u{fffd}ok", ""]),
        ),
        (
            json!({ "command": "/no/such/program", "args": [] }),
            json!("spawn_failed"),
        ),
        (json!({ "command": "no-such-program" }), Value::Null),
        (
            json!({ "command": "true", "cwd": "missing" }),
            json!("not_found"),
        ),
    ];
    for (arguments, expected) in table {
        match expected {
            Value::String(code) => {
                assert_eq!(
                    &world.fault("run", arguments.clone()).await,
                    code,
                    "{arguments}"
                );
            }
            Value::Null => assert_eq!(world.ran(arguments.clone()).await["exit"], 127),
            _ => {
                let ran = world.ran(arguments.clone()).await;
                let got = json!([ran["exit"], ran["signal"], ran["stdout"], ran["stderr"]]);
                assert_eq!(&got, expected, "{arguments}");
                assert_eq!(ran["truncated"], false);
            }
        }
    }
}

#[tokio::test]
async fn a_command_runs_in_its_directory_with_the_variables_that_are_handed_on() {
    let world = World::under(SandboxPolicy {
        env_pass: vec!["CARGO_PKG_NAME".into()],
        ..SandboxPolicy::default()
    });
    world.put("sub/f", "x");
    let ran = world
        .ran(json!({ "command": "pwd; ls", "cwd": "sub" }))
        .await;
    let sub = world.path("sub").canonicalize().expect("it exists");
    assert_eq!(ran["stdout"], format!("{}\nf\n", sub.display()));
    assert!(
        std::env::var_os("CARGO_MANIFEST_DIR").is_some(),
        "it could be handed on"
    );
    let command = "echo ${CARGO_MANIFEST_DIR-hidden} $CARGO_PKG_NAME $BONDED_CALL";
    let invocation = world.invocation("run", &json!({ "command": command }));
    let ran = world.ran(json!({ "command": command })).await;
    assert_eq!(
        ran["stdout"],
        format!("hidden bonded-tools {}\n", invocation.key())
    );
}

#[tokio::test]
async fn a_flood_of_output_is_drained_and_its_beginning_and_end_are_kept() {
    let world = World::new();
    let command =
        "echo first; head -c 200000000 /dev/zero | tr '\\0' x; echo; echo last; echo problem >&2";
    let ran = world.ran(json!({ "command": command })).await;
    assert_eq!(ran["stdout_bytes"], 200_000_000 + 6 + 1 + 5);
    assert_eq!(
        (&ran["truncated"], &ran["stderr"]),
        (&json!(true), &json!("problem\n"))
    );
    let shown = ran["stdout"].as_str().expect("a text");
    assert!(
        shown.starts_with("first\nxxx") && shown.ends_with("xxx\nlast\n"),
        "{shown}"
    );
    let cap = usize::try_from(world.limits.tool_output_bytes_max).expect("it is small");
    assert!(
        shown.len() <= cap && shown.len() > cap / 2,
        "{}",
        shown.len()
    );
}

#[tokio::test]
async fn output_of_any_bytes_fits_the_cap_as_whole_json() {
    let mut world = World::new();
    for cap in [400, 1000, 32_768] {
        world.limits.tool_output_bytes_max = cap;
        for source in ["yes '\"\\'", "yes \u{1b}", "cat /dev/urandom", "yes ä€"] {
            let command = format!("({source}) | head -c 100000 | tee /dev/stderr");
            let output = world.call("run", json!({ "command": command })).await;
            assert_eq!(output.cut_from_bytes, None, "{source} in {cap}");
            let ran: Value = serde_json::from_str(&output.text).expect("it is JSON");
            assert_eq!(
                (&ran["stdout_bytes"], &ran["stderr_bytes"]),
                (&json!(100_000), &json!(100_000))
            );
        }
    }
}

#[tokio::test]
async fn a_long_output_is_kept_whole_where_the_model_can_read_on_in_it() {
    let mut world = World::new();
    world.limits.tool_output_bytes_max = 1000;
    world.kept_bytes_max = Some(1 << 20);
    let arguments = json!({ "command": "seq 20000; echo ä€ >&2" });
    let output = world.call("run", arguments).await;
    assert!(output.text.len() <= 1000, "{}", output.text.len());
    assert!(
        output.text.contains("Read on with tool_output"),
        "{}",
        output.text
    );
    let whole = output.original.expect("it is kept");
    assert_eq!(output.cut_from_bytes, Some(whole.len() as u64));
    let ran: Value = serde_json::from_str(&whole).expect("it is JSON");
    let lines: String = (1..=20_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(
        (&ran["stdout"], &ran["stderr"], &ran["truncated"]),
        (&json!(lines), &json!("ä€\n"), &json!(false))
    );
}

#[tokio::test]
async fn of_an_output_that_is_too_long_to_be_kept_the_beginning_and_the_end_are() {
    let mut world = World::new();
    world.kept_bytes_max = Some(100_000);
    let command = "echo first; yes ä€ | head -c 3000000; echo; echo last";
    let output = world.call("run", json!({ "command": command })).await;
    let kept = output.original.expect("it is kept");
    assert!(
        (50_000..=100_000).contains(&kept.len()),
        "{} bytes",
        kept.len()
    );
    let ran: Value = serde_json::from_str(&kept).expect("it is whole JSON");
    let shown = ran["stdout"].as_str().expect("a text");
    assert!(shown.starts_with("first\n") && shown.ends_with("last\n"));
    assert_eq!(ran["truncated"], true);
}

#[tokio::test]
async fn an_output_that_fits_is_shown_as_it_is_whether_the_model_could_read_on_or_not() {
    let mut world = World::new();
    for kept_bytes_max in [None, Some(1 << 20)] {
        world.kept_bytes_max = kept_bytes_max;
        let ran = world.ran(json!({ "command": "seq 100" })).await;
        assert_eq!(ran["truncated"], false);
    }
}

#[tokio::test]
async fn a_command_that_runs_too_long_is_killed_with_all_its_children() {
    for own_limit in [true, false] {
        let mut world = World::new();
        let watch = watch(&world);
        let command = format!("{GRANDCHILD} sleep 1000");
        let arguments = if own_limit {
            json!({ "command": command, "timeout_ms": 4000 })
        } else {
            world.limits.tool_timeout_ms = 4000;
            json!({ "command": command, "timeout_ms": 1_000_000 })
        };
        let output = world.call("run", arguments).await;
        assert_eq!(output.outcome, Outcome::TimedOut);
        assert_eq!(output.text, "(tool failed: timeout)");
        assert_eq!(watch.opened.recv_timeout(PATIENCE), Ok(()));
        assert_eq!(watch.dead.recv_timeout(PATIENCE), Ok(()));
    }
}

#[tokio::test]
async fn children_left_in_the_background_are_killed_and_do_not_hold_the_call_up() {
    let world = World::new();
    let watch = watch(&world);
    // The command ends only once its grandchild lives, which then holds its pipes.
    let command = format!("{GRANDCHILD} until [ -e alive.open ]; do sleep 0.01; done; echo done");
    let marker = world.path("alive.open");
    let opened = watch.opened;
    std::thread::spawn(move || {
        opened
            .recv_timeout(PATIENCE)
            .expect("the grandchild opens it");
        std::fs::write(marker, "").expect("it can be written");
    });
    let ran = world.ran(json!({ "command": command })).await;
    assert_eq!(
        (&ran["exit"], &ran["stdout"]),
        (&json!(0), &json!("done\n"))
    );
    assert_eq!(watch.dead.recv_timeout(PATIENCE), Ok(()));
}

#[tokio::test]
async fn a_process_that_left_the_group_does_not_hold_the_call_up() {
    let world = World::new();
    let started = std::time::Instant::now();
    let ran = world
        .ran(json!({ "command": "setsid sleep 60 & echo done" }))
        .await;
    assert_eq!(ran["stdout"], "done\n");
    assert!(started.elapsed().as_secs() < 50);
}

#[tokio::test]
async fn dropping_the_call_kills_the_command_with_all_its_children() {
    let world = World::new();
    let watch = watch(&world);
    let invocation = world.invocation(
        "run",
        &json!({ "command": format!("{GRANDCHILD} sleep 1000") }),
    );
    let opened = tokio::task::spawn_blocking(move || watch.opened.recv_timeout(PATIENCE));
    let mask = bonded_kernel::Mask::default();
    tokio::select! {
        output = world.registry.invoke(&invocation, &mask) => panic!("it does not end by itself: {output:?}"),
        opened = opened => assert_eq!(opened.expect("no panic"), Ok(())),
    }
    assert_eq!(watch.dead.recv_timeout(PATIENCE), Ok(()));
}
