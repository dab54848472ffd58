//! A text of fields as people write it: JSON, or YAML of the same shape.
//!
//! It is for texts that people write or hand in, such as plans: bounded in size, with errors that name
//! the line and the column.

use serde_json::Value;

use crate::yaml::{self, Yaml, YamlKind};

/// Far more than anybody writes, and little enough to be kept in memory several times.
pub const DOCUMENT_BYTES_MAX: usize = 64 * 1024 * 1024;
/// What all nodes of a document in YAML may cost together.
const COST_MAX: usize = 4 * DOCUMENT_BYTES_MAX;

/// Why a text is neither.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {why}")]
pub struct BadDocument {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
    /// Without the place, which stands before it.
    pub why: String,
}

/// Reads a text. What begins like JSON is read as JSON: YAML would say less well what is wrong with it.
pub fn parse_document(text: &str) -> Result<Value, BadDocument> {
    match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => parse_json(text),
        _ => parse_yaml(text),
    }
}

fn parse_json(text: &str) -> Result<Value, BadDocument> {
    serde_json::from_str(text).map_err(|error| {
        let message = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        BadDocument {
            line: error.line(),
            column: error.column(),
            why: message.strip_suffix(&place).unwrap_or(&message).to_owned(),
        }
    })
}

fn parse_yaml(text: &str) -> Result<Value, BadDocument> {
    match yaml::parse_within(text, COST_MAX) {
        Ok(read) => Ok(read.to_json()),
        Err(bad) => Err(BadDocument {
            line: bad.line,
            column: bad.column,
            why: bad.why,
        }),
    }
}

/// The line on which the value of a JSON pointer stands, or what holds it, where it is missing.
///
/// Both forms are read as YAML for it, since nearly all JSON is. `None` where the text cannot be read
/// so.
pub fn line_of(text: &str, pointer: &str) -> Option<usize> {
    let mut node = &yaml::parse_within(text, COST_MAX).ok()?;
    let mut line = node.line;
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let Some((below, at)) = child(node, &name) else {
            break;
        };
        (node, line) = (below, at);
    }
    Some(line)
}

/// A step of the pointer: an index of a list, or a key.
fn child<'y>(node: &'y Yaml, name: &str) -> Option<(&'y Yaml, usize)> {
    match &node.kind {
        YamlKind::Scalar(_) => None,
        YamlKind::List(items) => {
            let item = items.get(name.parse::<usize>().ok()?)?;
            Some((item, item.line))
        }
        YamlKind::Map(pairs) => {
            let pair = pairs.iter().find(|pair| pair.key == name)?;
            Some((&pair.value, pair.line))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_is_no_plan_is_refused_with_its_line_and_column() {
        let table = [
            ("{\n  \"id\": }", 2, 9),
            ("[{\"id\": \"a\",}]", 1, 13),
            ("{\"id\": \"a\"} trailing", 1, 13),
            ("id: a\n  bad: [1, 2\n", 2, 6),
            ("a: 1\na: 2\n", 2, 1),
        ];
        for (text, line, column) in table {
            let bad = parse_document(text).expect_err(text);
            assert_eq!((bad.line, bad.column), (line, column), "{text:?}: {bad}");
        }
    }

    #[test]
    fn json_and_yaml_of_one_shape_give_one_plan() {
        let json =
            "[{\"id\": \"a\", \"constraints\": {\"max_files\": 1}, \"dependencies\": [\"b\"]}]";
        let yaml = "- id: a\n  constraints:\n    max_files: 1\n  dependencies: [b]\n";
        assert_eq!(parse_document(json), parse_document(yaml));
    }

    #[test]
    fn the_line_of_a_value_is_found_or_that_of_what_should_hold_it() {
        let text = "- id: a\n  constraints:\n    max_files: -1\n- id: b\n";
        let table = [
            ("/0/constraints/max_files", 3),
            ("/0/constraints/missing", 2),
            ("/1/id", 4),
            ("", 1),
        ];
        for (pointer, line) in table {
            assert_eq!(line_of(text, pointer), Some(line), "{pointer}");
        }
        assert_eq!(line_of("[\n {\n \"id\": 3}]", "/0/id"), Some(3));
    }
}
