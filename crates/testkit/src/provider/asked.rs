//! A request as it arrived.

use std::collections::BTreeMap;
use std::ops::Index;
use std::time::Instant;

use serde_json::Value;

/// Indexing looks into the body.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Method and path.
    pub line: String,
    pub path: String,
    /// By lower-case name.
    pub headers: BTreeMap<String, String>,
    /// Null where it is no JSON.
    pub body: Value,
    /// Everything up to the body, as it stood on the wire.
    pub head: String,
    /// The body as it stood on the wire.
    pub text: String,
    pub at: Instant,
}

impl Index<&str> for Asked {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        &self.body[field]
    }
}

impl Asked {
    /// Whether the models are looked at, and nothing is asked of them.
    pub fn is_look(&self) -> bool {
        self.line.starts_with("GET ")
    }

    /// The whole request.
    pub fn whole(&self) -> String {
        format!("{}\r\n\r\n{}", self.head, self.text)
    }

    /// Whether the answer is wanted as a stream of events.
    pub fn is_streamed(&self) -> bool {
        self.body["stream"] == true
    }

    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// The contents of each message.
    pub fn texts(&self) -> Vec<String> {
        self.messages().iter().map(text_of).collect()
    }

    /// The contents of all messages, one after the other.
    pub fn said(&self) -> String {
        self.texts().into_iter().map(|text| text + "\n").collect()
    }

    /// The last message.
    pub fn last(&self) -> String {
        self.messages().last().map(text_of).unwrap_or_default()
    }

    /// What the memory of an agent that works in loops says under a key; `None` where no memory is shown, or not this.
    pub fn memory(&self, key: &str) -> Option<Value> {
        let texts = self.texts();
        let shown = texts.iter().find(|text| text.starts_with("RAM:"))?;
        let beginning = format!("{key}: ");
        let said = shown
            .lines()
            .find_map(|line| line.strip_prefix(&beginning))?;
        serde_json::from_str(said).ok()
    }

    /// How many messages tools have given.
    pub fn outputs(&self) -> usize {
        let messages = self.messages().iter();
        messages.filter(|it| it["role"] == "tool").count()
    }

    /// The names of the tools that are offered natively.
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().into_iter().flatten();
        tools
            .filter_map(|tool| tool["function"]["name"].as_str())
            .collect()
    }

    /// The eight hexadecimal digits of the first tag in it.
    pub fn nonce(&self) -> Option<String> {
        self.text.split("ai-agent-").skip(1).find_map(|rest| {
            let nonce = rest.get(..8)?;
            let is_nonce =
                nonce.bytes().all(|b| b.is_ascii_hexdigit()) && rest[8..].starts_with('-');
            is_nonce.then(|| nonce.to_owned())
        })
    }
}

/// The text of a message, which may come as the first of its parts.
fn text_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => match other[0]["text"].as_str() {
            Some(text) if other.as_array().is_some_and(|parts| parts.len() == 1) => text.to_owned(),
            _ => other.to_string(),
        },
    }
}
