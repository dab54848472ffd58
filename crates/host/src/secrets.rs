//! The secrets that this process has come across. They grow as configurations are read.
//!
//! A secret is hidden wherever a run keeps or shows something, and is used as it is wherever something
//! is executed. What is hidden is judged by how hard it is to guess: to hide a word that people write
//! would tear logs apart, and would help nobody.
//!
//! What a server gave counts only for the runs that use that server. It could otherwise hide whatever
//! it likes from everybody.

mod strength;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::{Mask, RunConfig, SecretReach};

use strength::Strength;

/// What is shorter is a word, or is guessed in no time.
const SECRET_CHARS_MIN: usize = 8;
/// What is called a secret is hidden if it is at least this hard to guess.
const SECRET_BITS_MIN: f64 = 30.0;
/// What nobody calls a secret is hidden only if it was plainly drawn.
const DRAWN_BITS_MIN: f64 = 40.0;
/// What is this hard to guess is hidden inside of longer words too: nobody writes it by chance.
const ANYWHERE_BITS_MIN: f64 = 60.0;
/// Who sends a header that long has no key in it.
const HEADER_BYTES_MAX: usize = 4_096;

/// A server that gives texts which are to be hidden: the configuration files that name it, and its name there.
type SecretServer = (Vec<String>, String);

/// What must not be kept or shown.
///
/// Only values that can be secrets are: see `strength`. To hide something changes nothing that is executed,
/// written or asked.
#[derive(Default)]
pub struct Secrets {
    known: Mutex<KnownSecrets>,
}

#[derive(Default)]
struct KnownSecrets {
    /// Names by value, and where the value is looked for.
    own: Values,
    /// What servers gave. Whoever runs a server chooses what that is, so it counts for the runs that use it.
    given: BTreeMap<SecretServer, Values>,
    /// The names of what is called a secret and is too easy to guess.
    weak: BTreeSet<String>,
    /// Made when they are needed first, by the servers of a run; forgotten when something is learnt.
    masks: BTreeMap<Vec<SecretServer>, Arc<Mask>>,
}

/// By the value, so that each is kept once; the name is that under which it was met first.
type Values = BTreeMap<String, (String, SecretReach)>;

impl Secrets {
    /// Takes in a key, or anything else that somebody declared to be a secret.
    pub fn learn_key(&self, name: &str, value: &str) {
        if is_plain(value) {
            return;
        }
        let mut known = self.lock();
        match in_address(value) {
            Some(password) => known.learn_declared(name, password),
            None => known.learn_declared(name, value),
        }
        // A header is a word and the key; the key alone is a secret too.
        if let Some((_, key)) = value.split_once(' ')
            && value.len() < HEADER_BYTES_MAX
            && can_be_secret(key)
        {
            known.insert(name, key);
        }
    }

    /// Takes in a value that somebody put where secrets are kept. Regions, models and addresses are kept there
    /// too: if nothing calls it a secret, it must have been drawn.
    pub fn learn_value(&self, name: &str, value: &str) {
        if says_secret(name) || in_address(value).is_some() {
            self.learn_key(name, value);
        } else if !is_plain(value) && was_drawn(value) {
            self.lock().insert(name, value);
        }
    }

    /// Takes in a variable or a header if its name says that it is a secret, or its value holds a password.
    pub fn learn_named(&self, name: &str, value: &str) {
        if says_secret(name) || in_address(value).is_some() {
            self.learn_key(name, value);
        }
    }

    /// Takes in what a server gave, for the runs that use it. It must have been drawn: a server could give words
    /// that others write, and so hide them.
    pub(crate) fn learn_given(&self, files: &[String], server: &str, name: &str, value: &str) {
        if !was_drawn(value) {
            return;
        }
        let mut known = self.lock();
        known.masks.clear();
        let server = (files.to_vec(), server.to_owned());
        let given = known.given.entry(server).or_default();
        given.insert(value.to_owned(), (name.to_owned(), SecretReach::Anywhere));
    }

    /// The names of what is called a secret but cannot be hidden, because it is too easy to guess.
    pub fn weak(&self) -> Vec<String> {
        self.lock().weak.iter().cloned().collect()
    }

    /// What hides everything that is known now, whoever gave it: for what this process itself shows.
    pub fn mask(&self) -> Arc<Mask> {
        let mut known = self.lock();
        let all: Vec<SecretServer> = known.given.keys().cloned().collect();
        known.mask(all)
    }

    /// What hides everything that is known now from what a run keeps and shows.
    pub fn mask_of(&self, run: &RunConfig) -> Arc<Mask> {
        let mut known = self.lock();
        let used = match &run.agent {
            Some(agent) => known.used(&agent.config_files, &agent.tools),
            None => vec![],
        };
        known.mask(used)
    }

    /// Held for moments only; nothing waits under it.
    fn lock(&self) -> MutexGuard<'_, KnownSecrets> {
        // A panic elsewhere cannot leave a map of finished values half written.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownSecrets {
    fn learn_declared(&mut self, name: &str, value: &str) {
        if can_be_secret(value) {
            self.insert(name, value);
        } else if !value.is_empty() {
            self.weak.insert(name.to_owned());
        }
    }

    /// What is new makes every mask that was made before too old.
    fn insert(&mut self, name: &str, value: &str) {
        if !self.own.contains_key(value) {
            let found = match Strength::of(value).bits < ANYWHERE_BITS_MIN {
                true => SecretReach::AsToken,
                false => SecretReach::Anywhere,
            };
            self.own.insert(value.to_owned(), (name.to_owned(), found));
            self.masks.clear();
        }
    }

