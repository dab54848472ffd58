//! The way to a value, such as `providers.openai.apiKey`.

use std::fmt;

/// The keys from the root down; it is sorted and compared key by key.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    pub(crate) fn root() -> Self {
        Self::default()
    }

    /// A path of words that hold no dots themselves.
    pub(crate) fn dotted(path: &str) -> Self {
        Self(path.split('.').map(str::to_owned).collect())
    }

    pub(crate) fn child(&self, key: &str) -> Self {
        let mut keys = self.0.clone();
        keys.push(key.to_owned());
        Self(keys)
    }

    /// From the root down; empty for the whole file.
    pub fn keys(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for KeyPath {
    /// Keys that a dotted path would tear apart stand in brackets: `models["gpt-4.1"].tokenizer`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(the whole file)");
        }
        let is_plain = |key: &str| {
            !key.is_empty()
                && key
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
        };
        for (index, key) in self.0.iter().enumerate() {
            match is_plain(key) {
                true if index == 0 => f.write_str(key)?,
                true => write!(f, ".{key}")?,
                false => write!(f, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}
