//! The front matter of an agent file: where it stands, which keys it may have, what they mean.
//!
//! It stands between two lines of three dashes, below a shebang line if there is one, and nothing but
//! empty lines may stand above it. A text without it is a prompt as a whole. Keys of options are taken
//! as they are written and weighed later; only the keys that are the file's own are read here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bonded_kernel::{Mistake, escaped};
use serde_json::Value;

use super::fault::{FieldFault, FieldFaultKind, FrontFields};
use super::form::OWN;
use super::include::Assembled;
use super::schema::{self, Beside};
use super::{AgentFile, AgentFileError, IncludePolicy};
use crate::beneath::SecretFiles;
use crate::config::options::{self, Given, TABLE};
use crate::yaml::{self, Yaml, YamlKind, YamlPair};

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
        YamlKind::Map(_) => {
            let mut faults = vec![];
            options(&tree, &place, agent, &mut faults);
            own_keys(&tree.to_json(), policy, secrets, agent, &mut faults);
            errors.extend(placed(faults, &tree, &place));
        }
        YamlKind::Scalar(_) | YamlKind::List(_) => {
            let (file, line) = place(tree.line);
            errors.push(AgentFileError::NotAMapping { file, line });
        }
    }
}

/// Which file a line of the front matter comes from, and its number there.
type LineOrigin<'p> = &'p dyn Fn(usize) -> (PathBuf, usize);

/// The mistakes with the lines in which they were written, from the top down.
fn placed(faults: Vec<FieldFault>, tree: &Yaml, place: LineOrigin<'_>) -> Vec<AgentFileError> {
    if faults.is_empty() {
        return vec![];
    }
    let lines = lines(tree);
    let line = |fault: &FieldFault| lines.get(&fault.at).copied().unwrap_or(tree.line);
    let mut faults: Vec<(usize, FieldFault)> =
        faults.into_iter().map(|it| (line(&it), it)).collect();
    faults.sort_by_key(|(line, _)| *line);
    let error = |(line, fault): (usize, FieldFault)| fault.into_error(place(line));
    faults.into_iter().map(error).collect()
}

/// The line of each key that is read here, by its place: one pass, however many keys a stranger writes.
fn lines(tree: &Yaml) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for pair in pairs(tree) {
        let at = format!("/{}", escaped(&pair.key));
        for below in pairs(&pair.value) {
            lines.insert(format!("{at}/{}", escaped(&below.key)), below.line);
        }
        lines.insert(at, pair.line);
    }
    lines
}

fn pairs(node: &Yaml) -> &[YamlPair] {
    match &node.kind {
        YamlKind::Map(pairs) => pairs,
        YamlKind::Scalar(_) | YamlKind::List(_) => &[],
    }
}

/// Goes by bytes and not by lines, so that the prompt is the rest of the text as it is written. Dashes
/// below the prompt's first line are part of the prompt.
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

/// The keys that are the file's own.
fn own_keys(
    front_matter: &Value,
    policy: IncludePolicy,
    secrets: &SecretFiles,
    agent: &mut AgentFile,
    faults: &mut Vec<FieldFault>,
) {
    let Some(mut fields) = FrontFields::of(front_matter, "", faults) else {
        return;
    };
    let mut beside = Beside {
        dir: &agent.dir,
        policy,
        secrets,
        contents: &mut agent.contents,
    };
    agent.description = fields.any_text("description").map(str::to_owned);
    agent.usage = fields.any_text("usage").map(str::to_owned);
    agent.tool_name = fields.parsed("toolName", tool_name);
    agent.input = schema::input(&mut fields, &mut beside);
    agent.output = schema::output(&mut fields, &mut beside);
    agent.project_instructions = fields.flag("projectInstructions").unwrap_or(false);
}

/// The keys that are not: options, and what does not belong here.
fn options(
    tree: &Yaml,
    place: LineOrigin<'_>,
    agent: &mut AgentFile,
    faults: &mut Vec<FieldFault>,
) {
    let others = pairs(tree).iter();
    for pair in others.filter(|pair| !is_own(&pair.key)) {
        if options::find(&pair.key).is_none_or(|row| !row.front_matter) {
            faults.push(FieldFault::of(&pair.key, stranger(&pair.key)));
            continue;
        }
        let (file, line) = place(pair.line);
        let given = Given {
            value: pair.value.to_json(),
            place: format!("{}, line {line}", file.display()),
        };
        agent.options.insert(pair.key.clone(), given);
    }
}

/// What is wrong with a key that does not belong into an agent file.
fn stranger(key: &str) -> FieldFaultKind {
    let elsewhere = |hint| FieldFaultKind::Elsewhere { hint };
    if let Some((_, hint)) = RUNTIME_KEYS.iter().find(|(name, _)| *name == key) {
        return elsewhere((*hint).to_owned());
    }
    if let Some(row) = options::find(key) {
        let otherwise = format!("--override {key}=VALUE");
        let instead = row.flag.unwrap_or(&otherwise);
        return elsewhere(format!("give it to the run, as {instead}"));
    }
    let options = TABLE.iter().filter(|row| row.front_matter);
    let known = options
        .map(|row| row.key)
        .chain(OWN.iter().map(|row| row.name));
    Mistake::unknown_field(key, known).into()
}

/// Whether a key is the file's own, and no option.
fn is_own(key: &str) -> bool {
    OWN.iter().any(|row| row.name == key)
}

/// The bounds are those of a tool's name, because it becomes part of one.
fn tool_name(value: &Value) -> Result<String, Mistake> {
    let wrong = |expected: &'static str| Mistake::wrong_type(expected, value);
    let name = value.as_str().ok_or_else(|| wrong("a text"))?;
    let is_usable = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    match (1..=64).contains(&name.len()) && name.bytes().all(is_usable) {
        true => Ok(name.to_owned()),
        false => Err(wrong("1 to 64 letters, digits, - or _")),
    }
}
