//! The environment of a server: a few variables of ours, and what it is given.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

/// Where the value of a `${VAR}` comes from.
pub type Lookup = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What every program needs. Nothing else is handed on: our environment may hold the keys of providers.
const HANDED_ON: [&str; 6] = ["PATH", "HOME", "LANG", "TERM", "USER", "TMPDIR"];

/// A variable that a value names and that nobody has set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unset {
    pub(super) variable: String,
    pub(super) missing: String,
}

/// The whole environment of a server.
pub(super) fn environment(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    given: &BTreeMap<String, String>,
    lookup: &Lookup,
) -> Result<BTreeMap<OsString, OsString>, Unset> {
    let is_handed_on = |name: &OsString| {
        let name = name.to_string_lossy();
        HANDED_ON.contains(&name.as_ref()) || name.starts_with("LC_")
    };
    let mut whole: BTreeMap<OsString, OsString> = ours
        .into_iter()
        .filter(|(name, _)| is_handed_on(name))
        .collect();
    for (name, value) in given {
        let value = expand(value, lookup).map_err(|missing| Unset {
            variable: name.clone(),
            missing,
        })?;
        whole.insert(name.into(), value.into());
    }
    Ok(whole)
}

/// Replaces each `${NAME}`. What only resembles one is left as it is; the error is a name without a value.
fn expand(text: &str, lookup: &Lookup) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        match after.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, after)) => {
                expanded.push_str(&lookup(name).ok_or(name)?);
                rest = after;
            }
            None => {
                expanded.push_str("${");
                rest = after;
            }
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup() -> Lookup {
        Arc::new(|name| match name {
            "KEY" => Some("k".into()),
            "NESTED" => Some("${KEY}".into()),
            _ => None,
        })
    }

    #[test]
    fn variables_are_replaced_once_and_lookalikes_are_kept() {
        for (text, expanded) in [
            ("", Ok("")),
            ("plain $KEY {KEY}", Ok("plain $KEY {KEY}")),
            ("${KEY}", Ok("k")),
            ("a${KEY}b${KEY}", Ok("akbk")),
            ("${NESTED}", Ok("${KEY}")),
            ("${KEY", Ok("${KEY")),
            ("${}", Ok("${}")),
            ("${1A}", Ok("${1A}")),
            ("${a b} ${KEY}", Ok("${a b} k")),
            ("${${KEY}}", Ok("${k}")),
            ("x ${GONE} ${KEY}", Err("GONE")),
        ] {
            let expanded = expanded.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(expand(text, &lookup()), expanded, "{text}");
        }
    }

    #[test]
    fn only_the_harmless_variables_of_ours_are_handed_on() {
        let ours = ["PATH", "LC_ALL", "HOME", "OPENAI_API_KEY", "AWS_REGION"]
            .map(|name| (name.into(), "ours".into()));
        let given = BTreeMap::from([
            ("HOME".into(), "given".into()),
            ("TOKEN".into(), "${KEY}".into()),
        ]);
        let whole = environment(ours, &given, &lookup()).expect("every variable is set");
        let expected = [
            ("PATH", "ours"),
            ("LC_ALL", "ours"),
            ("HOME", "given"),
            ("TOKEN", "k"),
        ];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(whole, BTreeMap::from(expected));
    }

    #[test]
    fn an_unset_variable_is_named_with_the_place_that_wants_it() {
        let given = BTreeMap::from([("TOKEN".into(), "x${GONE}".into())]);
        let unset = environment([], &given, &lookup()).expect_err("it is not set");
        assert_eq!(unset.variable, "TOKEN");
        assert_eq!(unset.missing, "GONE");
    }
}
