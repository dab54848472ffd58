//! The tool `skill`: reads the files of the skills that a run offers.
//!
//! It reads a folder and nothing else, and only what is still as it was when the run began: the hashes are in the log.
//! So a person who looked at a skill knows what a run was told, and an agent that writes into the folder changes
//! nothing of its own instructions.

use std::path::Path;
use std::sync::Arc;

use bonded_kernel::{
    Hash, Invocation, OfferedSkill, RunConfig, ToolEffect, ToolSpec, did_you_mean, nearest,
};
use bonded_tools::{Tool, ToolFault, ToolValue};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::folder::FOLDER_BYTES_MAX;
use super::{SKILL_FILE, SKILL_TOOL};
use crate::beneath;

/// The fixed fields of the output as JSON.
const FIXED_BYTES: usize = 256;

/// The tool, for the skills of one run.
pub(crate) struct SkillTool {
    spec: ToolSpec,
    skills: Vec<OfferedSkill>,
}

#[derive(Deserialize)]
struct SkillArguments {
    name: String,
    #[serde(default = "instructions")]
    file: String,
    #[serde(default = "first_line")]
    offset: usize,
}

fn instructions() -> String {
    SKILL_FILE.to_owned()
}

fn first_line() -> usize {
    1
}

impl SkillTool {
    /// The tool of a run; none where it offers no skill.
    pub(crate) fn of(config: &RunConfig) -> Option<Arc<dyn Tool>> {
        let skills = config.skills.clone();
        (!skills.is_empty()).then(|| Arc::new(Self::new(skills)) as Arc<dyn Tool>)
    }

    fn new(skills: Vec<OfferedSkill>) -> Self {
        let spec = ToolSpec::closed(
            SKILL_TOOL,
            ToolEffect::Read,
            "Reads a skill: its instructions, or another file of its folder. If `next_line` is there, continue with \
             offset = next_line.",
            &json!({
                "name": { "type": "string", "minLength": 1, "description": "The name of the skill." },
                "file": {
                    "type": "string", "minLength": 1,
                    "description": "A file of its folder; default SKILL.md, the instructions."
                },
                "offset": {
                    "type": "integer", "minimum": 1,
                    "description": "First line to read, counted from 1; default 1."
                }
            }),
            &["name"],
        );
        Self { spec, skills }
    }

    fn skill(&self, name: &str) -> Result<&OfferedSkill, ToolFault> {
        let named = self.skills.iter().find(|skill| skill.name == name);
        named.ok_or_else(|| {
            let names = || self.skills.iter().map(|skill| skill.name.as_str());
            let message = format!(
                "there is no skill {name:?}{}; the skills are {}",
                did_you_mean(nearest(name, names())),
                names().collect::<Vec<_>>().join(", ")
            );
            ToolFault::new("unknown_skill", message)
        })
    }
}

impl Tool for SkillTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Value,
        call: &'a Invocation,
    ) -> BoxFuture<'a, Result<ToolValue, ToolFault>> {
        Box::pin(async move {
            let arguments: SkillArguments = serde_json::from_value(arguments)
                .map_err(|error| ToolFault::new("bad_arguments", error.to_string()))?;
            let skill = self.skill(&arguments.name)?.clone();
            let bytes_max = usize::try_from(call.output_bytes_max()).unwrap_or(usize::MAX);
            let reading = move || answer(&skill, &arguments, bytes_max);
            let read = tokio::task::spawn_blocking(reading).await;
            let stopped = |_| ToolFault::new("cancelled", "the reading was stopped");
            Ok(read.map_err(stopped)??.into())
        })
    }
}

fn answer(
    skill: &OfferedSkill,
    arguments: &SkillArguments,
    bytes_max: usize,
) -> Result<Value, ToolFault> {
    let (file, hash) = frozen(skill, &arguments.file)?;
    let text = read(skill, file, hash)?;
    let mut answer = json!({ "skill": skill.name, "file": file });
    if file == SKILL_FILE && arguments.offset == 1 {
        answer["folder"] = skill.dir.as_str().into();
        add_others(&mut answer, skill, bytes_max / 4);
    }
    let used = answer.to_string().len() + FIXED_BYTES;
    let part = TextPart::of(&text, arguments.offset, bytes_max.saturating_sub(used));
    let part = part.ok_or_else(|| {
        let lines = text.lines().count();
        let offset = arguments.offset;
        let message =
            format!("{file:?} has only {lines} lines, and offset {offset} is beyond them");
        ToolFault::new("past_end", message)
    })?;
    answer["content"] = part.text.into();
    if let Some(next) = part.next_line {
        answer["next_line"] = next.into();
    }
    if part.is_cut {
        answer["line_cut"] = true.into();
    }
    Ok(answer)
}

