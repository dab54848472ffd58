//! Which signals are sent when, and how a process ends that gets one.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::place::{Done, finish};
use crate::rng::{Rng, number, seed};
use crate::tell;

/// All that somebody or something may send.
pub(crate) const SIGNALS: [Signal; 7] = [
    Signal::INT,
    Signal::TERM,
    Signal::HUP,
    Signal::QUIT,
    Signal::KILL,
    Signal::USR1,
    Signal::PIPE,
];

/// How many moments there are in the short form, of all signals together.
const FEW: u64 = 2;

const SEED: &str = "BONDED_SIGNAL_SEED";

/// Tries something with each signal at each of its moments. The moments lie within the time that it takes undisturbed.
pub(crate) fn each(
    name: &str,
    undisturbed: impl FnOnce(),
    act: impl Fn(Signal, &mut Rng, Duration),
) {
    let seed = seed(SEED);
    let part = name.bytes().map(u64::from).sum();
    let mut rng = Rng::of(seed, part);
    let began = Instant::now();
    undisturbed();
    let within = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let sent = match number("BONDED_SIGNAL_ROUNDS") {
        Some(rounds) => (0..rounds).flat_map(|_| SIGNALS).collect(),
        None => (0..FEW).map(|_| *rng.one_of(&SIGNALS)).collect::<Vec<_>>(),
    };
    for signal in &sent {
        let after = Duration::from_micros(rng.below(within.max(1)));
        let one = AssertUnwindSafe(|| act(*signal, &mut rng, after));
        if let Err(panic) = catch_unwind(one) {
            tell(&format!(
                "{name}: {signal:?} after {after:?}, {SEED}={seed}"
            ));
            resume_unwind(panic);
        }
    }
    tell(&format!("{name}: {} signals, {SEED}={seed}", sent.len()));
}

/// Sends a signal after a while, unless the process has ended, and gives what it came to.
pub(crate) fn signalled(child: Child, signal: Signal, after: Duration) -> Done {
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
