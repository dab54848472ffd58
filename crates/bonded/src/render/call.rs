//! A call of a tool in a few words: what was called, and what came of it.
//!
//! The built-in tools are known by name, so that a line says `6 files` or `exit 1` instead of a number of bytes. A
//! command is judged by its exit code: that its tool could start it says nothing. Whatever stands in arguments and
//! outputs is a stranger's; who draws these words makes them harmless.

use bonded_kernel::{Outcome, ToolFinished};
use serde_json::Value;

use bonded_host::letters::written_out;
use bonded_host::shapes::text::{brief, counted, grouped, image};
use bonded_host::shapes::waiting::executed;

/// Of an argument; lines are cut to the terminal's width anyway.
const ARGUMENT_CHARS: usize = 200;
/// Of a line of output.
const OUTPUT_CHARS: usize = 200;
/// So many lines of the output of what failed.
const OUTPUT_LINES: usize = 3;

/// What came of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallResult {
    pub(crate) is_good: bool,
    /// In two or three words; empty where there is nothing to say.
    pub(crate) how: String,
    /// The end of the output of what failed.
    pub(crate) output: Vec<String>,
}

/// The tool with the argument that a person looks for.
pub(crate) fn called(tool: &str, arguments: &str) -> String {
    let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
    let text = |key: &str| parsed[key].as_str().unwrap_or_default();
    let argument = match tool {
        "run" => command_of(&parsed),
        "list" if text("path").is_empty() => ".".into(),
        "list" | "read" | "edit" | "write" | "append" => text("path").to_owned(),
        "search" => {
            let what = match text("pattern") {
                "" => text("glob"),
                pattern => pattern,
            };
            match text("path") {
                "" | "." => what.to_owned(),
                path => format!("{what} in {path}"),
            }
        }
        _ => other_arguments(&parsed, arguments),
    };
    let (tool, argument) = (seen(tool, 60), seen(&argument, ARGUMENT_CHARS));
    format!("{tool} {argument}").trim_end().to_owned()
}

/// On one line, with every letter to be seen: a person judges by it what was done.
fn seen(text: &str, chars: usize) -> String {
    let line = text.trim().replace(['\n', '\t'], " ");
    brief(&written_out(&line), chars)
}

/// The one text where there is one argument, else all of them as they are executed.
fn other_arguments(parsed: &Value, arguments: &str) -> String {
    match parsed.as_object() {
        Some(fields) if fields.is_empty() => String::new(),
        Some(fields) => {
            let mut values = fields.values();
            match (values.next(), values.next()) {
                (Some(Value::String(only)), None) => only.clone(),
                _ => executed(arguments),
            }
        }
        None => executed(arguments),
    }
}

