//! YAML as a tree that knows its lines, bounded in depth and in size whatever the text says.
//!
//! It is for texts of strangers. Aliases can make a few lines into billions of nodes, so every node is
//! paid for from a budget before it is made, and depth is bounded for whoever walks the tree. Keys are
//! plain texts and unique; tags other than the one for texts are refused.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::{Map, Number, Value};

/// Deeper than any agent file needs, and shallow enough for every recursion over the tree.
const DEPTH_MAX: usize = 48;
/// What all nodes may cost together, with the copies that aliases make.
const COST_MAX: usize = 16 * 1024 * 1024;
/// What a node costs beside its text.
const NODE_COST: usize = 64;

/// A node of the tree, aliases resolved.
#[derive(Clone, Debug)]
pub struct Yaml {
    /// Counted from 1, inside the text that was parsed.
    pub line: usize,
    /// What it is.
    pub kind: YamlKind,
}

/// The three kinds of nodes.
#[derive(Clone, Debug)]
pub enum YamlKind {
    /// Null, a flag, a number or a text, never a list or an object.
    Scalar(Value),
    /// In order.
    List(Vec<Yaml>),
    /// In the order in which the keys are written.
    Map(Vec<YamlPair>),
}

/// A key with its value.
#[derive(Clone, Debug)]
pub struct YamlPair {
    /// As it is written, without quotes.
    pub key: String,
    /// The line of the key, counted from 1.
    pub line: usize,
    /// Its line may be another one than the key's.
    pub value: Yaml,
}

/// Why a text cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why} (column {column})")]
pub struct BadYaml {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
    /// In words for a person.
    pub why: String,
}

impl Yaml {
    /// Lines are lost.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            YamlKind::Scalar(value) => value.clone(),
            YamlKind::List(items) => items.iter().map(Self::to_json).collect(),
            YamlKind::Map(pairs) => {
                let object: Map<String, Value> = pairs
                    .iter()
                    .map(|pair| (pair.key.clone(), pair.value.to_json()))
                    .collect();
                Value::Object(object)
            }
        }
    }

    /// The nodes directly below.
    fn children(&self) -> Vec<&Self> {
        match &self.kind {
            YamlKind::Scalar(_) => Vec::new(),
            YamlKind::List(items) => items.iter().collect(),
            YamlKind::Map(pairs) => pairs.iter().map(|pair| &pair.value).collect(),
        }
    }

    /// One for a scalar.
    fn height(&self) -> usize {
        let below = self.children().into_iter().map(Self::height).max();
        1 + below.unwrap_or(0)
    }

    /// What a copy of it would cost.
    fn cost(&self) -> usize {
        let own = match &self.kind {
            YamlKind::Scalar(Value::String(text)) => text.len(),
            YamlKind::Map(pairs) => pairs.iter().map(|pair| NODE_COST + pair.key.len()).sum(),
            YamlKind::Scalar(_) | YamlKind::List(_) => 0,
        };
        let below: usize = self.children().into_iter().map(Self::cost).sum();
        NODE_COST + own + below
    }
}

/// Reads one document. An empty text is null.
pub fn parse(text: &str) -> Result<Yaml, BadYaml> {
    parse_within(text, COST_MAX)
}

/// The same for a text whose nodes may cost more, or less.
pub fn parse_within(text: &str, cost_max: usize) -> Result<Yaml, BadYaml> {
    let mut loader = Loader {
        parser: Parser::new_from_str(text),
        anchors: BTreeMap::new(),
        cost_left: cost_max,
    };
    let mut document = None;
    loop {
        let (event, span) = loader.next()?;
        match event {
            Event::StreamEnd => break,
            Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd | Event::Nothing => {}
            _ if document.is_some() => return bad(span, "there is more than one document"),
            event => document = Some(loader.node(event, span, 1)?),
        }
    }
    Ok(document.unwrap_or(Yaml {
        line: 1,
        kind: YamlKind::Scalar(Value::Null),
    }))
}

struct Loader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    anchors: BTreeMap<usize, Yaml>,
    cost_left: usize,
}

