//! The providers that rules may ask: that of `config.json`, and those that it lists. A key goes to the place that it was
//! listed for and to no other, whatever a rule says.
//! Without this list, the author of a rule could name an address of their own and have the server send it the key of a
//! provider, along with the notes of a workspace.

use bonded_workspace_rules::ProviderChoice;

use bonded_host::config::Whose;
use bonded_host::provider::{self, SCRIPT, checked_url};

/// That of the configuration first, then those that are listed.
#[derive(Clone, Debug)]
pub(super) struct Allowed(Vec<ProviderAddress>);

/// A provider of a kind at a place; of the one that plays a file, that is the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProviderAddress {
    kind: String,
    url: String,
}

/// A line of the list: `KIND`, which is where such a provider is by default, or `KIND=URL`.
pub(in super::super) fn listed(line: &str) -> Result<(String, String), String> {
    let (kind, url) = match line.split_once('=') {
        Some((kind, url)) => (kind.trim(), Some(url.trim())),
        None => (line.trim(), None),
    };
    let known = provider::by_name(kind);
    let url = match (kind, known, url) {
        (SCRIPT, _, Some(file)) if !file.is_empty() => file.to_owned(),
        (SCRIPT, _, _) => return Err("must name the file: script=FILE".into()),
        (_, None, _) => return Err(format!("there is no provider {kind:?}")),
        (_, Some(known), None) => known.endpoint.to_owned(),
        (_, Some(_), Some(url)) => checked_url(url).map_err(|error| error.to_string())?,
    };
    Ok((kind.to_owned(), url))
}

impl Allowed {
    /// Lines that mean nothing were refused with the configuration, and are left out here.
    pub(super) fn new(default: &ProviderChoice, lines: &[String]) -> Self {
        let own = ProviderAddress::new(&default.provider_kind, default.base_url.as_deref());
        let listed = lines.iter().filter_map(|line| listed(line).ok());
        let listed = listed.map(|(kind, url)| ProviderAddress::new(&kind, Some(&url)));
        Self(std::iter::once(own).chain(listed).collect())
    }

    /// The pair of kind and place must be listed: a kind that is listed at one place is not permitted at another.
    pub(super) fn check(&self, kind: &str, url: Option<&str>) -> Result<(), String> {
        let asked = ProviderAddress::new(kind, url);
        if self.0.contains(&asked) {
            return Ok(());
        }
        let ProviderAddress { kind, url } = asked;
        Err(format!(
            "rules may ask only the provider of config.json and those in its automation.allowed_providers; {kind} at {url:?} is not among them"
        ))
    }

    /// Who answers for a provider being at this place.
    pub(super) fn whose(&self, kind: &str, endpoint: &str) -> Whose {
        let asked = ProviderAddress::new(kind, Some(endpoint));
        match () {
            () if asked == ProviderAddress::new(kind, None) => Whose::Known,
            () if self.0.contains(&asked) => Whose::Persons,
            () => Whose::Others(0),
        }
    }

    /// The same for what a run asks. `script_file` is where a file that is listed lies.
    pub(super) fn allow_target(
        &self,
        provider: &str,
        endpoint: &str,
        script_file: impl Fn(&str) -> String,
    ) -> bool {
        let asked = ProviderAddress::new(provider, Some(endpoint));
        let is_it = |place: &ProviderAddress| match place.kind.as_str() {
            SCRIPT => asked.kind == SCRIPT && script_file(&place.url) == endpoint,
            _ => *place == asked,
        };
        self.0.iter().any(is_it)
    }
}

impl ProviderAddress {
    /// Without an address it is where such a provider is found by default.
    fn new(kind: &str, url: Option<&str>) -> Self {
        let default = provider::by_name(kind).map(|known| known.endpoint);
        let url = url.or(default).unwrap_or_default();
        Self {
            kind: kind.to_owned(),
            url: match kind {
                SCRIPT => url.to_owned(),
                _ => plain_url(url),
            },
        }
    }
}

/// One way of writing an address: its scheme and its host are the same in any case.
/// The path keeps its case, because servers tell paths apart by it.
fn plain_url(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let path = url.find("://").and_then(|at| {
        let host = at + 3;
        Some(host + url[host..].find('/')?)
    });
    let (address, path) = url.split_at(path.unwrap_or(url.len()));
    address.to_lowercase() + path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(lines: &[&str]) -> Allowed {
        let default = ProviderChoice {
            provider_kind: "lmstudio".into(),
            base_url: Some("http://127.0.0.1:1234/v1".into()),
            model: "m".into(),
            timeout_ms: 1,
            max_tokens: 1,
            temperature: 0.0,
        };
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        Allowed::new(&default, &lines)
    }

    #[test]
    fn only_what_is_listed_is_asked_and_each_kind_at_its_own_place() {
        let list = allowed(&[
            "openrouter",
            "openai=http://10.0.0.1:8000/v1",
            "script=a.jsonl",
        ]);
        let rows = [
            ("lmstudio", Some("http://127.0.0.1:1234/v1"), true),
            ("lmstudio", Some("HTTP://127.0.0.1:1234/v1/"), true),
            ("lmstudio", None, true),
            ("lmstudio", Some("http://127.0.0.1:1235/v1"), false),
            ("lmstudio", Some("http://127.0.0.1:1234/V1"), false),
            ("lmstudio", Some("http://127.0.0.1:1234"), false),
            ("lmstudio", Some("http://localhost:1234/v1"), false),
            ("openrouter", None, true),
            ("openrouter", Some("https://openrouter.ai/api/v1"), true),
            ("openrouter", Some("http://openrouter.ai/api/v1"), false),
            (
                "openrouter",
                Some("https://openrouter.ai/api/v1?x=1"),
                false,
            ),
            (
                "openrouter",
                Some("https://openrouter.ai.evil/api/v1"),
                false,
            ),
            ("openrouter", Some("http://127.0.0.1:1234/v1"), false),
            ("openai", Some("http://10.0.0.1:8000/v1"), true),
            ("openai", None, false),
            ("anthropic", None, false),
            ("script", Some("a.jsonl"), true),
            ("script", Some("owner-token"), false),
            ("script", None, false),
        ];
        for (kind, url, is_allowed) in rows {
            assert_eq!(list.check(kind, url).is_ok(), is_allowed, "{kind} {url:?}");
            // What is not listed has nobody who answers for it, but where everybody knows the provider to be.
            if let (Some(url), false) = (url, is_allowed) {
                assert_eq!(list.whose(kind, url), Whose::Others(0), "{kind} {url}");
            }
        }
        let known = "https://api.anthropic.com/v1";
        assert_eq!(list.whose("anthropic", known), Whose::Known);
        let listed = "http://10.0.0.1:8000/v1";
        assert_eq!(list.whose("openai", listed), Whose::Persons);
        assert!(allowed(&[]).check("openrouter", None).is_err());
    }

    #[test]
    fn a_line_of_the_list_that_means_nothing_is_refused() {
        for line in [
            "",
            "nobody",
            "script",
            "script=",
            "openai=ftp://x",
            "openai=http://a@b",
        ] {
            assert!(listed(line).is_err(), "{line}");
        }
    }
}
