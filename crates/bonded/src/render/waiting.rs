//! A call that waits for a person, for people and for programs.

use std::fmt::Write as _;

use bonded_host::{Status, Waiting};
use bonded_kernel::Run;
use serde_json::{Value, json};

use super::text;

/// The tool, its arguments in full, and why a person is asked.
pub(crate) fn described(waiting: &Waiting) -> String {
    let call = &waiting.call;
    format!(
        "run        {}\ncall       {} of turn {}\ntool       {}\narguments  {}\nwhy        {}",
        waiting.run,
        call.call,
        call.turn,
        visible(&call.tool),
        visible(&call.arguments),
        visible(&call.why)
    )
}

/// What a person is told when a run pauses.
pub(crate) fn paused(run: &Run, waiting: &Waiting) -> String {
    let id = text::short_id(run.id());
    let described = described(waiting).replace('\n', "\n  ");
    format!(
        "run {id} waits for a person\n  {described}\n  approve it: bonded approve {id}\n  deny it:    bonded deny {id} --reason TEXT"
    )
}

/// A run that waits, in the place of its result.
pub(crate) fn result_value(run: &Run, waiting: &Waiting) -> Value {
    let status = Status::AwaitingReview.as_str();
    let spend = run.spend();
    json!({
        "runId": run.id().as_str(),
        "goalId": run.goal_id().as_str(),
        "success": false,
        "status": status,
        "termination": { "kind": status, "reason": waiting.call.why.as_str() },
        "answer": null,
        "turns": run.turn(),
        "requests": spend.requests,
        "usage": {
            "inputTokens": spend.usage.input,
            "outputTokens": spend.usage.output,
            "cachedInputTokens": spend.usage.cached,
        },
        "costUsd": spend.cost.dollars(),
        "elapsedMs": run.elapsed_ms(),
        "waiting": {
            "runId": waiting.run.as_str(),
            "turn": waiting.call.turn,
            "call": waiting.call.call,
            "tool": &*waiting.call.tool,
            "arguments": waiting.call.arguments.as_str(),
            "why": waiting.call.why.as_str(),
        },
    })
}

/// Shows what would drive a terminal or hide from a reader: control characters, marks that turn the
/// direction of writing, and letters without width.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        let hides = matches!(
            u32::from(c),
            0xad | 0x61c
                | 0x115f..=0x1160
                | 0x17b4..=0x17b5
                | 0x180b..=0x180f
                | 0x200b..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0x3164
                | 0xfe00..=0xfe0f
                | 0xfeff
                | 0xffa0
                | 0xfff0..=0xfffb
                | 0xe0000..=0xe0fff
        );
        if c.is_control() || hides {
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_drives_a_terminal_or_hides_is_written_out() {
        for (text, shown) in [
            ("{\"a\": \"é日\"}", "{\"a\": \"é日\"}"),
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("a\r\nb\tc", "a\\u{d}\\u{a}b\\u{9}c"),
            (
                "x\u{202e}y\u{200b}z\u{feff}",
                "x\\u{202e}y\\u{200b}z\\u{feff}",
            ),
            ("\u{e0041}\u{9b}", "\\u{e0041}\\u{9b}"),
        ] {
            assert_eq!(visible(text), shown);
        }
    }
}
