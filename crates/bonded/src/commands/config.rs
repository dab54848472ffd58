//! `bonded config`: what the configuration says, and what is wrong with it.
//!
//! Nothing is started and nobody is asked. `show` says what counts and which file says it; `check` says what is
//! wrong with it, all at once, and takes every file for trusted: a mistake is one, whoever trusts the file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bonded_host::agent::{Agent, Finding, Inspection, Workplace};
use bonded_host::config::{Config, ConfigDirs, Explained};
use bonded_host::trust::Trust;
use bonded_host::with_causes;
use serde::Serialize;
use serde_json::Value;

use crate::args::{ConfigArgs, ConfigCommand, ConfigPlaceArgs};
use crate::error::{CliError, Code};
use crate::trust::LayerAnswer;
use crate::{agents, output, settings, trust};

pub(crate) fn config(args: &ConfigArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        ConfigCommand::Show(args) => show(args),
        ConfigCommand::Check(args) => check(args),
    }
}

/// The place as a run would have it: the person may be asked whether what is found is trusted.
pub(super) fn place(args: &ConfigPlaceArgs) -> Result<(Workplace, ConfigDirs), CliError> {
    let dir = settings::working_directory(args.dir.as_deref())?;
    let workplace = agents::workplace(&args.agent, Path::new(&dir))?;
    let places = workplace.places(agent_dir(args));
    Ok((workplace, places))
}

/// The same for whoever only looks.
fn looked_at(args: &ConfigPlaceArgs) -> Result<(Workplace, ConfigDirs), CliError> {
    let dir = settings::working_directory(args.dir.as_deref())?;
    let workplace = agents::looking(&args.agent, Path::new(&dir))?;
    let places = workplace.places(agent_dir(args));
    Ok((workplace, places))
}

/// The directory of an agent file, whose configuration is a layer too; `.` where the file is named without one.
fn agent_dir(args: &ConfigPlaceArgs) -> Option<&Path> {
    let dir = args.agent_file.as_deref().and_then(Path::parent)?;
    Some(match dir == Path::new("") {
        true => Path::new("."),
        false => dir,
    })
}

/// The layers and what came of them, for programs.
#[derive(Serialize)]
struct ConfigAnswer<'a> {
    layers: Vec<LayerAnswer<'a>>,
    values: Vec<ValueAnswer<'a>>,
}

#[derive(Serialize)]
struct ValueAnswer<'a> {
    key: String,
    value: &'a Value,
    file: &'a Path,
    variables: &'a [String],
}

impl<'a> From<&'a Explained> for ValueAnswer<'a> {
    fn from(it: &'a Explained) -> Self {
        Self {
            key: it.key_path.to_string(),
            value: &it.value,
            file: &it.file,
            variables: &it.variables,
        }
    }
}

/// Whether the configuration is valid, for programs.
#[derive(Serialize)]
struct CheckAnswer<'a> {
    ok: bool,
    problems: &'a [String],
    warnings: &'a [String],
}

/// As JSON the same, with the variables that a value was made of.
fn show(args: &ConfigPlaceArgs) -> Result<ExitCode, CliError> {
    let (workplace, places) = looked_at(args)?;
    let config = Config::load(&places, workplace.environment, &workplace.trust)?;
    let explained = config.explain();
    let layers = config.layers();
    if args.json {
        output::object(&ConfigAnswer {
            layers: layers.iter().map(LayerAnswer::from).collect(),
            values: explained.iter().map(ValueAnswer::from).collect(),
        });
        return Ok(ExitCode::SUCCESS);
    }
    for layer in &layers {
        output::stdout(&trust::layer_line(layer));
    }
    if explained.is_empty() && layers.is_empty() {
        let looked: Vec<String> = places
            .layers()
            .iter()
            .map(|layer| layer.file.display().to_string())
            .collect();
        output::stderr(&format!(
            "there is no configuration; looked for\n  {}",
            looked.join("\n  ")
        ));
    }
    for it in explained {
        output::stdout(&format!(
            "{} = {}    # {}",
            it.key_path,
            it.value,
            it.file.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// With `--json` the problems are on stdout already, and the exit code alone says that there are some.
fn check(args: &ConfigPlaceArgs) -> Result<ExitCode, CliError> {
    let (mut workplace, places) = looked_at(args)?;
    // What is wrong with a file is wrong whoever trusts it; nothing of it is started here.
    workplace.trust = Arc::new(Trust::once());
    let Findings { problems, warnings } = match &args.agent_file {
        Some(file) => in_agent(file, &workplace),
        None => in_configuration(&places, &workplace),
    };
    if args.json {
        output::object(&CheckAnswer {
            ok: problems.is_empty(),
            problems: &problems,
            warnings: &warnings,
        });
    } else {
        warnings
            .iter()
            .for_each(|warning| output::stderr(&format!("warning: {warning}")));
        if problems.is_empty() {
            output::stdout("the configuration is valid");
        }
    }
    let mut problems = problems.into_iter();
    match problems.next() {
        None => Ok(ExitCode::SUCCESS),
        Some(_) if args.json => Ok(ExitCode::from(Code::Config.exit_code())),
        Some(first) => Err(problems.fold(CliError::new(Code::Config, first), CliError::hint)),
    }
}

/// Warnings leave the configuration good.
struct Findings {
    problems: Vec<String>,
    warnings: Vec<String>,
}

/// Every mistake in the configuration, whether anybody uses that part of it or not.
fn in_configuration(places: &ConfigDirs, workplace: &Workplace) -> Findings {
    let environment = workplace.environment.clone();
    let found = Config::check(places, environment, &workplace.trust);
    let problems = found.problems.iter();
    Findings {
        problems: problems.map(|problem| with_causes(problem)).collect(),
        warnings: found.warnings.iter().map(ToString::to_string).collect(),
    }
}

/// Every mistake that a run of the agent, or of one that it may call, would meet.
fn in_agent(file: &Path, workplace: &Workplace) -> Findings {
    let Inspection { problems, warnings } = Agent::inspect(file, workplace);
    let mut problems: Vec<String> = problems.iter().map(finding_text).collect();
    if problems.is_empty()
        && let Err(error) = check_goal(file, workplace)
    {
        problems.push(error.message().to_owned());
    }
    Findings { problems, warnings }
}

/// A mistake with the agent that would meet it, where that is not the one that was named.
fn finding_text(finding: &Finding) -> String {
    let text = with_causes(&finding.error);
    match finding
        .called
        .as_ref()
        .map(|file| file.display().to_string())
    {
        Some(file) if !text.contains(&file) => format!("{file}: {text}"),
        _ => text,
    }
}

/// Makes a goal of the agent as a run would, so that nothing which a run refuses is called good.
fn check_goal(file: &Path, workplace: &Workplace) -> Result<(), CliError> {
    let agent = Agent::load(file, workplace, BTreeMap::new())?;
    settings::assignment_for_check(&agent)
}
