//! A terminal with somebody before it: everything that reaches it is recorded.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;

use bonded_testkit::done::wait_for_end;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::person::start;

/// What a terminal was sent, and how the command ended.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) code: Option<i32>,
    pub(crate) text: String,
}

/// Runs a command whose three streams are a terminal. Somebody types the answer when a question is there.
pub(crate) fn at_terminal(command: &mut Command, question: &str, answer: &str) -> Sent {
    let answer = answer.to_owned();
    answering(command, question, move |_| answer)
}

/// The same for somebody who does something before he types, or types what follows from what he was shown.
pub(crate) fn answering(
    command: &mut Command,
    question: &str,
    answer: impl FnOnce(&str) -> String + Send + 'static,
) -> Sent {
    let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be made");
    grantpt(&own).expect("it is ours");
    unlockpt(&own).expect("it can be opened");
    let name = ptsname(&own, vec![]).expect("it has a name");
    let name = name.to_str().expect("that is a path").to_owned();
    let open = || {
        let other = OpenOptions::new().read(true).write(true).open(&name);
        other.expect("it is open")
    };
    let (input, output, errors) = (open(), open(), open());
    let size = Winsize {
        ws_row: 24,
        ws_col: 200,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&output, size).expect("a terminal has a size");
    command.env("TERM", "xterm");
    command.stdin(input).stdout(output).stderr(errors);
    let mut child = start(command);
    // The terminal ends when nobody else has it open.
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut keyboard = File::from(own.try_clone().expect("it can be typed at"));
    let question = question.to_owned();
    let mut answer = Some(answer).filter(|_| !question.is_empty());
    let reading = thread::spawn(move || {
        let (mut terminal, mut sent) = (File::from(own), vec![]);
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = terminal.read(&mut part) {
            sent.extend_from_slice(&part[..count]);
            let shown = String::from_utf8_lossy(&sent);
            if let Some(answer) = answer.take_if(|_| shown.contains(&question)) {
                writeln!(keyboard, "{}", answer(&shown)).expect("it is typed");
            }
        }
        String::from_utf8_lossy(&sent).into_owned()
    });
    let status = wait_for_end(&mut child);
    Sent {
        code: status.code(),
        text: reading.join().expect("reading does not panic"),
    }
}
