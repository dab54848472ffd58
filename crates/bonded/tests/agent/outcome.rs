//! What a run came to, and how a test looks at it.

use serde_json::Value;

use crate::provider::Asked;

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The object on stdout; null where there is none.
    pub(crate) result: Value,
    pub(crate) requests: Vec<Asked>,
}

impl Outcome {
    /// Asserts that the run succeeded.
    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        assert_eq!(self.result["success"], true, "{self:#?}");
        self
    }

    /// Asserts that the run ended, without success.
    #[track_caller]
    pub(crate) fn failed(self) -> Self {
        assert_eq!(self.code, Some(1), "{self:#?}");
        assert_eq!(self.result["success"], false, "{self:#?}");
        self
    }

    /// Asserts that nothing was run, and that stderr says all of these things.
    #[track_caller]
    pub(crate) fn refused(self, code: i32, said: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.requests.len(), 0, "{self:#?}");
        for part in said {
            assert!(self.stderr.contains(part), "{part:?} in {}", self.stderr);
        }
        self
    }

    pub(crate) fn report(&self) -> &Value {
        &self.result["finalReport"]
    }

    pub(crate) fn run_id(&self) -> &str {
        self.result["runId"]
            .as_str()
            .expect("a result names its run")
    }

    /// The messages of one role in the stored conversation.
    pub(crate) fn messages(&self, role: &str) -> Vec<&Value> {
        let all = self.result["conversation"].as_array().into_iter().flatten();
        all.filter(|message| message["role"] == role).collect()
    }

    /// What the model was told by tools, in order.
    pub(crate) fn tool_texts(&self) -> Vec<&str> {
        let all = self.messages("tool").into_iter();
        all.filter_map(|message| message["content"].as_str())
            .collect()
    }

    /// The roles of the stored conversation, in order.
    pub(crate) fn roles(&self) -> Vec<&str> {
        let all = self.result["conversation"].as_array().into_iter().flatten();
        all.filter_map(|message| message["role"].as_str()).collect()
    }

    /// The accounts of one type: `llm` or `tool`.
    pub(crate) fn accounts(&self, kind: &str) -> Vec<&Value> {
        let all = self.result["accounting"].as_array().into_iter().flatten();
        all.filter(|account| account["type"] == kind).collect()
    }

    /// One field of all accounts of a type.
    pub(crate) fn account_fields(&self, kind: &str, field: &str) -> Vec<&str> {
        let all = self.accounts(kind).into_iter();
        all.map(|account| account[field].as_str().unwrap_or(""))
            .collect()
    }
}
