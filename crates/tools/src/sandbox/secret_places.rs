//! Where people and programs keep keys outside a home, and the sockets of programs that do what they are told. A home
//! itself is covered as a whole.
//!
//! Two sources are used: a list of places that are the same on every machine, and the variables of this process
//! that say where a program keeps its configuration. A variable is judged by its name alone, and rather too
//! often than too rarely: hiding a harmless place costs a person one setting. Places of the system itself are
//! excepted, because hiding them would break every program.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Whoever may talk to a container engine or to the system's manager has the rights of root; whoever may draw
/// on the person's screen reads what is typed.
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

/// Variables that say where keys are, whose names do not end as most of them do.
const RELOCATING: [&str; 14] = [
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GNUPGHOME",
    "GRADLE_USER_HOME",
    "HF_HOME",
    "KRB5CCNAME",
    "NETRC",
    "PASSWORD_STORE_DIR",
    "SSH_AUTH_SOCK",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

/// How the names of variables end that name a file or a directory of configuration, which is where most
/// programs keep tokens.
const ENDINGS: [&str; 6] = [
    "CONFIG",
    "CONFIG_DIR",
    "CONFIG_FILE",
    "CONFIG_GLOBAL",
    "CONFIG_HOME",
    "USERCONFIG",
];

/// What stands somewhere in the names of variables that name a file with a secret.
const PARTS: [&str; 5] = [
    "CREDENTIAL",
    "PASSFILE",
    "PASSWORD_FILE",
    "TOKEN",
    "KEY_FILE",
];

/// What lies here belongs to the machine, and everybody on it sees it.
const OF_EVERYBODY: [&str; 6] = ["/bin", "/etc", "/lib", "/opt", "/sbin", "/usr"];

/// The files in Cargo's home that hold keys.
const OF_CARGO: [&str; 2] = ["credentials", "credentials.toml"];

/// The places of the machine and of this user that are there.
pub(super) fn of_machine(user: u32) -> Vec<PathBuf> {
    let of_user = [
        format!("/run/user/{user}"),
        format!("/tmp/tmux-{user}"),
        format!("/tmp/krb5cc_{user}"),
    ];
    let places = OF_THE_MACHINE.map(PathBuf::from).into_iter();
    there(places.chain(of_user.map(PathBuf::from)))
}

/// The places that variables name, unless the command is handed the variable.
///
/// Of Cargo's home only the files with keys: the rest of it is a toolchain. A value may begin with `FILE:`, as
/// Kerberos writes it. One that is no absolute path of something that exists is no place.
pub(super) fn relocated(ours: &[(OsString, OsString)], handed_on: &[String]) -> Vec<PathBuf> {
    let mut places = vec![];
    for (name, value) in ours {
        let name = name.to_string_lossy();
        let value = value.to_string_lossy();
        let path = Path::new(value.strip_prefix("FILE:").unwrap_or(&value));
        if name == "CARGO_HOME" {
            places.extend(OF_CARGO.map(|file| path.join(file)));
        } else if names_keys(&name) && !handed_on.iter().any(|given| *given == name) {
            places.push(path.to_owned());
        }
    }
    let is_anybodys = |path: &Path| OF_EVERYBODY.iter().any(|dir| path.starts_with(dir));
    let places = places.into_iter().filter(|path| path.is_absolute());
    let mut there = there(places);
    there.retain(|path| !is_anybodys(path) && path.parent().is_some());
    there
}

/// A variable with a secret as its value passes too; that value is no path, and is dropped later.
fn names_keys(name: &str) -> bool {
    RELOCATING.contains(&name)
        || ENDINGS.iter().any(|end| name.ends_with(end))
        || PARTS.iter().any(|part| name.contains(part))
}

/// Those that are there, as they are without links.
pub(super) fn there(places: impl IntoIterator<Item = PathBuf>) -> Vec<PathBuf> {
    let places = places.into_iter();
    places
        .filter_map(|place| place.canonicalize().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_variable_names_is_hidden_unless_it_is_handed_on_or_everybodys() {
        let temp = tempfile::tempdir().expect("a temporary directory");
        let dir = temp.path().canonicalize().expect("it is there");
        std::fs::write(dir.join("keys"), "").expect("it can be written");
        let ours = |name: &str, path: &Path| vec![(OsString::from(name), path.into())];
        let (keys, missing) = (dir.join("keys"), dir.join("missing"));
        for name in [
            "AWS_SHARED_CREDENTIALS_FILE",
            "KUBECONFIG",
            "DOCKER_CONFIG",
            "NPM_CONFIG_USERCONFIG",
            "XDG_CONFIG_HOME",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ] {
            let hidden = relocated(&ours(name, &keys), &[]);
            assert!(hidden.iter().eq([&keys]), "{name}: {hidden:?}");
            assert!(relocated(&ours(name, &keys), &[name.into()]).is_empty());
            assert!(relocated(&ours(name, &missing), &[]).is_empty());
        }
        assert!(relocated(&ours("OLDPWD", &keys), &[]).is_empty());
        assert!(relocated(&ours("PIP_CONFIG_FILE", Path::new("/etc/passwd")), &[]).is_empty());
    }
}
