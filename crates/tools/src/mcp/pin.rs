//! What a server offers now, beside what a run was begun with.
//!
//! A server could describe a tool harmlessly, wait until a person has approved of it, and describe it
//! otherwise. So a run keeps each tool as it was, and before every call the two are compared: schema,
//! description and declared effect. A tool that differs is not called by that run.

use std::sync::Arc;

use bonded_kernel::{Hash, ToolSpec};

use super::listing::Offered;

/// All that a server offers, and what a person should know about the rest.
#[derive(Debug, Default)]
pub(super) struct Offers {
    pub(super) tools: Vec<Offered>,
    pub(super) warnings: Vec<String>,
}

/// A tool as it was when a run began.
#[derive(Debug)]
pub(super) struct Pinned {
    pub(super) offered: Offered,
    /// What it was offered with.
    offers: Arc<Offers>,
}

impl Pinned {
    /// All of them hold the same offers, whose pointer is compared first.
    pub(super) fn all_of(offers: &Arc<Offers>) -> impl Iterator<Item = Self> {
        offers.tools.iter().map(|offered| Self {
            offered: offered.clone(),
            offers: Arc::clone(offers),
        })
    }

    /// What has become of the tool, as the end of a sentence about its server; `None` if it is what it was.
    pub(super) fn change(&self, now: &Arc<Offers>) -> Option<String> {
        // The server was not asked since, as with nearly every call.
        if Arc::ptr_eq(&self.offers, now) {
            return None;
        }
        let Offered { tool, spec } = &self.offered;
        let now = now.tools.iter().find(|offered| offered.tool == *tool);
        difference(tool, spec, now.map(|now| &now.spec))
    }
}

/// As [`Pinned::change`], for one spec beside another.
pub(super) fn difference(tool: &str, pinned: &ToolSpec, now: Option<&ToolSpec>) -> Option<String> {
    let Some(now) = now else {
        return Some(format!("no longer offers {tool:?}"));
    };
    let what = if pinned.schema != now.schema {
        "the input schema"
    } else if pinned.description != now.description {
        "the description"
    } else if pinned.effect != now.effect {
        "the declared effect"
    } else {
        return None;
    };
    let (was, is) = (hash(pinned), hash(now));
    Some(format!(
        "changed {what} of {tool:?} (it was {was} and is {is})"
    ))
}

/// Enough of a hash to tell two specs apart by eye.
fn hash(spec: &ToolSpec) -> String {
    let whole = format!("{}\n{}\n{:?}", spec.description, spec.schema, spec.effect);
    let hash = Hash::of(whole.as_bytes()).to_string();
    hash.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use bonded_kernel::ToolEffect;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_difference_of_a_spec_is_a_change() {
        let spec = ToolSpec {
            name: "s__t".into(),
            description: "d".into(),
            schema: json!({ "type": "object" }),
            effect: ToolEffect::Read,
            sandbox: None,
            resource: None,
            deferred: false,
        };
        let other = |change: fn(&mut ToolSpec)| {
            let mut other = spec.clone();
            change(&mut other);
            Some(other)
        };
        for (now, part) in [
            (Some(spec.clone()), None),
            (None, Some("no longer offers \"t\"")),
            (
                other(|it| it.description.push('!')),
                Some("the description"),
            ),
            (
                other(|it| it.schema["title"] = json!(1)),
                Some("the input schema"),
            ),
            (
                other(|it| it.effect = ToolEffect::Write),
                Some("the declared effect"),
            ),
        ] {
            let change = difference("t", &spec, now.as_ref());
            assert_eq!(change.is_some(), part.is_some(), "{change:?}");
            let change = change.unwrap_or_default();
            assert!(change.contains(part.unwrap_or_default()), "{change}");
        }
    }
}
