//! The secrets that this process has come across. They grow as configurations are read.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bonded_kernel::Mask;

/// A key this short would be found in every second text.
const KEY_BYTES_MIN: usize = 4;
/// Other values are often words.
const VALUE_BYTES_MIN: usize = 6;

/// What must not be written: not to the log, not to a screen.
#[derive(Default)]
pub struct Secrets {
    /// Names by value.
    known: Mutex<BTreeMap<String, String>>,
    mask: RwLock<Arc<Mask>>,
}

impl Secrets {
    /// Takes in a key, or anything else that is a secret by its nature.
    pub fn learn_key(&self, name: &str, value: &str) {
        if value.len() >= KEY_BYTES_MIN {
            self.learn(name, value);
        }
    }

    /// Takes in a value that somebody put where secrets are kept. Numbers, switches, paths and plain
    /// addresses are kept there too, and hiding those would only confuse.
    pub fn learn_value(&self, name: &str, value: &str) {
        if value.len() >= VALUE_BYTES_MIN && !is_plain(value) {
            self.learn(name, value);
        }
    }

    /// Takes in a variable or a header if its name says that it is a secret.
    pub fn learn_named(&self, name: &str, value: &str) {
        if says_secret(name) {
            self.learn_value(name, value);
        }
    }

    fn learn(&self, name: &str, value: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains_key(value) {
            return;
        }
        known.insert(value.to_owned(), name.to_owned());
        // A header is a word and the key; the key alone is a secret too.
        if let Some((_, key)) = value.split_once(' ')
            && key.len() >= KEY_BYTES_MIN
            && value.len() < 4_096
        {
            known
                .entry(key.to_owned())
                .or_insert_with(|| name.to_owned());
        }
        let all = known
            .iter()
            .map(|(value, name)| (value.as_str(), name.as_str()));
        let mask = Arc::new(Mask::new(all));
        *self.mask.write().unwrap_or_else(PoisonError::into_inner) = mask;
    }

    /// What replaces everything that is known now.
    pub fn mask(&self) -> Arc<Mask> {
        self.mask
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mask().fmt(f)
    }
}

fn says_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    let ends = ["_KEY", "_TOKEN", "APIKEY"];
    let parts = [
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "AUTHORIZATION",
    ];
    upper == "TOKEN"
        || ends.iter().any(|end| upper.ends_with(end))
        || parts.iter().any(|part| upper.contains(part))
}

fn is_plain(value: &str) -> bool {
    let is_number = value.parse::<f64>().is_ok();
    let is_address = value.contains("://") && !value.contains('@');
    let is_path = value.starts_with('/') || value.starts_with("./") || value.starts_with("~/");
    is_number || is_address || is_path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learnt_is_hidden_from_then_on() {
        let secrets = Secrets::default();
        assert_eq!(secrets.mask().text("sk-1234567"), "sk-1234567");
        secrets.learn_key("OPENAI_API_KEY", "sk-1234567");
        assert_eq!(secrets.mask().text("sk-1234567"), "[secret OPENAI_API_KEY]");
        assert!(!format!("{secrets:?}").contains("sk-"));
    }

    #[test]
    fn a_header_hides_the_key_inside_it_too() {
        let secrets = Secrets::default();
        secrets.learn_key("Authorization", "Bearer abc.def");
        assert_eq!(
            secrets.mask().text("got abc.def"),
            "got [secret Authorization]"
        );
    }

    #[test]
    fn plain_values_and_names_that_say_nothing_are_not_hidden() {
        let secrets = Secrets::default();
        for value in [
            "true",
            "12345678",
            "http://localhost:8080",
            "/home/me",
            "word",
        ] {
            secrets.learn_value("X", value);
        }
        secrets.learn_named("EDITOR", "emacs-nox");
        secrets.learn_named("DB_PASSWORD", "hunter2!");
        secrets.learn_value("URL", "https://me:pw@host/");
        let mask = secrets.mask();
        let text = "true 12345678 http://localhost:8080 /home/me word emacs-nox";
        assert_eq!(mask.text(text), text);
        assert_eq!(
            mask.text("hunter2! https://me:pw@host/"),
            "[secret DB_PASSWORD] [secret URL]"
        );
    }
}
