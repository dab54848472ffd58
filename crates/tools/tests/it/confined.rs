//! What a command inside the sandbox still can do, how its end is told, and that nothing outlives it.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use bonded_tools::Sandbox;
use bonded_tools::sandbox::{Launcher, ProcessLimits, SandboxError, SandboxLevel, SandboxPolicy};
use serde_json::json;

use crate::scene::{Means, Scene, answer, answering, has_bubblewrap};
use crate::world::{World, launcher, make_fifo};

const PATIENCE: Duration = Duration::from_secs(60);

fn scene(level: SandboxLevel, means: Means) -> Scene {
    Scene::new(level, ProcessLimits::default(), means)
}

#[tokio::test]
async fn ordinary_work_goes_on_inside() {
    for means in [
        Means::Everything,
        Means::Bubblewrap,
        Means::LandlockAndSeccomp,
    ] {
        if means == Means::Bubblewrap && !has_bubblewrap() {
            continue;
        }
        let scene = scene(SandboxLevel::WorkspaceWrite, means);
        for command in [
            "echo a > sub/f && cat sub/f | tee sub/g /dev/stderr >/dev/null && test -s sub/g",
            "mkdir -p sub/d/e && mv sub/d sub/d2 && ln sub/f sub/d2/h && rm -r sub/d2",
            "chmod 755 sub/f && touch -d yesterday sub/f",
            "test -r /etc/passwd && cat .git/config | grep -q secret",
            "echo x > $TMPDIR/f && mkfifo $TMPDIR/p && mktemp",
            "perl -MSocket -e 'socketpair(A, B, PF_UNIX, SOCK_STREAM, 0) or exit 1'",
            "(sleep 0.01; true) & wait $!",
            "echo | head -c 1 > /dev/null; head -c 1 /dev/urandom > sub/r",
        ] {
            let ran = scene.run(command).await;
            assert_eq!(ran["exit"], 0, "{command} with {means:?}: {ran}");
        }
    }
}

#[tokio::test]
async fn the_end_of_a_command_is_told_exactly() {
    for (level, means) in [
        (SandboxLevel::WorkspaceWrite, Means::Everything),
        (SandboxLevel::WorkspaceWrite, Means::LandlockAndSeccomp),
        (SandboxLevel::ReadOnly, Means::Everything),
        (SandboxLevel::Full, Means::Everything),
    ] {
        let scene = scene(level, means);
        for (command, ending) in [
            ("exit 0", json!([0, null])),
            ("exit 3", json!([3, null])),
            ("exit 255", json!([255, null])),
            ("exit 137", json!([137, null])),
            ("kill -9 $$", json!([null, 9])),
            ("kill -TERM $$", json!([null, 15])),
            ("kill -PIPE $$", json!([null, 13])),
            ("kill -SEGV $$", json!([null, 11])),
        ] {
            let ran = scene.run(command).await;
            let told = json!([ran["exit"], ran["signal"]]);
            assert_eq!(told, ending, "{command} at {level:?} with {means:?}");
        }
    }
}

#[tokio::test]
async fn the_temporary_directory_is_private_and_gone_afterwards() {
    let scene = scene(SandboxLevel::ReadOnly, Means::Everything);
    let ran = scene
        .run("echo x > $TMPDIR/f; stat -c %a $TMPDIR; echo $TMPDIR")
        .await;
    let shown = ran["stdout"].as_str().expect("a text");
    let mut lines = shown.lines();
    assert_eq!(lines.next(), Some("700"), "{ran}");
    let dir = PathBuf::from(lines.next().expect("it is told"));
    assert!(dir.is_absolute() && !dir.parent().expect("it has one").exists());
}

#[tokio::test]
async fn what_was_in_force_is_part_of_the_output() {
    for (level, means, told) in [
        (
            SandboxLevel::WorkspaceWrite,
            Means::Everything,
            "workspace-write: namespaces+",
        ),
        (
            SandboxLevel::ReadOnly,
            Means::Bubblewrap,
            "read-only: bubblewrap+landlock(7)+seccomp",
        ),
        (
            SandboxLevel::WorkspaceWrite,
            Means::LandlockAndSeccomp,
            "workspace-write: landlock(7)+seccomp",
        ),
        (SandboxLevel::Full, Means::Everything, "full: limits"),
    ] {
        let scene = scene(level, means);
        let output = scene.world.call("run", json!({ "command": "true" })).await;
        let shown = output.sandbox.expect("a command was run");
        assert!(shown.starts_with(told), "{shown}");
        let spec = scene
            .world
            .registry
            .catalog()
            .spec("run")
            .expect("it is there");
        assert_eq!(spec.sandbox, Some(level));
    }
    let world = World::new();
    assert_eq!(world.call("list", json!({})).await.sandbox, None);
}

