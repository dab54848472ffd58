//! What a layer must look like: the types of known keys, and a word about unknown ones.
//!
//! Types are checked once, over the whole layer, so that no reader of an entry needs to. A wrong type
//! is an error whatever a run uses; an unknown key is only a warning, with a guess at what was meant.

use std::borrow::Cow;
use std::path::Path;

use bonded_kernel::{Measure, Mistake, nearest};
use serde_json::Value;

use super::explain::is_secret;
use super::known::{ALIASES, ConfigKey, ROOT};
use super::layer::Layer;
use super::options::{Source, TABLE, parse};
use super::{ConfigError, KeyPath, Warning};

/// The shape of a value. Null is allowed everywhere: it takes back what a lower layer says.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueShape {
    Any,
    Text,
    Bool,
    /// A number of any size.
    Number,
    /// A number that is not negative.
    Price,
    /// A whole number, at least 1.
    Count,
    /// A port of this machine.
    Port,
    /// One of these words, which its reader looks at once its variables are put in.
    Word(fn() -> Vec<String>),
    /// Some of these words, which its reader looks at too.
    WordList(fn() -> Vec<String>),
    /// The same in any case.
    AnyCase(fn() -> Vec<String>),
    /// The same in any case.
    AnyCaseList(fn() -> Vec<String>),
    /// An address, which its reader looks at once its variables are put in.
    Http,
    /// A whole number, or a text with a unit; at least so much.
    Measured(Measure, u64),
    TextList,
    TextOrList,
    /// A number, a word, or four of them from minimal to high.
    Reasoning,
    AnyObject,
    /// An object with these keys.
    Object(&'static [ConfigKey]),
    /// An object with keys that the person chooses.
    Map(&'static ValueShape),
    /// The keys of the options that the configuration may set.
    Defaults,
    /// Known, and without effect here.
    Unsupported(&'static str),
}

impl ValueShape {
    /// For messages, after "must be".
    fn expected(self) -> Cow<'static, str> {
        let expected = match self {
            Self::Any | Self::Unsupported(_) => "anything",
            Self::Text | Self::Word(_) | Self::AnyCase(_) | Self::Http => "a text",
            Self::Bool => "true or false",
            Self::Number => "a number",
            Self::Price => "a number from 0 up",
            Self::Count => "a whole number from 1 up",
            Self::Measured(measure, _) => return measure.expected().into(),
            Self::Port => "a port, from 1 to 65535",
            Self::TextList | Self::WordList(_) | Self::AnyCaseList(_) => "a list of texts",
            Self::TextOrList => "a text or a list of texts",
            Self::Reasoning => "a number, a word, or a list of four for minimal, low, medium, high",
            Self::AnyObject | Self::Object(_) | Self::Map(_) | Self::Defaults => "an object",
        };
        expected.into()
    }

    /// What is wrong with the value itself.
    fn mistake(self, value: &Value) -> Option<Mistake> {
        match self {
            Self::Measured(measure, min) => measure.of(value, min..=u64::MAX).err(),
            Self::Any
            | Self::Text
            | Self::Bool
            | Self::Number
            | Self::Price
            | Self::Count
            | Self::Port
            | Self::Word(_)
            | Self::WordList(_)
            | Self::AnyCase(_)
            | Self::AnyCaseList(_)
            | Self::Http
            | Self::TextList
            | Self::TextOrList
            | Self::Reasoning
            | Self::AnyObject
            | Self::Object(_)
            | Self::Map(_)
            | Self::Defaults
            | Self::Unsupported(_) => {
                (!self.fits(value)).then(|| Mistake::wrong_type(self.expected(), value))
            }
        }
    }

    /// Whether the value itself fits; what lies inside an object is looked at on its own.
    fn fits(self, value: &Value) -> bool {
        let is_text_list = |value: &Value| {
            let items = value.as_array();
            items.is_some_and(|items| items.iter().all(Value::is_string))
        };
        let is_scalar = |value: &Value| value.is_number() || value.is_string() || value.is_null();
        match self {
            Self::Any | Self::Unsupported(_) => true,
            Self::Text | Self::Word(_) | Self::AnyCase(_) | Self::Http => value.is_string(),
            Self::Bool => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Price => value.as_f64().is_some_and(|price| price >= 0.0),
            Self::Count => value.as_u64().is_some_and(|count| count >= 1),
            Self::Measured(measure, min) => measure.of(value, min..=u64::MAX).is_ok(),
            Self::Port => value
                .as_u64()
                .is_some_and(|port| (1..=65535).contains(&port)),
            Self::TextList | Self::WordList(_) | Self::AnyCaseList(_) => is_text_list(value),
            Self::TextOrList => value.is_string() || is_text_list(value),
            Self::Reasoning => match value {
                Value::Array(levels) => levels.len() == 4 && levels.iter().all(is_scalar),
                value => is_scalar(value),
            },
            Self::AnyObject | Self::Object(_) | Self::Map(_) | Self::Defaults => value.is_object(),
        }
    }
}

/// Keys of `defaults` that files of other programs have.
pub(super) const WITHOUT_EFFECT: [&str; 2] = ["formats", "mcpInitConcurrency"];

/// Checks a layer, and writes its aliases as the keys that they stand for.
pub(super) fn check_layer(
    layer: &mut Layer,
    problems: &mut Vec<ConfigError>,
    warnings: &mut Vec<Warning>,
) {
    let mut checker = Checker {
        file: &layer.file,
        problems,
        warnings,
    };
    checker.rename_aliases(&mut layer.value, &KeyPath::root());
    if layer.value.is_null() {
        checker.wrong(&KeyPath::root(), ROOT.expected(), &layer.value);
    }
    checker.check(ROOT, &layer.value, &KeyPath::root());
}

/// One layer's check; mistakes and oddities are added to those of the others.
struct Checker<'c> {
    file: &'c Path,
    problems: &'c mut Vec<ConfigError>,
    warnings: &'c mut Vec<Warning>,
}

