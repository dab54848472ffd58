//! A server of the benchmark's own, with a store in it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::super::process::measure;
use super::super::rig::Rig;
use crate::cpu;
use crate::debian;
use crate::fault::Fault;

#[derive(Debug)]
pub(super) struct PostgresServer {
    process: Child,
    sockets: String,
    port: String,
    id: u32,
}

impl PostgresServer {
    /// With these settings.
    pub(super) fn start(rig: &Rig, settings: &[&str]) -> Result<Self, Fault> {
        let program = &rig.programs.postgres_server;
        let mut command = Command::new(program);
        command
            .args(settings)
            .env("BONDED_POSTGRES", debian::postgres_programs())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut process = command.spawn().map_err(Fault::file(program))?;
        let mut line = String::new();
        if let Some(stdout) = &mut process.stdout {
            let read = BufReader::new(stdout).read_line(&mut line);
            read.map_err(Fault::file(program))?;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let [sockets, port, id] = words[..] else {
            return Err(Fault::unmeasured("the server did not tell where it is"));
        };
        let server = Self {
            sockets: sockets.to_owned(),
            port: port.to_owned(),
            id: id.parse().map_err(Fault::unmeasured)?,
            process,
        };
        let mut init = rig.bonded(Path::new(&server.address("owner")));
        init.args(["store", "init", "--grant", "app"]);
        measure(init)?;
        Ok(server)
    }

    /// The address of its store for this user.
    pub(super) fn address(&self, user: &str) -> String {
        let (sockets, port) = (&self.sockets, &self.port);
        format!("postgres:///bench?user={user}&host={sockets}&port={port}")
    }

    /// The program on its store.
    pub(super) fn bonded(&self, rig: &Rig) -> Command {
        rig.bonded(Path::new(&self.address("app")))
    }

    /// A file with so many goals, each with an id that begins so.
    pub(super) fn goals(&self, rig: &Rig, prefix: &str, runs: usize) -> Result<PathBuf, Fault> {
        let file = rig.path(&format!("{prefix}.jsonl"));
        let line =
            |n| format!("{{\"goal\":\"read the notes, run {n}\",\"id\":\"{prefix}-{n}\"}}\n");
        let goals: String = (0..runs).map(line).collect();
        fs::write(&file, goals).map_err(Fault::file(&file))?;
        Ok(file)
    }

    /// Queues runs with these ids that this model drives.
    pub(super) fn queue(
        &self,
        rig: &Rig,
        prefix: &str,
        runs: usize,
        options: impl Fn(&mut Command),
    ) -> Result<(), Fault> {
        let mut command = self.bonded(rig);
        command.args(["run", "--detach", "--each"]);
        command.arg(self.goals(rig, prefix, runs)?);
        options(&mut command);
        measure(command).map(drop)
    }

    /// `psql` as the owner.
    pub(super) fn psql(&self) -> Command {
        let mut psql = Command::new(debian::postgres_programs().join("psql"));
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--set", "ON_ERROR_STOP=1", "--username=owner"]);
        psql.args(["--host", &self.sockets, "--port", &self.port]);
        psql.args(["--dbname", "bench"]);
        psql
    }

    /// Has the owner do this; gives what is answered.
    pub(super) fn sql(&self, sql: &str) -> Result<String, Fault> {
        let mut psql = self.psql();
        psql.args(["--command", sql]);
        Ok(measure(psql)?.stdout.trim().to_owned())
    }

    /// The CPU time of all its processes so far.
    pub(super) fn cpu(&self) -> Result<Duration, Fault> {
        let mut all = cpu::of_process_and_ended(self.id)?;
        let proc = Path::new("/proc");
        for entry in fs::read_dir(proc).map_err(Fault::file(proc))? {
            let entry = entry.map_err(Fault::file(proc))?;
            let id: Option<u32> = entry.file_name().to_str().and_then(|it| it.parse().ok());
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let after = stat.rsplit_once(") ").map(|(_, after)| after);
            let parent = after.and_then(|after| after.split(' ').nth(1)?.parse().ok());
            if let (Some(id), true) = (id, parent == Some(self.id)) {
                // One that has just ended is counted with its parent the next time.
                all += cpu::of_process(id).unwrap_or_default();
            }
        }
        Ok(all)
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // It ends when its stdin closes.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
