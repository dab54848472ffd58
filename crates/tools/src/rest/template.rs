//! Text with places for arguments: `${parameters.NAME}`.
//!
//! What stands around a place decides how its value is written; that is the business of the modules for
//! addresses, headers and bodies.

use serde_json::Value;

const OPENING: &str = "${parameters.";

/// A text, cut where arguments go in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(String),
    /// The name of an argument.
    Place(String),
}

impl Template {
    /// Reads a text. The error says what is wrong with one of its places.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = vec![];
        let mut rest = text;
        while let Some((before, after)) = rest.split_once(OPENING) {
            let Some((name, after)) = after.split_once('}') else {
                return Err(format!("a place that begins with {OPENING} has no end }}"));
            };
            let usable = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            if name.is_empty() || !name.chars().all(usable) {
                return Err(format!(
                    "{name:?} is not the name of a parameter; use letters, digits, '_', '-' and '.'"
                ));
            }
            if !before.is_empty() {
                pieces.push(Piece::Text(before.into()));
            }
            pieces.push(Piece::Place(name.into()));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.into()));
        }
        Ok(Self(pieces))
    }

    pub(super) fn place(name: &str) -> Self {
        Self(vec![Piece::Place(name.into())])
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    pub(super) fn push(&mut self, piece: Piece) {
        self.0.push(piece);
    }

    /// The name, where the text is one place and nothing else.
    pub(super) fn only_place(&self) -> Option<&str> {
        let [Piece::Place(name)] = self.0.as_slice() else {
            return None;
        };
        Some(name)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Place(name) => Some(name.as_str()),
            Piece::Text(_) => None,
        })
    }

    /// The text with each argument written by `write`. An argument that is not given is nothing.
    pub(super) fn fill(&self, arguments: &Value, write: impl Fn(&str) -> String) -> String {
        let filled = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Place(name) => argument(arguments, name)
                .map(|value| write(&plain(value)))
                .unwrap_or_default(),
        });
        filled.collect()
    }
}

/// The argument of that name; `a.b` is also the field `b` of the argument `a`. Null is not given.
pub(super) fn argument<'a>(arguments: &'a Value, name: &str) -> Option<&'a Value> {
    let whole = arguments.get(name);
    let found = whole.or_else(|| {
        let mut fields = name.split('.');
        fields.try_fold(arguments, |value, field| value.get(field))
    });
    found.filter(|value| !value.is_null())
}

/// A value as text: a string without its quotes, everything else as JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_are_found_and_everything_else_is_text() {
        for (text, places) in [
            ("", &[][..]),
            ("plain $x ${X} {parameters.x}", &[]),
            ("${parameters.a}", &["a"]),
            ("x${parameters.a}${parameters.b-c.d}y", &["a", "b-c.d"]),
            ("${${parameters.a}}", &["a"]),
        ] {
            let template = Template::parse(text).expect("it is good");
            assert_eq!(template.places().collect::<Vec<_>>(), places, "{text}");
            let again = template.pieces().iter().map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Place(name) => format!("${{parameters.{name}}}"),
            });
            assert_eq!(again.collect::<String>(), text);
        }
    }

    #[test]
    fn a_place_without_end_or_name_is_refused() {
        for text in [
            "${parameters.",
            "a${parameters.x",
            "${parameters.}",
            "${parameters.a b}",
            "${parameters.ä}",
            "${parameters.${parameters.a}}",
        ] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_argument_is_found_by_its_whole_name_then_by_its_way() {
        let arguments = json!({ "a": { "b": 1, "n": null }, "x.y": 2, "x": { "y": 3 } });
        for (name, found) in [
            ("a.b", Some(json!(1))),
            ("x.y", Some(json!(2))),
            ("a", Some(json!({ "b": 1, "n": null }))),
            ("a.n", None),
            ("a.c", None),
            ("c", None),
        ] {
            assert_eq!(argument(&arguments, name), found.as_ref(), "{name}");
        }
    }
}
