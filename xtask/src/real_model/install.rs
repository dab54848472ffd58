//! Programs that fetch and unpack what is not here yet.

use std::process::Command;

use crate::fault::Fault;

/// Runs a command silently. What it could not bring is named, with the command's last words.
pub(super) fn fetch(what: &str, mut command: Command) -> Result<(), Fault> {
    let program = command.get_program().to_string_lossy().into_owned();
    let uninstallable = |why: String| Fault::Uninstallable {
        what: what.to_owned(),
        why,
    };
    let output = command
        .output()
        .map_err(|error| uninstallable(format!("cannot start {program}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.trim().lines().last().unwrap_or_default();
    Err(uninstallable(format!(
        "{program} ended with {}: {last}",
        output.status
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_fetched_is_named_with_the_reason() {
        let mut refused = Command::new("sh");
        refused.args(["-c", "echo first >&2; echo there is no network >&2; exit 3"]);
        let cases = [
            (refused, "there is no network"),
            (
                Command::new("/nowhere/at-all"),
                "cannot start /nowhere/at-all",
            ),
        ];
        for (command, expected) in cases {
            let fault = fetch("the weights", command).expect_err("it fails");
            assert!(matches!(fault, Fault::Uninstallable { .. }), "{fault}");
            let said = fault.to_string();
            assert!(said.contains("the weights"), "{said}");
            assert!(said.contains(expected), "{said}");
        }
    }
}
