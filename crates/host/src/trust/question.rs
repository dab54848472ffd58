//! What a person is asked, or told where nobody can be asked.
//!
//! Everything in it was written by a stranger, so that it is shown with every letter visible and
//! bounded in length.

use std::fmt;
use std::path::{Path, PathBuf};

use super::TrustError;
use crate::letters::written_out;

/// What a file wants beyond tightening, each as a line that may be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Commands that would be started.
    pub starts: Vec<String>,
    /// What goes to whom: keys, goals and what agents read.
    pub sends: Vec<String>,
    /// Settings that would allow more.
    pub loosens: Vec<String>,
    /// Who would take instructions from it.
    pub instructs: Vec<String>,
}

/// The longest line that is shown whole; more is said to be there.
const LINE_CHARS_MAX: usize = 2000;

impl Wants {
    /// What a file is taken to want that is not looked into.
    pub(crate) fn everything() -> Self {
        Self {
            loosens: vec!["everything that a configuration may say".into()],
            ..Self::default()
        }
    }

    /// Nobody needs to be asked then.
    pub fn is_empty(&self) -> bool {
        let all = [&self.starts, &self.sends, &self.loosens, &self.instructs];
        all.into_iter().all(Vec::is_empty)
    }

    /// The lines, in the order in which they matter.
    pub fn lines(&self) -> Vec<String> {
        let group = |title: &str, lines: &[String]| -> Vec<String> {
            let lines = lines.iter();
            lines
                .map(|line| format!("{title} {}", bounded(line)))
                .collect()
        };
        let mut all = group("start", &self.starts);
        all.extend(group("send", &self.sends));
        all.extend(group("loosen", &self.loosens));
        all.extend(group("instruct", &self.instructs));
        all
    }
}

/// Everything that a person must know before he trusts a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The file that wants something; its real path.
    pub file: PathBuf,
    /// What it would do if it were trusted.
    pub wants: Wants,
    /// The files that have another content than the one that was trusted; `None` where none was.
    pub changed: Option<Vec<String>>,
    /// Whether it has changed since the run began.
    pub since_start: bool,
}

impl Question {
    /// What `bonded trust` is to be told: the directory of a configuration that was found there, else the file.
    pub fn place(&self) -> &Path {
        match self.file.file_name() {
            Some(name) if name == ".ai-agent.json" => self.file.parent().unwrap_or(&self.file),
            _ => &self.file,
        }
    }
}

/// A file that nobody trusts, and that wants more than to tighten.
#[derive(Debug, thiserror::Error)]
pub struct Untrusted {
    /// What a person would have been asked.
    pub question: Question,
    /// Why the record could not be asked, or written.
    pub trouble: Option<TrustError>,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let question = &self.question;
        let file = written_out(&question.file.to_string_lossy());
        let why = match (&question.changed, question.since_start) {
            (Some(changed), _) if !changed.is_empty() => {
                format!(
                    "has changed since it was trusted ({})",
                    written_out(&changed.join(", "))
                )
            }
            (_, true) => "has changed since the run began".to_owned(),
            _ => "is not trusted".to_owned(),
        };
        write!(f, "{file} {why}; it would")?;
        for line in question.wants.lines() {
            write!(f, "\n  {line}")?;
        }
        if let Some(trouble) = &self.trouble {
            write!(f, "\n{trouble}")?;
        }
        Ok(())
    }
}

/// A long line could hide its end; how much is missing is said.
fn bounded(line: &str) -> String {
    let line = written_out(line);
    let count = line.chars().count();
    if count <= LINE_CHARS_MAX {
        return line;
    }
    let head: String = line.chars().take(LINE_CHARS_MAX).collect();
    let left = count - LINE_CHARS_MAX;
    format!("{head} … and {left} more characters: see the file")
}
