//! Lines in which a runner says what it counted.

use serde::Deserialize;

use super::totals::TestCounts;

/// Who wrote a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Cargo,
    Nextest,
    Pytest,
    Unittest,
    Go,
    Jest,
    Vitest,
    /// The summary of `node --test`, and of what writes as it does.
    Node,
    /// A result of the Test Anything Protocol.
    Tap,
    Mocha,
}

/// How many there are.
pub(super) const RUNNERS: usize = Runner::Mocha as usize + 1;

type LineReader = fn(&str) -> Option<TestCounts>;

/// What a line says, and who wrote it.
pub(super) fn read(line: &str) -> Option<(Runner, TestCounts)> {
    let text = line.trim_start();
    let readers: [(Runner, LineReader); 9] = [
        (Runner::Cargo, cargo),
        (Runner::Nextest, nextest),
        (Runner::Pytest, pytest),
        (Runner::Unittest, unittest),
        (Runner::Go, go),
        (Runner::Jest, jest),
        (Runner::Vitest, vitest),
        (Runner::Node, node),
        (Runner::Mocha, mocha),
    ];
    let mut found = readers.into_iter();
    let found = found.find_map(|(runner, read)| Some((runner, read(text)?)));
    // Indented results of TAP are those of subtests, which the one above them sums up.
    found.or_else(|| Some((Runner::Tap, tap(line)?)))
}

/// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s`
fn cargo(line: &str) -> Option<TestCounts> {
    let (_, figures) = line.strip_prefix("test result: ")?.split_once(". ")?;
    tally(figures.split(';'))
}

/// `Summary [   0.012s] 3 tests run: 2 passed (1 slow), 1 failed, 0 skipped`
fn nextest(line: &str) -> Option<TestCounts> {
    let line = line.strip_prefix("Summary [")?;
    let (_, figures) = line.split_once(" run: ")?;
    tally(figures.split(','))
}

/// `==== 3 passed, 1 failed, 2 skipped in 0.12s ====`, the bars left out with `-q`.
fn pytest(line: &str) -> Option<TestCounts> {
    let line = line.trim_matches(['=', ' ']);
    let (figures, time) = line.rsplit_once(" in ")?;
    let time = time.split(' ').next().unwrap_or_default();
    let seconds = time.strip_suffix('s')?;
    seconds.parse::<f64>().ok()?;
    if figures == "no tests ran" {
        return Some(TestCounts::default());
    }
    let is_figure = |piece: &str| figure(piece).is_some();
    let are_figures = figures.split(", ").all(is_figure);
    are_figures.then(|| tally(figures.split(", ")))?
}

/// `Ran 3 tests in 0.001s`, and then perhaps `FAILED (failures=1, errors=1, skipped=1)`. What was run is taken as
/// passed until the rest is known.
fn unittest(line: &str) -> Option<TestCounts> {
    if let Some(ran) = line.strip_prefix("Ran ") {
        let (count, rest) = figure(ran)?;
        let passed = count;
        return (rest.starts_with("test") && rest.contains(" in ")).then_some(TestCounts {
            passed,
            ..TestCounts::default()
        });
    }
    let figures = line
        .strip_prefix("FAILED (")
        .or(line.strip_prefix("OK ("))?;
    let mut counts = TestCounts::default();
    for piece in figures.strip_suffix(')')?.split(", ") {
        let (word, count) = piece.split_once('=')?;
        let word = match word {
            "failures" | "errors" | "unexpected successes" => "failed",
            "skipped" | "expected failures" => "skipped",
            _ => return None,
        };
        counts = counts.plus(counted(word, count.parse().ok()?)?);
    }
    Some(counts)
}

/// `--- PASS: TestX (0.00s)`, or an event of `-json`. Without either, go does not say how many ran.
fn go(line: &str) -> Option<TestCounts> {
    if line.starts_with("{\"") {
        return go_event(line);
    }
    let (word, _) = line.strip_prefix("--- ")?.split_once(": ")?;
    go_count(match word {
        "PASS" => "pass",
        "FAIL" => "fail",
        "SKIP" => "skip",
        _ => return None,
    })
}

