//! What came of the calls of a turn, as the next one is told: a bounded text.

use crate::event::Outcome;

/// All results of a turn together, and one of them.
const RESULTS_BYTES_MAX: usize = 24_576;
const RESULT_BYTES_MAX: usize = 8_192;

/// The results of a turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoopResults {
    text: String,
    left_out: u32,
}

impl LoopResults {
    /// Adds what came of a call; `about` says which of several it was.
    pub(crate) fn push(&mut self, tool: &str, about: &str, outcome: Outcome, result: &str) {
        let about = match about.is_empty() {
            true => String::new(),
            false => format!(" {}", cut(about, 100)),
        };
        let word = match outcome {
            Outcome::Ok => "ok",
            Outcome::Failed | Outcome::TimedOut | Outcome::Interrupted => "failed",
        };
        let shown = cut(result, RESULT_BYTES_MAX);
        let rest = match shown.len() < result.len() {
            true => format!("… ({} bytes more)", result.len() - shown.len()),
            false => String::new(),
        };
        let line = match result {
            "ok" => format!("- {tool}{about}: ok\n"),
            _ => format!("- {tool}{about}: {word}: {shown}{rest}\n"),
        };
        if self.text.len() + line.len() > RESULTS_BYTES_MAX {
            self.left_out += 1;
        } else {
            self.text.push_str(&line);
        }
    }

    /// All of it; empty where there was none.
    pub(crate) fn text(&self) -> String {
        match self.left_out {
            0 => self.text.clone(),
            left_out => format!("{}- {left_out} more results have no room here\n", self.text),
        }
    }
}

fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}
