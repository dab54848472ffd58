//! Keys, kept out of everything that is shown or stored.
//!
//! A key has one way out, `expose`, which only the making of headers and the masking itself use. Its debug and
//! display forms are the mask, so that a key that slips into a log line through some struct shows nothing.
//! Masking goes by the beginning of a key as well, because errors quote keys cut off, and texts are cut before
//! they are shown.

use std::fmt;

/// What stands where a key was.
const MASK: &str = "***";

/// What is shorter is no secret but stands in for one, such as `none`, and would only spoil what servers say.
const SECRET_BYTES_MIN: usize = 8;

/// So many leading characters of a key are taken as the key itself: a text that was cut in the middle of
/// a key must not keep a part of it.
const PREFIX_BYTES: usize = 8;

/// A key. It shows itself only as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// `None` for a text that holds nothing but white space.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (!key.is_empty()).then(|| Self(key.into()))
    }

    /// The key itself. Every caller of this has to be looked at.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without the key and without any beginning of it that is long enough to tell.
    pub(crate) fn masked_in(&self, text: &str) -> String {
        let key = self.0.as_str();
        if key.len() < SECRET_BYTES_MIN {
            return text.to_owned();
        }
        let prefix_end = key.floor_char_boundary(PREFIX_BYTES);
        let prefix = &key[..prefix_end];
        let mut masked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(prefix) {
            masked.push_str(&rest[..at]);
            masked.push_str(MASK);
            rest = &rest[at + common_prefix_bytes(&rest[at..], key)..];
        }
        masked.push_str(rest);
        masked
    }
}

/// By whole characters, so that the cut lies on a boundary of both.
fn common_prefix_bytes(a: &str, b: &str) -> usize {
    let pairs = a.chars().zip(b.chars());
    pairs
        .take_while(|(x, y)| x == y)
        .map(|(x, _)| x.len_utf8())
        .sum()
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_shows_itself_only_as_a_mask() {
        let secret = Secret::new(" sk-planted-0123456789 \n").expect("not empty");
        assert_eq!(format!("{secret} {secret:?}"), "*** ***");
        assert_eq!(secret.expose(), "sk-planted-0123456789");
        assert_eq!(Secret::new(" \n"), None);
    }

    #[test]
    fn whole_and_cut_keys_are_masked_wherever_they_stand() {
        let secret = Secret::new("sk-planted-0123456789").expect("not empty");
        let cases = [
            ("nothing here", "nothing here"),
            ("key sk-planted-0123456789 is bad", "key *** is bad"),
            ("sk-planted-0123456789sk-planted-0123456789", "******"),
            ("cut off: sk-planted-01", "cut off: ***"),
            ("sk-planted-99 differs", "***99 differs"),
            (
                "sk-plan is too short to tell",
                "sk-plan is too short to tell",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(secret.masked_in(text), expected, "{text}");
        }
        let odd = Secret::new("éééé1234").expect("not empty");
        assert_eq!(odd.masked_in("aéééé1234b"), "a***b");
        for placeholder in ["k", "none", "EMPTY"] {
            let short = Secret::new(placeholder).expect("not empty");
            assert_eq!(short.masked_in("k none EMPTY"), "k none EMPTY");
        }
    }
}
