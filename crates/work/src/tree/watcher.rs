//! A process that stays where the person's other processes are. In a user namespace of its own, a process may not look
//! at those of its user outside: so this one is asked who has a file open.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Mutex, PoisonError};

use super::writers::{FileId, Processes, Writers};

/// The hidden words that start this program so.
pub(crate) const WORDS: [&str; 2] = ["__work", "writers"];

/// The process that is asked. It ends with this.
#[derive(Debug)]
pub struct Watcher {
    talk: Mutex<Talk>,
}

/// One question and one answer at a time, each a line.
#[derive(Debug)]
struct Talk {
    child: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Watcher {
    /// Started before this process enters a namespace, and ends with it.
    pub fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(WORDS)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Who interrupts this process at a terminal is still to be answered.
            .process_group(0);
        let mut child = command.spawn()?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let from = from.ok_or(io::ErrorKind::BrokenPipe)?;
        let from = BufReader::new(from);
        let talk = Mutex::new(Talk { child, to, from });
        Ok(Self { talk })
    }
}

impl Writers for Watcher {
    fn written(&self, files: &[FileId]) -> Vec<FileId> {
        let mut talk = self.talk.lock().unwrap_or_else(PoisonError::into_inner);
        // One that is gone knows of nobody.
        talk.ask(files).unwrap_or_default()
    }
}

impl Talk {
    fn ask(&mut self, files: &[FileId]) -> io::Result<Vec<FileId>> {
        let to = self.to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        to.write_all(line(files).as_bytes())?;
        to.flush()?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        Ok(read(&answer))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let talk = self.talk.get_mut().unwrap_or_else(PoisonError::into_inner);
        drop(talk.to.take());
        let _ = talk.child.wait();
    }
}

/// Answers until nobody asks any more.
pub(crate) fn answer() -> ExitCode {
    for asked in io::stdin().lock().lines() {
        let Ok(asked) = asked else {
            break;
        };
        let written = Processes.written(&read(&asked));
        let mut stdout = io::stdout().lock();
        let sent = stdout.write_all(line(&written).as_bytes());
        if sent.and_then(|()| stdout.flush()).is_err() {
            break;
        }
    }
    ExitCode::SUCCESS
}

/// Device and inode in decimal digits.
fn line(files: &[FileId]) -> String {
    let words: Vec<String> = files
        .iter()
        .map(|it| format!("{}:{}", it.device, it.inode))
        .collect();
    format!("{}\n", words.join(" "))
}

/// What is no file id is passed over.
fn read(line: &str) -> Vec<FileId> {
    let file = |word: &str| {
        let (device, inode) = word.split_once(':')?;
        Some(FileId {
            device: device.parse().ok()?,
            inode: inode.parse().ok()?,
        })
    };
    line.split_whitespace().filter_map(file).collect()
}
