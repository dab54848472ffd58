//! The eight instructions and what each holds.

use serde_json::{Map, Value};

use super::fault::Problem;
use super::markup::value_of;

/// Enters a state.
pub const STATE_ADD: &str = "state_add";
/// Leaves a state.
pub const STATE_DELETE: &str = "state_delete";
/// Sets a key of the memory.
pub const RAM_ADD: &str = "ram_add";
/// Deletes a key of the memory.
pub const RAM_DELETE: &str = "ram_delete";
/// Makes a note.
pub const RECORD_ADD: &str = "record_add";
/// Writes down what a person should look at; changes no note.
pub const RECORD_ISSUE: &str = "record_issue";
/// Changes a note.
pub const RECORD_UPDATE: &str = "record_update";
/// Finds notes, or reads them by their ids.
pub const RECORD_SEARCH: &str = "record_search";

/// The instructions that there are.
pub const INSTRUCTION_TAGS: [&str; 8] = [
    STATE_ADD,
    STATE_DELETE,
    RAM_ADD,
    RAM_DELETE,
    RECORD_ADD,
    RECORD_ISSUE,
    RECORD_UPDATE,
    RECORD_SEARCH,
];

/// A child, and whether it must hold something.
#[derive(Clone, Copy, Debug)]
struct Child {
    name: &'static str,
    may_be_empty: bool,
}

const fn full(name: &'static str) -> Child {
    Child {
        name,
        may_be_empty: false,
    }
}

const fn any(name: &'static str) -> Child {
    Child {
        name,
        may_be_empty: true,
    }
}

/// What an instruction holds.
#[derive(Debug)]
pub(super) struct TagSpec {
    pub(super) name: &'static str,
    children: &'static [Child],
    /// Whether one of the children is wanted, instead of all.
    one_of: bool,
}

static SPECS: [TagSpec; 8] = {
    const fn spec(name: &'static str, children: &'static [Child]) -> TagSpec {
        TagSpec {
            name,
            children,
            one_of: false,
        }
    }
    [
        spec(STATE_ADD, &[full("state")]),
        spec(STATE_DELETE, &[full("state")]),
        spec(RAM_ADD, &[full("key"), any("value")]),
        spec(RAM_DELETE, &[full("key")]),
        spec(RECORD_ADD, &[any("keywords"), full("value")]),
        spec(RECORD_ISSUE, &[full("key"), full("value"), any("metadata")]),
        spec(RECORD_UPDATE, &[full("key"), any("value")]),
        TagSpec {
            name: RECORD_SEARCH,
            children: &[full("query"), full("ids")],
            one_of: true,
        },
    ]
};

impl TagSpec {
    pub(super) fn of(name: &str) -> Option<&'static Self> {
        SPECS.iter().find(|spec| spec.name == name)
    }

    /// Whether an instruction or a child of one has this name.
    pub(super) fn is_own_name(name: &str) -> bool {
        let mut specs = SPECS.iter();
        specs.any(|spec| spec.name == name || spec.child(name).is_some())
    }

    /// The child of this name, if the instruction has one.
    pub(super) fn child(&self, name: &str) -> Option<&'static str> {
        let found = self.children.iter().find(|child| child.name == name);
        found.map(|child| child.name)
    }

    /// How it is written.
    pub(super) fn example(&self) -> String {
        let written = |child: &Child| format!("<{0}>…</{0}>", child.name);
        let children: Vec<String> = self.children.iter().map(written).collect();
        let separator = if self.one_of { " or " } else { "" };
        format!("<{0}>{1}</{0}>", self.name, children.join(separator))
    }

    /// Checks that every child is there, and makes the arguments of a call.
    pub(super) fn arguments(&self, found: &[(&'static str, &str)]) -> Result<Value, Problem> {
        if self.one_of && found.len() != 1 {
            return Err(Problem::OneOf);
        }
        let mut arguments = Map::new();
        for child in self.children {
            let content = found.iter().find(|(name, _)| *name == child.name);
            let Some((_, content)) = content else {
                if self.one_of {
                    continue;
                }
                return Err(Problem::MissingChild { child: child.name });
            };
            let value = match child.name {
                "ids" => ids_of(content)?,
                _ => Value::String(value_of(content)),
            };
            let is_empty = value == "" || value == Value::Array(vec![]);
            if is_empty && !child.may_be_empty {
                return Err(Problem::EmptyChild { child: child.name });
            }
            arguments.insert(child.name.to_owned(), value);
        }
        Ok(Value::Object(arguments))
    }
}

/// Ids between commas or blanks, or each in an element of its own.
fn ids_of(content: &str) -> Result<Value, Problem> {
    let plain = value_of(&content.replace("<id>", " ").replace("</id>", " "));
    let words = plain.split(|c: char| c == ',' || c.is_whitespace());
    let ids: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if ids.iter().any(|id| id.contains('<')) {
        return Err(Problem::BadIds);
    }
    Ok(ids.into())
}
