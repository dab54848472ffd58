//! What must hold of a run whatever the model said.

use super::drive::{CALLS_MAX, OUTPUT_TOKENS_MAX, RETRIES_MAX, TURNS_MAX};

/// What the server was asked and what it counted.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) requests: u64,
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    /// Of the longest reply.
    pub(super) output_tokens_most: u64,
}

impl Heard {
    /// Inside a JSON string every quote and line end is escaped, so none of these patterns can stand in one.
    pub(super) fn add(&mut self, asked: &str, answered: &str) {
        self.requests += asked.matches("/chat/completions HTTP/1.1\r\n").count() as u64;
        for usage in answered.split("\"usage\":{").skip(1) {
            let first = |key| numbers(usage, key).first().copied().unwrap_or(0);
            let output = first("completion_tokens");
            self.input_tokens += first("prompt_tokens");
            self.output_tokens += output;
            self.output_tokens_most = self.output_tokens_most.max(output);
        }
    }
}

/// What came of a run, as its process and the commands that look at it told.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) exit_code: Option<i32>,
    /// The result object.
    pub(super) result: String,
    pub(super) verify: String,
    pub(super) replay: String,
    /// The log, an entry a line.
    pub(super) log: String,
    /// How many tokens the server takes in: nobody but it says so.
    pub(super) window: usize,
}

impl Outcome {
    pub(super) fn is_success(&self) -> bool {
        self.result.contains("\"success\":true")
    }

    pub(super) fn termination(&self) -> &str {
        let named = text(&self.result, "\"termination\":{\"kind\":\"");
        named.unwrap_or_default()
    }

    /// Everything that does not hold.
    pub(super) fn findings(&self, heard: &Heard) -> Vec<String> {
        let mut findings = self.ending();
        findings.extend(self.limits(heard));
        findings.extend(self.accounts(heard));
        findings.extend(self.asked_window());
        findings
    }

    /// What the run ended with: the answer, where there is one.
    pub(super) fn reason(&self) -> &str {
        let (_, termination) = self
            .result
            .split_once("\"termination\":{")
            .unwrap_or_default();
        text(termination, "\"reason\":\"").unwrap_or_default()
    }

    fn asked_window(&self) -> Option<String> {
        let tokens = format!("\"tokens\":{}", self.window);
        let is_asked = self.log.lines().next().is_some_and(|first| {
            first.contains("\"window_source\":\"asked\"") && first.contains(&tokens)
        });
        let what = format!(
            "the server was not asked for its window, {} tokens",
            self.window
        );
        (!is_asked).then_some(what)
    }

    fn ending(&self) -> Vec<String> {
        let mut findings = vec![];
        let mut must = |holds: bool, what: String| {
            if !holds {
                findings.push(what);
            }
        };
        must(
            !self.termination().is_empty(),
            format!("the run has no termination: {}", self.result),
        );
        let expected = Some(i32::from(!self.is_success()));
        must(
            self.exit_code == expected,
            format!("exit code {:?} instead of {expected:?}", self.exit_code),
        );
        let ends = kinds(&self.log).filter(|kind| *kind == "run_ended").count();
        must(ends == 1, format!("the log has {ends} ends"));
        let last = kinds(&self.log).last();
        must(
            last == Some("run_ended"),
            format!("the log ends with {last:?}"),
        );
        must(
            self.verify.contains("log intact"),
            format!("verify: {}", self.verify),
        );
        must(
            self.replay.contains("replay matches"),
            format!("replay: {}", self.replay),
        );
        findings
    }

    fn limits(&self, heard: &Heard) -> Vec<String> {
        let turns = last(&numbers(&self.result, "turns"));
        let calls = calls_in_a_turn(&self.log);
        let limits = [
            ("turns", turns, TURNS_MAX),
            ("requests", heard.requests, TURNS_MAX * RETRIES_MAX),
            ("calls in a turn", calls, CALLS_MAX),
            (
                "tokens of a reply",
                heard.output_tokens_most,
                OUTPUT_TOKENS_MAX,
            ),
        ];
        let exceeded = limits.iter().filter(|(_, value, max)| value > max);
        exceeded
            .map(|(name, value, max)| format!("{value} {name}, at most {max} are allowed"))
            .collect()
    }

    /// The run's own figures, those of its accounts, and those that the server counted must be the same.
    fn accounts(&self, heard: &Heard) -> Vec<String> {
        let (accounts, totals) = self
            .result
            .rsplit_once("\"usage\":{")
            .unwrap_or((&self.result, ""));
        let sum = |key| numbers(accounts, key).iter().sum::<u64>();
        let total = |key| last(&numbers(totals, key));
        let pairs = [
            (
                "requests",
                last(&numbers(&self.result, "requests")),
                heard.requests,
            ),
            (
                "accounted input tokens",
                sum("inputTokens"),
                heard.input_tokens,
            ),
            (
                "accounted output tokens",
                sum("outputTokens"),
                heard.output_tokens,
            ),
            (
                "input tokens in all",
                total("inputTokens"),
                heard.input_tokens,
            ),
            (
                "output tokens in all",
                total("outputTokens"),
                heard.output_tokens,
            ),
        ];
        let differing = pairs.iter().filter(|(_, ours, theirs)| ours != theirs);
        differing
            .map(|(name, ours, theirs)| format!("{ours} {name}, the server says {theirs}"))
            .collect()
    }
}

