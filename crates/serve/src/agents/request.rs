//! What a request asks for, whichever of the two interfaces it came by.
//!
//! Both interfaces are read into this, so that everything behind it is written once. The digest is taken of the parsed
//! body without the fields about streaming: a client that repeats a question may well want the answer in another way.

use bonded_kernel::{Hash, ReportFormat, RunId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::client_tools::GivenTools;
use super::conversation::Utterance;
use super::refusal::AgentRefusal;
use bonded_web::bounded_json;

/// A request that is understood.
#[derive(Debug)]
pub(crate) struct AgentRequest {
    /// The id of a model.
    pub(crate) model: String,
    /// In order; the last one must be the user's.
    pub(crate) utterances: Vec<Utterance>,
    /// The field that holds what was said.
    pub(crate) param: &'static str,
    /// None leaves the format to the agent.
    pub(crate) wish: Option<Wish>,
    /// How the answer is to be streamed, if it is.
    pub(crate) stream: Option<Streaming>,
    /// The tools that the client executes.
    pub(crate) tools: GivenTools,
    /// The run whose response the request goes on from, where it names one.
    pub(crate) previous: Option<RunId>,
    /// Identifies what is asked: the body without how the answer is to be sent.
    pub(crate) digest: Hash,
}

/// What a stream tells beside the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Streaming {
    /// Whether the last chunk counts tokens.
    pub(crate) usage: bool,
    /// Whether it is told what the run does.
    pub(crate) progress: bool,
}

/// How the caller wants the report.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wish {
    /// The format of the report.
    pub(crate) format: ReportFormat,
    /// What a report in JSON must fit.
    pub(crate) schema: Option<Value>,
    /// The field that said so.
    pub(crate) param: &'static str,
}

/// `response_format` of a chat, or `text.format` of a response.
#[derive(Debug, Deserialize)]
pub(super) struct WishedFormat {
    /// `text`, `json_object` or `json_schema`.
    #[serde(rename = "type")]
    kind: String,
    /// Where a response has it.
    schema: Option<Value>,
    /// Where a chat has it.
    json_schema: Option<WishedSchema>,
}

/// A schema with a name around it, which means nothing here.
#[derive(Debug, Deserialize)]
struct WishedSchema {
    schema: Option<Value>,
}

/// Reads a body, once; the message of a fault says what is wrong in it.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<(T, Hash), AgentRefusal> {
    let bad = |message: String| AgentRefusal::bad_request("bad_body", None, message);
    let mut value =
        bounded_json::parse(body).map_err(|unread| bad(format!("the body {unread}")))?;
    let digest = digest(&mut value);
    let parsed = serde_json::from_value(value)
        .map_err(|error| bad(format!("the body cannot be read: {error}")))?;
    Ok((parsed, digest))
}

/// The digest of a body without how the answer is to be sent.
/// The fields are put back afterwards, because they are read next.
fn digest(value: &mut Value) -> Hash {
    const HOW: [&str; 2] = ["stream", "stream_options"];
    let fields = value.as_object_mut();
    let taken = fields.map(|fields| HOW.map(|name| (name, fields.remove(name))));
    // The fields of a parsed object are in order, so the same request has the same text.
    let digest = Hash::of(value.to_string().as_bytes());
    for (name, field) in taken.into_iter().flatten() {
        if let Some(field) = field {
            value[name] = field;
        }
    }
    digest
}

/// The wish of a request: OpenAI's own field comes before ours.
pub(super) fn wish(
    wished: Option<WishedFormat>,
    param: &'static str,
    format: Option<&str>,
) -> Result<Option<Wish>, AgentRefusal> {
    let own = |format, schema| {
        Ok(Some(Wish {
            format,
            schema,
            param,
        }))
    };
    match wished {
        Some(wished) if wished.kind == "json_object" => own(ReportFormat::Json, None),
        Some(wished) if wished.kind == "json_schema" => {
            let named = wished.json_schema.and_then(|named| named.schema);
            own(ReportFormat::Json, named.or(wished.schema))
        }
        Some(wished) if wished.kind != "text" => {
            let message = format!(
                "the format {:?} is not known; use text, json_object or json_schema",
                wished.kind
            );
            Err(AgentRefusal::bad_request(
                "unknown_format",
                Some(param),
                message,
            ))
        }
        _ => format.map(named_wish).transpose(),
    }
}

