//! What is wrong with a field of the front matter, before its line is known.
//!
//! The front matter is read like everything that people write, by its places in JSON; the lines are found afterwards.

use std::path::PathBuf;

use bonded_kernel::{Fields, Mistake, ReadFault, escaped};

use super::AgentFileError;

/// The fields of the front matter, or of an object in it.
pub(super) type FrontFields<'a, 'f> = Fields<'a, 'f, FieldFault>;

/// One mistake.
#[derive(Debug)]
pub(super) struct FieldFault {
    /// A JSON pointer.
    pub(super) at: String,
    kind: FieldFaultKind,
}

/// What may be wrong.
#[derive(Debug)]
pub(super) enum FieldFaultKind {
    Mistake(Mistake),
    /// A key that belongs to another place.
    Elsewhere {
        hint: String,
    },
    /// No schema, or none that can be had.
    Schema {
        why: String,
    },
}

impl From<Mistake> for FieldFaultKind {
    fn from(mistake: Mistake) -> Self {
        Self::Mistake(mistake)
    }
}

impl ReadFault for FieldFault {
    type Kind = FieldFaultKind;

    fn new(at: String, kind: FieldFaultKind) -> Self {
        Self { at, kind }
    }
}

impl FieldFault {
    /// For a key of the front matter itself.
    pub(super) fn of(key: &str, kind: FieldFaultKind) -> Self {
        Self::new(format!("/{}", escaped(key)), kind)
    }

    /// With its place, in words for the person who wrote it.
    pub(super) fn into_error(self, (file, line): (PathBuf, usize)) -> AgentFileError {
        let key = self.at.rsplit('/').next().unwrap_or_default();
        let key = key.replace("~1", "/").replace("~0", "~");
        match self.kind {
            FieldFaultKind::Mistake(Mistake::UnknownField { nearest, .. }) => {
                AgentFileError::UnknownKey {
                    file,
                    line,
                    key,
                    nearest,
                }
            }
            FieldFaultKind::Mistake(mistake) => AgentFileError::WrongValue {
                file,
                line,
                key,
                mistake: Box::new(mistake),
            },
            FieldFaultKind::Elsewhere { hint } => AgentFileError::RuntimeKey {
                file,
                line,
                key,
                hint,
            },
            FieldFaultKind::Schema { why } => AgentFileError::BadSchema {
                file,
                line,
                key,
                why,
            },
        }
    }
}
