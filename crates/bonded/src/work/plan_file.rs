//! A plan file that a model writes.
//!
//! The model has no hand in the file: it answers with a text, which is held against the reader of `bonded work` and written here,
//! once there is nothing wrong with it. The file is made whole or not at all, and never takes the place of another.

use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bonded_work::Workshop;

use super::plan;
use crate::error::{CliError, Code};
use crate::settings;

/// What a model is told of the form of its answer.
pub(crate) const FORM: &str = "\
Answer with a plan file for `bonded work` and with nothing else, in place of numbered steps: YAML, a list of work items. An agent \
carries each item out in a copy of the tree of its own; what it changed is tested, and published whole or not at all. Items that do \
not depend on each other run at the same time, so none may need what another one changes unless it depends on it. Fields of an item:
- id: letters, digits, `.`, `_`, `-`; unique
- agent_id: `agent-1`, unless the goal names others, from `agent-0` to `agent-9`
- description: its goal, with all that its agent must know; the agent sees no other item
- dependencies: ids of the items that must have succeeded before (default: none)
- input_files: what must exist before it begins: files, directories (`src/`), patterns
- output_files: the only paths that it may change
- test_command: a line for `sh` that exits with 0 if the item is done
- constraints: `max_files` (10), `max_tool_ops` (50), `max_delta_size` (100), `timeout_ms` (300000), where the defaults are not enough
Paths are relative to the working directory. Such as:
- id: greeting
  agent_id: agent-1
  description: Write greet.sh, which prints \"Hello, NAME!\" for the name that is its first argument.
  output_files: [greet.sh]
  test_command: test \"$(sh greet.sh Ana)\" = \"Hello, Ana!\"";

/// Where a plan is to be written.
#[derive(Debug)]
pub(crate) struct PlanFile {
    path: PathBuf,
    /// Knows what plans on the tree have done.
    workshop: Workshop,
}

impl PlanFile {
    /// Refuses a place that cannot be written, before a model is asked.
    pub(crate) fn new(path: &Path, store: Option<&Path>) -> Result<Self, CliError> {
        if path.symlink_metadata().is_ok() {
            return Err(exists(path));
        }
        let dir = dir_of(path);
        if path.file_name().is_none() || !dir.is_dir() {
            let message = format!(
                "the plan cannot be written to {}: there is no directory {}",
                path.display(),
                dir.display()
            );
            return Err(CliError::new(Code::Usage, message));
        }
        let store = settings::store_path(store)?;
        let workshop = Workshop::beside(&std::path::absolute(&store).unwrap_or(store));
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { path, workshop })
    }

    /// As it is told to a person.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that keeps a text from being a plan for a tree; nothing where it is one.
    pub(crate) fn mistakes(&self, text: &str, root: &Path) -> Result<Vec<String>, CliError> {
        plan::mistakes(text, &self.workshop, root)
    }

    /// Writes the file, unless somebody has made one meanwhile.
    pub(crate) fn write(&self, text: &str) -> Result<(), CliError> {
        let written = self.written(text);
        written.map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                return exists(&self.path);
            }
            let message = format!("{} cannot be written: {error}", self.path.display());
            CliError::new(Code::OutputFailed, message)
        })
    }

    fn written(&self, text: &str) -> io::Result<()> {
        let usual = std::fs::Permissions::from_mode(0o666);
        let mut file = tempfile::Builder::new()
            .prefix(".bonded-plan-")
            .permissions(usual)
            .tempfile_in(dir_of(&self.path))?;
        writeln!(file, "{}", text.trim_end())?;
        file.as_file().sync_all()?;
        file.persist_noclobber(&self.path)?;
        Ok(())
    }
}

fn exists(path: &Path) -> CliError {
    let message = format!("{} exists, and a plan replaces no file", path.display());
    CliError::new(Code::Usage, message).hint("name another file: --work-plan FILE")
}

fn dir_of(path: &Path) -> &Path {
    let dir = path.parent().filter(|dir| *dir != Path::new(""));
    dir.unwrap_or(Path::new("."))
}

/// The plan in an answer: what stands in its only block of code, else all of it. Models put files into blocks, whatever they
/// are told.
pub(crate) fn plan_in(answer: &str) -> &str {
    let mut fences = answer.match_indices("```").filter(|(at, _)| {
        let before = &answer[..*at];
        before.is_empty() || before.ends_with('\n')
    });
    let (Some((opens, _)), Some((closes, _)), None) = (fences.next(), fences.next(), fences.next())
    else {
        return answer.trim();
    };
    let block = &answer[opens..closes];
    block.split_once('\n').map_or("", |(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_taken_out_of_its_only_block_of_code() {
        for (answer, plan) in [
            ("- id: a\n", "- id: a"),
            ("```yaml\n- id: a\n```", "- id: a\n"),
            ("Here it is:\n```\n- id: a\n```\nGood luck.", "- id: a\n"),
            ("a ``` b", "a ``` b"),
            (
                "```\none\n```\n```\ntwo\n```",
                "```\none\n```\n```\ntwo\n```",
            ),
            ("```\nnever closed", "```\nnever closed"),
            ("``````", "``````"),
            ("", ""),
        ] {
            assert_eq!(plan_in(answer), plan, "{answer:?}");
        }
    }
}
