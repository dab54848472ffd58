//! The query of a request: names with values, each at most once.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::refusal::ApiRefusal;

/// Decoded; an empty value is one that was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query(BTreeMap<String, String>);

impl Query {
    /// A name that comes twice is refused: whoever reads the first and whoever reads the last would differ.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiRefusal> {
        let mut values = BTreeMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if values.contains_key(&name) {
                return Err(ApiRefusal::bad(format!("the query has {name:?} twice")));
            }
            values.insert(name, value);
        }
        Ok(Self(values))
    }

    /// Refuses names that mean nothing here: one that is misspelt would else do nothing, silently.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ApiRefusal> {
        let unknown = self.0.keys().find(|name| !known.contains(&name.as_str()));
        let Some(unknown) = unknown else {
            return Ok(());
        };
        let shown: String = unknown.chars().take(64).collect();
        let known = match known {
            [] => "nothing".to_owned(),
            known => known.join(", "),
        };
        let message = format!("the query has {shown:?}, which is unknown; known: {known}");
        Err(ApiRefusal::bad(message))
    }

    /// None where it was not given.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A value that is written in a form of its own.
    pub(crate) fn read<T: FromStr>(
        &self,
        name: &str,
        expected: &str,
    ) -> Result<Option<T>, ApiRefusal> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| {
            let shown: String = text.chars().take(64).collect();
            ApiRefusal::bad(format!("{name}={shown:?} in the query: {expected}"))
        })
    }

    /// A whole number within bounds.
    pub(crate) fn number(
        &self,
        name: &str,
        default: u64,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, ApiRefusal> {
        let expected = format!("a whole number from {} to {}", bounds.start(), bounds.end());
        match self.read(name, &expected)? {
            None => Ok(default),
            Some(number) if bounds.contains(&number) => Ok(number),
            Some(number) => Err(ApiRefusal::bad(format!(
                "{name}={number} in the query: {expected}"
            ))),
        }
    }

    /// False where it was not given.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, ApiRefusal> {
        Ok(self.read(name, "true or false")?.unwrap_or(false))
    }
}

/// As forms are written: a plus is a blank.
fn decoded(text: &str) -> Result<String, ApiRefusal> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (value, after) = hex_pair(rest).ok_or_else(|| {
                    ApiRefusal::bad("the query holds a % without two hexadecimal digits after it")
                })?;
                bytes.push(value);
                rest = after;
            }
            byte => bytes.push(*byte),
        }
    }
    String::from_utf8(bytes).map_err(|_| ApiRefusal::bad("the query is not UTF-8"))
}

/// The byte, and what follows.
fn hex_pair(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (pair, rest) = bytes.split_at_checked(2)?;
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let value = digit(pair[0])? * 16 + digit(pair[1])?;
    Some((u8::try_from(value).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_whole_or_refused() {
        let rows: [(&str, &str, Option<&str>); 8] = [
            ("q=a+b%20c", "q", Some("a b c")),
            ("q=%E2%82%AC&limit=3", "q", Some("€")),
            ("q", "q", Some("")),
            ("&&q=1&", "q", Some("1")),
            ("q=%", "q", None),
            ("q=%4", "q", None),
            ("q=%ff", "q", None),
            ("q=1&q=2", "q", None),
        ];
        for (text, name, expected) in rows {
            let query = Query::parse(text).ok();
            let value = query.as_ref().and_then(|query| query.text(name));
            assert_eq!(value, expected, "{text:?}");
        }
    }

    #[test]
    fn numbers_outside_their_bounds_and_unknown_names_are_refused() {
        let query = |text| Query::parse(text).expect("the row is a query");
        assert_eq!(query("limit=5").number("limit", 20, 1..=100), Ok(5));
        assert_eq!(query("").number("limit", 20, 1..=100), Ok(20));
        for text in ["limit=0", "limit=101", "limit=-1", "limit=x", "limit="] {
            assert!(query(text).number("limit", 20, 1..=100).is_err(), "{text}");
        }
        assert!(query("limit=1").only(&["limit"]).is_ok());
        assert!(query("limt=1").only(&["limit"]).is_err());
        assert!(query("x=maybe").flag("x").is_err());
    }
}
