//! `bonded schema`: what the files of bonded may hold, for editors.
//!
//! Nothing is described here: each schema comes from the crate that reads such files, out of the tables that it reads
//! them with.

use std::process::ExitCode;

use bonded_host::agent_file::agent_schema;
use bonded_host::config::config_schema;
use bonded_work_rules::plan_schema;
use bonded_workspace_rules::rule_schema;
use clap::ValueEnum as _;
use serde_json::Value;

use crate::args::{SchemaArgs, SchemaName};
use crate::output;

/// The draft that all schemas are written in.
const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

pub(crate) fn schema(args: &SchemaArgs) -> ExitCode {
    match args.name {
        Some(name) => output::stdout(&text(name)),
        None => list(),
    }
    ExitCode::SUCCESS
}

/// A schema as it is printed and written, without the end of its last line.
pub(super) fn text(name: SchemaName) -> String {
    format!("{:#}", of(name))
}

fn of(name: SchemaName) -> Value {
    let mut schema = match name {
        SchemaName::Config => config_schema(),
        SchemaName::Agent => agent_schema(),
        SchemaName::Plan => plan_schema(),
        SchemaName::Rule => rule_schema(),
    };
    schema["$schema"] = DRAFT.into();
    schema
}

/// Each in a line, in the words of the help.
fn list() {
    for name in SchemaName::value_variants() {
        let Some(value) = name.to_possible_value() else {
            continue;
        };
        let about = value.get_help().map(ToString::to_string);
        let line = format!("{:<8}{}", value.get_name(), about.unwrap_or_default());
        output::stdout(&line);
    }
}
