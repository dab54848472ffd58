//! A terminal with somebody before it: everything that reaches it is recorded.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

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

/// The same for somebody who presses keys, one after the other and over again, once a question is there. Between two of
/// them there is time to read.
pub(crate) fn pressing(command: &mut Command, question: &str, keys: &'static [&str]) -> Sent {
    const READING: Duration = Duration::from_millis(400);
    let is_over = Arc::new(AtomicBool::new(false));
    let (over, wanted) = (is_over.clone(), question.to_owned());
    let sent = opened(command, move |shown, keyboard| {
        if shown.contains(&wanted) && !over.swap(true, Ordering::Relaxed) {
            let mut keyboard = keyboard.try_clone().expect("it can be typed at");
            // It ends with the terminal.
            thread::spawn(move || {
                for key in keys.iter().cycle() {
                    thread::sleep(READING);
                    if keyboard.write_all(key.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    assert!(is_over.load(Ordering::Relaxed), "no {question} in {sent:?}");
    sent
}

/// The same for somebody who does something before he types, or types what follows from what he was shown.
pub(crate) fn answering(
    command: &mut Command,
    question: &str,
    answer: impl FnOnce(&str) -> String + Send + 'static,
) -> Sent {
    let question = question.to_owned();
    let mut answer = Some(answer).filter(|_| !question.is_empty());
    opened(command, move |shown, mut keyboard| {
        if let Some(answer) = answer.take_if(|_| shown.contains(&question)) {
            writeln!(keyboard, "{}", answer(shown)).expect("it is typed");
        }
    })
}

/// Runs a command at a terminal; somebody looks whenever something is shown, and may type.
fn opened(command: &mut Command, mut look: impl FnMut(&str, &File) + Send + 'static) -> Sent {
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
    let keyboard = File::from(own.try_clone().expect("it can be typed at"));
    let reading = thread::spawn(move || {
        let (mut terminal, mut sent) = (File::from(own), vec![]);
        let mut part = [0; 4096];
        while let Ok(count @ 1..) = terminal.read(&mut part) {
            sent.extend_from_slice(&part[..count]);
            look(&String::from_utf8_lossy(&sent), &keyboard);
        }
        String::from_utf8_lossy(&sent).into_owned()
    });
    let status = wait_for_end(&mut child);
    Sent {
        code: status.code(),
        text: reading.join().expect("reading does not panic"),
    }
}