impl<'t> Loader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), BadYaml> {
        match self.parser.next_event() {
            Some(Ok(found)) => Ok(found),
            Some(Err(error)) => Err(BadYaml {
                line: error.marker().line(),
                column: error.marker().col() + 1,
                why: error.info().to_owned(),
            }),
            None => Err(BadYaml {
                line: 1,
                column: 1,
                why: "the text ends too early".into(),
            }),
        }
    }

    /// `depth` counts from 1. An anchored node is paid for twice, because it is kept for its aliases.
    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Yaml, BadYaml> {
        if depth > DEPTH_MAX {
            return bad(span, &format!("nested deeper than {DEPTH_MAX} levels"));
        }
        let line = span.start.line();
        let (anchor, kind) = match event {
            Event::Alias(anchor) => return self.alias(anchor, span, depth),
            Event::Scalar(text, style, anchor, tag) => {
                self.pay(NODE_COST + text.len(), span)?;
                (
                    anchor,
                    YamlKind::Scalar(scalar(&text, style, tag.as_deref(), span)?),
                )
            }
            Event::SequenceStart(anchor, _) => {
                self.pay(NODE_COST, span)?;
                (anchor, YamlKind::List(self.list(depth)?))
            }
            Event::MappingStart(anchor, _) => {
                self.pay(NODE_COST, span)?;
                (anchor, YamlKind::Map(self.map(depth)?))
            }
            _ => return bad(span, "a value is missing here"),
        };
        let node = Yaml { line, kind };
        // Anchors are numbered from 1; 0 says that there is none.
        if anchor != 0 {
            self.pay(node.cost(), span)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Yaml>, BadYaml> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<YamlPair>, BadYaml> {
        let mut pairs = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        loop {
            let (key, span) = match self.next()? {
                (Event::MappingEnd, _) => return Ok(pairs),
                (Event::Scalar(key, ..), span) => (key.into_owned(), span),
                (_, span) => return bad(span, "a key must be a plain word"),
            };
            if !seen.insert(key.clone()) {
                return bad(span, &format!("the key {key} is given twice"));
            }
            self.pay(NODE_COST + key.len(), span)?;
            let line = span.start.line();
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            pairs.push(YamlPair { key, line, value });
        }
    }

    /// A copy of what the anchor names. Copies are what makes a small text a huge tree, so each is
    /// paid for before it is made.
    fn alias(&mut self, anchor: usize, span: Span, depth: usize) -> Result<Yaml, BadYaml> {
        let size = self
            .anchors
            .get(&anchor)
            .map(|named| (named.height(), named.cost()));
        let Some((height, cost)) = size else {
            return bad(span, "this alias refers to itself");
        };
        if depth + height > DEPTH_MAX {
            return bad(span, &format!("nested deeper than {DEPTH_MAX} levels"));
        }
        self.pay(cost, span)?;
        let named = &self.anchors[&anchor];
        Ok(Yaml {
            line: span.start.line(),
            kind: named.kind.clone(),
        })
    }

    /// Never below nothing: what cannot be paid for is refused.
    fn pay(&mut self, cost: usize, span: Span) -> Result<(), BadYaml> {
        match self.cost_left.checked_sub(cost) {
            Some(left) => {
                self.cost_left = left;
                Ok(())
            }
            None => bad(span, "the aliases make this text too large"),
        }
    }
}

fn bad<T>(span: Span, why: &str) -> Result<T, BadYaml> {
    Err(BadYaml {
        line: span.start.line(),
        column: span.start.col() + 1,
        why: why.into(),
    })
}

/// A scalar by the core schema of YAML 1.2: `yes`, `no`, `on` and `off` are words.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Value, BadYaml> {
    match tag {
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => Ok(text.into()),
        Some(tag) => bad(
            span,
            &format!("the tag {}{} is not supported", tag.handle, tag.suffix),
        ),
        None if style != ScalarStyle::Plain => Ok(text.into()),
        None => Ok(plain(text)),
    }
}

/// What is no null, flag or number is a text.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

/// Hexadecimal and octal as the core schema has them. Whole numbers stay whole as far as 64 bits hold
/// them.
fn number(text: &str) -> Option<Number> {
    let radix = |prefix: &str, radix: u32| {
        let digits = text
            .strip_prefix(prefix)
            .filter(|digits| !digits.starts_with('+'))?;
        u64::from_str_radix(digits, radix).ok().map(Number::from)
    };
    if let Some(number) = radix("0x", 16).or_else(|| radix("0o", 8)) {
        return Some(number);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let starts_well = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let looks_numeric = unsigned
        .bytes()
        .all(|b| b.is_ascii_digit() || b".eE+-".contains(&b));
    if !starts_well || !looks_numeric {
        return None;
    }
    let without_plus = text.strip_prefix('+').unwrap_or(text);
    if let Ok(whole) = without_plus.parse::<u64>() {
        return Some(whole.into());
    }
    if let Ok(whole) = without_plus.parse::<i64>() {
        return Some(whole.into());
    }
    Number::from_f64(without_plus.parse().ok()?)
}
