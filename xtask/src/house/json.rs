//! As much of JSON as is needed to print figures.

use std::fmt;

use crate::house::source::Place;

pub(crate) enum Json {
    Number(usize),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub(crate) fn object<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::Object(fields.map(|(name, value)| (name.to_owned(), value)).into())
    }

    pub(crate) fn list(values: impl Iterator<Item = Self>) -> Self {
        Self::List(values.collect())
    }

    pub(crate) fn texts(texts: &[String]) -> Self {
        Self::list(texts.iter().cloned().map(Self::Text))
    }
}

impl From<&Place> for Json {
    fn from(place: &Place) -> Self {
        Self::object([
            ("path", Self::Text(place.path.clone())),
            ("line", Self::Number(place.line)),
            ("what", Self::Text(place.what.clone())),
        ])
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Text(text) => quoted(f, text),
            Self::List(values) => {
                f.write_str("[")?;
                separated(f, values, |f, value| write!(f, "{value}"))?;
                f.write_str("]")
            }
            Self::Object(fields) => {
                f.write_str("{")?;
                separated(f, fields, |f, (name, value)| {
                    quoted(f, name)?;
                    write!(f, ":{value}")
                })?;
                f.write_str("}")
            }
        }
    }
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    values: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            f.write_str(",")?;
        }
        write(f, value)?;
    }
    Ok(())
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' | '\\' => write!(f, "\\{letter}")?,
            control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_written_as_others_read_it() {
        let list = Json::List(vec![Json::Number(1), Json::Text("a\"\n".into())]);
        let shown = Json::object([("x", list), ("y", Json::List(vec![]))]).to_string();
        assert_eq!(shown, r#"{"x":[1,"a\"\u000a"],"y":[]}"#);
    }
}
