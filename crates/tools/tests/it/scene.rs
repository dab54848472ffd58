//! A working directory with things around it that an escape could reach.

use std::io::Write as _;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::process::{Child, Command};

use bonded_tools::sandbox::{Launcher, ProcessLimits, SandboxLevel, SandboxPolicy};
use serde_json::{Value, json};

use crate::world::{World, launcher};

/// What a machine may have to build a sandbox of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Means {
    Everything,
    Bubblewrap,
    LandlockAndSeccomp,
}

impl Means {
    /// A launcher on a machine that has only these means.
    pub(crate) fn launcher(self, place: &Path) -> Launcher {
        let bubblewrap = match self {
            Self::Everything => return launcher(),
            Self::Bubblewrap => true,
            Self::LandlockAndSeccomp => false,
        };
        answering(&answer(bubblewrap, 7), place)
    }
}

/// Whether bubblewrap is here. A test that does without it says so; `cargo xtask test` does not let it.
pub(crate) fn has_bubblewrap() -> bool {
    if Path::new("/usr/bin/bwrap").exists() {
        return true;
    }
    let why = "bubblewrap is not installed, so that what holds with it is not tested";
    assert!(
        std::env::var_os("BONDED_XTASK").is_none(),
        "{why}: install the package `bubblewrap`"
    );
    // Past the test harness, which would keep it to itself.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
    false
}

/// What the launcher of such a machine says that it found.
pub(crate) fn answer(bubblewrap: bool, landlock: u32) -> Value {
    json!({
        "namespaces": { "Err": "forbidden" }, "private_proc": false, "bubblewrap": bubblewrap,
        "landlock": landlock, "seccomp": { "Ok": null }, "launcher": { "Ok": null },
    })
}

/// The launcher, with an answer of ours to the question what the machine has.
pub(crate) fn answering(answer: &Value, place: &Path) -> Launcher {
    let Launcher::Program(real) = launcher() else {
        panic!("the tests have a program");
    };
    let path = place.join("launcher.sh");
    let script = format!(
        "#!/bin/sh\n[ \"$2\" = probe ] && echo '{answer}' && exit\nexec {} \"$@\"\n",
        real.display()
    );
    std::fs::write(&path, script).expect("it can be written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("it is ours");
    Launcher::Program(path)
}

pub(crate) struct Scene {
    pub(crate) world: World,
    _unix: UnixListener,
    _abstract: UnixListener,
    tcp: TcpListener,
    victim: Child,
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
    }
}

impl Scene {
    pub(crate) fn new(level: SandboxLevel, limits: ProcessLimits, means: Means) -> Self {
        let world = World::laid_out(|place| {
            lay_out(place);
            let hidden = ["hidden", "keyfile", "dir/store.db"];
            let policy = SandboxPolicy {
                level,
                limits,
                best_effort: means == Means::LandlockAndSeccomp,
                hidden_paths: hidden.map(|name| place.join(name)).into(),
                ..SandboxPolicy::default()
            };
            (policy, means.launcher(place))
        });
        let unix = UnixListener::bind(world.outside().join("socket")).expect("a socket");
        let name = format!("bonded-test-{}", world.outside().display());
        let address = SocketAddr::from_abstract_name(name).expect("an address");
        Self {
            _unix: unix,
            _abstract: UnixListener::bind_addr(&address).expect("a socket"),
            tcp: TcpListener::bind("127.0.0.1:0").expect("a port"),
            victim: Command::new("sleep")
                .arg("1000")
                .spawn()
                .expect("it starts"),
            world,
        }
    }

    /// Runs a command with the places of this scene in it.
    pub(crate) async fn run(&self, command: &str) -> Value {
        let port = self.tcp.local_addr().expect("it has one").port();
        let command = command
            .replace("{outside}", &self.world.outside().display().to_string())
            .replace("{parent}", &std::process::id().to_string())
            .replace("{victim}", &self.victim.id().to_string())
            .replace("{ptrace}", &libc::SYS_ptrace.to_string())
            .replace("{port}", &port.to_string());
        let arguments = json!({ "command": command, "timeout_ms": 60_000 });
        self.world.ran(arguments).await
    }

    /// Whether nothing outside was changed, nor what git and the store keep inside.
    pub(crate) fn is_whole(&mut self) -> bool {
        let place = self.world.outside();
        let holds = |name: &str, mode: u32| {
            let path = place.join(name);
            let has = std::fs::metadata(&path).map_or(0, |it| it.permissions().mode() & 0o777);
            std::fs::read_to_string(path).is_ok_and(|text| text == "secret") && has == mode
        };
        let count = |name: &str| std::fs::read_dir(place.join(name)).map_or(0, Iterator::count);
        let git_mode = std::fs::metadata(place.join("dir/.git")).map(|it| it.permissions().mode());
        holds("out/secret", 0o600)
            && holds("dir/.git/config", 0o600)
            && holds("dir/store.db", 0o600)
            && count("out") == 1
            && count("dir/.git") == 1
            && git_mode.is_ok_and(|mode| mode & 0o777 == 0o755)
            && !place.join("evil").exists()
            && self.victim.try_wait().expect("it is ours").is_none()
    }
}

fn lay_out(place: &Path) {
    for dir in ["out", "hidden", "dir/.git", "dir/sub"] {
        std::fs::create_dir_all(place.join(dir)).expect("it can be made");
        std::fs::set_permissions(place.join(dir), PermissionsExt::from_mode(0o755))
            .expect("it is ours");
    }
    for file in [
        "out/secret",
        "hidden/key",
        "keyfile",
        "dir/.git/config",
        "dir/store.db",
    ] {
        std::fs::write(place.join(file), "secret").expect("it can be written");
        std::fs::set_permissions(place.join(file), PermissionsExt::from_mode(0o600))
            .expect("it is ours");
    }
}