fn go_event(line: &str) -> Option<TestCounts> {
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct GoEvent<'a> {
        #[serde(borrow)]
        action: std::borrow::Cow<'a, str>,
        #[serde(borrow)]
        package: std::borrow::Cow<'a, str>,
        #[serde(borrow)]
        test: std::borrow::Cow<'a, str>,
    }
    let event: GoEvent<'_> = serde_json::from_str(line).ok()?;
    let is_named = !event.package.is_empty() && !event.test.is_empty();
    is_named.then(|| go_count(&event.action))?
}

fn go_count(action: &str) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    match action {
        "pass" => counts.passed = 1,
        "fail" => counts.failed = 1,
        "skip" => counts.skipped = 1,
        _ => return None,
    }
    Some(counts)
}

/// `Tests:       1 failed, 2 skipped, 3 passed, 6 total`
fn jest(line: &str) -> Option<TestCounts> {
    let figures = line.strip_prefix("Tests:")?;
    let (_, total) = figures.rsplit_once(' ')?;
    (total == "total").then(|| tally(figures.split(',')).unwrap_or_default())
}

/// `Tests  1 failed | 3 passed | 2 skipped (6)`
fn vitest(line: &str) -> Option<TestCounts> {
    let figures = line.strip_prefix("Tests  ")?;
    if figures.trim() == "no tests" {
        return Some(TestCounts::default());
    }
    figures.strip_suffix(')')?;
    tally(figures.split('|'))
}

/// `# pass 4` in TAP, `ℹ pass 4` for people: one figure in a line.
fn node(line: &str) -> Option<TestCounts> {
    let mut words = line
        .strip_prefix("# ")
        .or(line.strip_prefix("ℹ "))?
        .split_whitespace();
    let (word, count) = (words.next()?, words.next()?.parse().ok()?);
    let counts = counted(word, count);
    let is_summary = counts.is_some() || word == "tests";
    (is_summary && words.next().is_none()).then(|| counts.unwrap_or_default())
}

/// `ok 1 - it works`, `not ok 2 - it does not`, `ok 3 - it waits # SKIP later`
fn tap(line: &str) -> Option<TestCounts> {
    let (is_ok, rest) = match line.strip_prefix("not ok ") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok ")?),
    };
    let number = rest.split(' ').next().unwrap_or_default();
    number.parse::<u64>().ok()?;
    let directive = rest
        .rsplit_once(" # ")
        .map_or("", |(_, directive)| directive);
    let directive = directive.to_ascii_lowercase();
    let is_skipped = directive.starts_with("skip") || directive.starts_with("todo");
    go_count(match (is_skipped, is_ok) {
        (true, _) => "skip",
        (false, true) => "pass",
        (false, false) => "fail",
    })
}

/// `3 passing (5ms)`, `1 failing`, `2 pending`: one figure in a line.
fn mocha(line: &str) -> Option<TestCounts> {
    let (count, rest) = figure(line)?;
    let mut words = rest.split(' ');
    let word = words.next()?;
    let is_time = |word: &str| word.starts_with('(') && word.ends_with(')');
    let is_whole = words.next().is_none_or(is_time) && words.next().is_none();
    let is_word = matches!(word, "passing" | "failing" | "pending");
    (is_word && is_whole).then(|| counted(word, count))?
}

/// A number and what it counts.
fn figure(piece: &str) -> Option<(u64, &str)> {
    let (count, what) = piece.trim().split_once(' ')?;
    Some((count.parse().ok()?, what.trim_start()))
}

/// Adds up what is known among figures; nothing where nothing is.
fn tally<'a>(pieces: impl Iterator<Item = &'a str>) -> Option<TestCounts> {
    let known = pieces.filter_map(|piece| {
        let (count, what) = figure(piece)?;
        counted(what.split(' ').next().unwrap_or_default(), count)
    });
    known.reduce(TestCounts::plus)
}

fn counted(word: &str, count: u64) -> Option<TestCounts> {
    let mut counts = TestCounts::default();
    let slot = match word {
        "passed" | "pass" | "passing" | "xpassed" => &mut counts.passed,
        // nextest has `exec failed` and `timed out` besides.
        "failed" | "fail" | "failing" | "error" | "errors" | "exec" | "timed" | "cancelled" => {
            &mut counts.failed
        }
        "skipped" | "skip" | "ignored" | "pending" | "todo" | "xfailed" => &mut counts.skipped,
        _ => return None,
    };
    *slot = count;
    Some(counts)
}
