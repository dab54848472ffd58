//! What stands in a body because the configuration says so.

use std::collections::BTreeMap;

use bonded_kernel::Target;
use serde::de::IgnoredAny;

use crate::models::accepted_by;

/// Adds the fields that a target's configuration names to a body. One that the dialect wrote itself stays as it is.
pub(super) fn add(target: &Target, body: &mut Vec<u8>) {
    if target.custom.is_empty() {
        return;
    }
    let refused = &accepted_by(target).refused_custom;
    let written: BTreeMap<String, IgnoredAny> =
        serde_json::from_slice(body).expect("every dialect writes an object");
    let wanted = target
        .custom
        .iter()
        .filter(|(name, _)| !written.contains_key(*name) && !refused.contains(name));
    let mut fields = Vec::new();
    for (name, value) in wanted {
        fields.push(b',');
        let field = serde_json::to_string(name).expect("a text is JSON");
        fields.extend_from_slice(field.as_bytes());
        fields.push(b':');
        serde_json::to_writer(&mut fields, value).expect("a value is JSON");
    }
    // Every body names something before its last brace.
    body.pop();
    body.append(&mut fields);
    body.push(b'}');
}
