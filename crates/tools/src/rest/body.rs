//! The body of a request: JSON with places, or text with places.
//!
//! An argument can only ever become a value. JSON is read before the arguments are known and filled as a tree,
//! so that no quote in an argument ends a text; only a template that is no JSON is filled as text, and whoever
//! writes one has to know what the server makes of it.

use serde_json::{Map, Value};

use super::template::{Template, argument};

/// Larger than what a model writes, smaller than what hurts.
pub(super) const BODY_BYTES_MAX: usize = 10 * 1024 * 1024;

/// What is sent, before the arguments are known.
///
/// Which of the two it is, is decided when the settings are read, never by an argument.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BodyTemplate {
    Json(BodyNode),
    Text(Template),
}

/// JSON with places. A text that is one place becomes the argument itself, whatever its type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BodyNode {
    Place(String),
    Text(Template),
    List(Vec<BodyNode>),
    Fields(Vec<(String, BodyNode)>),
    Fixed(Value),
}

/// A body that is ready to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestBody {
    pub(super) bytes: Vec<u8>,
    pub(super) content_type: &'static str,
}

impl BodyTemplate {
    /// Reads a `bodyTemplate`. A text that is JSON apart from its places is JSON, so that no argument can
    /// break out of its place.
    pub(super) fn parse(template: &Value) -> Result<Self, String> {
        let Value::String(text) = template else {
            return Ok(Self::Json(BodyNode::parse(template)?));
        };
        let read = Template::parse(text)?;
        if let Some(place) = read.only_place() {
            return Ok(Self::Json(BodyNode::Place(place.into())));
        }
        match as_json(text) {
            Some(json) => Ok(Self::Json(BodyNode::parse_written(&json)?)),
            None => Ok(Self::Text(read)),
        }
    }

    pub(super) fn of_argument(name: &str) -> Self {
        Self::Json(BodyNode::Place(name.into()))
    }

    pub(super) fn places(&self) -> Vec<&str> {
        match self {
            Self::Json(node) => node.places(),
            Self::Text(template) => template.places().collect(),
        }
    }

    /// The body for these arguments; `None` where it is one argument that is not given.
    pub(super) fn fill(&self, arguments: &Value) -> Option<RequestBody> {
        match self {
            Self::Json(node) => node.fill(arguments).map(|value| RequestBody {
                bytes: value.to_string().into_bytes(),
                content_type: "application/json",
            }),
            Self::Text(template) => Some(RequestBody {
                bytes: template.fill(arguments, str::to_owned).into_bytes(),
                content_type: "text/plain; charset=utf-8",
            }),
        }
    }
}

impl BodyNode {
    fn parse(value: &Value) -> Result<Self, String> {
        Self::read(value, &|text| {
            let template = Template::parse(text)?;
            Ok(match template.only_place() {
                Some(place) => Self::Place(place.into()),
                None => Self::Text(template),
            })
        })
    }

    /// In JSON that was written as text, a place between quotes is a part of a text.
    fn parse_written(value: &Value) -> Result<Self, String> {
        Self::read(value, &|text| {
            Ok(match text.strip_prefix(BARE) {
                Some(name) => Self::Place(name.into()),
                None => Self::Text(Template::parse(text)?),
            })
        })
    }

