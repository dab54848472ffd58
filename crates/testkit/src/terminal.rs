//! A real terminal with the program in it: keys are typed, and what a person would see is looked at.
//!
//! The program has a pseudo-terminal as its three streams and as the terminal that controls it, so that Ctrl-C is
//! what it is for a person: a key. What it writes goes through an emulator, because a live line that is drawn and
//! erased leaves bytes behind, but nothing on the screen.

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::done::{start, wait_for_end};
use crate::patience::PATIENCE;

/// Lines that went over the top and can be looked at again.
const SCROLLBACK: usize = 10_000;

/// Ctrl-C as a key.
pub const CTRL_C: &str = "\u{3}";
/// The key that ends what is typed.
pub const ENTER: &str = "\r";

/// Columns and rows.
#[derive(Clone, Copy, Debug)]
pub struct Size(pub u16, pub u16);

impl Size {
    /// As old terminals have it.
    pub const USUAL: Self = Self(80, 40);

    fn cells(self) -> (NonZeroU16, NonZeroU16) {
        let at_least_one = |count| NonZeroU16::new(count).unwrap_or(NonZeroU16::MIN);
        (at_least_one(self.1), at_least_one(self.0))
    }

    fn window(self) -> Winsize {
        Winsize {
            ws_row: self.1,
            ws_col: self.0,
            ws_xpixel: 0,
            ws_ypixel: 0,
        }
    }
}

/// Streams that are files and not the terminal, as after `< FILE` and `> FILE`.
#[derive(Clone, Debug, Default)]
pub struct Redirects {
    pub stdin: Option<PathBuf>,
    pub stdout: Option<PathBuf>,
}

/// It ends the program when it is dropped.
#[derive(Debug)]
pub struct Terminal {
    child: Child,
    keyboard: Option<File>,
    seen: Arc<Seen>,
    reading: Option<JoinHandle<()>>,
}

/// What the program has written, and what that looks like.
struct Seen {
    inner: Mutex<Drawn>,
    changed: Condvar,
}

struct Drawn {
    parser: vt100::Parser,
    bytes: Vec<u8>,
    is_over: bool,
}

impl std::fmt::Debug for Seen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.lock().parser.screen().contents())
    }
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, Drawn> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, mut from: File) {
        let mut part = [0; 4096];
        // The other side answers with an error when the last process has closed it.
        while let Ok(count @ 1..) = from.read(&mut part) {
            let mut drawn = self.lock();
            drawn.parser.process(&part[..count]);
            drawn.bytes.extend_from_slice(&part[..count]);
            self.changed.notify_all();
        }
        self.lock().is_over = true;
        self.changed.notify_all();
    }
}

impl Terminal {
    /// Starts the command in a terminal of this size.
    pub fn start(command: &Command, size: Size) -> Self {
        Self::redirected(command, size, &Redirects::default())
    }

    /// The same, with some of the streams elsewhere.
    pub fn redirected(command: &Command, size: Size, redirects: &Redirects) -> Self {
        let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be made");
        grantpt(&own).expect("it is ours");
        unlockpt(&own).expect("it can be opened");
        let name = ptsname(&own, vec![]).expect("it has a name");
        let name = name.to_str().expect("that is a path").to_owned();
        let open = || {
            let other = OpenOptions::new().read(true).write(true).open(&name);
            other.expect("it is open")
        };
        tcsetwinsize(&own, size.window()).expect("a terminal has a size");
        let mut command = in_session(command, redirects);
        let child = start(command.stdin(open()).stdout(open()).stderr(open()));
        // The terminal is over when nobody else has it open.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let (rows, columns) = size.cells();
        let seen = Arc::new(Seen {
            inner: Mutex::new(Drawn {
                parser: vt100::Parser::new(rows, columns, SCROLLBACK),
                bytes: vec![],
                is_over: false,
            }),
            changed: Condvar::new(),
        });
        let screen = File::from(own.try_clone().expect("it can be looked at"));
        let reader = seen.clone();
        Self {
            child,
            keyboard: Some(File::from(own)),
            seen,
            reading: Some(thread::spawn(move || reader.read(screen))),
        }
    }

    /// The process that controls the terminal: the program itself.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Types keys.
    pub fn type_keys(&self, keys: &str) {
        let keyboard = self.keyboard.as_ref().expect("it is not hung up");
        (&*keyboard)
            .write_all(keys.as_bytes())
            .expect("keys arrive");
    }

