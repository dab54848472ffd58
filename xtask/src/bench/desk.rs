//! What an agent needs to work: its file, its configuration, and notes to read.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::rig::Rig;
use crate::fault::Fault;

/// Larger than anything that is read here, so that no run is cut short.
const CONTEXT_WINDOW: u64 = 100_000_000;
const RESPONSE_BYTES_MAX: usize = 1_000_000;

/// Turns, beyond those that read, in which the report may come.
const TURNS_SPARE: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    XmlFinal,
    Native,
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::XmlFinal => "xml-final",
            Self::Native => "native",
        })
    }
}

/// A directory in which an agent reads its notes.
#[derive(Debug)]
pub(crate) struct Desk<'a> {
    rig: &'a Rig,
    name: &'static str,
    dir: PathBuf,
}

impl<'a> Desk<'a> {
    /// What the agent reports when it has read all notes.
    pub(crate) const REPORT: &'static str = "all notes are read";

    /// Writes the configuration and so many notes.
    pub(crate) fn set_up(
        rig: &'a Rig,
        name: &'static str,
        notes: usize,
        note: impl Fn(usize) -> String,
    ) -> Result<Self, Fault> {
        let dir = rig.path(&format!("desk-{name}"));
        fs::create_dir_all(&dir).map_err(Fault::file(&dir))?;
        for number in 0..notes {
            write(&dir.join(format!("note-{number}.txt")), &note(number))?;
        }
        let base_url = rig.server.base_url();
        let config = format!(
            "{{\"providers\":{{\"local\":{{\"type\":\"openai\",\"baseUrl\":\"{base_url}\",\
             \"apiKey\":\"none\",\"contextWindow\":{CONTEXT_WINDOW}}}}}}}\n"
        );
        write(&dir.join(".ai-agent.json"), &config)?;
        Ok(Self { rig, name, dir })
    }

    /// An agent that reads one note a turn, so many of them, and reports; in a store of its own.
    pub(crate) fn run(&self, notes: usize, encoding: Encoding) -> Result<Command, Fault> {
        let file = self.dir.join(format!("read-{notes}.ai"));
        let turns_max = notes + TURNS_SPARE;
        let agent = format!(
            "---\nmodels: local/turns-{notes}+report\ntools: [read]\nmaxTurns: {turns_max}\n\
             toolResponseMaxBytes: {RESPONSE_BYTES_MAX}\n---\nRead the notes, one a turn.\n"
        );
        write(&file, &agent)?;
        let store = self.rig.fresh(&format!("store-{}", self.name))?;
        let mut command = self.rig.bonded(&store);
        command
            .args(["run", "--quiet", "--trust", "--tooling-transport"])
            .arg(encoding.to_string())
            .arg("--agent")
            .arg(file)
            .arg("read the notes")
            .current_dir(&self.dir)
            // No configuration of the person who measures has a part in it.
            .env("HOME", &self.dir);
        Ok(command)
    }
}

fn write(path: &Path, text: &str) -> Result<(), Fault> {
    fs::write(path, text).map_err(Fault::file(path))
}
