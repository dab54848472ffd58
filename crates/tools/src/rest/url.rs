//! The address of a request: written by a person, filled by a model.
//!
//! Arguments go into the path and into values of the query, percent-encoded, so that no character of theirs
//! means anything. What encoding cannot disarm is refused: a segment that a server would read as a step up.

mod escape;
mod read;

use reqwest::Url;
use serde_json::Value;

use super::error::RestError;
use super::template::{Template, argument, plain};
use crate::fault::{self, ToolFault};

use escape::{decoded, is_step, steps_up};

pub(super) use escape::encoded;
pub(super) use read::segments;

/// Checked before anything is encoded, and again on the result, since encoding makes text up to three times as
/// long.
const URL_BYTES_MAX: usize = 16 * 1024;

/// An address with places in its path and its query.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UrlTemplate {
    /// Scheme, host and port. Never filled.
    origin: Url,
    segments: Vec<Template>,
    query: Vec<Pair>,
}

/// One pair of the query. Its name is as a person wrote it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) name: String,
    pub(super) value: Option<Template>,
    pub(super) list: ListStyle,
}

/// How a value that is more than one is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListStyle {
    /// As JSON.
    Json,
    /// The pair again for each item.
    Repeated,
    /// The items with this between them.
    Joined(&'static str),
    /// `name[key]=value` for each field of an object.
    Fields,
}

impl UrlTemplate {
    /// Reads the `url` or `baseUrl` of a person.
    pub(super) fn parse(text: &str, key: &str) -> Result<Self, RestError> {
        read::read(text).map_err(|why| RestError::at(key, why))
    }

    pub(super) fn origin(&self) -> &Url {
        &self.origin
    }

    /// Whether a query was written.
    pub(super) fn has_query(&self) -> bool {
        !self.query.is_empty()
    }

    /// The address of a resource under this one.
    pub(super) fn under(&self, segments: Vec<Template>, query: Vec<Pair>) -> Self {
        let mut all = self.segments.clone();
        if all.last().is_some_and(|last| last.pieces().is_empty()) {
            all.pop();
        }
        all.extend(segments);
        Self {
            origin: self.origin.clone(),
            segments: all,
            query,
        }
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &str> {
        let values = self.query.iter().filter_map(|pair| pair.value.as_ref());
        self.segments
            .iter()
            .chain(values)
            .flat_map(Template::places)
    }

    /// The address for these arguments. It has the origin that was written, always.
    pub(super) fn fill(&self, arguments: &Value) -> Result<Url, ToolFault> {
        let given = self.places().filter_map(|name| argument(arguments, name));
        let given_bytes: usize = given.map(|value| plain(value).len()).sum();
        if given_bytes > URL_BYTES_MAX {
            return Err(too_long());
        }
        let mut path = String::new();
        for segment in &self.segments {
            path.push('/');
            path.push_str(&filled_segment(segment, arguments)?);
        }
        let pairs: Vec<String> = self
            .query
            .iter()
            .flat_map(|pair| pair.fill(arguments))
            .collect();
        let query = pairs.join("&");
        if path.len() + query.len() > URL_BYTES_MAX {
            return Err(too_long());
        }
        let mut url = self.origin.clone();
        url.set_path(&path);
        url.set_query((!pairs.is_empty()).then_some(query.as_str()));
        self.verify(&url, pairs.len())?;
        Ok(url)
    }

    /// The last word: whatever the arguments were, the address has the shape that was written.
    fn verify(&self, url: &Url, pairs: usize) -> Result<(), ToolFault> {
        let segments = url.path_segments().map_or(0, Iterator::count);
        // An address without a path has one empty segment.
        let same = url.origin() == self.origin.origin()
            && segments == self.segments.len().max(1)
            && url.query().map_or(0, |query| query.split('&').count()) == pairs
            && url.fragment().is_none();
        match same {
            true => Ok(()),
            false => Err(bad("the arguments would change the shape of the address")),
        }
    }
}

impl Pair {
    /// The pair as it is sent: not at all, where its value is one argument that is not given.
    fn fill(&self, arguments: &Value) -> Vec<String> {
        let Some(value) = &self.value else {
            return vec![self.name.clone()];
        };
        let pair = |name: &str, value: &str| format!("{name}={}", encoded(value));
        let Some(place) = value.only_place() else {
            return vec![format!("{}={}", self.name, value.fill(arguments, encoded))];
        };
        let Some(value) = argument(arguments, place) else {
            return vec![];
        };
        let name = self.name.as_str();
        match (self.list, value) {
            (ListStyle::Repeated, Value::Array(items)) => {
                items.iter().map(|item| pair(name, &plain(item))).collect()
            }
            (ListStyle::Joined(between), Value::Array(items)) => {
                let items: Vec<String> = items.iter().map(plain).collect();
                vec![pair(name, &items.join(between))]
            }
            (ListStyle::Fields, Value::Object(fields)) => fields
                .iter()
                .map(|(key, value)| pair(&format!("{name}%5B{}%5D", encoded(key)), &plain(value)))
                .collect(),
            (_, value) => vec![pair(name, &plain(value))],
        }
    }
}

/// An empty argument is refused: it would turn the address of one thing into that of all of them.
fn filled_segment(segment: &Template, arguments: &Value) -> Result<String, ToolFault> {
    for name in segment.places() {
        let value = argument(arguments, name).map(plain).unwrap_or_default();
        if value.is_empty() {
            return Err(bad(&format!(
                "{name:?} is a part of the address and may not be empty"
            )));
        }
        if value.contains(char::is_control) {
            return Err(bad(&format!(
                "{name:?} is a part of the address and holds a control character"
            )));
        }
        // Some servers decode a slash before they look for steps, and some decode twice.
        if steps_up(&value) || steps_up(&decoded(&value)) {
            return Err(bad(&format!(
                "{name:?} holds a path that leads elsewhere; name the thing itself"
            )));
        }
    }
    let filled = segment.fill(arguments, encoded);
    match is_step(&decoded(&filled)) {
        true => Err(bad("the arguments make a path that leads elsewhere")),
        false => Ok(filled),
    }
}

fn too_long() -> ToolFault {
    let message = format!("the arguments make an address of more than {URL_BYTES_MAX} bytes");
    ToolFault::new(fault::TOO_LARGE, message)
}

fn bad(message: &str) -> ToolFault {
    ToolFault::new(fault::BAD_ARGUMENTS, message)
}

#[cfg(test)]
mod tests;
