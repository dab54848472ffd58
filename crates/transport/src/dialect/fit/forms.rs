//! Each part of a schema in a form that the service takes.

use serde_json::{Map, Value, json};

use super::parts::parts_mut;
use super::rules::Rules;

/// What may stand beside a reference where little may.
const BESIDE_REF: [&str; 4] = ["$ref", "$defs", "default", "description"];

/// Words for the reader that are not taken beside a reference.
const WORDS: [&str; 6] = [
    "$comment",
    "deprecated",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// What was done to a schema.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    /// Forms of older drafts were written anew.
    pub(super) renewed: bool,
    /// A part allows more than it did.
    pub(super) loosened: bool,
}

/// Writes every part of a schema anew where it has to be. Services read every schema as one of draft 2020-12.
pub(super) fn renew(schema: &mut Value, rules: &Rules) -> Done {
    let mut done = Done::default();
    renew_part("", schema, rules, &mut done);
    if let Some(top) = schema.as_object_mut().filter(|_| done.renewed) {
        top.remove("$schema");
    }
    done
}

fn renew_part(under: &str, schema: &mut Value, rules: &Rules, done: &mut Done) {
    let may_be_boolean = under.starts_with("additional") || under.starts_with("unevaluated");
    match schema {
        Value::Bool(true) if rules.no_booleans && !may_be_boolean => *schema = json!({}),
        Value::Bool(false) if rules.no_booleans && !may_be_boolean => {
            *schema = json!({ "not": {} });
        }
        _ => {}
    }
    if let Some(keywords) = schema.as_object_mut() {
        done.renewed |= renew_old(keywords);
        if rules.wants_items && is_array(keywords) {
            keywords.entry("items").or_insert_with(|| json!({}));
        }
        if rules.plain_patterns {
            done.loosened |= plain_patterns(keywords);
        }
        if rules.bare_refs {
            done.loosened |= bare_ref(keywords);
        }
    }
    for (keyword, part) in parts_mut(schema) {
        renew_part(keyword, part, rules, done);
    }
}

/// Takes back what forbids more the more its parts allow: of a choice of exactly one, any may hold, and what must not
/// hold is not spoken of.
pub(super) fn relax(schema: &mut Value) {
    if let Some(keywords) = schema.as_object_mut() {
        if let Some(parts) = keywords.remove("oneOf") {
            keywords.entry("anyOf").or_insert(parts);
        }
        // What stands for `false` is kept.
        let is_never = keywords.get("not") == Some(&json!({}));
        let turning = |keyword: &str| match keyword {
            "not" => !is_never,
            "if" | "then" | "else" | "maxContains" => true,
            _ => false,
        };
        keywords.retain(|keyword, _| !turning(keyword));
    }
    for (_, part) in parts_mut(schema) {
        relax(part);
    }
}

/// Positions and open bounds as the newest draft writes them.
fn renew_old(keywords: &mut Map<String, Value>) -> bool {
    let mut was_old = false;
    if let Some(Value::Array(_)) = keywords.get("items") {
        was_old = true;
        let by_place = keywords.remove("items");
        let rest = keywords.remove("additionalItems");
        // A list of none is not taken.
        let by_place = by_place.filter(|it| it.as_array().is_some_and(|it| !it.is_empty()));
        keywords.extend(by_place.map(|by_place| ("prefixItems".into(), by_place)));
        keywords.extend(rest.map(|rest| ("items".into(), rest)));
    }
    for (open, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        if let Some(Value::Bool(is_open)) = keywords.get(open) {
            was_old = true;
            let is_open = *is_open;
            keywords.remove(open);
            if let Some(number) = keywords.remove(bound) {
                keywords.insert(if is_open { open } else { bound }.into(), number);
            }
        }
    }
    was_old
}

fn is_array(keywords: &Map<String, Value>) -> bool {
    match keywords.get("type") {
        Some(Value::Array(types)) => types.iter().any(|kind| kind == "array"),
        kind => kind.is_some_and(|kind| kind == "array"),
    }
}

/// Moves patterns that not every machine can read into the description; says whether there was one.
fn plain_patterns(keywords: &mut Map<String, Value>) -> bool {
    let mut moved = false;
    let pattern = keywords.get("pattern").and_then(Value::as_str);
    if let Some(pattern) = pattern.filter(|pattern| !is_common(pattern)) {
        moved = true;
        let words = keywords.get("description").and_then(Value::as_str);
        let words = words.map(|words| format!("{words} ")).unwrap_or_default();
        let words = format!("{words}Pattern: {pattern}");
        keywords.remove("pattern");
        keywords.insert("description".into(), words.into());
    }
    if let Some(Value::Object(named)) = keywords.get_mut("patternProperties") {
        let before = named.len();
        named.retain(|pattern, _| is_common(pattern));
        if named.len() < before {
            moved = true;
            // What is said of the others would hold for those keys too.
            keywords.remove("additionalProperties");
            keywords.remove("unevaluatedProperties");
        }
    }
    moved
}

/// Whether a pattern means the same to every machine: classes and escapes that all have, and groups without names.
fn is_common(pattern: &str) -> bool {
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        let good = match c {
            '\\' => rest.next().is_some_and(|escaped| {
                !escaped.is_ascii_alphanumeric() || "dDwWsSbBnrtfv".contains(escaped)
            }),
            '(' if rest.as_str().starts_with('?') => {
                let after = &rest.as_str()[1..];
                after.starts_with([':', '=', '!'])
            }
            _ => true,
        };
        if !good {
            return false;
        }
    }
    true
}

/// Leaves a reference alone with words for the reader; if more is said beside it, it becomes a choice of one. Says
/// whether it had to be left out, because there is a choice already.
fn bare_ref(keywords: &mut Map<String, Value>) -> bool {
    if !keywords.contains_key("$ref") {
        return false;
    }
    let is_word = |keyword: &str| WORDS.contains(&keyword);
    keywords.retain(|keyword, _| !is_word(keyword));
    let may_stay = |keyword: &String| BESIDE_REF.contains(&keyword.as_str());
    if keywords.keys().all(may_stay) {
        return false;
    }
    let reference = keywords.remove("$ref");
    if keywords.contains_key("anyOf") {
        return true;
    }
    keywords.insert("anyOf".into(), json!([{ "$ref": reference }]));
    false
}
