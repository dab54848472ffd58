//! Scripts for the script provider, written by code instead of by hand.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

/// A script in the making: each method adds the answer to one more request.
#[derive(Clone, Debug, Default)]
pub struct ScriptLines(Vec<Map<String, Value>>);

impl ScriptLines {
    pub fn new() -> Self {
        Self::default()
    }

    /// A reply that calls one tool.
    pub fn call(self, tool: &str, arguments: Value) -> Self {
        self.calls([(tool, arguments)])
    }

    /// A reply that calls several tools. Arguments that are a string are played as they are, valid or not.
    pub fn calls<'a>(self, calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let call = |(tool, arguments)| json!({ "tool": tool, "arguments": arguments });
        let calls: Vec<Value> = calls.into_iter().map(call).collect();
        self.line([("calls", calls.into())])
    }

    /// A reply that only says something.
    pub fn text(self, text: &str) -> Self {
        self.line([("text", text.into())])
    }

    /// The reply that ends the run.
    pub fn done(self, reason: &str) -> Self {
        self.call(bonded_kernel::DONE, json!({ "reason": reason }))
    }

    /// A failure of this class, by the name that it has in the log.
    pub fn fail(self, class: &str) -> Self {
        self.line([("fail", class.into())])
    }

    /// Sets a field of the line that was added last, such as `delay_ms`, `expect`, `usage` or `repeat`.
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        if let Some(line) = self.0.last_mut() {
            line.insert(field.into(), value.into());
        }
        self
    }

    fn line<const N: usize>(mut self, fields: [(&str, Value); N]) -> Self {
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        self.0.push(fields.into_iter().collect());
        self
    }

    /// The script as JSON Lines.
    pub fn to_jsonl(&self) -> String {
        let lines = self.0.iter().map(|line| Value::Object(line.clone()));
        lines.map(|line| format!("{line}\n")).collect()
    }

    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        std::fs::write(path, self.to_jsonl())
    }
}

#[cfg(test)]
mod tests {
    use bonded_kernel::FailureClass;
    use bonded_transport::Script;

    use super::*;

    #[test]
    fn the_script_provider_plays_what_was_written() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("script.jsonl");
        let lines = ScriptLines::new()
            .calls([("read", json!({ "path": "a" })), ("read", json!("{broken"))])
            .text("thinking")
            .with("repeat", 2)
            .fail("rate_limit")
            .with("retry_after_ms", 5)
            .done("finished");
        lines.write(&path).expect("the script is written");

        let script = Script::load(&path).expect("the script is valid");
        assert_eq!(script.replies(), 5);
        let played = |ordinal| script.play(ordinal, "").outcome;
        let first = played(0).expect("a reply");
        assert_eq!(first.calls[1].arguments, "{broken");
        assert_eq!(played(2).expect("a reply").text, "thinking");
        let failure = played(3).expect_err("a failure");
        assert_eq!(failure.class, FailureClass::RateLimit);
        assert_eq!(failure.retry_after_ms, Some(5));
        let last = played(4).expect("a reply");
        assert_eq!(last.calls[0].tool, "done");
    }
}
