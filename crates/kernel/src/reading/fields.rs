//! Reads the fields of a JSON object and collects all that is wrong with them, each with its place.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::form::{FormKind, FormRow};
use super::{Measure, Mistake, escaped, short};

/// A mistake with its place, as those tell it who describe what is read.
pub trait ReadFault {
    /// What may be wrong: any mistake, and what only the describer knows.
    type Kind: From<Mistake>;

    /// `at` is a JSON pointer.
    fn new(at: String, kind: Self::Kind) -> Self;
}

/// The fields of an object, and where it stands in what was written.
///
/// No fault hides another: whoever reads looks at every field before giving up on any.
#[derive(Debug)]
pub struct Fields<'a, 'f, F> {
    fields: &'a Map<String, Value>,
    at: String,
    faults: &'f mut Vec<F>,
    /// What the object is held to; empty where its reader knows that alone.
    form: &'static [FormRow],
}

impl<'a, 'f, F: ReadFault> Fields<'a, 'f, F> {
    /// `None`, and a fault, where the value is no object.
    pub fn of(value: &'a Value, at: &str, faults: &'f mut Vec<F>) -> Option<Self> {
        Self::of_kind(value, "an object", at, faults)
    }

    /// The same for an object that has a name.
    fn of_kind(
        value: &'a Value,
        expected: &'static str,
        at: &str,
        faults: &'f mut Vec<F>,
    ) -> Option<Self> {
        let Value::Object(fields) = value else {
            let kind = Mistake::wrong_type(expected, value);
            faults.push(F::new(at.into(), kind.into()));
            return None;
        };
        Some(Self {
            fields,
            at: at.into(),
            faults,
            form: &[],
        })
    }

    /// Holds the object to a form: a field that is not in it is a fault, and so is one that must be there and is not.
    /// The methods that end in `_row` take the bounds of a field from there.
    pub fn hold_to(&mut self, form: &'static [FormRow]) {
        self.form = form;
        let names: Vec<&'static str> = form.iter().map(|row| row.name).collect();
        self.refuse_unknown(&names);
        for row in form.iter().filter(|row| row.is_required) {
            if self.given(row.name).is_none() {
                self.missing(row.name);
            }
        }
    }

    /// What the form says of a field. A field without a row is a mistake of the program.
    fn row(&self, field: &str) -> FormKind {
        let row = self.form.iter().find(|row| row.name == field);
        row.expect("every field that is read by its row is in the form")
            .kind
    }

    /// The place of a field.
    pub fn at(&self, field: &str) -> String {
        format!("{}/{}", self.at, escaped(field))
    }

    /// All that is wrong so far.
    pub fn faults(&mut self) -> &mut Vec<F> {
        self.faults
    }

    /// Something is wrong with a field.
    pub fn fault(&mut self, field: &str, kind: impl Into<F::Kind>) {
        let at = self.at(field);
        self.faults.push(F::new(at, kind.into()));
    }

    /// What is missing is missing in the object, not at a place that is not there.
    pub fn missing(&mut self, field: &'static str) {
        let kind = Mistake::Missing { field };
        self.faults.push(F::new(self.at.clone(), kind.into()));
    }

