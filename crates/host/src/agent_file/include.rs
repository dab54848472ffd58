//! Includes: one text out of many files, in which every line still knows where it was written.
//!
//! What is included is sent to a provider, so files that hold secrets are refused by name and by what
//! they are, and by default nothing outside the directory of the agent file is read. A file is opened
//! first and looked at afterwards: nobody can put another one in its place between the two.
//!
//! Depth, number and size are bounded, so that a few small files that include each other many times
//! cannot fill the memory. An include that is refused is left out and told; only bounds that concern
//! the whole text end the reading.

use std::path::{Path, PathBuf};

use super::AgentFileError;
use super::read::{FILE_BYTES_MAX, text_of};
use crate::beneath::{self, OpenFile, SecretFiles, is_secret_name};
use crate::config::real;
use crate::trust::Contents;

/// How many files may lie between an agent file and the deepest text in it.
pub const INCLUDE_DEPTH_MAX: usize = 8;
/// Over the whole tree, so that a wide one is bounded as a deep one is.
const INCLUDES_MAX: usize = 1000;
/// Of the assembled text, however it is made up.
const TEXT_BYTES_MAX: usize = 4 * FILE_BYTES_MAX as usize;

/// Which files an agent file may include.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IncludePolicy {
    /// Those in the directory of the agent file and below.
    #[default]
    InsideTree,
    /// A person allowed every file that can be read; secrets are refused all the same.
    Anywhere,
}

/// The text of an agent file with everything that it includes.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) text: String,
    /// For each line of the text, where it begins.
    lines: Vec<SourceLine>,
    files: Vec<PathBuf>,
    /// The agent file and everything that it includes.
    pub(crate) contents: Contents,
}

/// `file` is an index into the files, so that a line costs two numbers and no path.
#[derive(Clone, Copy, Debug)]
struct SourceLine {
    file: usize,
    line: usize,
}

impl Assembled {
    /// Where a line of the text, counted from 1, was written.
    pub(crate) fn place(&self, line: usize) -> (PathBuf, usize) {
        let index = line.saturating_sub(1).min(self.lines.len() - 1);
        let place = self.lines[index];
        (self.files[place.file].clone(), place.line)
    }
}

/// Resolves the includes of `text`, which is that of the file `file` in the directory `dir`. One that cannot be resolved
/// is left out and added to the errors; `None` where there is no use in going on.
pub(crate) fn assemble(
    text: &str,
    file: &Path,
    dir: &Path,
    policy: IncludePolicy,
    secrets: &SecretFiles,
    errors: &mut Vec<AgentFileError>,
) -> Option<Assembled> {
    let mut assembler = Assembler {
        policy,
        secrets: secrets.clone(),
        dir: dir.into(),
        root: dir.canonicalize().unwrap_or_else(|_| dir.into()),
        includes_left: INCLUDES_MAX,
        chain: vec![Link {
            named: file.into(),
            real: file.canonicalize().unwrap_or_else(|_| file.into()),
        }],
        done: Assembled {
            text: String::new(),
            lines: vec![SourceLine { file: 0, line: 1 }],
            files: vec![file.into()],
            contents: Contents::new(&real(file), text.as_bytes()),
        },
        refused: vec![],
    };
    let added = assembler.add(text, 0, dir);
    errors.extend(assembler.refused);
    match added {
        Ok(()) => Some(assembler.done),
        Err(error) => {
            errors.push(error);
            None
        }
    }
}

/// The state of one assembly.
struct Assembler {
    policy: IncludePolicy,
    secrets: SecretFiles,
    /// The directory of the agent file as it is named, and as it is.
    dir: PathBuf,
    root: PathBuf,
    includes_left: usize,
    /// From the agent file down to the file that is read now.
    chain: Vec<Link>,
    done: Assembled,
    refused: Vec<AgentFileError>,
}

/// The name is for messages; the real path is what shows a circle.
struct Link {
    named: PathBuf,
    real: PathBuf,
}

/// An include as it is written.
struct Include<'t> {
    before: &'t str,
    path: &'t str,
    after: &'t str,
}

impl Assembler {
    /// Text and includes in turn. `dir` is what the paths in this text are relative to.
    fn add(&mut self, text: &str, file: usize, dir: &Path) -> Result<(), AgentFileError> {
        let mut rest = text;
        let mut line = 1;
        while let Some(include) = next_include(rest) {
            line = self.copy(include.before, file, line)?;
            self.include(include.path, file, line, dir)?;
            rest = include.after;
        }
        self.copy(rest, file, line)?;
        Ok(())
    }

    /// Takes text over, and gives the line at which it ends.
    fn copy(&mut self, text: &str, file: usize, line: usize) -> Result<usize, AgentFileError> {
        if self.done.text.len() + text.len() > TEXT_BYTES_MAX {
            return Err(AgentFileError::TooLarge {
                file: self.done.files[0].clone(),
                bytes_max: TEXT_BYTES_MAX as u64,
            });
        }
        self.done.text.push_str(text);
        let newlines = text.bytes().filter(|byte| *byte == b'\n').count();
        let places = (1..=newlines).map(|below| SourceLine {
            file,
            line: line + below,
        });
        self.done.lines.extend(places);
        Ok(line + newlines)
    }

