//! The environment of a server: a few variables of ours, and what it is given.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// What every program needs. Nothing else is handed on: our environment may hold the keys of providers.
const HANDED_ON: [&str; 6] = ["PATH", "HOME", "LANG", "TERM", "USER", "TMPDIR"];

/// The whole environment of a server. What it is given is handed on as it is written.
pub(super) fn environment(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    given: &BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let is_handed_on = |name: &OsString| {
        let name = name.to_string_lossy();
        HANDED_ON.contains(&name.as_ref()) || name.starts_with("LC_")
    };
    let ours = ours.into_iter().filter(|(name, _)| is_handed_on(name));
    let given = given
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    ours.chain(given).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_harmless_variables_of_ours_are_handed_on_and_the_given_ones_as_they_are() {
        let ours = ["PATH", "LC_ALL", "HOME", "OPENAI_API_KEY", "AWS_REGION"]
            .map(|name| (name.into(), "ours".into()));
        let given = BTreeMap::from([
            ("HOME".into(), "given".into()),
            ("TOKEN".into(), "${KEY}".into()),
        ]);
        let expected = [
            ("PATH", "ours"),
            ("LC_ALL", "ours"),
            ("HOME", "given"),
            ("TOKEN", "${KEY}"),
        ];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(environment(ours, &given), BTreeMap::from(expected));
    }
}
