//! Escape attempts. Each of them succeeds without the sandbox, and is refused inside, in every way that
//! this machine has to build one.

use bonded_tools::sandbox::{ProcessLimits, SandboxLevel};

use crate::scene::{Means, Scene, has_bubblewrap};

/// What shows that an attempt succeeded.
enum Sign {
    /// Something is not as it was.
    Change,
    /// The command says so, by its success.
    Success,
    /// It prints this.
    Prints(&'static str),
}
use Sign::{Change, Prints, Success};

/// Whether only namespaces prevent it.
const NEEDS_WALLS: bool = true;

const ATTEMPTS: &[(&str, &str, Sign, bool)] = &[
    (
        "an absolute path",
        "echo > {outside}/out/evil",
        Change,
        false,
    ),
    ("a climbing path", "echo > sub/../../evil", Change, false),
    (
        "a link",
        "ln -s ../../out sub/link; echo > sub/link/evil",
        Change,
        false,
    ),
    (
        "a link that is swapped while it is used",
        "(while :; do rm -rf sub/s; mkdir sub/s; rm -rf sub/s; ln -s ../../out sub/s; done) 2>&1 & \
         i=0; while [ $i -lt 3000 ]; do (echo > sub/s/evil) 2>&-; i=$((i+1)); done",
        Change,
        false,
    ),
    (
        "a hard link",
        "ln {outside}/out/secret sub/l; echo evil > sub/l",
        Change,
        false,
    ),
    (
        "a hard link to what git keeps",
        "ln .git/config sub/l; echo evil > sub/l",
        Change,
        false,
    ),
    (
        "removing a file",
        "rm -f {outside}/out/secret",
        Change,
        false,
    ),
    (
        "truncating a file",
        "truncate -s 0 {outside}/out/secret",
        Change,
        false,
    ),
    (
        "the mode of a file",
        "chmod 777 {outside}/out/secret",
        Change,
        NEEDS_WALLS,
    ),
    ("a hook of git", "echo > .git/hook", Change, false),
    (
        "git's own settings",
        "echo evil >> .git/config",
        Change,
        false,
    ),
    ("another git", "mv .git sub/git; mkdir .git", Change, false),
    ("no git", "rm -rf .git", Change, false),
    ("git's mode", "chmod 700 .git", Change, NEEDS_WALLS),
    ("the store", "echo evil > store.db", Change, false),
    (
        "another store",
        "echo evil > sub/s; mv -f sub/s store.db",
        Change,
        false,
    ),
    ("no store", "rm -f store.db", Change, false),
    ("reading the store", "cat store.db", Prints("secret"), false),
    (
        "reading a hidden file",
        "cat {outside}/keyfile",
        Prints("secret"),
        false,
    ),
    (
        "reading in a hidden directory",
        "cat {outside}/hidden/key",
        Prints("secret"),
        false,
    ),
    (
        "the environment of another process",
        "cat /proc/{parent}/environ",
        Prints("CARGO_MANIFEST_DIR"),
        false,
    ),
    (
        "the root of another process",
        "echo > /proc/{parent}/root/{outside}/out/evil",
        Change,
        false,
    ),
    (
        "the files of another process",
        "ls -l /proc/{parent}/fd",
        Success,
        false,
    ),
    ("a signal", "kill -9 {victim}; sleep 0.1", Change, false),
    (
        "the network",
        "bash -c 'echo > /dev/tcp/127.0.0.1/{port}'",
        Success,
        false,
    ),
    (
        "datagrams",
        "perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0) or exit 1'",
        Success,
        false,
    ),
    (
        "a socket with a path",
        "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) and \
         connect(S, sockaddr_un(\"{outside}/socket\")) or exit 1'",
        Success,
        false,
    ),
    (
        "a socket with a name",
        "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0) and \
         connect(S, pack_sockaddr_un(\"\\0bonded-test-{outside}\")) or exit 1'",
        Success,
        false,
    ),
    ("a namespace of its own", "unshare -U true", Success, false),
    (
        "tracing",
        "perl -e 'exit(syscall({ptrace}, 0, 0, 0, 0) == 0 ? 0 : 1)'",
        Success,
        false,
    ),
];

async fn succeeds(level: SandboxLevel, means: Means, command: &str, sign: &Sign) -> bool {
    let mut scene = Scene::new(level, ProcessLimits::default(), means);
    let ran = scene.run(command).await;
    let is_whole = scene.is_whole();
    match sign {
        Change => !is_whole,
        Success => ran["exit"] == 0,
        Prints(text) => ran["stdout"]
            .as_str()
            .is_some_and(|shown| shown.contains(text)),
    }
}

async fn check_refused(level: SandboxLevel, means: Means) {
    for (name, command, sign, needs_walls) in ATTEMPTS {
        let is_beyond = *needs_walls && means == Means::LandlockAndSeccomp;
        let escaped = succeeds(level, means, command, sign).await;
        assert!(!escaped || is_beyond, "{name} at {level:?} with {means:?}");
    }
}

#[tokio::test]
async fn every_attempt_succeeds_where_nothing_is_restricted() {
    for (name, command, sign, _) in ATTEMPTS {
        let escaped = succeeds(SandboxLevel::Full, Means::Everything, command, sign).await;
        assert!(escaped, "{name} is no attempt");
    }
}

#[tokio::test]
async fn no_attempt_succeeds_where_the_workspace_may_be_written() {
    check_refused(SandboxLevel::WorkspaceWrite, Means::Everything).await;
}

#[tokio::test]
async fn no_attempt_succeeds_where_nothing_may_be_written() {
    check_refused(SandboxLevel::ReadOnly, Means::Everything).await;
}

#[tokio::test]
async fn no_attempt_but_the_known_ones_succeeds_without_namespaces() {
    check_refused(SandboxLevel::WorkspaceWrite, Means::LandlockAndSeccomp).await;
}

#[tokio::test]
async fn no_attempt_succeeds_where_bubblewrap_makes_the_namespaces() {
    if has_bubblewrap() {
        check_refused(SandboxLevel::WorkspaceWrite, Means::Bubblewrap).await;
    }
}

/// Attempts to use more than is allowed, each of which succeeds under the usual limits.
#[tokio::test]
async fn a_command_that_wants_too_much_is_stopped() {
    let tight = ProcessLimits {
        cpu_s: 1,
        memory_bytes: 64 << 20,
        processes: 301,
        file_bytes: 1 << 20,
    };
    for (name, command, takes) in [
        (
            "a fork bomb",
            "i=0; while [ $i -lt 400 ]; do sleep 30 & i=$((i+1)); done; echo all",
            "processes",
        ),
        (
            "a huge file",
            "head -c 3000000 /dev/zero > big && echo all",
            "file",
        ),
        (
            "much memory",
            "perl -e '$x = \"x\" x 200_000_000; print \"all\\n\"'",
            "memory",
        ),
        (
            "the processor",
            "perl -e 'my $end = times + 2; 1 while times < $end; print \"all\\n\"'",
            "cpu",
        ),
    ] {
        for (limits, is_stopped) in [(tight, true), (ProcessLimits::default(), false)] {
            let scene = Scene::new(SandboxLevel::WorkspaceWrite, limits, Means::Everything);
            let ran = scene.run(command).await;
            assert_eq!(
                ran["stdout"] != "all\n",
                is_stopped,
                "{name} ({takes}): {ran}"
            );
        }
    }
}
