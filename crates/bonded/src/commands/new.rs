//! `bonded new`: files to begin with.
//!
//! A file is made only where there is none, by a call that fails if there is: nothing is overwritten, also where another
//! program makes the same file just then. Its schema is written beside it, so that an editor needs neither the network
//! nor a setting; one that is there already is left as it is, since it may be that of another version.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use super::schema;
use crate::args::{NewArgs, NewKind, SchemaName};
use crate::error::{CliError, Code};
use crate::output;

const CONFIG_FILE: &str = ".ai-agent.json";
/// What stands for the name in a template.
const PLACEHOLDER: &str = "NAME";

/// What is written for a kind.
struct Template {
    ending: &'static str,
    text: &'static str,
    /// The schema that the file names, by its own name and by that of the file beside it.
    schema: (SchemaName, &'static str),
    /// The command that uses it.
    next: &'static str,
}

fn template(kind: NewKind) -> Template {
    match kind {
        NewKind::Agent => Template {
            ending: ".ai",
            text: include_str!("../templates/agent.ai"),
            schema: (SchemaName::Agent, "agent.schema.json"),
            next: "bonded run --agent NAME.ai \"What is in this directory?\"",
        },
        NewKind::Plan => Template {
            ending: ".yaml",
            text: include_str!("../templates/plan.yaml"),
            schema: (SchemaName::Plan, "plan.schema.json"),
            next: "bonded work NAME.yaml --dry-run",
        },
        NewKind::Rule => Template {
            ending: ".json",
            text: include_str!("../templates/rule.json"),
            schema: (SchemaName::Rule, "rule.schema.json"),
            next: "bonded rule --data DIR add NAME.json",
        },
        NewKind::Tool => Template {
            ending: ".py",
            text: include_str!("../templates/tool.py"),
            schema: (SchemaName::Config, "config.schema.json"),
            next: "bonded trust, then add NAME to `tools` of an agent file",
        },
    }
}

pub(crate) fn new(args: &NewArgs) -> Result<ExitCode, CliError> {
    let template = template(args.kind);
    let name = args.name.strip_suffix(template.ending);
    let name = name.unwrap_or(&args.name);
    check_name(name, args.kind)?;
    let file = format!("{name}{}", template.ending);
    create(&file, &filled(template.text, name))?;
    let mut written = vec![file];
    let mut to_add = None;
    if args.kind == NewKind::Tool {
        let config = filled(include_str!("../templates/config.json"), name);
        match create_absent(CONFIG_FILE, &config)? {
            true => written.push(CONFIG_FILE.into()),
            false => to_add = Some(filled(include_str!("../templates/entry.json"), name)),
        }
    }
    let (schema, beside) = template.schema;
    if to_add.is_none() && create_absent(beside, &format!("{}\n", schema::text(schema)))? {
        written.push(beside.into());
    }
    tell(&written, to_add.as_deref(), &filled(template.next, name));
    Ok(ExitCode::SUCCESS)
}

/// The entry alone is on stdout where a person is to add it.
fn tell(written: &[String], to_add: Option<&str>, next: &str) {
    let wrote = format!("wrote {}", written.join(", "));
    let next = format!("next: {next}");
    match to_add {
        None => output::stdout(&format!("{wrote}\n{next}")),
        Some(entry) => {
            output::stderr(&wrote);
            output::stderr(&format!("{CONFIG_FILE} exists; add this to it:"));
            output::stdout(entry.trim_end());
            output::stderr(&next);
        }
    }
}

fn filled(text: &str, name: &str) -> String {
    text.replace(PLACEHOLDER, name)
}

/// A name is that of a file here. That of a tool is also part of the names of its tools, and all of them stand in files
/// that have quotes and comments of their own.
fn check_name(name: &str, kind: NewKind) -> Result<(), CliError> {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-.+ ".contains(letter);
    let is_file = !name.trim().is_empty()
        && !name.contains("..")
        && !name.starts_with(['.', '-', ' '])
        && name.chars().all(is_plain);
    let is_tool = name
        .bytes()
        .all(|it| it.is_ascii_alphanumeric() || b"_-".contains(&it));
    let (is_good, letters) = match kind {
        NewKind::Tool => (is_file && is_tool, "letters, digits, - and _"),
        NewKind::Agent | NewKind::Plan | NewKind::Rule => {
            (is_file, "letters, digits, spaces, '-', '_', '+' and '.'")
        }
    };
    match is_good {
        true => Ok(()),
        false => Err(CliError::new(
            Code::Usage,
            format!("{name:?} cannot be the name of a new file"),
        )
        .hint(format!(
            "use {letters}, without a directory; the file is written here"
        ))),
    }
}

/// Makes a file that must not be there.
fn create(file: &str, text: &str) -> Result<(), CliError> {
    match create_absent(file, text)? {
        true => Ok(()),
        false => Err(
            CliError::new(Code::Usage, format!("{file} exists; nothing was written"))
                .hint("choose another name, or move the file away"),
        ),
    }
}

/// Makes a file unless there is one, and says whether it did. What could not be written whole is taken away.
fn create_absent(file: &str, text: &str) -> Result<bool, CliError> {
    let failed = |error: &io::Error| {
        CliError::new(Code::OutputFailed, format!("cannot write {file}: {error}"))
    };
    let mut opened = match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(failed(&error)),
    };
    opened.write_all(text.as_bytes()).map_err(|error| {
        let _removed = std::fs::remove_file(Path::new(file));
        failed(&error)
    })?;
    Ok(true)
}
