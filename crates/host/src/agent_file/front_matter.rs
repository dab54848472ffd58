//! The front matter of an agent file: where it stands, which keys it may have, what they mean.

use bonded_kernel::nearest;
use serde_json::Value;

use super::include::Assembled;
use super::schema::{self, Beside, LineOrigin};
use super::{AgentFile, AgentFileError, IncludePolicy};
use crate::beneath::SecretFiles;
use crate::config::options::{self, Given, TABLE};
use crate::config::value_text::found;
use crate::yaml::{self, YamlKind, YamlPair};

const OWN_KEYS: [&str; 6] = [
    "description",
    "usage",
    "toolName",
    "input",
    "output",
    "projectInstructions",
];

/// Keys of other places, which people write here all the same.
const RUNTIME_KEYS: [(&str, &str); 7] = [
    (
        "traceSlack",
        "it belongs to the process that runs the agent",
    ),
    ("traceSdk", "it belongs to the process that runs the agent"),
    ("accounting", "set accounting.file in the configuration"),
    ("save", "runs are always kept; there is nothing to save"),
    ("load", "runs are always kept; resume one by its id"),
    ("targets", "write models: [PROVIDER/MODEL]"),
    ("llms", "write models: [PROVIDER/MODEL]"),
];

/// The parts of a text: the lines above the front matter, the front matter, the prompt.
struct Parts<'t> {
    lines_above: usize,
    front_matter: Option<&'t str>,
    body: &'t str,
}

/// Fills the agent from its text. What is wrong with one key hides nothing of the others.
pub(super) fn read(
    assembled: &Assembled,
    policy: IncludePolicy,
    secrets: &SecretFiles,
    agent: &mut AgentFile,
    errors: &mut Vec<AgentFileError>,
) {
    let parts = match split(assembled) {
        Ok(parts) => parts,
        Err(error) => return errors.push(error),
    };
    agent.body = parts.body.to_owned();
    let Some(front_matter) = parts.front_matter else {
        return;
    };
    let place = |line: usize| assembled.place(line + parts.lines_above);
    let tree = match yaml::parse(front_matter) {
        Ok(tree) => tree,
        Err(error) => {
            let (file, line) = place(error.line);
            let why = error.to_string();
            return errors.push(AgentFileError::BadYaml { file, line, why });
        }
    };
    match tree.kind {
        YamlKind::Scalar(Value::Null) => {}
        YamlKind::Map(pairs) => {
            let taken = pairs
                .iter()
                .map(|pair| take(pair, &place, (policy, secrets), agent));
            errors.extend(taken.filter_map(Result::err));
        }
        YamlKind::Scalar(_) | YamlKind::List(_) => {
            let (file, line) = place(tree.line);
            errors.push(AgentFileError::NotAMapping { file, line });
        }
    }
}

fn split(assembled: &Assembled) -> Result<Parts<'_>, AgentFileError> {
    let text = assembled.text.as_str();
    let mut start = 0;
    let mut open = None;
    let mut at = 0;
    for (lines_above, line) in text.split_inclusive('\n').enumerate() {
        let end = at + line.len();
        let is_fence = line.trim_end() == "---";
        match open {
            None if lines_above == 0 && line.starts_with("#!") => start = end,
            None if line.trim().is_empty() => {}
            None if is_fence => open = Some((lines_above, end)),
            None => break,
            Some((above, from)) if is_fence => {
                return Ok(Parts {
                    lines_above: above + 1,
                    front_matter: Some(&text[from..at]),
                    body: &text[end..],
                });
            }
            Some(_) => {}
        }
        at = end;
    }
    if let Some((above, _)) = open {
        let (file, line) = assembled.place(above + 1);
        return Err(AgentFileError::FrontMatterOpen { file, line });
    }
    Ok(Parts {
        lines_above: 0,
        front_matter: None,
        body: &text[start..],
    })
}

fn take(
    pair: &YamlPair,
    place: LineOrigin<'_>,
    (policy, secrets): (IncludePolicy, &SecretFiles),
    agent: &mut AgentFile,
) -> Result<(), AgentFileError> {
    let key = pair.key.as_str();
    let mut beside = Beside {
        dir: &agent.dir,
        policy,
        secrets,
        contents: &mut agent.contents,
    };
    match key {
        "description" => agent.description = text(pair, place)?,
        "usage" => agent.usage = text(pair, place)?,
        "toolName" => agent.tool_name = tool_name(pair, place)?,
        "input" => agent.input = schema::input(pair, place, &mut beside)?,
        "output" => agent.output = schema::output(pair, place, &mut beside)?,
        "projectInstructions" => agent.project_instructions = flag(pair, place)?,
        _ if options::find(key).is_some_and(|row| row.front_matter) => {
            let (file, line) = place(pair.line);
            let given = Given {
                value: pair.value.to_json(),
                place: format!("{}, line {line}", file.display()),
            };
            agent.options.insert(key.to_owned(), given);
        }
        _ => return Err(stranger(pair, place)),
    }
    Ok(())
}

/// The error for a key that does not belong into an agent file.
fn stranger(pair: &YamlPair, place: LineOrigin<'_>) -> AgentFileError {
    let (file, line) = place(pair.line);
    let key = pair.key.clone();
    let foreign = RUNTIME_KEYS.iter().find(|(name, _)| *name == key);
    if let Some((_, hint)) = foreign {
        let hint = (*hint).to_owned();
        return AgentFileError::RuntimeKey {
            file,
            line,
            key,
            hint,
        };
    }
    if let Some(row) = options::find(&key) {
        let hint = match row.flag {
            Some(flag) => format!("give it to the run, as {flag}"),
            None => format!("give it to the run, as --override {key}=VALUE"),
        };
        return AgentFileError::RuntimeKey {
            file,
            line,
            key,
            hint,
        };
    }
    let options = TABLE.iter().filter(|row| row.front_matter);
    let known = options.map(|row| row.key).chain(OWN_KEYS);
    AgentFileError::UnknownKey {
        file,
        line,
        nearest: nearest(&key, known).map(str::to_owned),
        key,
    }
}

pub(super) fn wrong_type(pair: &YamlPair, place: LineOrigin<'_>, expected: &str) -> AgentFileError {
    let (file, line) = place(pair.line);
    AgentFileError::WrongType {
        file,
        line,
        key: pair.key.clone(),
        expected: expected.into(),
        found: found(&pair.value.to_json()),
    }
}

pub(super) fn text(
    pair: &YamlPair,
    place: LineOrigin<'_>,
) -> Result<Option<String>, AgentFileError> {
    match &pair.value.kind {
        YamlKind::Scalar(Value::String(text)) => Ok(Some(text.clone())),
        YamlKind::Scalar(Value::Null) => Ok(None),
        _ => Err(wrong_type(pair, place, "a text")),
    }
}

fn flag(pair: &YamlPair, place: LineOrigin<'_>) -> Result<bool, AgentFileError> {
    match &pair.value.kind {
        YamlKind::Scalar(Value::Bool(flag)) => Ok(*flag),
        YamlKind::Scalar(Value::Null) => Ok(false),
        _ => Err(wrong_type(pair, place, "true or false")),
    }
}

fn tool_name(pair: &YamlPair, place: LineOrigin<'_>) -> Result<Option<String>, AgentFileError> {
    let name = text(pair, place)?;
    let fits = |name: &String| {
        (1..=64).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    match name {
        Some(name) if !fits(&name) => {
            Err(wrong_type(pair, place, "1 to 64 letters, digits, - or _"))
        }
        name => Ok(name),
    }
}