#[test]
fn where_the_sandbox_is_required_whatever_is_missing_is_named() {
    let temp = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| {
        let place = temp.path().join(name);
        std::fs::create_dir(&place).expect("it can be made");
        place
    };
    let table = [
        (Launcher::None, "a launcher"),
        (Launcher::Program("/no/such/launcher".into()), "a launcher"),
        (answering(&answer(false, 7), &place("a")), "user namespaces"),
        (answering(&answer(true, 0), &place("b")), "Landlock"),
    ];
    for (launcher, lacks) in table {
        let policy = |required| SandboxPolicy {
            required,
            ..SandboxPolicy::default()
        };
        let error = Sandbox::prepare(policy(true), temp.path(), &launcher);
        let Err(SandboxError::Missing { feature, .. }) = error else {
            panic!("{lacks} is missing: {error:?}");
        };
        assert_eq!(feature, lacks);
        let sandbox = Sandbox::prepare(policy(false), temp.path(), &launcher);
        let shortfalls = sandbox.expect("it is not required").shortfalls();
        assert!(shortfalls[0].contains(lacks), "{shortfalls:?}");
    }
    let whole = SandboxPolicy {
        required: true,
        ..SandboxPolicy::default()
    };
    Sandbox::prepare(whole, temp.path(), &launcher()).expect("this machine has everything");
}

/// Set where this test binary is started by the test below, to be killed.
const HOLD: &str = "HOLD_COMMAND_IN";

/// Each leaves its group and holds the pipe for as long as it lives.
const DAEMON: &str = "setsid sh -c 'exec 9>alive; sleep 1000' & sleep 1000";
/// As far as only the group can be ended.
const CHILDREN: &str = "sh -c 'exec 9>alive; sleep 1000' & sleep 1000";

#[tokio::test]
async fn commands_die_with_this_process_even_if_it_is_killed() {
    if let Ok(held) = std::env::var(HOLD) {
        return hold(&held).await;
    }
    for (level, command) in [("workspace-write", DAEMON), ("full", CHILDREN)] {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let around = tempfile::tempdir().expect("a temporary directory");
        make_fifo(&temp.path().join("alive"));
        let mut holder = Command::new(std::env::current_exe().expect("it is known"))
            .args([
                "--exact",
                "confined::commands_die_with_this_process_even_if_it_is_killed",
            ])
            .env(
                HOLD,
                format!("{level}\n{}\n{command}", temp.path().display()),
            )
            .env("TMPDIR", around.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it can be started");
        let mut pipe = std::fs::File::open(temp.path().join("alive")).expect("it is opened");
        holder.kill().expect("it can be killed");
        holder.wait().expect("it was killed");
        let (tell, told) = channel();
        std::thread::spawn(move || {
            pipe.read_to_end(&mut Vec::new()).expect("it can be read");
            tell.send(()).expect("the test waits for it");
        });
        assert_eq!(told.recv_timeout(PATIENCE), Ok(()), "{level}");
        let begun = Instant::now();
        while around.path().read_dir().expect("it is there").count() > 0 {
            assert!(begun.elapsed() < PATIENCE, "something is left at {level}");
            std::thread::sleep(Duration::from_millis(10));
        }
        while temp.path().join(".git").exists() {
            assert!(begun.elapsed() < PATIENCE, "a stand-in is left at {level}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

async fn hold(held: &str) {
    let mut lines = held.splitn(3, '\n');
    let mut next = || lines.next().expect("three lines");
    let policy = SandboxPolicy {
        level: SandboxLevel::parse(next()).expect("a level"),
        ..SandboxPolicy::default()
    };
    let dir = PathBuf::from(next());
    let sandbox = Sandbox::prepare(policy, &dir, &launcher()).expect("it can be prepared");
    let mut confined = sandbox
        .command("sh", ["-c", next()], &dir)
        .expect("it is there");
    let mut child = confined
        .command
        .process_group(0)
        .spawn()
        .expect("it starts");
    child.wait().await.expect("it is killed before");
}