    /// In the agent file itself a path is joined to the directory without links, so that a link on the
    /// way to that directory does not look like a way out of the tree.
    fn include(
        &mut self,
        path: &str,
        file: usize,
        line: usize,
        dir: &Path,
    ) -> Result<(), AgentFileError> {
        let refuse = |why: String| AgentFileError::IncludeRefused {
            file: self.done.files[file].clone(),
            line,
            path: path.into(),
            why,
        };
        if self.includes_left == 0 {
            return Err(refuse(format!(
                "there are more than {INCLUDES_MAX} includes"
            )));
        }
        let named = dir.join(path);
        let place = match dir == self.dir {
            true => self.root.join(path),
            false => named.clone(),
        };
        let opened = self.permitted(path, &place).map_err(refuse);
        self.includes_left -= 1;
        match opened {
            Ok(opened) => self.enter(named, opened, (file, line, path)),
            Err(error) => {
                self.refused.push(error);
                Ok(())
            }
        }
    }

    /// A file that may be included: opened first, then looked at.
    fn permitted(&self, path: &str, place: &Path) -> Result<OpenFile, String> {
        if path.is_empty() {
            return Err("it does not name a file".into());
        }
        if is_secret_name(place) {
            return Err("files of this name hold secrets and are never included".into());
        }
        let opened = match self.policy {
            IncludePolicy::InsideTree => beneath::open(&self.root, place),
            IncludePolicy::Anywhere => beneath::open_anywhere(place),
        };
        let opened = opened.map_err(|error| match beneath::leads_out(&error) {
            true => {
                let root = self.root.display();
                format!("it lies outside {root}; move it there, or allow includes from anywhere")
            }
            false => error.to_string(),
        })?;
        opened.check_secret(&self.secrets)?;
        Ok(opened)
    }

    /// The file of the include becomes part of the contents before its own includes are read, so that
    /// all of them are part of what is trusted.
    fn enter(
        &mut self,
        named: PathBuf,
        opened: OpenFile,
        (file, line, path): (usize, usize, &str),
    ) -> Result<(), AgentFileError> {
        let real = opened.real.clone();
        let is_cycle = self.chain.iter().any(|link| link.real == real);
        self.chain.push(Link {
            named,
            real: real.clone(),
        });
        let text = match self.link_fault(is_cycle) {
            Some(error) => Err(error),
            None => text_of(opened.read(FILE_BYTES_MAX), &real).map_err(|error| {
                AgentFileError::IncludeRefused {
                    file: self.done.files[file].clone(),
                    line,
                    path: path.into(),
                    why: error.to_string(),
                }
            }),
        };
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                self.chain.pop();
                self.refused.push(error);
                return Ok(());
            }
        };
        self.done.contents.add(&real, Some(text.as_bytes()));
        self.done.files.push(real.clone());
        let dir = real.parent().unwrap_or(Path::new("/"));
        self.add(&text, self.done.files.len() - 1, dir)?;
        self.chain.pop();
        Ok(())
    }

    /// Why the last link of the chain must not be followed.
    fn link_fault(&self, is_cycle: bool) -> Option<AgentFileError> {
        let chain = || self.chain_text();
        if is_cycle {
            return Some(AgentFileError::IncludeCycle { chain: chain() });
        }
        let depth_max = INCLUDE_DEPTH_MAX;
        (self.chain.len() > depth_max + 1).then(|| AgentFileError::IncludeTooDeep {
            depth_max,
            chain: chain(),
        })
    }

    fn chain_text(&self) -> String {
        let names: Vec<String> = self
            .chain
            .iter()
            .map(|link| link.named.display().to_string())
            .collect();
        names.join(" -> ")
    }
}

/// The first `${include:PATH}` or `{{include:PATH}}`. A path has neither a brace nor a line's end in it,
/// so that every byte is looked at once.
fn next_include(text: &str) -> Option<Include<'_>> {
    const WORD: &str = "include:";
    let mut from = 0;
    while let Some(found) = text[from..].find(WORD) {
        let at = from + found;
        from = at + WORD.len();
        let (opening, closing) = match &text.as_bytes()[..at] {
            [.., b'$', b'{'] => (2, "}"),
            [.., b'{', b'{'] => (2, "}}"),
            _ => continue,
        };
        let path = &text[from..];
        let end = path.find(['{', '}', '\n']).unwrap_or(path.len());
        if let Some(after) = path[end..].strip_prefix(closing) {
            return Some(Include {
                before: &text[..at - opening],
                path: path[..end].trim(),
                after,
            });
        }
    }
    None
}