    /// The fields that are not among the known ones, each with its place.
    pub fn unknown(&self, known: &[&'static str]) -> Vec<(String, Mistake)> {
        let others = self
            .fields
            .keys()
            .filter(|it| !known.contains(&it.as_str()));
        let unknown = |field: &String| {
            let kind = Mistake::unknown_field(field, known.iter().copied());
            (self.at(field), kind)
        };
        others.map(unknown).collect()
    }

    /// A field that nobody knows is a slip, and never passed over.
    pub fn refuse_unknown(&mut self, known: &[&'static str]) {
        let unknown = self.unknown(known);
        let faults = unknown
            .into_iter()
            .map(|(at, kind)| F::new(at, kind.into()));
        self.faults.extend(faults);
    }

    /// A field that is there; null counts as absent, because that is how YAML writes an empty one.
    pub fn given(&self, field: &str) -> Option<&'a Value> {
        self.fields.get(field).filter(|value| !value.is_null())
    }

    /// A field that is read in the describer's own way.
    pub fn parsed<T, K: Into<F::Kind>>(
        &mut self,
        field: &str,
        parse: impl FnOnce(&'a Value) -> Result<T, K>,
    ) -> Option<T> {
        match parse(self.given(field)?) {
            Ok(parsed) => Some(parsed),
            Err(kind) => {
                self.fault(field, kind);
                None
            }
        }
    }

    /// A text, whatever it holds.
    pub fn any_text(&mut self, field: &str) -> Option<&'a str> {
        let wrong = |value| Mistake::wrong_type("a text", value);
        self.parsed(field, |value| value.as_str().ok_or_else(|| wrong(value)))
    }

    /// A text of one or more lines that holds something.
    pub fn text(&mut self, field: &str, bytes_max: usize) -> Option<&'a str> {
        self.parsed(field, |value| checked_text(value, bytes_max))
    }