impl Checker<'_> {
    /// What does not fit is told once and not looked into.
    fn check(&mut self, shape: ValueShape, value: &Value, path: &KeyPath) {
        if value.is_null() {
            return;
        }
        if let Some(mistake) = shape.mistake(value) {
            return self.mistaken(path, value, mistake);
        }
        let members = value.as_object().into_iter().flatten();
        match shape {
            ValueShape::Object(fields) => self.object(fields, members, path),
            ValueShape::Map(inside) => {
                members.for_each(|(key, value)| self.check(*inside, value, &path.child(key)));
            }
            ValueShape::Defaults => self.defaults(members, path),
            ValueShape::Unsupported(why) => self.warn(path.clone(), why.to_owned(), None),
            ValueShape::Any
            | ValueShape::Text
            | ValueShape::Bool
            | ValueShape::Number
            | ValueShape::Price
            | ValueShape::Count
            | ValueShape::Measured(..)
            | ValueShape::Port
            | ValueShape::Word(_)
            | ValueShape::WordList(_)
            | ValueShape::AnyCase(_)
            | ValueShape::AnyCaseList(_)
            | ValueShape::Http
            | ValueShape::TextList
            | ValueShape::TextOrList
            | ValueShape::Reasoning
            | ValueShape::AnyObject => {}
        }
    }

    fn object<'v>(
        &mut self,
        fields: &'static [ConfigKey],
        members: impl Iterator<Item = (&'v String, &'v Value)>,
        path: &KeyPath,
    ) {
        for (key, value) in members {
            match fields.iter().find(|known| known.name == key) {
                Some(known) => self.check(known.shape, value, &path.child(key)),
                None => self.unknown(key, path, fields.iter().map(|known| known.name)),
            }
        }
    }

    /// The option table knows these keys and what their values may be.
    fn defaults<'v>(
        &mut self,
        members: impl Iterator<Item = (&'v String, &'v Value)>,
        path: &KeyPath,
    ) {
        for (key, value) in members {
            let child = path.child(key);
            let dotted = format!("defaults.{key}");
            let row = TABLE
                .iter()
                .find(|row| row.config.contains(&dotted.as_str()));
            match row {
                // What a variable holds is not known yet; it is read when the options are resolved.
                Some(_) if value.as_str().is_some_and(|text| text.contains("${")) => {}
                Some(row) => {
                    if let Err(mistake) = parse(row.kind, value, Source::Config) {
                        self.mistaken(&child, value, mistake);
                    }
                }
                None if WITHOUT_EFFECT.contains(&key.as_str()) => {
                    self.warn(child, "this has no effect here".into(), None);
                }
                None => {
                    let paths = TABLE.iter().flat_map(|row| row.config);
                    let known = paths.filter_map(|path| path.strip_prefix("defaults."));
                    self.unknown(key, path, known);
                }
            }
        }
    }

    fn unknown<'k>(&mut self, key: &str, path: &KeyPath, known: impl Iterator<Item = &'k str>) {
        let nearest = nearest(key, known).map(str::to_owned);
        self.warn(path.child(key), "unknown key".into(), nearest);
    }

    /// All of these are minor: they say that something has no effect.
    fn warn(&mut self, key_path: KeyPath, message: String, nearest: Option<String>) {
        self.warnings.push(Warning {
            file: self.file.into(),
            key_path,
            message,
            nearest,
            is_minor: true,
        });
    }

    fn wrong(&mut self, path: &KeyPath, expected: impl Into<Cow<'static, str>>, value: &Value) {
        self.mistaken(path, value, Mistake::wrong_type(expected, value));
    }

    fn mistaken(&mut self, path: &KeyPath, value: &Value, mistake: Mistake) {
        self.problems.push(ConfigError::WrongValue {
            file: self.file.into(),
            key_path: path.clone(),
            mistake: Box::new(match is_secret(path, value) {
                true => mistake.hidden(),
                false => mistake,
            }),
        });
    }

    /// One key, one name: otherwise two layers could set the same thing beside each other.
    fn rename_aliases(&mut self, value: &mut Value, path: &KeyPath) {
        let Value::Object(object) = value else {
            return;
        };
        for alias in ALIASES.iter().filter(|alias| alias.stands_at(path)) {
            let Some(given) = object.remove(alias.written) else {
                continue;
            };
            if object.contains_key(alias.meant) {
                let expected = format!("left out beside {}", alias.meant);
                self.wrong(&path.child(alias.written), expected, &given);
            } else {
                object.insert(alias.meant.to_owned(), given);
            }
        }
        for (key, value) in object {
            self.rename_aliases(value, &path.child(key));
        }
    }
}
