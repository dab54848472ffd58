//! What the help texts say: the commands that there are, and the examples of each.

use bonded_testkit::place::Place;

/// A line of an example, without what is said of it.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) line: String,
}

/// Every command by its words, the program itself first, with the examples of its help.
pub(crate) fn commands(place: &Place) -> Vec<(String, Vec<Example>)> {
    let mut found = vec![];
    let mut open = vec![String::new()];
    while let Some(path) = open.pop() {
        let words: Vec<&str> = path.split_whitespace().chain(["--help"]).collect();
        let help = place.bonded(&words);
        help.succeeds();
        open.extend(inner(&help.stdout).map(|name| format!("{path} {name}").trim().to_owned()));
        found.push((path, examples(&help.stdout)));
    }
    assert!(found.len() > 50, "{found:?}");
    found
}

/// The commands that a help text lists; what continues a line stands further to the right.
fn inner(help: &str) -> impl Iterator<Item = &str> {
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let entries = lines.filter(|line| !line.starts_with("   "));
    let names = entries.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help")
}

/// The section stands at the end of its help, up to an empty line. Three spaces separate a command from what is said of
/// it, and a backslash continues it.
fn examples(help: &str) -> Vec<Example> {
    let section = help.split("\nExamples:\n").nth(1).unwrap_or_default();
    let mut found: Vec<Example> = vec![];
    let mut is_open = false;
    for printed in section.lines().take_while(|line| line.starts_with("  ")) {
        let command = printed.trim_start().split("   ").next();
        let command = command.unwrap_or_default().trim_end();
        let (text, continues) = match command.strip_suffix('\\') {
            Some(text) => (text, true),
            None => (command, false),
        };
        match found.last_mut().filter(|_| is_open) {
            Some(example) => example.line.push_str(text),
            None => found.push(Example { line: text.into() }),
        }
        is_open = continues;
    }
    found
}
