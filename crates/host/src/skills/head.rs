//! The head of a `SKILL.md`: the name and the description in its front matter.
//!
//! Other keys of the format (`license`, `compatibility`, `metadata`, `allowed-tools`) and those of other programs are
//! passed over: none of them changes what a run may do.

use bonded_kernel::short;
use serde_json::Value;

use crate::yaml;

const NAME_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 1024;

/// What the model is told of a skill before it reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SkillHead {
    pub(super) name: String,
    /// One line.
    pub(super) description: String,
}

/// Why a head cannot be used, with what to do.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadHead {
    #[error(
        "SKILL.md has no front matter; begin it with `name` and `description` between two lines of ---"
    )]
    NoFrontMatter,
    #[error("line {line} of SKILL.md: {why}")]
    Yaml { line: usize, why: String },
    #[error("the front matter of SKILL.md has no `{key}`; add it as a text")]
    Missing { key: &'static str },
    #[error(
        "the name {name:?} is not usable: 1 to {NAME_CHARS_MAX} lowercase letters, digits and hyphens"
    )]
    Name { name: String },
    #[error(
        "the description has {chars} characters; shorten it to {DESCRIPTION_CHARS_MAX} and move the rest below the front matter"
    )]
    LongDescription { chars: usize },
}

/// Reads the head of a text.
pub(super) fn read(text: &str) -> Result<SkillHead, BadHead> {
    let front_matter = front_matter(text).ok_or(BadHead::NoFrontMatter)?;
    let fields = fields(front_matter)?;
    let field = |key: &'static str| {
        let value = fields.get(key).and_then(Value::as_str).map(str::trim);
        let given = value.filter(|value| !value.is_empty());
        given.ok_or(BadHead::Missing { key })
    };
    let (name, description) = (field("name")?, field("description")?);
    if !is_name(name) {
        return Err(BadHead::Name { name: short(name) });
    }
    let chars = description.chars().count();
    if chars > DESCRIPTION_CHARS_MAX {
        return Err(BadHead::LongDescription { chars });
    }
    let words: Vec<&str> = description.split_whitespace().collect();
    Ok(SkillHead {
        name: name.to_owned(),
        description: words.join(" "),
    })
}

fn is_name(name: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(is_letter)
}

/// What stands between the first two lines of dashes.
fn front_matter(text: &str) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = 0;
    let mut begun = None;
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_end() == "---";
        match begun {
            None if !is_fence => return None,
            None => begun = Some(at + line.len()),
            Some(begun) if is_fence => return text.get(begun..at),
            Some(_) => {}
        }
        at += line.len();
    }
    None
}

/// The keys of the front matter. Many are written with a colon inside of a text that has no quotes, which is no YAML
/// and is clear all the same.
fn fields(front_matter: &str) -> Result<Value, BadHead> {
    let bad = match yaml::parse(front_matter) {
        Ok(read) => return Ok(read.to_json()),
        Err(bad) => bad,
    };
    let plain = |key: &str| {
        let mut lines = front_matter.lines();
        let value = lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
        let value = value.trim();
        let is_block =
            value.is_empty() || value.starts_with(['|', '>', '[', '{', '&', '*', '"', '\'']);
        (!is_block).then(|| value.to_owned())
    };
    match (plain("name"), plain("description")) {
        (Some(name), Some(description)) => {
            Ok(serde_json::json!({ "name": name, "description": description }))
        }
        _ => Err(BadHead::Yaml {
            // The first line of the file is that of the dashes.
            line: bad.line + 1,
            why: bad.why,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_people_write_it() {
        let long = "d".repeat(DESCRIPTION_CHARS_MAX);
        let table = [
            (
                "---\nname: pdf\ndescription: Fills forms.\n---\n# PDF\n".to_owned(),
                "pdf",
                "Fills forms.",
            ),
            (
                "\u{feff}---\nname: a-1\ndescription: >\n  two\n  lines\nallowed-tools: Bash(*)\n---\n"
                    .to_owned(),
                "a-1",
                "two lines",
            ),
            (
                "---\r\nname: pdf\r\ndescription: Use it so: fill forms\r\n---\r\n".to_owned(),
                "pdf",
                "Use it so: fill forms",
            ),
            (
                format!("---\nname: pdf\ndescription: {long}\n---\n"),
                "pdf",
                &long,
            ),
        ];
        for (text, name, description) in table {
            let head = read(&text).expect(&text);
            assert_eq!((&*head.name, &*head.description), (name, description));
        }
    }

    #[test]
    fn a_head_that_cannot_be_used_is_refused_with_what_to_do() {
        let long = "d".repeat(DESCRIPTION_CHARS_MAX + 1);
        let name = "n".repeat(NAME_CHARS_MAX + 1);
        let with = |name: &str, description: &str| {
            format!("---\nname: {name}\ndescription: {description}\n---\n")
        };
        let table = [
            ("# PDF\n".to_owned(), "no front matter"),
            (
                "---\nname: pdf\ndescription: x\n".to_owned(),
                "no front matter",
            ),
            ("---\nname: pdf\n---\n".to_owned(), "no `description`"),
            ("---\ndescription: x\n---\n".to_owned(), "no `name`"),
            (
                "---\nname: [a]\ndescription: x\n---\n".to_owned(),
                "no `name`",
            ),
            ("---\nname: \"a\ndescription: x\n---\n".to_owned(), "line "),
            (with("My Skill", "x"), "\"My Skill\" is not usable"),
            (with("../pdf", "x"), "\"../pdf\" is not usable"),
            (with(&name, "x"), "is not usable"),
            (with("pdf", &long), "the description has 1025 characters"),
        ];
        for (text, why) in table {
            let bad = read(&text).expect_err(&text).to_string();
            assert!(bad.contains(why), "{text:?}: {bad}");
        }
    }
}
