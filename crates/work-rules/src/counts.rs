//! How many tests ran, read from the output of those who ran them.

mod junit;
mod lines;
mod totals;

use lines::{RUNNERS, Runner};
pub use totals::TestCounts;

/// What the output of cargo, nextest, pytest, unittest, go (`-v` or `-json`), jest, vitest, `node --test`, other
/// TAP, mocha, or a JUnit XML document says. Nothing where it says nothing. Several runners are added up.
pub fn test_counts(output: &str) -> Option<TestCounts> {
    let plain = without_colours(output);
    let mut found: [Option<TestCounts>; RUNNERS] = [None; RUNNERS];
    for line in plain.lines() {
        // What is drawn over is not seen.
        let line = line.trim_end();
        let line = line.rsplit('\r').next().unwrap_or(line);
        if let Some((runner, counts)) = lines::read(line) {
            let slot = &mut found[runner as usize];
            *slot = Some(slot.unwrap_or_default().plus(counts));
        }
    }
    let mut of = |runner: Runner| found[runner as usize].take();
    let (cargo, nextest) = (of(Runner::Cargo), of(Runner::Nextest));
    let (node, tap) = (of(Runner::Node), of(Runner::Tap));
    let unittest = of(Runner::Unittest).map(|it| TestCounts {
        passed: it
            .passed
            .saturating_sub(it.failed.saturating_add(it.skipped)),
        ..it
    });
    let all = [
        // A test that fails under nextest shows cargo's own summary of that one test.
        nextest.or(cargo),
        node.or(tap),
        unittest,
        of(Runner::Pytest),
        of(Runner::Go),
        of(Runner::Jest),
        of(Runner::Vitest),
        of(Runner::Mocha),
        junit::counts(&plain),
    ];
    all.into_iter().flatten().reduce(TestCounts::plus)
}

/// The text without the escape sequences of terminals.
fn without_colours(output: &str) -> String {
    const ESCAPE: char = '\u{1b}';
    let mut plain = String::with_capacity(output.len());
    let mut pieces = output.split(ESCAPE);
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let rest = match piece.strip_prefix('[') {
            // A sequence ends with the first letter, and is never long.
            Some(sequence) => {
                let end = sequence.find(|c: char| ('@'..='~').contains(&c));
                end.map_or("", |end| &sequence[end + 1..])
            }
            None => piece,
        };
        plain.push_str(rest);
    }
    plain
}