    /// A run uses a server of its own configuration files alone.
    fn used(&self, files: &[String], tools: &[String]) -> Vec<SecretServer> {
        let servers = self.given.keys();
        let is_used = |(of, name): &&SecretServer| of == files && tools.contains(name);
        servers.filter(is_used).cloned().collect()
    }

    /// Kept by set of servers: most runs of a process have the same.
    fn mask(&mut self, servers: Vec<SecretServer>) -> Arc<Mask> {
        if let Some(mask) = self.masks.get(&servers) {
            return mask.clone();
        }
        let given = servers.iter().filter_map(|server| self.given.get(server));
        let all = std::iter::once(&self.own).chain(given).flatten();
        let all = all.map(|(value, (name, found))| (value.as_str(), name.as_str(), *found));
        let mask = Arc::new(Mask::of(all));
        self.masks.insert(servers, mask.clone());
        mask
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.mask().fmt(f)
    }
}

/// By how names of variables and headers are usually built.
fn says_secret(name: &str) -> bool {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    let ends = ["_KEY", "_TOKEN", "APIKEY", "_PASS", "_PWD", "_PAT"];
    let parts = [
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "AUTHORIZATION",
    ];
    ["KEY", "TOKEN"].contains(&upper.as_str())
        || ends.iter().any(|end| upper.ends_with(end))
        || parts.iter().any(|part| upper.contains(part))
}

/// Long enough, and hard enough to guess.
fn can_be_secret(value: &str) -> bool {
    value.chars().count() >= SECRET_CHARS_MIN && Strength::of(value).bits >= SECRET_BITS_MIN
}

/// Long enough, and plainly made by a machine.
fn was_drawn(value: &str) -> bool {
    value.chars().count() >= SECRET_CHARS_MIN && Strength::of(value).drawn_bits >= DRAWN_BITS_MIN
}

/// Numbers, addresses without a password, and paths that do not look drawn are no secrets, whatever
/// they are called.
fn is_plain(value: &str) -> bool {
    let is_number = value.parse::<f64>().is_ok();
    let is_address = value.contains("://") && in_address(value).is_none();
    let is_path = value.starts_with('/') || value.starts_with("./") || value.starts_with("~/");
    is_number || is_address || is_path && !was_drawn(value)
}

/// The password in an address that has one.
fn in_address(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learnt_is_hidden_from_then_on() {
        let secrets = Secrets::default();
        let key = "sk-8Kq2Wn5Zt9";
        assert_eq!(secrets.mask().text(key), key);
        secrets.learn_key("OPENAI_API_KEY", key);
        assert_eq!(secrets.mask().text(key), "[secret OPENAI_API_KEY]");
        assert!(!format!("{secrets:?}").contains("sk-"));
    }

    #[test]
    fn a_header_hides_the_key_inside_it_too() {
        let secrets = Secrets::default();
        secrets.learn_key("Authorization", "Bearer 8Kq2Wn5Zt9.Lm4");
        assert_eq!(
            secrets.mask().text("got 8Kq2Wn5Zt9.Lm4"),
            "got [secret Authorization]"
        );
    }

    #[test]
    fn what_cannot_be_a_secret_is_not_hidden_and_what_was_called_one_is_named() {
        let secrets = Secrets::default();
        for value in [
            "true",
            "12345678",
            "http://localhost:8080",
            "/home/me",
            "word",
            "europe-west3",
            "text-embedding-3-small",
        ] {
            secrets.learn_value("X", value);
        }
        secrets.learn_named("EDITOR", "emacs-nox");
        secrets.learn_named("DB_PASSWORD", "postgres");
        secrets.learn_key("vllm", "none");
        secrets.learn_value("DATABASE_URL", "postgres://me:pw@host/");
        let mask = secrets.mask();
        let text = "true 12345678 http://localhost:8080 /home/me word emacs-nox postgres none pw \
                    europe-west3 text-embedding-3-small";
        assert_eq!(mask.text(text), text);
        assert_eq!(secrets.weak(), ["DATABASE_URL", "DB_PASSWORD", "vllm"]);
    }

    #[test]
    fn a_password_inside_of_an_address_is_hidden_wherever_it_stands() {
        let secrets = Secrets::default();
        secrets.learn_named("DATABASE_URL", "postgres://me:hT5$kW9z-pQ@db.example.com/x");
        assert_eq!(
            secrets.mask().text("hT5$kW9z-pQ at db.example.com"),
            "[secret DATABASE_URL] at db.example.com"
        );
    }

    #[test]
    fn what_a_server_gave_is_hidden_in_runs_that_use_it_and_only_if_it_was_drawn() {
        let secrets = Secrets::default();
        let files = ["a.json".to_owned()];
        let token = "8Kq2Wn5Zt9Lm4Xv7Rb1";
        secrets.learn_given(&files, "docs", "access_token", token);
        secrets.learn_given(&files, "docs", "access_token", "--interactive=always");
        let text = format!("rm --interactive=always {token}");
        let masked_with = |files: &[String], tools: &[String]| {
            let mut known = secrets.lock();
            let used = known.used(files, tools);
            known.mask(used).text(&text).into_owned()
        };
        let tools = ["builtin".to_owned(), "docs".to_owned()];
        let masked = "rm --interactive=always [secret access_token]";
        assert_eq!(masked_with(&files, &tools), masked);
        assert_eq!(masked_with(&files, &tools[..1]), text);
        assert_eq!(masked_with(&[], &tools), text);
        assert_eq!(
            secrets.mask_of(&RunConfig::new("/", vec![])).text(&text),
            text
        );
    }
}