fn command_of(arguments: &Value) -> String {
    let command = arguments["command"].as_str().unwrap_or_default();
    let words = arguments["args"].as_array().into_iter().flatten();
    let words = words.filter_map(Value::as_str);
    std::iter::once(command)
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// How long a command allows itself.
pub(crate) fn own_limit_ms(tool: &str, arguments: &str) -> Option<u64> {
    let parsed: Value = serde_json::from_str(arguments).ok()?;
    parsed["timeout_ms"].as_u64().filter(|_| tool == "run")
}

/// What came of it. The arguments say what an edit changed.
pub(crate) fn result(finished: &ToolFinished, arguments: &str) -> CallResult {
    let output: Value = serde_json::from_str(&finished.output).unwrap_or_default();
    if let Some(ended) = command_ended(&output).filter(|_| &*finished.tool == "run") {
        return ended;
    }
    let failed = |how: &str| CallResult {
        is_good: false,
        how: how.into(),
        output: last_lines(without_marks(&finished.output)),
    };
    let cut = finished.cut_from_bytes;
    let cut = cut.map(|bytes| format!(", cut from {}", size(bytes)));
    match finished.outcome {
        Outcome::Ok => CallResult {
            is_good: true,
            how: done(&finished.tool, &output, arguments, &finished.output)
                + &cut.unwrap_or_default()
                + &finished
                    .images
                    .iter()
                    .map(|it| format!(", {}", image(it)))
                    .collect::<String>(),
            output: vec![],
        },
        Outcome::Failed => failed("failed"),
        Outcome::TimedOut => failed("timed out"),
        Outcome::Interrupted => failed("interrupted"),
    }
}

/// What the model is told of a failure is `(tool failed: CODE: MESSAGE)`; people need the message.
fn without_marks(output: &str) -> &str {
    let inner = output.strip_prefix("(tool failed: ");
    let inner = inner.and_then(|it| it.strip_suffix(')'));
    let message = inner.and_then(|it| it.split_once(": "));
    message.map_or(output, |(_, message)| message)
}

/// `None` where a command did not come to an end of its own.
fn command_ended(output: &Value) -> Option<CallResult> {
    let (is_good, how) = match (output["exit"].as_i64(), output["signal"].as_i64()) {
        (Some(exit), _) => (exit == 0, format!("exit {exit}")),
        (None, Some(signal)) => (false, format!("killed by signal {signal}")),
        (None, None) => return None,
    };
    let streams = ["stderr", "stdout"].map(|stream| output[stream].as_str().unwrap_or_default());
    let text = streams.into_iter().find(|text| !text.trim().is_empty());
    Some(CallResult {
        is_good,
        how,
        output: match is_good {
            true => vec![],
            false => last_lines(text.unwrap_or_default()),
        },
    })
}

fn last_lines(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut last: Vec<String> = lines
        .rev()
        .take(OUTPUT_LINES)
        .map(|line| brief(line, OUTPUT_CHARS))
        .collect();
    last.reverse();
    last
}

/// What a call that succeeded has to show for it.
fn done(tool: &str, output: &Value, arguments: &str, text: &str) -> String {
    let count = |key: &str| output[key].as_array().map(Vec::len);
    let of_tool = match tool {
        "list" => count("entries").map(|entries| listed(output, entries)),
        "read" => output["content"]
            .as_str()
            .map(|content| counted(content.lines().count(), "line")),
        "search" => count("matches")
            .map(|found| plural(found, "match", "matches"))
            .or_else(|| count("files").map(|found| counted(found, "file"))),
        "edit" => Some(edited(arguments)),
        "write" => output["bytes"].as_u64().map(|bytes| written(output, bytes)),
        "append" => output["bytes_appended"]
            .as_u64()
            .map(|it| format!("+{}", size(it))),
        _ => None,
    };
    of_tool.unwrap_or_else(|| size(text.len() as u64))
}

fn listed(output: &Value, entries: usize) -> String {
    let kinds = output["entries"].as_array().into_iter().flatten();
    match kinds.into_iter().all(|entry| entry["kind"] == "file") {
        true => counted(entries, "file"),
        false => plural(entries, "entry", "entries"),
    }
}

fn written(output: &Value, bytes: u64) -> String {
    let size = size(bytes);
    match (output["unchanged"] == true, output["created"] == true) {
        (true, _) => "unchanged".into(),
        (false, true) => format!("new, {size}"),
        (false, false) => size,
    }
}

/// The lines that an edit adds and takes away, without those that both texts have in common at their ends.
fn edited(arguments: &str) -> String {
    let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
    let lines = |key: &str| -> Vec<String> {
        let text = parsed[key].as_str().unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let (old, new) = (lines("old"), lines("new"));
    let before = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[before..], &new[before..]);
    let both = old.iter().rev().zip(new.iter().rev());
    let after = both.take_while(|(a, b)| a == b).count();
    format!("+{} -{}", new.len() - after, old.len() - after)
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// In the unit that a person would choose.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{} MB", grouped(bytes / 1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_named_by_the_argument_that_a_person_looks_for() {
        for (tool, arguments, wanted) in [
            ("list", json!({}), "list ."),
            ("list", json!({ "path": "src" }), "list src"),
            (
                "read",
                json!({ "path": "leap.sh", "limit": 3 }),
                "read leap.sh",
            ),
            ("run", json!({ "command": "sh test.sh" }), "run sh test.sh"),
            (
                "run",
                json!({ "command": "git", "args": ["log", "-1"] }),
                "run git log -1",
            ),
            ("search", json!({ "pattern": "is_leap" }), "search is_leap"),
            (
                "search",
                json!({ "glob": "*.rs", "path": "src" }),
                "search *.rs in src",
            ),
            (
                "wiki__find",
                json!({ "query": "leap years" }),
                "wiki__find leap years",
            ),
            (
                "wiki__find",
                json!({ "a": 1, "b": 2 }),
                "wiki__find {\"a\":1,\"b\":2}",
            ),
            ("wiki__all", json!({}), "wiki__all"),
        ] {
            assert_eq!(called(tool, &arguments.to_string()), wanted);
        }
        assert_eq!(called("x", "no json"), "x no json");
        let hidden = json!({ "command": "ls\n\u{1b}[2J\u{200d}" }).to_string();
        assert_eq!(called("run", &hidden), "run ls \\u{1b}[2J\\u{200d}");
    }

    #[test]
    fn an_edit_is_told_by_the_lines_that_it_changes() {
        for (old, new, wanted) in [
            ("a\nb\nc", "a\nx\nc", "+1 -1"),
            ("a", "a\nb", "+1 -0"),
            ("a\nb", "a", "+0 -1"),
            ("x", "y\nz", "+2 -1"),
            ("a\na", "a", "+0 -1"),
        ] {
            let arguments = json!({ "path": "f", "old": old, "new": new });
            assert_eq!(edited(&arguments.to_string()), wanted, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_command_is_judged_by_its_exit_code_and_shows_its_last_lines_if_it_failed() {
        let output = json!({ "exit": 2, "signal": null, "stdout": "one\ntwo\n\nthree\nfour\n", "stderr": "" });
        let ended = command_ended(&output).expect("it ended");
        assert_eq!((ended.is_good, ended.how.as_str()), (false, "exit 2"));
        assert_eq!(ended.output, ["two", "three", "four"]);
        let output = json!({ "exit": 0, "signal": null, "stdout": "fine", "stderr": "" });
        let ended = command_ended(&output).expect("it ended");
        assert_eq!((ended.is_good, ended.output.len()), (true, 0));
        let output = json!({ "exit": null, "signal": 9, "stdout": "", "stderr": "" });
        let ended = command_ended(&output).expect("it ended");
        assert_eq!(
            (ended.is_good, ended.how.as_str()),
            (false, "killed by signal 9")
        );
    }
}
