//! What a layer that was found may say: all of it within the person's own bounds where it is trusted, and only what
//! tightens where it is not. This is the one place that compares layers of different origin.
//!
//! It works on what is written, before layers are merged and variables are put in. An option that hangs
//! on a variable cannot be compared, and is left out where there is a bound. What would have allowed
//! more is noted with its path, for the question to the person and for whoever shows the layers.
//!
//! A new section, or a new field of a tool, is left out of untrusted layers until it is thought of
//! here.

use bonded_kernel::{Measure, Permission, SandboxLevel};
use serde_json::{Map, Value};

use super::options::{OptionRow, Parsed, Source, TABLE, built_in, parse};
use super::tree::ConfigNode;
use super::{KeyPath, Order};
use crate::trust::TrustExtent;

/// What counts of a layer.
#[derive(Debug, Default)]
pub(super) struct Sifted {
    pub(super) value: Value,
    /// What does not count: it would have allowed more.
    pub(super) more: Vec<KeyPath>,
    /// Approvals that hold beside all others.
    pub(super) rules: Option<Value>,
}

/// `bound` is what must not be exceeded: the person's own files where the layer is trusted, else everything that
/// lies below it.
pub(super) fn sift(value: &Value, held: TrustExtent, bound: &ConfigNode) -> Sifted {
    let mut sieve = Sieve {
        held,
        bound,
        done: Sifted::default(),
    };
    let root = KeyPath::root();
    let sections = value.as_object().into_iter().flatten();
    let kept = sections.filter_map(|(key, value)| {
        let path = root.child(key);
        Some((key.clone(), sieve.section(key, value, &path)?))
    });
    let kept: Map<String, Value> = kept.collect();
    sieve.done.value = kept.into();
    sieve.done
}

/// One pass over one layer.
struct Sieve<'b> {
    held: TrustExtent,
    bound: &'b ConfigNode,
    done: Sifted,
}

/// The sections whose entries are tools: to take one away tightens.
const TOOLS: [&str; 3] = ["mcpServers", "restTools", "openapiSpecs"];
/// What a provider's entry says of its models alone.
const OF_MODELS: [&str; 3] = ["models", "overrides", "reasoning"];
/// What is sent to somebody: to send less tightens.
const SECRETS: [&str; 4] = ["apiKey", "headers", "secretHeaders", "secretEnv"];