/// The kinds of a log's entries, in their order. The data of an entry, which may hold kinds of its own, comes
/// before its kind.
fn kinds(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter_map(|entry| {
        let (_, rest) = entry.rsplit_once("\"kind\":\"")?;
        rest.split('"').next()
    })
}

/// The most calls that were executed in one turn.
fn calls_in_a_turn(log: &str) -> u64 {
    let mut most = 0;
    let mut calls = 0;
    for kind in kinds(log) {
        match kind {
            "decision_made" => calls = 0,
            "tool_invoked" => calls += 1,
            _ => {}
        }
        most = most.max(calls);
    }
    most
}

fn last(numbers: &[u64]) -> u64 {
    numbers.last().copied().unwrap_or(0)
}

/// The numbers of all fields of this name.
fn numbers(json: &str, key: &str) -> Vec<u64> {
    let pattern = format!("\"{key}\":");
    let pieces = json.split(&pattern).skip(1);
    let number = |piece: &str| {
        let end = piece.find(|c: char| !c.is_ascii_digit());
        piece[..end.unwrap_or(piece.len())].parse().ok()
    };
    pieces.filter_map(number).collect()
}

/// The word that follows a pattern, up to the next quote.
fn text<'a>(json: &'a str, pattern: &str) -> Option<&'a str> {
    let (_, rest) = json.split_once(pattern)?;
    rest.split('"').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"{"accounting":[{"tokens":{"inputTokens":40,"outputTokens":7}},{"tokens":{"inputTokens":60,"outputTokens":5}}],"conversation":[{"content":"\"turns\":99"}],"requests":2,"success":false,"termination":{"kind":"max_turns","reason":"x"},"turns":2,"usage":{"cachedInputTokens":30,"inputTokens":100,"outputTokens":12}}"#;
    const LOG: &str = "{\"tokens\":512,\"window_source\":\"asked\",\"kind\":\"run_started\"}\n{\"kind\":\"decision_made\"}\n{\"kind\":\"tool_invoked\"}\n{\"data\":{\"kind\":\"max_turns\"},\"kind\":\"run_ended\"}\n";

    fn heard() -> Heard {
        let mut heard = Heard::default();
        let asked = "POST /v1/chat/completions HTTP/1.1\r\n";
        let answered = |input: u32, output: u32| {
            format!("{{\"usage\":{{\"completion_tokens\":{output},\"prompt_tokens\":{input}}}}}")
        };
        heard.add(asked, &answered(40, 7));
        heard.add(asked, &answered(60, 5));
        heard
    }

    fn outcome() -> Outcome {
        Outcome {
            exit_code: Some(1),
            result: RESULT.into(),
            verify: "run 1: log intact: 4 entries".into(),
            replay: "run 1: replay matches: 2 steps".into(),
            log: LOG.into(),
            window: 512,
        }
    }

    #[test]
    fn a_run_that_kept_everything_has_no_findings() {
        assert_eq!(outcome().findings(&heard()), [""; 0]);
        assert_eq!(outcome().termination(), "max_turns");
        assert_eq!(outcome().reason(), "x");
    }

    #[test]
    fn whatever_does_not_hold_is_found() {
        let changed = |change: fn(&mut Outcome)| {
            let mut outcome = outcome();
            change(&mut outcome);
            outcome
        };
        let told = |from: &str, to: &str| Outcome {
            result: RESULT.replace(from, to),
            ..outcome()
        };
        let logged = |from: &str, to: &str| Outcome {
            log: LOG.replace(from, to),
            ..outcome()
        };
        let call = "{\"kind\":\"tool_invoked\"}\n";
        let end = "{\"data\":{\"kind\":\"max_turns\"},\"kind\":\"run_ended\"}\n";
        let cases = [
            (changed(|it| it.exit_code = Some(0)), "exit code"),
            (changed(|it| it.exit_code = None), "exit code"),
            (changed(|it| it.verify = "broken".into()), "verify"),
            (changed(|it| it.replay = "differs".into()), "replay"),
            (logged(end, &end.repeat(2)), "2 ends"),
            (logged(end, &format!("{end}{call}")), "ends with"),
            (logged(call, &call.repeat(9)), "9 calls in a turn"),
            (told("\"turns\":2", "\"turns\":90"), "90 turns"),
            (told("max_turns", ""), "no termination"),
            (changed(|it| it.window = 511), "its window"),
            (logged("asked", "assumed"), "its window"),
            (
                told("\"inputTokens\":60", "\"inputTokens\":61"),
                "accounted input",
            ),
            (
                told("\"outputTokens\":12", "\"outputTokens\":11"),
                "output tokens in all",
            ),
        ];
        for (outcome, expected) in cases {
            let found = outcome.findings(&heard());
            assert_eq!(found.len(), 1, "{expected}: {found:?}");
            assert!(found[0].contains(expected), "{expected}: {found:?}");
        }
        let longer = Heard {
            output_tokens_most: OUTPUT_TOKENS_MAX + 1,
            ..heard()
        };
        assert!(outcome().findings(&longer)[0].contains("tokens of a reply"));
    }
}
