//! A place for runs whose model may start commands: it sees the whole system and can change nothing but one
//! directory.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether this system can make such a place.
pub(super) fn works(dir: &Path) -> bool {
    let mut nothing = around(dir, &Command::new("true"));
    let silent = nothing
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    silent.is_ok_and(|status| status.success())
}

/// The command inside. The directory must be named by its real path. The network stays, for the model.
pub(super) fn around(dir: &Path, command: &Command) -> Command {
    let mut caged = Command::new("bwrap");
    caged
        .args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"])
        .args(["--unshare-pid", "--die-with-parent", "--bind"])
        .args([dir, dir])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .stdin(Stdio::null());
    if let Some(place) = command.get_current_dir() {
        caged.current_dir(place);
    }
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            caged.env(name, value);
        }
    }
    caged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_keeps_its_words_its_place_and_its_variables() {
        let mut command = Command::new("bonded");
        command.arg("run").current_dir("/desk").env("HOME", "/desk");
        let caged = around(Path::new("/scratch"), &command);
        let words: Vec<_> = caged.get_args().collect();
        assert!(words.ends_with(&["/scratch", "/scratch", "bonded", "run"].map(AsRef::as_ref)));
        assert_eq!(caged.get_current_dir(), Some(Path::new("/desk")));
        let home = caged.get_envs().find(|(name, _)| *name == "HOME");
        assert_eq!(home.and_then(|(_, value)| value), Some("/desk".as_ref()));
    }
}
