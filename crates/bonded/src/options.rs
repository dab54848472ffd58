//! The flags of options, made from the one table that says what options there are.
//!
//! clap's derive cannot make flags from a table, so that `Args` is written by hand here. A row with a flag gives
//! one; a row that a file may have switched on gives a second one that switches it off. What was typed is kept with
//! its place, and is resolved together with what files and variables say.

use std::collections::BTreeMap;

use bonded_kernel::Measure;

use bonded_host::config::options::{Given, OptionKind, OptionRow, TABLE};
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::error::{CliError, Code};

/// What the command line says about options, by option key.
#[derive(Clone, Debug, Default)]
pub(crate) struct OptionArgs {
    /// Only what was typed: a default would outweigh the files.
    pub(crate) given: BTreeMap<String, Given>,
}

/// Names that existed before the table, or that are shorter.
const ALIASES: [(&str, &str); 4] = [
    ("models", "model"),
    ("maxRetries", "max-attempts"),
    ("maxToolCallsPerTurn", "max-calls"),
    ("toolResponseMaxBytes", "tool-output"),
];
/// Key, flag and help of the options that a flag can switch off.
const OFF_FLAGS: [(&str, &str, &str); 5] = [
    ("stream", "no-stream", "wait for complete replies"),
    (
        "toolOutputPaging",
        "no-tool-output-paging",
        "keep nothing of truncated output",
    ),
    (
        "contextSummary",
        "no-context-summary",
        "never ask the model for a summary",
    ),
    (
        "progressReports",
        "no-progress-reports",
        "offer no progress reports",
    ),
    (
        "readOnly",
        "no-read-only",
        "let the agent change things though its file says readOnly",
    ),
];
/// Key and letter.
const SHORT: [(&str, char); 2] = [("models", 'm'), ("quiet", 'q')];