    /// A text that must be there.
    pub fn required_text(&mut self, field: &'static str, bytes_max: usize) -> Option<&'a str> {
        if self.given(field).is_none() {
            self.missing(field);
        }
        self.text(field, bytes_max)
    }

    /// One of several words.
    pub fn word<T: Copy>(&mut self, field: &str, known: &[(&'static str, T)]) -> Option<T> {
        let written = self.text(field, WORD_BYTES_MAX)?;
        let found = known.iter().find(|(word, _)| *word == written);
        if found.is_none() {
            let words = known.iter().map(|(word, _)| *word);
            self.fault(field, Mistake::unknown_word(written, words));
        }
        found.map(|(_, meant)| *meant)
    }

    /// True or false.
    pub fn flag(&mut self, field: &str) -> Option<bool> {
        let wrong = |value| Mistake::wrong_type("true or false", value);
        self.parsed(field, |value| value.as_bool().ok_or_else(|| wrong(value)))
    }

    /// A whole number within bounds.
    pub fn whole(&mut self, field: &str, range: RangeInclusive<u64>) -> Option<u64> {
        self.parsed(field, |value| {
            let Value::Number(number) = value else {
                return Err(Mistake::wrong_type("a whole number", value));
            };
            let whole = number.as_u64().filter(|it| range.contains(it));
            whole.ok_or_else(|| Mistake::OutOfRange {
                found: short(&number.to_string()),
                least: *range.start(),
                most: *range.end(),
            })
        })
    }

    /// A duration or a size within bounds: a whole number, or a text with a unit such as `90s` or `64k`.
    pub fn measured(
        &mut self,
        field: &str,
        measure: Measure,
        range: RangeInclusive<u64>,
    ) -> Option<u64> {
        match self.given(field)? {
            Value::String(_) => self.parsed(field, |value| measure.of(value, range)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::Array(_)
            | Value::Object(_) => self.whole(field, range),
        }
    }

    /// A number within bounds.
    pub fn number(&mut self, field: &str, least: u32, most: u32) -> Option<f64> {
        self.parsed(field, |value| {
            let Value::Number(number) = value else {
                return Err(Mistake::wrong_type("a number", value));
            };
            let range = f64::from(least)..=f64::from(most);
            let found = number.as_f64().filter(|it| range.contains(it));
            found.ok_or_else(|| Mistake::NumberOutOfRange {
                found: short(&number.to_string()),
                least,
                most,
            })
        })
    }

    /// A text within the bounds of its row.
    pub fn text_row(&mut self, field: &str) -> Option<&'a str> {
        let FormKind::Text { bytes_max } = self.row(field) else {
            unreachable!("{field} has no row as a text")
        };
        self.text(field, bytes_max)
    }

    /// A whole number within the bounds of its row.
    pub fn whole_row(&mut self, field: &str) -> Option<u64> {
        let FormKind::Whole { least, most } = self.row(field) else {
            unreachable!("{field} has no row as a whole number")
        };
        self.whole(field, least..=most)
    }

    /// A duration or a size within the bounds of its row.
    pub fn measured_row(&mut self, field: &str) -> Option<u64> {
        let FormKind::Measured {
            measure,
            least,
            most,
        } = self.row(field)
        else {
            unreachable!("{field} has no row as a duration or a size")
        };
        self.measured(field, measure, least..=most)
    }

    /// A number within the bounds of its row.
    pub fn number_row(&mut self, field: &str) -> Option<f64> {
        let FormKind::Number { least, most } = self.row(field) else {
            unreachable!("{field} has no row as a number")
        };
        self.number(field, least, most)
    }

    /// The texts of a list within the bounds of its row.
    pub fn texts_row(&mut self, field: &str) -> Option<Vec<(String, &'a str)>> {
        let FormKind::Patterns {
            members_max,
            bytes_max,
            ..
        } = self.row(field)
        else {
            unreachable!("{field} has no row as a list of texts")
        };
        self.texts(field, members_max, bytes_max)
    }

    /// The fields of an object in this one, held to the form of its row.
    pub fn object_row(&mut self, field: &str) -> Option<Fields<'a, '_, F>> {
        let FormKind::Object(form) = self.row(field) else {
            unreachable!("{field} has no row as an object")
        };
        let mut fields = self.object(field)?;
        fields.hold_to(form);
        Some(fields)
    }

    /// The fields of an object in this one.
    pub fn object(&mut self, field: &str) -> Option<Fields<'a, '_, F>> {
        self.object_of(field, "an object")
    }

    /// The same where a person is better told what the object holds.
    pub fn object_of(&mut self, field: &str, expected: &'static str) -> Option<Fields<'a, '_, F>> {
        let at = self.at(field);
        Fields::of_kind(self.given(field)?, expected, &at, self.faults)
    }

    /// The members of an array, each with its place. `members` says what they must be.
    pub fn array(
        &mut self,
        field: &str,
        members: &'static str,
    ) -> Option<Vec<(String, &'a Value)>> {
        let wrong = |value| Mistake::wrong_type(members, value);
        let values = self.parsed(field, |value| value.as_array().ok_or_else(|| wrong(value)))?;
        let at = self.at(field);
        let placed = |(index, value)| (format!("{at}/{index}"), value);
        Some(values.iter().enumerate().map(placed).collect())
    }

    /// The texts of an array, each with its place.
    pub fn texts(
        &mut self,
        field: &str,
        members_max: usize,
        bytes_max: usize,
    ) -> Option<Vec<(String, &'a str)>> {
        let values = self.array(field, "a list of texts")?;
        if values.len() > members_max {
            let (found, most) = (values.len(), members_max);
            self.fault(field, Mistake::TooMany { found, most });
            return None;
        }
        let mut texts = vec![];
        for (at, value) in values {
            match checked_text(value, bytes_max) {
                Ok(text) => texts.push((at, text)),
                Err(kind) => self.faults.push(F::new(at, kind.into())),
            }
        }
        Some(texts)
    }
}

const WORD_BYTES_MAX: usize = 256;

fn checked_text(value: &Value, bytes_max: usize) -> Result<&str, Mistake> {
    let Value::String(text) = value else {
        return Err(Mistake::wrong_type("a text", value));
    };
    let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    if text.len() > bytes_max {
        let (found, most) = (text.len(), bytes_max);
        return Err(Mistake::TooLong { found, most });
    }
    if text.trim().is_empty() {
        return Err(Mistake::Empty);
    }
    if text.contains(is_control) {
        return Err(Mistake::Control);
    }
    Ok(text)
}
