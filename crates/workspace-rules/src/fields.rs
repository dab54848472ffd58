//! Reads the fields of a JSON object and collects all that is wrong with them.

use std::ops::RangeInclusive;

use bonded_kernel::{escaped, nearest, short, type_of};
use serde_json::{Map, Value};

use super::fault::{Fault, FaultKind};

/// The fields of an object, and where it stands in what was written.
pub(super) struct Fields<'a, 'f> {
    fields: &'a Map<String, Value>,
    at: String,
    faults: &'f mut Vec<Fault>,
}

impl<'a, 'f> Fields<'a, 'f> {
    /// `None`, and a fault, where the value is no object.
    pub(super) fn of(value: &'a Value, at: &str, faults: &'f mut Vec<Fault>) -> Option<Self> {
        match value {
            Value::Object(fields) => Some(Self {
                fields,
                at: at.into(),
                faults,
            }),
            other => {
                faults.push(Fault::new(at, wrong_type("an object", other)));
                None
            }
        }
    }

    pub(super) fn at(&self, field: &str) -> String {
        format!("{}/{}", self.at, escaped(field))
    }

    pub(super) fn faults(&mut self) -> &mut Vec<Fault> {
        self.faults
    }

    pub(super) fn fault(&mut self, field: &str, kind: FaultKind) {
        let at = self.at(field);
        self.faults.push(Fault::new(at, kind));
    }

    /// What is missing is missing in the object, not at a place that is not there.
    pub(super) fn missing(&mut self, field: &'static str) {
        let kind = FaultKind::Missing { field };
        self.faults.push(Fault::new(self.at.clone(), kind));
    }

    pub(super) fn unknown(&self, known: &[&'static str]) -> Vec<(String, FaultKind)> {
        let others = self
            .fields
            .keys()
            .filter(|it| !known.contains(&it.as_str()));
        let unknown = |field: &String| {
            let kind = FaultKind::UnknownField {
                field: short(field),
                nearest: nearest(field, known.iter().copied()).map(str::to_owned),
            };
            (self.at(field), kind)
        };
        others.map(unknown).collect()
    }

    pub(super) fn refuse_unknown(&mut self, known: &[&'static str]) {
        let unknown = self.unknown(known);
        let faults = unknown.into_iter().map(|(at, kind)| Fault { at, kind });
        self.faults.extend(faults);
    }

    /// A field that is there; null counts as absent.
    pub(super) fn given(&self, field: &str) -> Option<&'a Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn text(&mut self, field: &str, bytes_max: usize) -> Option<&'a str> {
        let value = self.given(field)?;
        match checked_text(value, bytes_max) {
            Ok(text) => Some(text),
            Err(kind) => {
                self.fault(field, kind);
                None
            }
        }
    }

    pub(super) fn required_text(
        &mut self,
        field: &'static str,
        bytes_max: usize,
    ) -> Option<&'a str> {
        if self.given(field).is_none() {
            self.missing(field);
        }
        self.text(field, bytes_max)
    }

    /// One of several words.
    pub(super) fn word<T: Copy>(&mut self, field: &str, known: &[(&'static str, T)]) -> Option<T> {
        let written = self.text(field, WORD_BYTES_MAX)?;
        let found = known.iter().find(|(word, _)| *word == written);
        if found.is_none() {
            let words = known.iter().map(|(word, _)| *word);
            self.fault(field, unknown_word(written, words));
        }
        found.map(|(_, meant)| *meant)
    }

    pub(super) fn flag(&mut self, field: &str) -> Option<bool> {
        match self.given(field)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                self.fault(field, wrong_type("true or false", other));
                None
            }
        }
    }

    pub(super) fn whole(&mut self, field: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let kind = match self.given(field)? {
            Value::Number(number) => match number.as_u64().filter(|it| range.contains(it)) {
                Some(whole) => return Some(whole),
                None => FaultKind::OutOfRange {
                    found: short(&number.to_string()),
                    least: *range.start(),
                    most: *range.end(),
                },
            },
            other => wrong_type("a whole number", other),
        };
        self.fault(field, kind);
        None
    }

    pub(super) fn number(&mut self, field: &str, least: u32, most: u32) -> Option<f64> {
        let kind = match self.given(field)? {
            Value::Number(number) => {
                let range = f64::from(least)..=f64::from(most);
                match number.as_f64().filter(|it| range.contains(it)) {
                    Some(number) => return Some(number),
                    None => FaultKind::NumberOutOfRange {
                        found: short(&number.to_string()),
                        least,
                        most,
                    },
                }
            }
            other => wrong_type("a number", other),
        };
        self.fault(field, kind);
        None
    }

    pub(super) fn object(&mut self, field: &str) -> Option<Fields<'a, '_>> {
        let at = self.at(field);
        Fields::of(self.given(field)?, &at, self.faults)
    }

    /// The texts of an array, each with its place.
    pub(super) fn texts(
        &mut self,
        field: &str,
        members_max: usize,
        bytes_max: usize,
    ) -> Option<Vec<(String, &'a str)>> {
        let values = match self.given(field)? {
            Value::Array(values) if values.len() > members_max => {
                let found = values.len();
                let most = members_max;
                self.fault(field, FaultKind::TooMany { found, most });
                return None;
            }
            Value::Array(values) => values,
            other => {
                self.fault(field, wrong_type("an array of texts", other));
                return None;
            }
        };
        let mut texts = vec![];
        for (index, value) in values.iter().enumerate() {
            let at = format!("{}/{index}", self.at(field));
            match checked_text(value, bytes_max) {
                Ok(text) => texts.push((at, text)),
                Err(kind) => self.faults.push(Fault::new(at, kind)),
            }
        }
        Some(texts)
    }
}

const WORD_BYTES_MAX: usize = 256;

/// A text of one or more lines that holds something.
fn checked_text(value: &Value, bytes_max: usize) -> Result<&str, FaultKind> {
    let text = match value {
        Value::String(text) => text,
        other => return Err(wrong_type("a text", other)),
    };
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    match text {
        _ if text.len() > bytes_max => Err(FaultKind::TooLong {
            found: text.len(),
            most: bytes_max,
        }),
        _ if text.trim().is_empty() => Err(FaultKind::Empty),
        _ if text.contains(is_control) => Err(FaultKind::Control),
        _ => Ok(text),
    }
}

pub(super) fn unknown_word<'k>(
    written: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> FaultKind {
    FaultKind::UnknownWord {
        found: short(written),
        known: known.clone().collect::<Vec<_>>().join(", "),
        nearest: nearest(written, known).map(str::to_owned),
    }
}

pub(super) fn wrong_type(expected: &'static str, found: &Value) -> FaultKind {
    FaultKind::WrongType {
        expected,
        found: type_of(found),
    }
}