    /// Waits until the screen shows something, and gives all of it.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen is as it should be, and gives it.
    #[track_caller]
    pub fn wait_until(&self, what: &str, mut is_so: impl FnMut(&str) -> bool) -> String {
        let begun = Instant::now();
        let mut drawn = self.seen.lock();
        loop {
            let screen = drawn.parser.screen().contents();
            if is_so(&screen) {
                return screen;
            }
            let is_late = begun.elapsed() > PATIENCE;
            assert!(
                !drawn.is_over && !is_late,
                "no {what} on the screen:\n{screen}"
            );
            let waited = self
                .seen
                .changed
                .wait_timeout(drawn, Duration::from_millis(100));
            drawn = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What is on the screen now.
    pub fn screen(&self) -> String {
        self.seen.lock().parser.screen().contents()
    }

    /// Each row with the letter of its first colour before it: **r**ed, **g**reen, **y**ellow, **c**yan, **b**old,
    /// **d**im, or a space.
    pub fn coloured(&self) -> String {
        let drawn = self.seen.lock();
        let screen = drawn.parser.screen();
        let (_, columns) = screen.size();
        let rows = screen.rows(0, columns.get()).enumerate();
        let rows: Vec<String> = rows
            .map(|(row, text)| format!("{}|{text}", colour_of(screen, row)))
            .collect();
        rows.join("\n")
            .trim_end_matches(['\n', ' ', '|'])
            .to_owned()
    }

    /// Each row with the letters of a colour or weight, in brackets, wherever it changes: `⟦g⟧✓⟦⟧ list .`.
    pub fn painted(&self) -> String {
        let drawn = self.seen.lock();
        let screen = drawn.parser.screen();
        let (rows, columns) = screen.size();
        let row = |row: u16| {
            let (mut text, mut last) = (String::new(), String::new());
            let cells = (0..columns.get()).filter_map(|column| screen.cell(row, column));
            for cell in cells.filter(|cell| !cell.is_wide_continuation()) {
                let paint = paint_of(cell);
                if paint != last {
                    text.push_str(&format!("⟦{paint}⟧"));
                    last = paint;
                }
                text.push_str(if cell.has_contents() {
                    cell.contents()
                } else {
                    " "
                });
            }
            text.trim_end().trim_end_matches("⟦⟧").trim_end().to_owned()
        };
        let rows: Vec<String> = (0..rows.get()).map(row).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// All that was written, with what drives a terminal.
    pub fn bytes(&self) -> Vec<u8> {
        self.seen.lock().bytes.clone()
    }

    /// Another size while the program runs; it is told by the system.
    pub fn resize(&self, size: Size) {
        let keyboard = self.keyboard.as_ref().expect("it is not hung up");
        let (rows, columns) = size.cells();
        self.seen.lock().parser.screen_mut().set_size(rows, columns);
        tcsetwinsize(keyboard, size.window()).expect("a terminal has a size");
    }

    /// The window is closed while the program runs.
    pub fn hang_up(&mut self) {
        self.keyboard = None;
        kill_process(self.pid(), Signal::HUP).expect("it is there");
    }

    /// Waits for the end of the program; gives its exit code and the last screen.
    #[track_caller]
    pub fn end(mut self) -> (Option<i32>, String) {
        let code = self.wait_for_end();
        (code, self.screen())
    }

    /// Waits for the end of the program; its last screen can be looked at afterwards.
    #[track_caller]
    pub fn wait_for_end(&mut self) -> Option<i32> {
        let status = wait_for_end(&mut self.child);
        if let Some(reading) = self.reading.take() {
            reading.join().expect("reading does not panic");
        }
        let screen = self.screen();
        assert!(!screen.contains("panicked"), "{screen}");
        status.code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended.
        let _ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// The command as the leader of a session that the terminal controls.
fn in_session(command: &Command, redirects: &Redirects) -> Command {
    const SCRIPT: &str = "in=$1 out=$2; shift 2; exec \"$@\" <\"$in\" >\"$out\"";
    const TERMINAL: &str = "/dev/tty";
    let file = |path: &Option<PathBuf>| path.clone().unwrap_or_else(|| TERMINAL.into());
    let mut inside = Command::new("setsid");
    inside
        .args(["--ctty", "sh", "-c", SCRIPT, "sh"])
        .args([file(&redirects.stdin), file(&redirects.stdout)])
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        inside.current_dir(dir);
    }
    inside.env("TERM", "xterm-256color");
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(name, value),
            None => inside.env_remove(name),
        };
    }
    inside
}

fn colour_of(screen: &vt100::Screen, row: usize) -> char {
    let (_, columns) = screen.size();
    let row = u16::try_from(row).unwrap_or(u16::MAX);
    let cells = (0..columns.get()).filter_map(|column| screen.cell(row, column));
    let mut letters = cells.filter_map(|cell| paint_of(cell).chars().next());
    letters.next().unwrap_or(' ')
}

/// The letters of a cell's colour and weight.
fn paint_of(cell: &vt100::Cell) -> String {
    let colour = match cell.fgcolor() {
        vt100::Color::Idx(1 | 9) => Some('r'),
        vt100::Color::Idx(2 | 10) => Some('g'),
        vt100::Color::Idx(3 | 11) => Some('y'),
        vt100::Color::Idx(6 | 14) => Some('c'),
        _ => None,
    };
    let bold = cell.bold().then_some('b');
    let dim = cell.dim().then_some('d');
    [colour, bold, dim].into_iter().flatten().collect()
}
