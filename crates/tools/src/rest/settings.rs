//! What a person says about a tool that is one request.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::error::RestError;
use super::tool::Shape;

/// A request with places for arguments.
#[derive(Clone, PartialEq)]
pub struct RestTool {
    /// Letters, digits, `_` and `-`. The model sees `rest__NAME`.
    pub name: String,
    /// For the model. Where it is empty, the name stands in for it.
    pub description: String,
    /// In any case. It decides the effect: one that only reads may be repeated.
    pub method: String,
    /// `${parameters.NAME}` may stand in the path and in values of the query.
    pub url: String,
    /// `${parameters.NAME}` may stand in their values, which may hold secrets.
    pub headers: BTreeMap<String, String>,
    /// JSON Schema of the arguments. Without one, each place is a text that must be given.
    pub parameters_schema: Option<Value>,
    /// JSON or text with places; without one, nothing is sent.
    pub body_template: Option<Value>,
    /// The queue that its calls wait in; without one, the default queue.
    pub queue: Option<String>,
    /// Set where the answer is a stream of JSON lines.
    pub streaming: Option<JsonStream>,
    /// Refused unless somebody says otherwise.
    pub redirects: Redirects,
    /// Where the name of its host may lead.
    pub reach: Reach,
}

/// What becomes of an answer that points elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redirects {
    /// The call fails.
    #[default]
    Refused,
    /// It is followed a few times, as long as scheme, host and port stay what they are.
    SameOrigin,
}

/// Which addresses the name of a host may lead to. What the URL names by its address is reached always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Only those of the public internet.
    #[default]
    Public,
    /// Also those of private networks and of this machine, never those that describe a machine to itself.
    Private,
}

/// How an answer of JSON lines becomes one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonStream {
    /// What a line of interest begins with, such as `data:`. Other lines are passed over.
    pub line_prefix: String,
    /// The field that says what a line is.
    pub discriminator_field: String,
    /// What it says of the last line, which may hold the whole answer.
    pub done_value: String,
    /// Where the last line has the whole answer.
    pub answer_field: String,
    /// What it says of a line that holds a piece of the answer.
    pub token_value: String,
    /// Where such a line has the piece.
    pub token_field: String,
    /// How long the answer may take. The call's own timeout counts too.
    pub timeout_ms: Option<u64>,
    /// What is read of the answer at most.
    pub bytes_max: u64,
}

impl Default for JsonStream {
    fn default() -> Self {
        Self {
            line_prefix: String::new(),
            discriminator_field: "type".into(),
            done_value: "done".into(),
            answer_field: "answer".into(),
            token_value: "token".into(),
            token_field: "content".into(),
            timeout_ms: None,
            bytes_max: super::answer::BYTES_MAX,
        }
    }
}

impl RestTool {
    /// A tool with the usual policy.
    pub fn new(name: &str, method: &str, url: &str) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            method: method.into(),
            url: url.into(),
            headers: BTreeMap::new(),
            parameters_schema: None,
            body_template: None,
            queue: None,
            streaming: None,
            redirects: Redirects::default(),
            reach: Reach::default(),
        }
    }

    /// Finds every mistake that can be found without a call.
    pub fn check(&self) -> Result<(), RestError> {
        Shape::of(self).map(drop)
    }
}

/// Values may hold secrets, and so may the URL: only names are shown.
impl fmt::Debug for RestTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestTool")
            .field("name", &self.name)
            .field("method", &self.method)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}