/// The wish that a format's name is.
pub(crate) fn named_wish(name: &str) -> Result<Wish, AgentRefusal> {
    let format = ReportFormat::parse(name).ok_or_else(|| {
        let known: Vec<&str> = ReportFormat::ALL
            .iter()
            .map(|format| format.as_str())
            .collect();
        let message = format!("the format {name:?} is not known; use {}", known.join(", "));
        AgentRefusal::bad_request("unknown_format", Some("format"), message)
    })?;
    Ok(Wish {
        format,
        schema: None,
        param: "format",
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{chat, conversation, responses};
    use super::*;

    #[test]
    fn the_same_question_has_the_same_digest_however_it_is_written_and_answered() {
        let digest = |body: &str| parse::<Value>(body.as_bytes()).expect("it is JSON").1;
        let plain = digest(r#"{"model":"a","messages":[]}"#);
        let rows = [
            (r#"{"messages":[],"model":"a"}"#, true),
            (r#"{ "model": "a", "messages": [], "stream": true }"#, true),
            (
                r#"{"model":"a","messages":[],"stream_options":{"x":1}}"#,
                true,
            ),
            (r#"{"model":"b","messages":[]}"#, false),
            (r#"{"model":"a","messages":[],"format":"json"}"#, false),
        ];
        for (body, same) in rows {
            assert_eq!(digest(body) == plain, same, "{body}");
        }
    }

    #[test]
    fn a_format_is_read_from_either_field_and_an_unknown_one_is_refused() {
        let read = |text: &str, format: Option<&str>| {
            let wished = serde_json::from_str(text).expect("the row is JSON");
            let wish = wish(wished, "response_format", format);
            wish.map(|wish| wish.map(|wish| (wish.format, wish.schema.is_some())))
                .map_err(|refusal| refusal.code)
        };
        let json = ReportFormat::Json;
        let rows = [
            ("null", None, Ok(None)),
            (r#"{"type":"text"}"#, None, Ok(None)),
            (r#"{"type":"json_object"}"#, None, Ok(Some((json, false)))),
            (
                r#"{"type":"json_object"}"#,
                Some("tty"),
                Ok(Some((json, false))),
            ),
            (
                r#"{"type":"json_schema","schema":{}}"#,
                None,
                Ok(Some((json, true))),
            ),
            (
                r#"{"type":"json_schema","json_schema":{"name":"x","schema":{}}}"#,
                None,
                Ok(Some((json, true))),
            ),
            ("null", Some("tty"), Ok(Some((ReportFormat::Tty, false)))),
            ("null", Some("colours"), Err("unknown_format")),
            (r#"{"type":"grammar"}"#, None, Err("unknown_format")),
        ];
        for (text, format, expected) in rows {
            assert_eq!(read(text, format), expected, "{text} {format:?}");
        }
    }

    /// Bodies that are almost requests: known fields with values of every kind.
    fn bodies() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop_oneof![
                Just("user"),
                Just("text"),
                Just("message"),
                Just("json_schema")
            ]
            .prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        let names = prop::sample::select(vec![
            "model",
            "messages",
            "input",
            "role",
            "content",
            "type",
            "text",
            "tools",
            "n",
            "stream",
            "format",
            "response_format",
            "schema",
            "json_schema",
            "tool_calls",
            "instructions",
        ]);
        let value = leaf.prop_recursive(5, 48, 6, move |inner| {
            let fields = prop::collection::btree_map(names.clone(), inner.clone(), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                fields.prop_map(|fields| {
                    let fields = fields.into_iter();
                    Value::Object(
                        fields
                            .map(|(name, value)| (name.to_owned(), value))
                            .collect(),
                    )
                }),
            ]
        });
        prop_oneof![value.prop_map(|value| value.to_string()), ".{0,64}"]
    }

    proptest! {
        #[test]
        fn every_body_is_understood_or_refused_and_nothing_else(body in bodies()) {
            for read in [chat::read, responses::read] {
                let goal = read(body.as_bytes())
                    .and_then(|asked| conversation::goal(&asked.utterances, asked.param));
                match goal {
                    Ok(goal) => prop_assert!(!goal.trim().is_empty()),
                    Err(refusal) => prop_assert!(refusal.status.is_client_error()),
                }
            }
        }
    }
}