impl Sieve<'_> {
    /// What is written as null where entries are expected would take back all that lies below; only for
    /// tools is that less.
    fn section(&mut self, key: &str, value: &Value, path: &KeyPath) -> Option<Value> {
        let is_tools = TOOLS.contains(&key);
        let Value::Object(entries) = value else {
            // Everything below would be taken back.
            return (is_tools && value.is_null()).then(|| value.clone());
        };
        let is_options = ["defaults", "persistence", "accounting", "tooling"].contains(&key);
        let is_known = ["providers", "pricing", "queues"].contains(&key);
        let mut kept = Map::new();
        for (name, value) in entries {
            let path = path.child(name);
            let value = match self.held {
                _ if is_options => self.option(value, &path),
                TrustExtent::Whole if is_tools => self.trusted_tool(value, &path),
                TrustExtent::Tightening if is_tools => self.tightened_tool(value, &path),
                TrustExtent::Whole if key == "pricing" => self.where_open(value, &path),
                TrustExtent::Whole => self.without_nulls(value, &path),
                TrustExtent::Tightening if is_known => self.more(path),
                TrustExtent::Tightening => None,
            };
            if let Some(value) = value {
                kept.insert(name.clone(), value);
            }
        }
        Some(kept.into())
    }

    /// Notes the path and keeps nothing.
    fn more(&mut self, path: KeyPath) -> Option<Value> {
        self.done.more.push(path);
        None
    }

    /// A null in the bound says nothing.
    fn bound_at(&self, path: &KeyPath) -> Option<&ConfigNode> {
        self.bound.at(path).filter(|node| !node.is_null())
    }

    fn leaf(&self, path: &KeyPath) -> Option<&Value> {
        match self.bound_at(path)? {
            ConfigNode::Leaf { value, .. } => Some(value),
            ConfigNode::Object { .. } => None,
        }
    }

    /// A value whose place the person's own files leave open.
    fn where_open(&mut self, value: &Value, path: &KeyPath) -> Option<Value> {
        match value {
            Value::Object(fields) => {
                let mut kept = Map::new();
                for (key, value) in fields {
                    if let Some(value) = self.where_open(value, &path.child(key)) {
                        kept.insert(key.clone(), value);
                    }
                }
                Some(kept.into())
            }
            value if self.leaf(path).is_some_and(|bound| bound != value) => self.more(path.clone()),
            value => self.bound_at(path).is_none().then(|| value.clone()),
        }
    }

    /// A null takes back what the person's own files say, and with it a bound.
    fn without_nulls(&mut self, value: &Value, path: &KeyPath) -> Option<Value> {
        let has = |keys: &[&str]| {
            keys.iter()
                .any(|key| path.keys()[2..].iter().any(|it| it == key))
        };
        let is_open = path.keys().len() > 2 && (has(&OF_MODELS) || has(&SECRETS));
        match value {
            Value::Null if !is_open && self.bound_at(path).is_some() => self.more(path.clone()),
            Value::Object(fields) => {
                let mut kept = Map::new();
                for (key, value) in fields {
                    if let Some(value) = self.without_nulls(value, &path.child(key)) {
                        kept.insert(key.clone(), value);
                    }
                }
                Some(kept.into())
            }
            value => Some(value.clone()),
        }
    }

    /// Without a bound in the files, the built-in value is one for an untrusted layer and none for a
    /// trusted one.
    fn option(&mut self, value: &Value, path: &KeyPath) -> Option<Value> {
        let dotted = path.keys().join(".");
        let row = TABLE
            .iter()
            .find(|row| row.config.contains(&dotted.as_str()));
        let Some(row) = row else {
            // Nobody reads it.
            return (self.held == TrustExtent::Whole).then(|| value.clone());
        };
        let bound = row
            .config
            .iter()
            .find_map(|path| self.leaf(&KeyPath::dotted(path)));
        let open = self.held == TrustExtent::Whole && (bound.is_none() || !row.order.is_bound());
        if open {
            return Some(value.clone());
        }
        let bound = match bound {
            Some(bound) => read(row, bound),
            None => Some(built_in(row)),
        };
        let (Some(bound), Some(parsed)) = (bound, read(row, value)) else {
            // What a variable holds cannot be compared here.
            return self.more(path.clone());
        };
        self.compared(row.order, (value, parsed), &bound, path)
    }

    /// A value beyond the bound is cut down to what both allow where the option has an order, and left
    /// out where it has none.
    fn compared(
        &mut self,
        order: Order,
        (value, parsed): (&Value, Parsed),
        bound: &Parsed,
        path: &KeyPath,
    ) -> Option<Value> {
        if order == Order::Free {
            return Some(value.clone());
        }
        if parsed == Parsed::Nothing {
            return None;
        }
        if order == Order::Rules {
            self.done.rules = Some(value.clone());
            let loosens = allows(&parsed) && *bound != Parsed::Nothing && parsed != *bound;
            return loosens.then(|| self.more(path.clone())).flatten();
        }
        if order.is_within(&parsed, bound) {
            return Some(value.clone());
        }
        self.more(path.clone());
        let met = match order {
            Order::Trusted | Order::Fixed => return None,
            Order::Free
            | Order::Lower
            | Order::Level
            | Order::Strict
            | Order::Off
            | Order::On
            | Order::Fewer
            | Order::Rules => order.meet(&parsed, bound),
        };
        (met != *bound).then(|| written(&met)).flatten()
    }

    /// An entry of a trusted layer: what the person's own files say of the same entry bounds it.
    fn trusted_tool(&mut self, value: &Value, path: &KeyPath) -> Option<Value> {
        let Value::Object(fields) = value else {
            return Some(value.clone());
        };
        let mut kept = Map::new();
        for (field, value) in fields {
            if let Some(value) = self.trusted_field(field, value, &path.child(field)) {
                kept.insert(field.clone(), value);
            }
        }
        self.deny_all_if_none_is_allowed(&mut kept, path);
        Some(kept.into())
    }

    /// A server's own network counts as more where the person has said that commands have none.
    fn trusted_field(&mut self, field: &str, value: &Value, path: &KeyPath) -> Option<Value> {
        let no_network = KeyPath::dotted("defaults.sandboxNetwork");
        if field == "sandboxNetwork" && self.bound_at(path).is_none() {
            let refused = self.leaf(&no_network) == Some(&Value::Bool(false));
            return match refused && *value == Value::Bool(true) {
                true => self.more(path.clone()),
                false => Some(value.clone()),
            };
        }
        if field == "oauth" {
            return self.trusted_oauth(value, path);
        }
        match self.leaf(path).cloned() {
            Some(bound) => self.field(field, value, Some(&bound), path, TrustExtent::Whole),
            None => self.without_nulls(value, path),
        }
    }

    /// Whom the person's own files pin is pinned.
    fn trusted_oauth(&mut self, value: &Value, path: &KeyPath) -> Option<Value> {
        let issuer = path.child("issuer");
        let pinned = self.leaf(&issuer).cloned();
        let mut value = self.without_nulls(value, path)?;
        if let (Some(pinned), Some(fields)) = (pinned, value.as_object_mut())
            && fields.get("issuer").is_some_and(|it| *it != pinned)
        {
            fields.remove("issuer");
            self.more(issuer);
        }
        Some(value)
    }

    /// An entry of a layer that nobody trusts: it can take a tool away, or narrow one that is there.
    fn tightened_tool(&mut self, value: &Value, path: &KeyPath) -> Option<Value> {
        let fields = match value {
            Value::Null => return Some(Value::Null),
            Value::Object(fields) if self.bound_at(path).is_some() => fields,
            _ => return self.more(path.clone()),
        };
        let mut kept = Map::new();
        for (field, value) in fields {
            let place = path.child(field);
            let bound = self.leaf(&place).cloned();
            if let Some(value) = self.field(
                field,
                value,
                bound.as_ref(),
                &place,
                TrustExtent::Tightening,
            ) {
                kept.insert(field.clone(), value);
            }
        }
        self.deny_all_if_none_is_allowed(&mut kept, path);
        Some(kept.into())
    }

    /// A field of an entry against what is said there below it.
    fn field(
        &mut self,
        field: &str,
        value: &Value,
        bound: Option<&Value>,
        path: &KeyPath,
        held: TrustExtent,
    ) -> Option<Value> {
        if Some(value) == bound {
            return Some(value.clone());
        }
        let is = |value: Option<&Value>, what: bool| value == Some(&Value::Bool(what));
        let tightens = match field {
            "enabled" => is(Some(value), false),
            "sandboxNetwork" | "privateAddresses" => is(Some(value), false),
            "redirects" => value == "none",
            "sandbox" => match (level(Some(value)), level(bound)) {
                (Some(wanted), Some(bound)) => wanted <= bound,
                // Without a level of its own it has the run's, which nothing exceeds.
                (Some(_), None) => bound.is_none(),
                (None, _) => false,
            },
            "requestTimeoutMs" => {
                let ms = |value: &Value| Measure::Ms.of(value, 1..=u64::MAX).ok();
                let bound = bound.and_then(ms);
                bound.is_some_and(|bound| ms(value).is_some_and(|it| it < bound))
            }
            "toolsAllowed" => return self.fewer(value, bound, path),
            "toolsDenied" => return denied(value, bound),
            // A trusted layer sets what has no order; secrets and addresses are compared elsewhere.
            _ if held == TrustExtent::Whole => return self.without_nulls(value, path),
            _ => false,
        };
        match tightens {
            true => Some(value.clone()),
            false => self.more(path.clone()),
        }
    }

    /// The tools that both lists allow, which may be none. An empty list that was written says nothing.
    fn fewer(&mut self, value: &Value, bound: Option<&Value>, path: &KeyPath) -> Option<Value> {
        let wanted = names(Some(value)).filter(|names| !means_all(names));
        let bound = names(bound).filter(|names| !means_all(names));
        let (wanted, bound) = match (wanted, bound) {
            (Some(wanted), Some(bound)) => (wanted, bound),
            (Some(wanted), None) => return Some(wanted.into()),
            (None, Some(_)) => return self.more(path.clone()),
            (None, None) => return None,
        };
        let is_in = |name: &String| bound.iter().any(|it| it.eq_ignore_ascii_case(name));
        let (common, beyond): (Vec<String>, Vec<String>) =
            wanted.into_iter().partition(|name| is_in(name));
        if !beyond.is_empty() {
            self.more(path.clone());
        }
        Some(common.into())
    }

    /// Two lists that have no tool in common allow none; but an empty list allows all, and any name that is put into it
    /// instead is one that a server can give to a tool.
    fn deny_all_if_none_is_allowed(&self, kept: &mut Map<String, Value>, path: &KeyPath) {
        let bound = names(self.leaf(&path.child("toolsAllowed")));
        let is_bound = bound.is_some_and(|names| !means_all(&names));
        if is_bound && names(kept.get("toolsAllowed")).is_some_and(|left| left.is_empty()) {
            kept.remove("toolsAllowed");
            kept.insert("toolsDenied".into(), vec!["*"].into());
        }
    }
}

