//! What `-h` shows: a screen. Everything is in `--help`.
//!
//! Commands that take the options of agents have a hundred flags, of which a person needs fifteen. Those are named
//! here; a command that is not named shows all that it has.

use clap::Command;

/// By command, the arguments that `-h` shows.
const SHOWN: [(&str, &[&str]); 9] = [
    (
        "chat",
        &[
            "goal",
            "models",
            "agent_file",
            "dir",
            "continue_last",
            "continue_run",
            "ask",
            "no_ask",
            "deny",
            "sandbox",
            "maxTurns",
            "max_time",
            "max_cost",
            "trust",
        ],
    ),
    (
        "run",
        &[
            "goal",
            "models",
            "agent_file",
            "dir",
            "each",
            "continue_last",
            "plan",
            "detach",
            "ask",
            "deny",
            "sandbox",
            "maxTurns",
            "max_time",
            "max_cost",
            "trust",
            "json",
            "quiet",
        ],
    ),
    (
        "work",
        &[
            "plan",
            "models",
            "agent_files",
            "repo",
            "jobs",
            "resume",
            "dry_run",
            "commit",
            "ask",
            "sandbox",
            "max_time",
            "max_cost",
            "json",
            "quiet",
        ],
    ),
    (
        "serve",
        &[
            "agent_files",
            "data",
            "listen",
            "token_file",
            "no_token",
            "mcp",
            "concurrency",
            "dir",
            "models",
            "sandbox",
            "max_time",
            "max_cost",
            "stop_after",
        ],
    ),
    (
        "mcp",
        &[
            "agent_files",
            "ask_client",
            "concurrency",
            "dir",
            "models",
            "sandbox",
            "max_time",
            "max_cost",
        ],
    ),
    (
        "acp",
        &[
            "agent_file",
            "models",
            "no_ask",
            "ask",
            "deny",
            "sandbox",
            "maxTurns",
            "max_time",
            "max_cost",
            "no_agents_md",
        ],
    ),
    ("show", &["run", "turn", "follow", "json"]),
    ("config show", &["agent_file", "dir", "config", "json"]),
    ("config check", &["agent_file", "dir", "config", "json"]),
];

/// The top, for `bonded -h`: what there is, by what it is for.
pub(crate) const TOP: &str = "\
Run LLM agents within limits that code enforces.

  bonded chat            talk with an agent here; `bonded` alone does the same
  bonded run \"GOAL\"      one goal, then exit; reads stdin and AGENTS.md
  bonded work PLAN       a plan of tested changes
  bonded demo            watch an agent survive kill -9, without a key

Runs      runs show ui resume approve deny cancel fork verify replay
Changes   diff undo
Machines  worker workers store
Serve     serve mcp acp init note rule user export import
Set up    doctor models new config schema trust login logout
More      explain completions help

`bonded COMMAND -h` shows a command, `bonded --help` everything.
";

/// Hides from `-h` what a person seldom needs.
pub(super) fn shorten(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|it| it.get_name().to_owned())
        .collect();
    names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(&name, |sub| shortened(sub, &name))
    })
}

fn shortened(command: Command, path: &str) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|it| it.get_name().to_owned())
        .collect();
    let command = names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        command.mut_subcommand(&name, |sub| shortened(sub, &path))
    });
    let Some((_, shown)) = SHOWN.iter().find(|(name, _)| *name == path) else {
        return command;
    };
    command.mut_args(|arg| {
        let is_shown = shown.contains(&arg.get_id().as_str());
        arg.hide_short_help(!is_shown)
    })
}
