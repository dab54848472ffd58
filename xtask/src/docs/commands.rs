//! The README's table of commands: one row for each command that `bonded --help` lists.

use std::collections::BTreeSet;
use std::path::Path;

use super::read;
use crate::fault::Fault;
use crate::stage::{cargo, shown};

/// Every command-line program has this one; a table need not.
const HELP: &str = "help";

pub(super) fn check(root: &Path) -> Result<Vec<String>, Fault> {
    let readme = read(&root.join("README.md"))?;
    let (told, real) = (in_readme(&readme), in_help(&help()?));
    if real.is_empty() {
        return Ok(vec!["`bonded --help` lists no commands".into()]);
    }
    let untold = real
        .difference(&told)
        .map(|name| format!("README.md: the table of commands lacks `bonded {name}`"));
    let unreal = told
        .difference(&real)
        .map(|name| format!("README.md: there is no command `bonded {name}`"));
    Ok(untold.chain(unreal).collect())
}

fn help() -> Result<String, Fault> {
    let mut command = cargo(["run", "--quiet", "--package", "bonded", "--", "--help"]);
    let output = command.output().map_err(|source| Fault::Missing {
        program: "cargo".into(),
        source,
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Fault::Failed {
        command: shown(&command),
        status: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// The commands of table rows that begin with one in backticks.
fn in_readme(page: &str) -> BTreeSet<String> {
    let rows = page
        .lines()
        .filter_map(|line| line.trim().strip_prefix('|'));
    let commands = rows.filter_map(|row| row.trim_start().strip_prefix("`bonded "));
    commands.filter_map(first_word).collect()
}

/// The commands of the help's list: indented by two, where a wrapped line is indented by more.
fn in_help(help: &str) -> BTreeSet<String> {
    let list = help.lines().skip_while(|line| line.trim() != "Commands:");
    let list = list.skip(1).take_while(|line| !line.trim().is_empty());
    let entries = list.filter_map(|line| line.strip_prefix("  "));
    let entries = entries.filter(|entry| !entry.starts_with(' '));
    let mut commands: BTreeSet<String> = entries.filter_map(first_word).collect();
    commands.remove(HELP);
    commands
}

fn first_word(text: &str) -> Option<String> {
    let end = text.find([' ', '`', '\t']).unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_the_help_and_from_the_table() {
        let help = "About\n\nUsage: bonded <COMMAND>\n\nCommands:\n  run   Run an agent\n        \
                    until its end\n  show  Show a run\n  help  Print this\n\nOptions:\n  -h  Help\n";
        let readme = "| command | what |\n|---|---|\n| `bonded run GOAL` | runs |\n\
                      | `bonded show` | shows |\n`bonded other` is no row\n";
        let expected = BTreeSet::from(["run".to_owned(), "show".to_owned()]);
        assert_eq!(in_help(help), expected);
        assert_eq!(in_readme(readme), expected);
    }
}