impl clap::FromArgMatches for OptionArgs {
    /// What cannot be a value is not refused here: it is reported together with all other sources.
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = BTreeMap::new();
        for row in flags() {
            if let Some(text) = typed(row, matches) {
                given.insert(row.key.to_owned(), Given::typed(row, &text));
            }
        }
        Ok(Self { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for OptionArgs {
    /// An option and the flag that switches it off cannot be given together.
    fn augment_args(command: Command) -> Command {
        flags().fold(command, |command, row| {
            let heading = heading_of(row.key);
            let command = command.arg(arg(row).help_heading(heading));
            match off_flag(row) {
                Some((name, help)) => command.arg(
                    Arg::new(name)
                        .long(name)
                        .help(capitalised(help))
                        .action(ArgAction::SetTrue)
                        .conflicts_with(row.key)
                        .help_heading(heading),
                ),
                None => command,
            }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Under which the help shows an option. One that is new stands under the last until it is put elsewhere.
const HEADINGS: [(&str, &[&str]); 3] = [
    (
        "Model",
        &[
            "models",
            "temperature",
            "topP",
            "topK",
            "repeatPenalty",
            "reasoning",
            "defaultReasoning",
            "reasoningTokens",
            "caching",
            "openaiMode",
            "toolingTransport",
            "stream",
        ],
    ),
    (
        "Limits",
        &[
            "maxTurns",
            "maxRetries",
            "maxToolCallsPerTurn",
            "maxOutputTokens",
            "llmTimeout",
            "toolTimeout",
            "toolResponseMaxBytes",
        ],
    ),
    (
        "Output and records",
        &[
            "format",
            "verbose",
            "traceLLM",
            "traceMCP",
            "traceTools",
            "sessionsDir",
            "billingFile",
        ],
    ),
];

fn heading_of(key: &str) -> Option<&'static str> {
    // It stands with `--json`.
    if key == "quiet" {
        return None;
    }
    let found = HEADINGS.iter().find(|(_, keys)| keys.contains(&key));
    Some(found.map_or("Tools and sandbox", |(heading, _)| heading))
}

/// The table's texts stand in the middle of other sentences too.
fn capitalised(help: &str) -> String {
    let mut letters = help.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// Rows without a flag can be set by files and by `--override` only.
fn flags() -> impl Iterator<Item = &'static OptionRow> {
    TABLE.iter().filter(|row| row.flag.is_some())
}

/// The help names the default of agents, and the variable that stands in where nothing else names a value.
fn arg(row: &'static OptionRow) -> Arg {
    let long = row.flag.unwrap_or_default().trim_start_matches('-');
    let variable = VARIABLES.iter().find(|(key, _)| *key == row.key);
    let variable = variable.map_or(String::new(), |(_, name)| format!(" [env: {name}]"));
    let default = match row.default {
        Some(text) if !text.is_empty() && row.kind != OptionKind::Flag => {
            format!(" [agents: {text}]")
        }
        _ => String::new(),
    };
    let mut arg = Arg::new(row.key)
        .long(long)
        .help(format!("{}{default}{variable}", capitalised(row.help)));
    for alias in row.flag_aliases {
        arg = arg.alias(alias.trim_start_matches('-'));
    }
    for (_, alias) in ALIASES.iter().filter(|(key, _)| *key == row.key) {
        arg = arg.visible_alias(*alias);
    }
    for (_, short) in SHORT.iter().filter(|(key, _)| *key == row.key) {
        arg = arg.short(*short);
    }
    match row.kind {
        OptionKind::Flag => arg.action(ArgAction::SetTrue),
        OptionKind::List | OptionKind::Models | OptionKind::Patterns => {
            arg.value_name("LIST").action(ArgAction::Append)
        }
        OptionKind::Measured { measure, .. } => arg
            .value_name(value_name(measure))
            .allow_negative_numbers(true),
        OptionKind::ReasoningTokens => arg
            .value_name(value_name(Measure::Tokens))
            .allow_negative_numbers(true),
        // A negative number is a value to complain about, not another flag.
        OptionKind::Whole { .. }
        | OptionKind::Real { .. }
        | OptionKind::Approvals
        | OptionKind::Choice(_)
        | OptionKind::Reasoning
        | OptionKind::Text => arg.value_name("VALUE").allow_negative_numbers(true),
    }
}

/// What the help calls a value with a unit.
fn value_name(measure: Measure) -> &'static str {
    match measure {
        Measure::Ms | Measure::Seconds => "DURATION",
        Measure::Bytes => "SIZE",
        Measure::Tokens => "TOKENS",
    }
}

/// The flag that switches an option off which a file may have switched on.
fn off_flag(row: &OptionRow) -> Option<(&'static str, &'static str)> {
    let found = OFF_FLAGS.iter().find(|(key, _, _)| *key == row.key);
    found.map(|(_, name, help)| (*name, *help))
}

/// Lists that are given several times are joined, as if they had been given at once.
fn typed(row: &OptionRow, matches: &ArgMatches) -> Option<String> {
    match row.kind {
        OptionKind::Flag if matches.get_flag(row.key) => Some("true".into()),
        OptionKind::Flag if row.key == "stream" && is_live(matches) => Some("true".into()),
        OptionKind::Flag => {
            let (off, _) = off_flag(row)?;
            matches.get_flag(off).then(|| "false".into())
        }
        OptionKind::Whole { .. }
        | OptionKind::Measured { .. }
        | OptionKind::Real { .. }
        | OptionKind::List
        | OptionKind::Patterns
        | OptionKind::Approvals
        | OptionKind::Models
        | OptionKind::Choice(_)
        | OptionKind::Reasoning
        | OptionKind::ReasoningTokens
        | OptionKind::Text => {
            let values: Vec<&str> = matches
                .get_many::<String>(row.key)?
                .map(String::as_str)
                .collect();
            Some(values.join(","))
        }
    }
}

/// Only a reply that is streamed can be heard while it is said. Not every command has the flag.
fn is_live(matches: &ArgMatches) -> bool {
    matches!(matches.try_get_one("live"), Ok(Some(true)))
}

/// What is set once for everything, and so is the weakest: any file or flag says otherwise.
const VARIABLES: [(&str, &str); 1] = [("models", "BONDED_MODEL")];

/// What variables say about options.
pub(crate) fn given_by_variables(
    variable: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, Given> {
    let set = VARIABLES.iter().filter_map(|(key, name)| {
        let value = variable(name)?;
        let given = Given {
            value: value.into(),
            place: (*name).to_owned(),
        };
        Some(((*key).to_owned(), given))
    });
    set.collect()
}

/// What a terminal says about options: text is shown while it is written. It is as weak as what variables say.
pub(crate) fn streamed() -> BTreeMap<String, Given> {
    let given = Given {
        value: true.into(),
        place: "the terminal".into(),
    };
    BTreeMap::from([("stream".to_owned(), given)])
}

/// What a conversation says about options: the person is asked before something is changed. It is as weak as what variables
/// say.
pub(crate) fn asking() -> BTreeMap<String, Given> {
    let given = Given {
        value: ASKED_ABOUT.join(",").into(),
        place: "bonded chat".into(),
    };
    BTreeMap::from([("ask".to_owned(), given)])
}

/// The built-in tools that change something.
pub(crate) const ASKED_ABOUT: [&str; 4] = ["edit", "write", "append", "run"];

/// Reads every `--override KEY=VALUE`.
pub(crate) fn overrides(arguments: &[String]) -> Result<BTreeMap<String, Given>, CliError> {
    let parse = |text: &String| {
        bonded_host::config::options::parse_override(text)
            .map_err(|error| CliError::new(Code::Usage, error.to_string()))
    };
    arguments.iter().map(parse).collect()
}
