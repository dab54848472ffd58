//! What a command came to, held against what is expected; and a process that is killed.

use std::process::Child;

use serde_json::Value;

use crate::place::{Done, parse};

impl Done {
    /// The error's code, as in `error[CODE]`.
    pub(crate) fn error(&self) -> &str {
        let begin = self.stderr.split("error[").nth(1);
        begin
            .and_then(|rest| rest.split(']').next())
            .unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn fails_with(&self, code: i32, error: &str) {
        assert_eq!((self.code, self.error()), (Some(code), error), "{self:?}");
    }

    #[track_caller]
    pub(crate) fn succeeds(&self) {
        assert_eq!(self.code, Some(0), "{self:?}");
    }

    /// The one value on stdout.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        parse(&self.stdout)
    }
}

#[track_caller]
pub(crate) fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is not a text"))
}

pub(crate) fn kill(mut child: Child) {
    child.kill().expect("the process can be killed");
    child.wait().expect("a killed process ends");
}
