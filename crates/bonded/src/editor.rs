//! The person's own editor, for texts that are too long for a command line.
//!
//! The text goes through a file that only its owner can read. The file is removed when nothing of it is needed any more;
//! where what was written could not be kept, it stays and is named, so that no text is lost.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::Command;

use bonded_host::regular;
use tempfile::NamedTempFile;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::variable;
use crate::error::{CliError, Code};

/// Far more than anybody types; how long a text may be is told by whoever keeps it.
const TEXT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The editor's command, as the variables name it.
pub(crate) struct Editor(String);

/// A text that came back changed, and the file that holds it.
pub(crate) struct Edited {
    pub(crate) text: String,
    file: NamedTempFile,
}

impl Editor {
    /// `VISUAL` before `EDITOR`, as everywhere.
    pub(crate) fn of_variables() -> Option<Self> {
        ["VISUAL", "EDITOR"]
            .into_iter()
            .find_map(variable)
            .map(Self)
    }

    /// The same where a person can use it: with a terminal to type at and to look at.
    pub(crate) fn at_terminal() -> Option<Self> {
        let is_there = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        Self::of_variables().filter(|_| is_there)
    }

    /// Opens a text; `None` where it came back as it was, or empty.
    pub(crate) fn edit(&self, text: &str) -> Result<Option<Edited>, CliError> {
        let mut file = NamedTempFile::with_suffix(".md").map_err(|error| failed(&error))?;
        let written = file.write_all(text.as_bytes());
        written
            .and_then(|()| file.flush())
            .map_err(|error| failed(&error))?;
        // Ctrl-C is the editor's: it must not end the program that waits for it.
        let _ours = signal(SignalKind::interrupt()).map_err(|error| failed(&error))?;
        // The variable may hold arguments, which a shell takes apart as for every other program.
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{} \"$@\"", self.0));
        command.arg(&self.0).arg(file.path());
        let status = command.status().map_err(|error| failed(&error))?;
        // An editor may put another file in its place: it is read by its name.
        let back = std::fs::File::open(file.path());
        let back = back.and_then(|file| regular::text_of(file, TEXT_BYTES_MAX));
        let back = back.map_err(|error| failed(&error))?;
        let is_changed = back != text && !back.trim().is_empty();
        let edited = Edited { text: back, file };
        match (status.success(), is_changed) {
            (true, true) => Ok(Some(edited)),
            (true, false) => Ok(None),
            (false, is_changed) => {
                let message = format!(
                    "the editor {:?} failed ({status}); nothing was changed",
                    self.0
                );
                let error = CliError::new(Code::Usage, message);
                Err(match is_changed {
                    true => edited.kept(error),
                    false => error,
                })
            }
        }
    }
}

impl Edited {
    /// What was written could not be kept: the file stays, and the error names it.
    pub(crate) fn kept(self, error: CliError) -> CliError {
        match self.keep() {
            Ok(path) => error.hint(format!("your text is kept in {}", path.display())),
            Err(why) => error.hint(format!("your text could not be kept: {why}")),
        }
    }

    fn keep(self) -> Result<PathBuf, std::io::Error> {
        let (_, path) = self.file.keep().map_err(|error| error.error)?;
        Ok(path)
    }
}

fn failed(error: &std::io::Error) -> CliError {
    CliError::new(Code::Usage, format!("the editor cannot be used: {error}"))
}
