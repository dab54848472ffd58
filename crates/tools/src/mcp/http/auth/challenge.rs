//! What a server says with a refusal: the `Bearer` challenge of its `WWW-Authenticate` headers.
//!
//! The grammar of these headers is loose, and a server is not trusted with it: whatever is no challenge is
//! passed over, character by character if need be, and nothing here fails. What was read decides only what is
//! asked of whom; it is judged again before anything is sent.

use reqwest::Response;
use reqwest::header::WWW_AUTHENTICATE;

/// More of a header than this is not read.
const HEADER_BYTES_MAX: usize = 8 * 1024;

/// Everything in it is the server's word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) error: Option<String>,
    /// The scopes that the request needs, with spaces between them.
    pub(super) scope: Option<String>,
    /// Where the server describes itself.
    pub(super) resource_metadata: Option<String>,
}

impl Challenge {
    /// The challenge of an answer; an empty one where it has none.
    pub(super) fn of(response: &Response) -> Self {
        let mut challenge = Self::default();
        for header in response.headers().get_all(WWW_AUTHENTICATE) {
            if let Ok(text) = header.to_str() {
                challenge.take_in(text);
            }
        }
        challenge
    }

    pub(super) fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    /// Reads one header, which may hold challenges of several schemes. What comes first counts.
    fn take_in(&mut self, header: &str) {
        let end = header.floor_char_boundary(HEADER_BYTES_MAX);
        let mut rest = &header[..end];
        let mut is_bearer = false;
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let (word, after) = split_word(rest);
            let value = after.trim_start().strip_prefix('=');
            match (word, value) {
                ("", _) if rest.is_empty() => return,
                // No word begins like this: it is passed over.
                ("", _) => {
                    let mut characters = rest.chars();
                    characters.next();
                    rest = characters.as_str();
                }
                (scheme, None) => {
                    is_bearer = scheme.eq_ignore_ascii_case("bearer");
                    rest = after;
                }
                (name, Some(value)) => {
                    let (value, after) = split_value(value.trim_start());
                    if is_bearer {
                        self.note(name, value);
                    }
                    rest = after;
                }
            }
        }
    }

    /// A field that is named twice keeps its first value, so that nothing appended to a header replaces it.
    fn note(&mut self, name: &str, value: String) {
        let field = match name.to_ascii_lowercase().as_str() {
            "error" => &mut self.error,
            "scope" => &mut self.scope,
            "resource_metadata" => &mut self.resource_metadata,
            _ => return,
        };
        field.get_or_insert(value);
    }
}

fn split_word(text: &str) -> (&str, &str) {
    let end = text.find([' ', '\t', ',', '=', '"']).unwrap_or(text.len());
    text.split_at(end)
}

/// A value, with or without quotes, and what follows it.
fn split_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut characters = quoted.chars();
    loop {
        match characters.next() {
            None | Some('"') => return (value, characters.as_str()),
            Some('\\') => value.extend(characters.next()),
            Some(other) => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn challenge(header: &str) -> (String, String, String) {
        let mut challenge = Challenge::default();
        challenge.take_in(header);
        let text = |field: Option<String>| field.unwrap_or("-".into());
        (
            text(challenge.error),
            text(challenge.scope),
            text(challenge.resource_metadata),
        )
    }

    #[test]
    fn the_bearer_challenge_is_found_among_others() {
        for (header, error, scope, metadata) in [
            ("", "-", "-", "-"),
            ("Bearer", "-", "-", "-"),
            (r#"Bearer scope="a b""#, "-", "a b", "-"),
            (r#"bearer SCOPE=a,error = "e""#, "e", "a", "-"),
            (
                r#"Bearer realm="x, Basic y", resource_metadata="https://h/p?a=b,c", error="insufficient_scope""#,
                "insufficient_scope",
                "-",
                "https://h/p?a=b,c",
            ),
            (
                r#"Basic realm="r", scope="no", Bearer scope="yes""#,
                "-",
                "yes",
                "-",
            ),
            (
                r#"Negotiate abc==, Bearer error="e", DPoP scope="no""#,
                "e",
                "-",
                "-",
            ),
            (
                r#"Bearer scope="first", Bearer scope="second""#,
                "-",
                "first",
                "-",
            ),
            (r#"Bearer scope="a\"b"#, "-", "a\"b", "-"),
            (r#"Bearer scope="#, "-", "", "-"),
            (r#""=",="#, "-", "-", "-"),
        ] {
            let expected = (error.into(), scope.into(), metadata.into());
            assert_eq!(challenge(header), expected, "{header}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read_to_its_end(header in "(Bearer |Basic |scope=|error=|[\",=\\\\ a\u{e9}]){0,60}") {
            challenge(&header);
        }
    }
}
