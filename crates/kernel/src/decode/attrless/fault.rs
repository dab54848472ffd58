//! What is wrong with a reply, told to the model: where, what, and what to write instead. What the reply says is
//! not repeated here, so that a log which keeps no replies can keep this.

use std::fmt;

use super::tags::{INSTRUCTION_TAGS, TagSpec};

/// What a comment or section without its end is called.
pub(super) const COMMENT: &str = "!--";

/// Something in a reply that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionFault {
    /// Counted from 1.
    pub line: u32,
    /// The element, where it is one.
    pub tag: String,
    /// What the model is told about it.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// There is no such instruction.
    UnknownTag,
    /// The tag has an attribute, and none takes any.
    Attribute,
    /// A child is not there that must be.
    MissingChild {
        /// Its name.
        child: &'static str,
    },
    /// A child stands there twice.
    DuplicateChild {
        /// Its name.
        child: &'static str,
    },
    /// A child holds nothing that must hold something.
    EmptyChild {
        /// Its name.
        child: &'static str,
    },
    /// The instruction has no such child.
    UnknownChild,
    /// Something that is no child stands between the children.
    NoChild,
    /// Neither or both of two children of which one is wanted.
    OneOf,
    /// An element stands where ids belong.
    BadIds,
    /// A closing tag of nothing.
    StrayClose,
    /// The element, comment or section has no end.
    Unclosed,
    /// A document type or an entity: nothing of the reply is read then.
    Declaration,
    /// A processing instruction.
    Processing,
    /// Text outside of any instruction.
    Prose,
    /// The reply holds no instruction at all.
    NoElement,
}

impl Problem {
    /// Whether the reply as a whole cannot be read, however lenient the reading is.
    pub(super) fn is_fatal(self) -> bool {
        matches!(self, Self::Unclosed | Self::Declaration | Self::NoElement)
    }
}

impl InstructionFault {
    /// The same without a name that the model made up: for a log that keeps no replies.
    pub(crate) fn without_foreign_name(&self) -> Self {
        let is_ours = self.tag == COMMENT || TagSpec::is_own_name(&self.tag);
        let tag = if is_ours {
            self.tag.clone()
        } else {
            String::new()
        };
        Self { tag, ..*self }
    }
}

impl fmt::Display for InstructionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tag = &self.tag;
        write!(f, "line {}: ", self.line)?;
        match self.problem {
            Problem::UnknownTag if tag.is_empty() => {
                let known = INSTRUCTION_TAGS.join(", ");
                return write!(f, "there is no instruction of this name: use only {known}");
            }
            Problem::StrayClose if tag.is_empty() => write!(f, "the tag closes nothing")?,
            Problem::Unclosed if tag.is_empty() => write!(f, "an element has no end: close it")?,
            Problem::UnknownTag => {
                let known = INSTRUCTION_TAGS.join(", ");
                return write!(f, "there is no instruction <{tag}>: use only {known}");
            }
            Problem::Attribute => write!(f, "<{tag}> has an attribute: write none")?,
            Problem::MissingChild { child } => write!(f, "<{tag}> has no <{child}>")?,
            Problem::DuplicateChild { child } => write!(f, "<{tag}> has two <{child}>")?,
            Problem::EmptyChild { child } => write!(f, "the <{child}> of <{tag}> is empty")?,
            Problem::UnknownChild => write!(f, "<{tag}> holds an element that it does not have")?,
            Problem::NoChild => write!(f, "<{tag}> holds text outside of its elements")?,
            Problem::OneOf => write!(f, "<{tag}> holds exactly one of its elements")?,
            Problem::BadIds => write!(
                f,
                "the <ids> of <{tag}> are ids between commas, or each in <id>…</id>"
            )?,
            Problem::StrayClose => write!(f, "</{tag}> closes nothing")?,
            Problem::Unclosed => write!(
                f,
                "<{tag}> has no end: close it, and write a text that holds such tags in <![CDATA[…]]>"
            )?,
            Problem::Declaration => {
                write!(f, "declarations (<!DOCTYPE, <!ENTITY) are not allowed")?;
            }
            Problem::Processing => write!(f, "processing instructions (<?…?>) are not allowed")?,
            Problem::Prose => write!(f, "text stands outside of the instructions: write none")?,
            Problem::NoElement => write!(f, "the reply has text and no instruction")?,
        }
        match TagSpec::of(tag) {
            Some(spec) => write!(f, ". Write {}", spec.example()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for InstructionFault {}