/// The tools that either list denies.
fn denied(value: &Value, bound: Option<&Value>) -> Option<Value> {
    let mut all = names(bound).unwrap_or_default();
    all.extend(names(Some(value)).unwrap_or_default());
    all.sort();
    all.dedup();
    (!all.is_empty()).then(|| all.into())
}

fn names(value: Option<&Value>) -> Option<Vec<String>> {
    let items = value?.as_array()?.iter();
    let names = items.filter_map(Value::as_str).map(str::to_owned).collect();
    Some(names)
}

/// An empty list means all as well.
fn means_all(names: &[String]) -> bool {
    let is_all = |name: &String| name == "*" || name.eq_ignore_ascii_case("any");
    names.is_empty() || names.iter().any(is_all)
}

fn level(value: Option<&Value>) -> Option<SandboxLevel> {
    SandboxLevel::parse(value?.as_str()?)
}

/// What an option's value means; `None` where that hangs on a variable.
fn read(row: &OptionRow, value: &Value) -> Option<Parsed> {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.retain(|c| !c.is_whitespace());
    if text.contains("${") {
        return None;
    }
    parse(row.kind, value, Source::Config).ok()
}

/// Whether a list of rules could loosen anything.
fn allows(parsed: &Parsed) -> bool {
    let Parsed::Rules(rules) = parsed else {
        return false;
    };
    rules
        .iter()
        .any(|rule| rule.permission == Permission::Allow)
}

/// A value as one would write it.
fn written(parsed: &Parsed) -> Option<Value> {
    match parsed {
        Parsed::Whole(whole) => Some((*whole).into()),
        Parsed::Flag(flag) => Some((*flag).into()),
        Parsed::Word(word) => Some((*word).into()),
        Parsed::List(names) => Some(names.clone().into()),
        Parsed::Nothing
        | Parsed::Unset
        | Parsed::Real(_)
        | Parsed::Rules(_)
        | Parsed::Level(_)
        | Parsed::Text(_) => None,
    }
}
