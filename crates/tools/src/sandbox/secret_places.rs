//! Where people and programs keep keys, and the sockets of programs that do what they are told.

use std::path::{Path, PathBuf};

const IN_HOME: [&str; 24] = [
    ".ai-agent.env",
    ".ai-agent.json",
    ".ai-agent",
    ".aws",
    ".azure",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".config/bonded",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".docker/config.json",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".mozilla",
    ".netrc",
    ".npmrc",
    ".password-store",
    ".pgpass",
    ".pypirc",
    ".ssh",
    ".config/google-chrome",
];

const OF_THE_MACHINE: [&str; 9] = [
    "/etc/ai-agent",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/systemd/private",
    "/tmp/.X11-unix",
    "/var/lib/docker",
    "/var/run/docker.sock",
];

/// The places that are there, each once, as they are without links.
pub(super) fn all(home: Option<&Path>, user: u32, named: &[PathBuf]) -> Vec<PathBuf> {
    let in_home = home
        .into_iter()
        .flat_map(|home| IN_HOME.map(|name| home.join(name)));
    let of_user = [PathBuf::from(format!("/run/user/{user}"))];
    let places = in_home
        .chain(OF_THE_MACHINE.map(PathBuf::from))
        .chain(of_user);
    let mut there: Vec<PathBuf> = places
        .chain(named.iter().cloned())
        .filter_map(|place| place.canonicalize().ok())
        .collect();
    there.sort();
    // What lies in a hidden directory is hidden with it.
    there.dedup_by(|later, earlier| later.starts_with(earlier));
    there
}
