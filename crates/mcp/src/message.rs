//! Messages of JSON-RPC as the protocol restricts them: one at a time, ids that are numbers or texts, parameters
//! by name.

use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::fault::{INTERNAL, PARSE, RpcFault};
use bonded_web::bounded_json;

pub type Params = Map<String, Value>;

/// How much of what a client says about its refusal is kept.
const REFUSAL_CHARS_MAX: usize = 500;

/// Where messages for a client go.
pub type Outbox = mpsc::Sender<Value>;

/// The id of a request: a whole number or a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Id(Value);

/// A message that must be answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub id: Id,
    pub method: String,
    pub params: Params,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RpcMessage {
    Request(Request),
    Notification {
        method: String,
        params: Params,
    },
    /// An answer to something that was asked here.
    Reply {
        id: Value,
        answered: Result<Value, RpcFault>,
    },
}

/// A message that cannot be understood, with the id of the request if it has one.
#[derive(Debug, PartialEq)]
pub struct Misread {
    pub id: Value,
    pub fault: RpcFault,
}

impl Id {
    /// Fractions, `null` and everything else are refused: an answer could not be matched by them.
    pub fn of(value: &Value) -> Option<Self> {
        let fits = value.is_string() || value.is_i64() || value.is_u64();
        fits.then(|| Self(value.clone()))
    }

    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Tells ids apart; the number 1 is not the text "1".
    pub fn key(&self) -> String {
        self.0.to_string()
    }
}

impl Request {
    /// What stands beside the parameters.
    pub fn meta(&self, name: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(name)
    }

    /// The answer as a message, with the id of this request.
    pub fn reply(&self, answered: Result<Value, RpcFault>) -> Value {
        match answered {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": self.id.value(), "result": result }),
            Err(fault) => fault.reply(self.id.value()),
        }
    }
}

/// A message to the client that it need not answer.
pub fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

/// Reads one message. The bounds on depth and number of values come first; then the id is looked for, so that
/// whatever is wrong further on is answered under the id of the request.
pub fn read(bytes: &[u8]) -> Result<RpcMessage, Misread> {
    let misread = |id: &Value, fault| Misread {
        id: id.clone(),
        fault,
    };
    let value = bounded_json::parse(bytes).map_err(|unread| {
        let message = format!("the message {unread}");
        misread(&Value::Null, RpcFault::new(PARSE, message))
    })?;
    let Value::Object(mut fields) = value else {
        let message = "a message is a JSON object; send one at a time, not a list";
        return Err(misread(&Value::Null, RpcFault::invalid_request(message)));
    };
    let id = fields.remove("id");
    let known = id.as_ref().and_then(Id::of);
    let shown = known.as_ref().map_or(Value::Null, |id| id.value().clone());
    let invalid = |message: &str| misread(&shown, RpcFault::invalid_request(message));
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("a message says \"jsonrpc\": \"2.0\""));
    }
    let method = match fields.remove("method") {
        Some(Value::String(method)) => method,
        None if fields.contains_key("result") || fields.contains_key("error") => {
            let answered = answered(&mut fields);
            return Ok(RpcMessage::Reply {
                id: shown,
                answered,
            });
        }
        _ => return Err(invalid("a message has a method, which is a text")),
    };
    let params = match fields.remove("params") {
        None => Params::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            let fault = RpcFault::invalid_params("params is an object");
            return Err(misread(&shown, fault));
        }
    };
    match (id, known) {
        (None, _) => Ok(RpcMessage::Notification { method, params }),
        (Some(_), Some(id)) => Ok(RpcMessage::Request(Request { id, method, params })),
        (Some(_), None) => Err(invalid("an id is a whole number or a text")),
    }
}

/// What a client has answered: a result, or why there is none.
fn answered(fields: &mut Params) -> Result<Value, RpcFault> {
    let Some(error) = fields.remove("error") else {
        return Ok(fields.remove("result").unwrap_or_default());
    };
    let code = error.get("code").and_then(Value::as_i64);
    let message = error.get("message").and_then(Value::as_str);
    let message = message.unwrap_or("the client refused, and did not say why");
    let message: String = message.chars().take(REFUSAL_CHARS_MAX).collect();
    Err(RpcFault::new(code.unwrap_or(INTERNAL), message))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fault::{INVALID_PARAMS, INVALID_REQUEST};
    use super::*;

    #[test]
    fn what_is_no_message_is_refused_with_its_id_where_it_has_one() {
        let deep = "[".repeat(100_000);
        let rows = [
            ("", PARSE, Value::Null),
            ("{", PARSE, Value::Null),
            ("\u{feff}{}", PARSE, Value::Null),
            (deep.as_str(), PARSE, Value::Null),
            ("[]", INVALID_REQUEST, Value::Null),
            (
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                INVALID_REQUEST,
                Value::Null,
            ),
            ("7", INVALID_REQUEST, Value::Null),
            ("{}", INVALID_REQUEST, Value::Null),
            (r#"{"id":1,"method":"ping"}"#, INVALID_REQUEST, json!(1)),
            (
                r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#,
                INVALID_REQUEST,
                json!("a"),
            ),
            (r#"{"jsonrpc":"2.0","id":1}"#, INVALID_REQUEST, json!(1)),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
                INVALID_REQUEST,
                json!(1),
            ),
            (
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                INVALID_REQUEST,
                Value::Null,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                INVALID_REQUEST,
                Value::Null,
            ),
            (
                r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
                INVALID_REQUEST,
                Value::Null,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
                INVALID_PARAMS,
                json!(1),
            ),
        ];
        for (text, code, id) in rows {
            let misread = read(text.as_bytes()).expect_err("it is no message");
            let short: String = text.chars().take(60).collect();
            assert_eq!((misread.fault.code, misread.id), (code, id), "{short}");
        }
    }

    #[test]
    fn requests_notifications_and_replies_are_told_apart() {
        let read = |text: &str| read(text.as_bytes()).expect("it is a message");
        let request = read(r#"{"jsonrpc":"2.0","id":"1","method":"m","params":{"a":1}}"#);
        let RpcMessage::Request(request) = request else {
            panic!("{request:?}");
        };
        assert_eq!(request.id.key(), "\"1\"");
        assert_eq!(request.params["a"], json!(1));
        let notification = read(r#"{"jsonrpc":"2.0","method":"m"}"#);
        assert!(matches!(notification, RpcMessage::Notification { .. }));
        let refused = |code, message: &str| Err(RpcFault::new(code, message));
        let silent = "the client refused, and did not say why";
        let rows = [
            (
                r#"{"jsonrpc":"2.0","id":"q","result":{"a":1}}"#,
                json!("q"),
                Ok(json!({ "a": 1 })),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"error":{}}"#,
                json!(1),
                refused(INTERNAL, silent),
            ),
            (
                r#"{"jsonrpc":"2.0","error":7}"#,
                Value::Null,
                refused(INTERNAL, silent),
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-1,"message":"no"}}"#,
                json!(1),
                refused(-1, "no"),
            ),
        ];
        for (text, id, answered) in rows {
            assert_eq!(read(text), RpcMessage::Reply { id, answered }, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_line_is_a_message_or_misread(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            text in r#"\{("(jsonrpc|id|method|params)":("2.0"|1|null|\{\}|\[\]|"x"),?){0,5}\}"#,
        ) {
            for line in [bytes.as_slice(), text.as_bytes()] {
                if let Err(misread) = read(line) {
                    prop_assert!(misread.fault.code <= INVALID_REQUEST);
                }
            }
        }
    }
}
