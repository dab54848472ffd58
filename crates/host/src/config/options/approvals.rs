//! Approvals as a person writes them: lists under `allow`, `ask` and `deny`, or one list in order.
//!
//! An object has no order, so that its rules are sorted from close to wide and from strict to mild; a
//! list holds in the order in which it is written. What cannot be read is refused as a whole: half of a
//! policy would allow what was meant to be denied.

use bonded_kernel::{Permission, Rule, ToolPattern};
use serde_json::Value;

use super::kind::list;

/// From strict to mild: of two rules that mean a tool equally closely the stricter holds.
pub(super) const STRICT_FIRST: [Permission; 3] =
    [Permission::Deny, Permission::Ask, Permission::Allow];

/// More than a tool's name can have, stars included.
const PATTERN_BYTES_MAX: usize = 128;

/// The texts that [`is_pattern`] takes, for editors.
pub(super) const TOOL_PATTERN: &str = "[A-Za-z0-9_*-]{1,128}";

/// Whether a text can mean tools. A slip such as `fs.*` would mean none, and nobody would notice.
pub(super) fn is_pattern(text: &str) -> bool {
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"_-*".contains(&byte);
    (1..=PATTERN_BYTES_MAX).contains(&text.len()) && text.bytes().all(usable)
}

/// Reads rules, in the order in which they hold.
pub(super) fn rules(value: &Value) -> Option<Vec<Rule>> {
    match value {
        Value::Object(fields) => {
            let mut rules = vec![];
            for (word, patterns) in fields {
                let permission = permission(word)?;
                rules.extend(each(permission, &list(patterns)?)?);
            }
            Some(sorted(rules))
        }
        _ => list(value)?.iter().map(|text| rule(text)).collect(),
    }
}

/// Rules that come without an order: a tool's own name comes before patterns, then the stricter first.
pub(crate) fn sorted(mut rules: Vec<Rule>) -> Vec<Rule> {
    let place = |rule: &Rule| {
        let strictness = STRICT_FIRST.iter().position(|it| *it == rule.permission);
        (rule.tools.as_str().contains('*'), strictness)
    };
    rules.sort_by_key(place);
    rules
}

/// One word that can mean no tool makes all of them unusable.
fn each(permission: Permission, patterns: &[String]) -> Option<Vec<Rule>> {
    let rule = |pattern: &String| {
        is_pattern(pattern).then(|| Rule {
            tools: ToolPattern::new(pattern),
            permission,
        })
    };
    patterns.iter().map(rule).collect()
}

/// Reads `PERMISSION:PATTERN`.
fn rule(text: &str) -> Option<Rule> {
    let (word, pattern) = text.split_once(':')?;
    let pattern = pattern.trim();
    is_pattern(pattern).then_some(())?;
    Some(Rule {
        tools: ToolPattern::new(pattern),
        permission: permission(word.trim())?,
    })
}

/// Without regard to case.
fn permission(word: &str) -> Option<Permission> {
    let is_meant = |it: &&Permission| it.as_str().eq_ignore_ascii_case(word);
    STRICT_FIRST.iter().find(is_meant).copied()
}
