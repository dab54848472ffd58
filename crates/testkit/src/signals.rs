//! Signals to processes under test: which there are, which are sent, and what a process comes to that gets one.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::done::{Done, finish};
use crate::rng::{Rng, number};

/// All that a person or a program may send.
pub const SIGNALS: [Signal; 7] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::KILL,
    Signal::USR1,
    Signal::PIPE,
];

/// Says how often each signal is sent.
pub const ROUNDS: &str = "BONDED_SIGNAL_ROUNDS";

/// How many there are of all signals together where no number of rounds is given.
const FEW: u64 = 2;

/// Those that are sent, one after the other.
pub fn sent(rng: &mut Rng) -> Vec<Signal> {
    match number(ROUNDS) {
        Some(rounds) => (0..rounds).flat_map(|_| SIGNALS).collect(),
        None => (0..FEW).map(|_| *rng.one_of(&SIGNALS)).collect(),
    }
}

/// Sends a signal after a while, unless the process has ended, and gives what it came to.
pub fn signalled(child: Child, signal: Signal, after: Duration) -> Done {
    thread::scope(|scope| {
        let pid = Pid::from_child(&child);
        let began = Instant::now();
        let sender = scope.spawn(move || {
            thread::sleep(after.saturating_sub(began.elapsed()));
            // A process that has ended, and was not waited for yet, takes it as well.
            let _gone = kill_process(pid, signal);
        });
        // It is waited for only when the signal was sent: its number is nobody else's until then.
        sender.join().expect("a signal can be sent");
        finish(child)
    })
}