    /// `text` says what a text becomes, in which the two ways of writing differ. Keys are fixed: no place in
    /// them is filled.
    fn read(value: &Value, text: &dyn Fn(&str) -> Result<Self, String>) -> Result<Self, String> {
        Ok(match value {
            Value::String(written) => text(written)?,
            Value::Array(items) => {
                let items = items.iter().map(|item| Self::read(item, text));
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), Self::read(value, text)?)));
                Self::Fields(fields.collect::<Result<_, String>>()?)
            }
            fixed => Self::Fixed(fixed.clone()),
        })
    }

    fn places(&self) -> Vec<&str> {
        match self {
            Self::Place(name) => vec![name],
            Self::Text(template) => template.places().collect(),
            Self::List(items) => items.iter().flat_map(Self::places).collect(),
            Self::Fields(fields) => fields.iter().flat_map(|(_, node)| node.places()).collect(),
            Self::Fixed(_) => vec![],
        }
    }

    /// What is one argument that is not given is left out.
    fn fill(&self, arguments: &Value) -> Option<Value> {
        Some(match self {
            Self::Place(name) => return argument(arguments, name).cloned(),
            Self::Text(template) => Value::String(template.fill(arguments, str::to_owned)),
            Self::List(items) => items
                .iter()
                .filter_map(|item| item.fill(arguments))
                .collect(),
            Self::Fields(fields) => {
                let fields = fields
                    .iter()
                    .filter_map(|(key, node)| Some((key.clone(), node.fill(arguments)?)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
            Self::Fixed(value) => value.clone(),
        })
    }
}

/// Marks a place that stood outside quotes. A control character cannot stand in JSON as it is, so no text
/// of a person begins with it unless it was escaped on purpose.
const BARE: &str = "\u{1}bare:";
const BARE_ESCAPED: &str = "\\u0001bare:";
const OPENING: &str = "${parameters.";

/// The JSON that a text is, where it is an object or a list apart from its places.
///
/// Places outside quotes are replaced by marked texts, and the whole is parsed. `None` where that is no JSON,
/// or only a bare value, which is as well a text.
fn as_json(text: &str) -> Option<Value> {
    let mut quoted = String::with_capacity(text.len());
    let mut in_text = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let place = rest
            .strip_prefix(OPENING)
            .and_then(|after| after.split_once('}'));
        let taken = match place {
            Some((name, after)) if !in_text => {
                quoted.push_str(&format!("\"{BARE_ESCAPED}{name}\""));
                rest.len() - after.len()
            }
            _ if in_text && c == '\\' => rest.chars().take(2).map(char::len_utf8).sum(),
            _ => c.len_utf8(),
        };
        if c == '"' {
            in_text = !in_text;
        }
        let (piece, after) = rest.split_at(taken);
        if place.is_none() || in_text {
            quoted.push_str(piece);
        }
        rest = after;
    }
    let json: Value = serde_json::from_str(&quoted).ok()?;
    (json.is_object() || json.is_array()).then_some(json)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn filled(template: &Value, arguments: &Value) -> String {
        let template = BodyTemplate::parse(template).expect("it is good");
        let body = template.fill(arguments);
        body.map_or("nothing".into(), |body| {
            String::from_utf8(body.bytes).expect("it is UTF-8")
        })
    }

    #[test]
    fn a_place_alone_keeps_the_type_of_its_argument() {
        let arguments = json!({ "n": 5, "list": [1, "a"], "o": { "x": null }, "t": "5" });
        for (template, body) in [
            (json!("${parameters.n}"), "5"),
            (json!("${parameters.o}"), r#"{"x":null}"#),
            (json!("${parameters.t}"), r#""5""#),
            (json!({ "a": "${parameters.n}" }), r#"{"a":5}"#),
            (
                json!({ "a": ["${parameters.list}", 2] }),
                r#"{"a":[[1,"a"],2]}"#,
            ),
            (json!({ "a": "n=${parameters.n}" }), r#"{"a":"n=5"}"#),
            (json!({ "a": "${parameters.gone}", "b": 1 }), r#"{"b":1}"#),
            (json!({ "a": "<${parameters.gone}>" }), r#"{"a":"<>"}"#),
            (json!("${parameters.gone}"), "nothing"),
            (
                json!(r#"{"a": ${parameters.n}, "b": "${parameters.n}"}"#),
                r#"{"a":5,"b":"5"}"#,
            ),
            (json!(r#"[${parameters.list}]"#), r#"[[1,"a"]]"#),
            (json!("n is ${parameters.n}"), "n is 5"),
        ] {
            assert_eq!(filled(&template, &arguments), body, "{template}");
        }
    }

    #[test]
    fn no_argument_breaks_out_of_its_place_in_json() {
        let hostile = r#"x", "admin": true, "y": "\"#;
        let arguments = json!({ "q": hostile });
        for template in [
            json!({ "q": "${parameters.q}", "admin": false }),
            json!(r#"{"q": "${parameters.q}", "admin": false}"#),
            json!(r#"{"q": ${parameters.q}, "admin": false}"#),
            json!(r#"{"e\"": "\\${parameters.q}", "q": "${parameters.q}", "admin": false}"#),
        ] {
            let body: Value =
                serde_json::from_str(&filled(&template, &arguments)).expect("it is JSON");
            assert_eq!(body["admin"], false, "{template}");
            assert_eq!(body["q"], hostile, "{template}");
        }
    }

    #[test]
    fn text_that_is_no_json_takes_arguments_as_they_are() {
        let text = json!("{ user(id: \"${parameters.id}\") { name } }");
        let body = BodyTemplate::parse(&text).expect("it is good");
        let body = body.fill(&json!({ "id": "7" })).expect("there is one");
        assert_eq!(body.bytes, b"{ user(id: \"7\") { name } }");
        assert!(body.content_type.starts_with("text/plain"));
    }

    proptest! {
        #[test]
        fn json_stays_the_json_that_was_written_whatever_is_put_in(q in any::<String>(), bare in any::<bool>()) {
            let template = match bare {
                true => json!(r#"{"q": ${parameters.q}, "admin": false}"#),
                false => json!(r#"{"q": "${parameters.q}", "admin": false}"#),
            };
            let body = filled(&template, &json!({ "q": q }));
            let body: Value = serde_json::from_str(&body).expect("it is JSON");
            prop_assert_eq!(body, json!({ "q": q, "admin": false }));
        }

        #[test]
        fn whatever_a_person_writes_is_read_or_refused(text in r#"(\$\{parameters\.|[{}\[\]":,a1]|\\|\PC){0,40}"#) {
            if let Ok(template) = BodyTemplate::parse(&Value::String(text)) {
                template.fill(&json!({ "a": "x" }));
            }
        }
    }
}
