//! What is searched for.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::bounds::chars_within;
use crate::fault::{self, ToolFault};

/// The most characters of a line that are shown.
const TEXT_CHARS_MAX: usize = 300;

/// How much of a line is shown before a match that lies far to the right.
const BEFORE_CHARS: usize = 100;

/// A pattern that needs more than this to compile is refused.
const REGEX_BYTES_MAX: usize = 1024 * 1024;

#[derive(Deserialize)]
pub(crate) struct SearchArguments {
    pub(super) pattern: Option<String>,
    pub(super) glob: Option<String>,
    #[serde(default = "here")]
    pub(super) path: String,
    #[serde(default)]
    pub(super) case_insensitive: bool,
    #[serde(default = "limit_default")]
    pub(super) limit: usize,
}

fn here() -> String {
    ".".into()
}

fn limit_default() -> usize {
    100
}

/// At least one of both is there.
pub(super) struct Query {
    pub(super) pattern: Option<Regex>,
    glob: Option<Glob>,
}

struct Glob {
    matcher: GlobMatcher,
    /// Whether it is matched against the whole path, or the name alone.
    has_slash: bool,
}

impl Query {
    pub(super) fn new(arguments: &SearchArguments) -> Result<Self, ToolFault> {
        if arguments.pattern.is_none() && arguments.glob.is_none() {
            let message = "give a pattern, a glob or both";
            return Err(ToolFault::new(fault::BAD_ARGUMENTS, message));
        }
        let compile = |pattern: &String| {
            RegexBuilder::new(pattern)
                .case_insensitive(arguments.case_insensitive)
                .size_limit(REGEX_BYTES_MAX)
                .dfa_size_limit(REGEX_BYTES_MAX)
                .build()
                .map_err(|error| bad("pattern", &error))
        };
        let parse = |glob: &String| {
            let matcher = GlobBuilder::new(glob.strip_prefix('/').unwrap_or(glob))
                .literal_separator(true)
                .case_insensitive(arguments.case_insensitive)
                .build()
                .map_err(|error| bad("glob", &error))?
                .compile_matcher();
            let has_slash = glob.contains('/');
            Ok(Glob { matcher, has_slash })
        };
        Ok(Self {
            pattern: arguments.pattern.as_ref().map(compile).transpose()?,
            glob: arguments.glob.as_ref().map(parse).transpose()?,
        })
    }

    /// Whether the glob lets a file through; `start` is where the search began.
    pub(super) fn wants_name(&self, path: &Path, start: &Path) -> bool {
        let Some(glob) = &self.glob else {
            return true;
        };
        if glob.has_slash {
            glob.matcher
                .is_match(path.strip_prefix(start).unwrap_or(path))
        } else {
            path.file_name()
                .is_some_and(|name| glob.matcher.is_match(name))
        }
    }

    /// What is shown of a line, if it matches.
    pub(super) fn excerpt(&self, line: &[u8]) -> Option<String> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let found = self.pattern.as_ref()?.find(line)?;
        Some(around(line, found.start()))
    }
}

/// The beginning of the line, or of what surrounds the match where that lies far to the right.
fn around(line: &[u8], match_at: usize) -> String {
    let before = String::from_utf8_lossy(&line[..match_at]);
    let before_chars = before.chars().count();
    let line = String::from_utf8_lossy(line);
    let skip = if before_chars < TEXT_CHARS_MAX - BEFORE_CHARS {
        0
    } else {
        before_chars - BEFORE_CHARS
    };
    let from = line.char_indices().nth(skip).map_or(0, |(at, _)| at);
    chars_within(&line[from..], TEXT_CHARS_MAX).to_owned()
}

fn bad(what: &str, error: &dyn std::error::Error) -> ToolFault {
    ToolFault::new(
        fault::BAD_ARGUMENTS,
        format!("the {what} is not usable: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(pattern: Option<&str>, glob: Option<&str>) -> Result<Query, ToolFault> {
        Query::new(&SearchArguments {
            pattern: pattern.map(Into::into),
            glob: glob.map(Into::into),
            path: here(),
            case_insensitive: false,
            limit: limit_default(),
        })
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused() {
        let huge = r"\pL{1000}{1000}";
        for (pattern, glob) in [
            (None, None),
            (Some("("), None),
            (Some(huge), None),
            (None, Some("[")),
        ] {
            let fault = query(pattern, glob).err().expect("it is refused");
            assert_eq!(fault.code, fault::BAD_ARGUMENTS, "{pattern:?} {glob:?}");
        }
    }

    #[test]
    fn a_glob_is_matched_against_the_name_or_with_a_slash_against_the_path() {
        for (glob, path, expected) in [
            ("*.rs", "start/a/b.rs", true),
            ("*.rs", "start/a/b.rs.txt", false),
            ("a/*.rs", "start/a/b.rs", true),
            ("a/*.rs", "start/x/a/b.rs", false),
            ("**/b.rs", "start/x/a/b.rs", true),
            ("/a/*", "start/a/b.rs", true),
        ] {
            let query = query(None, Some(glob)).expect("it is a glob");
            let wanted = query.wants_name(Path::new(path), Path::new("start"));
            assert_eq!(wanted, expected, "{glob} on {path}");
        }
    }

    #[test]
    fn a_line_is_shown_with_at_most_300_characters_and_with_its_match() {
        let query = query(Some("needle"), None).expect("it is a pattern");
        for before in [0, 10, 199, 200, 5000] {
            let line = format!("{}needle{}", "ä".repeat(before), "z".repeat(1000));
            let text = query.excerpt(line.as_bytes()).expect("it matches");
            assert_eq!(text.chars().count(), 300, "after {before}");
            assert!(text.contains("needle"), "after {before}");
        }
        let text = query.excerpt(b"\xff needle \xff\r").expect("it matches");
        assert_eq!(text, "\u{fffd} needle \u{fffd}");
    }
}
