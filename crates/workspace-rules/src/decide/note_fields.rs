//! What the fields of a note may hold.
//!
//! The same checks hold for new notes, changes, and proposals, whoever makes them. Length of titles and keywords is
//! counted in characters, that of texts in bytes.

use crate::note::{
    AccessScope, KEYWORD_CHARS_MAX, KEYWORDS_MAX, MARKDOWN_BYTES_MAX, TITLE_CHARS_MAX,
};
use crate::refused::Refused;

/// A longer text would make each event, each answer and the index pay for it.
pub(super) fn check_length(markdown: &str) -> Result<(), Refused> {
    if markdown.len() > MARKDOWN_BYTES_MAX {
        return Err(Refused::NoteTooLarge {
            bytes: markdown.len(),
        });
    }
    Ok(())
}

/// Expects the title without surrounding blanks. Control characters are refused, because titles stand in lists and links.
pub(super) fn checked_title(title: &str) -> Result<String, Refused> {
    let is_line = !title.is_empty() && !title.contains(char::is_control);
    if is_line && title.chars().count() <= TITLE_CHARS_MAX {
        Ok(title.to_owned())
    } else {
        Err(Refused::bad(format!(
            "a title is one line of 1 to {TITLE_CHARS_MAX} characters"
        )))
    }
}

/// A slug, so that scopes of agents and conditions can name it exactly.
pub(super) fn checked_kind(kind: &str) -> Result<String, Refused> {
    let is_slug = kind.len() <= 64
        && kind.starts_with(|c: char| c.is_ascii_lowercase())
        && kind
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if is_slug {
        Ok(kind.to_owned())
    } else {
        Err(Refused::bad(
            "a note_kind is 1 to 64 lower-case letters, digits or '_', beginning with a letter",
        ))
    }
}

/// The keywords without blanks around them and each once.
pub(super) fn checked_keywords(keywords: &[String]) -> Result<Vec<String>, Refused> {
    let mut checked: Vec<String> = Vec::new();
    for keyword in keywords {
        let keyword = keyword.trim();
        if keyword.chars().count() > KEYWORD_CHARS_MAX || keyword.contains(char::is_control) {
            return Err(Refused::bad(format!(
                "a keyword is one line of at most {KEYWORD_CHARS_MAX} characters"
            )));
        }
        if !keyword.is_empty() && !checked.iter().any(|known| known == keyword) {
            checked.push(keyword.to_owned());
        }
        if checked.len() > KEYWORDS_MAX {
            return Err(Refused::bad(format!(
                "a note has at most {KEYWORDS_MAX} keywords"
            )));
        }
    }
    Ok(checked)
}

/// Every member reads all notes of a workspace: a note that says otherwise would make a promise that nobody keeps.
pub(super) fn checked_scope(scope: AccessScope) -> Result<AccessScope, Refused> {
    match scope {
        AccessScope::Workspace => Ok(scope),
        AccessScope::Private | AccessScope::Public => Err(Refused::bad(format!(
            "access_scope {:?} is not supported: only the members of a workspace can read its notes; leave it at \"workspace\", and put notes for others in another workspace",
            scope.as_str()
        ))),
    }
}
