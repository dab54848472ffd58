//! What a server offers now, beside what a run was begun with.

use bonded_kernel::{Hash, ToolSpec};

use super::listing::Offered;

/// All that a server offers, and what a person should know about the rest.
#[derive(Debug, Default)]
pub(super) struct Offers {
    pub(super) tools: Vec<Offered>,
    pub(super) warnings: Vec<String>,
}

impl Offers {
    /// What has become of a tool since it was pinned, as the end of a sentence about its server; `None` if
    /// it is what it was.
    pub(super) fn change_of(&self, pinned: &Offered) -> Option<String> {
        let now = self
            .tools
            .iter()
            .find(|offered| offered.tool == pinned.tool);
        difference(&pinned.tool, &pinned.spec, now.map(|now| &now.spec))
    }
}

/// As [`Offers::change_of`], for one spec beside another.
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