/// The file as the log has it. A model writes paths of its own making.
fn frozen<'s>(skill: &'s OfferedSkill, written: &str) -> Result<(&'s str, Hash), ToolFault> {
    let path = Path::new(written);
    let path = path.strip_prefix(&skill.dir).unwrap_or(path);
    let path = path.strip_prefix("./").unwrap_or(path).to_string_lossy();
    let known = skill.files.get_key_value(&*path);
    let (file, hash) = known.ok_or_else(|| {
        let names = skill.files.keys().map(String::as_str);
        let message = format!(
            "the skill {} had no file {written:?} when the run began{}",
            skill.name,
            did_you_mean(nearest(&path, names))
        );
        ToolFault::new("unknown_skill_file", message)
    })?;
    Ok((file.as_str(), *hash))
}

/// The content of a file, if it is the one that the log has.
fn read(skill: &OfferedSkill, file: &str, hash: Hash) -> Result<String, ToolFault> {
    let named = format!("{file:?} of the skill {}", skill.name);
    let changed = |why: &str| {
        let message = format!(
            "{named} {why} since the run began, so it is not shown; work without it, and say so"
        );
        ToolFault::new("skill_changed", message)
    };
    let opened = beneath::open(Path::new(&skill.dir), Path::new(file));
    let opened = opened.map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => changed("was removed"),
        _ if beneath::leads_out(&error) => changed("was replaced by a link"),
        _ => ToolFault::new(
            "skill_unreadable",
            format!("{named} cannot be read: {error}"),
        ),
    })?;
    let read = opened.read(FOLDER_BYTES_MAX).map_err(|error| {
        ToolFault::new(
            "skill_unreadable",
            format!("{named} cannot be read: {error}"),
        )
    })?;
    let bytes = read.filter(|bytes| Hash::of(bytes) == hash);
    let bytes = bytes.ok_or_else(|| changed("has changed"))?;
    String::from_utf8(bytes).map_err(|error| {
        let size = error.as_bytes().len();
        let message = format!("{named} is binary or not UTF-8 ({size} bytes)");
        ToolFault::new("skill_not_text", message)
    })
}

/// Names the other files of the folder, as many as have room.
fn add_others(answer: &mut Value, skill: &OfferedSkill, bytes_max: usize) {
    let others: Vec<&str> = skill.files.keys().map(String::as_str).collect();
    let mut left = bytes_max;
    let named: Vec<&str> = others
        .iter()
        .copied()
        .filter(|file| *file != SKILL_FILE)
        .take_while(|file| {
            let bytes = json_bytes(file) + 3;
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        })
        .collect();
    let missing = others.len() - 1 - named.len();
    if !named.is_empty() {
        answer["files"] = named.into();
    }
    if missing > 0 {
        answer["files_not_listed"] = missing.into();
    }
}

/// The lines of a text from one of them on, as many as have room.
#[derive(Debug, PartialEq, Eq)]
struct TextPart {
    text: String,
    next_line: Option<usize>,
    /// Whether the last line is not whole: it alone is longer than there is room.
    is_cut: bool,
}

impl TextPart {
    /// `None` where the text has no such line.
    fn of(text: &str, from_line: usize, bytes_max: usize) -> Option<Self> {
        let mut part = Self {
            text: String::new(),
            next_line: None,
            is_cut: false,
        };
        let mut left = bytes_max;
        let mut lines = text
            .split_inclusive('\n')
            .enumerate()
            .skip(from_line.saturating_sub(1));
        let first = lines.next();
        if first.is_none() && from_line > 1 {
            return None;
        }
        for (at, line) in first.into_iter().chain(lines) {
            let bytes = json_bytes(line);
            if bytes <= left {
                left -= bytes;
                part.text.push_str(line);
                continue;
            }
            part.is_cut = part.text.is_empty();
            if part.is_cut {
                part.text.push_str(head_within(line, left));
            }
            part.next_line = Some(at + 1 + usize::from(part.is_cut));
            break;
        }
        Some(part)
    }
}

/// The bytes that a text takes inside of a JSON string.
fn json_bytes(text: &str) -> usize {
    Value::from(text).to_string().len() - 2
}

/// The longest beginning of a text that takes at most `bytes_max` bytes of JSON.
fn head_within(text: &str, bytes_max: usize) -> &str {
    let mut used = 0;
    let mut letters = text.char_indices();
    let end = letters.find(|(_, letter)| {
        used += json_bytes(letter.encode_utf8(&mut [0; 4]));
        used > bytes_max
    });
    end.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_in_parts_of_whole_lines() {
        let part = |text: &str, next_line, is_cut| {
            Some(TextPart {
                text: text.into(),
                next_line,
                is_cut,
            })
        };
        let table = [
            ("a\nb\n", 1, 6, part("a\nb\n", None, false)),
            ("a\nb\n", 1, 5, part("a\n", Some(2), false)),
            ("a\nb\n", 2, 5, part("b\n", None, false)),
            ("a\nb\n", 3, 5, None),
            ("abcdef\nb", 1, 3, part("abc", Some(2), true)),
            ("\"\"\"", 1, 5, part("\"\"", Some(2), true)),
            ("", 1, 5, part("", None, false)),
        ];
        for (text, from_line, bytes_max, expected) in table {
            let found = TextPart::of(text, from_line, bytes_max);
            assert_eq!(found, expected, "{text:?} from {from_line}");
        }
    }
}
