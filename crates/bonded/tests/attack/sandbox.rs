//! Commands and servers that try to leave.

mod before;
mod home;
mod machine;
mod outside;
mod reach;
mod successor;
mod terminal;

use std::process::Command;

use crate::person::{Done, Person, done, finish, sh, start};

/// What a command of a run printed, with the flags of the run. The run itself must come to its end.
pub(crate) fn output_of(person: &Person, flags: &[&str], command: &str) -> String {
    let ended = person.run(flags, &[sh(command), done()]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    shown(person)
}

/// What the model was shown of the calls of the last run.
pub(crate) fn shown(person: &Person) -> String {
    let shown = person.bonded(&["show", "run", "--json"]);
    assert_eq!(shown.code, Some(0), "{shown:?}");
    outputs(&shown.stdout)
}

/// The outputs of the tools in a log, as they are written there.
pub(crate) fn outputs(log: &str) -> String {
    let entries = log.lines().map(|line| {
        let entry: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        entry
    });
    let finished = entries.filter(|entry| entry["kind"] == "tool_finished");
    let texts = finished.map(|entry| entry["data"]["output"].as_str().map(str::to_owned));
    texts.flatten().collect::<Vec<_>>().join("\n")
}

/// A run that is started by a command of the tester's making, such as one with more variables.
pub(crate) fn run_with(
    person: &Person,
    flags: &[&str],
    lines: &[serde_json::Value],
    more: impl FnOnce(&mut Command),
) -> Done {
    let script = person.script(lines);
    let mut words = vec!["run", "--id", "run", "--model", &script];
    words.extend(flags);
    words.push("the goal");
    let mut command = person.command(&words);
    more(&mut command);
    finish(start(&mut command))
}

/// Whether a program is here; an attack that needs one that is missing is none.
pub(crate) fn is_here(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
