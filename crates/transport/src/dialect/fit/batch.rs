//! Calls inside a call: a batch names tools and their arguments in its own arguments.

use serde_json::Value;

/// A batch with its members changed; `None` where none of them is, or where it cannot be read. `change` takes the name
/// and the arguments of a member.
pub(super) fn change(
    arguments: &str,
    change: impl Fn(&str, &str) -> Option<(String, String)>,
) -> Option<String> {
    let mut batch: Value = serde_json::from_str(arguments).ok()?;
    let members = match batch.get_mut("calls")? {
        Value::Array(members) => &mut members[..],
        member => std::slice::from_mut(member),
    };
    let mut any = false;
    for member in members {
        any |= change_member(member, &change).is_some();
    }
    any.then(|| batch.to_string())
}

fn change_member(
    member: &mut Value,
    change: impl Fn(&str, &str) -> Option<(String, String)>,
) -> Option<()> {
    let given = |names: [&'static str; 2]| {
        let named = |name: &&str| member.get(name).is_some();
        names.into_iter().find(named)
    };
    let (tool_key, arguments_key) = (given(["tool", "name"])?, given(["parameters", "arguments"]));
    let tool = member.get(tool_key)?.as_str()?;
    let arguments = arguments_key.and_then(|key| member.get(key));
    let as_text = arguments.is_none_or(Value::is_string);
    let text = match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let (tool, text) = change(tool, &text)?;
    if let Some(key) = arguments_key {
        member[key] = match as_text {
            true => text.into(),
            false => serde_json::from_str(&text).ok()?,
        };
    }
    member[tool_key] = tool.into();
    Some(())
}
