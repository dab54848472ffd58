//! The environment of a server: the harmless variables of ours, and what it is given.
//!
//! A server is somebody else's program. It gets what any program needs to start and what a person wrote into
//! its settings; keys of ours that happen to be in the environment are for none of them.

use std::collections::BTreeMap;
use std::ffi::OsString;

use crate::sandbox::environment::handed_on;

/// The whole environment of a server. What it is given is handed on as it is written.
pub(super) fn environment(
    ours: impl IntoIterator<Item = (OsString, OsString)>,
    given: &BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let ours = handed_on(ours, &[]).into_iter();
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
