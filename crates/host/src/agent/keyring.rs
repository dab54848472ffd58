//! Keys and headers: looked up when a request is sent, never kept in a log.
//!
//! A target in a log names where its key is, a variable or configuration files, and never the key
//! itself. A run that is taken up on another machine therefore uses the keys of that machine, or says
//! which one is missing.
//!
//! The configuration may have changed since the run began. Its key is sent only where its files still
//! name the address that the run has: otherwise an edited file could draw the key of one server to
//! another.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bonded_kernel::Target;
use bonded_transport::{Credentials, Secret};

use super::target;
use crate::config::{Config, Environment};
use crate::provider::account_headers;
use crate::trust::Trust;

/// Finds the credentials of targets: in the configuration files that a target names, else in the variable.
#[derive(Debug)]
pub struct Keyring {
    environment: Environment,
    trust: Arc<Trust>,
    /// By the files, so that each set of layers is read once.
    read: Mutex<BTreeMap<Vec<String>, Arc<Config>>>,
}

impl Keyring {
    /// Trusts nothing that was found until `trusting` says what.
    pub fn new(environment: Environment) -> Self {
        Self {
            environment,
            trust: Arc::default(),
            read: Mutex::default(),
        }
    }

    /// Takes of files that were found only what is trusted.
    #[must_use]
    pub fn trusting(mut self, trust: Arc<Trust>) -> Self {
        self.trust = trust;
        self
    }

    /// Never an error: where no key is found the request goes out without one, and `missing` says why,
    /// which is told with the provider's refusal.
    pub fn credentials(&self, target: &Target) -> Credentials {
        if target.secrets_in.is_empty() {
            let named = target.key_env.as_deref();
            let key = named.and_then(|name| self.environment.get(name));
            if let (Some(name), Some(key)) = (named, key) {
                self.environment.secrets().learn_key(name, key);
            }
            let missing = match named {
                Some(name) => format!("no key was sent: the variable {name} is not set"),
                None => "no key was sent: none is configured".to_owned(),
            };
            return Credentials {
                missing: key.is_none().then_some(missing),
                key: key.and_then(Secret::new),
                headers: self.account_headers(target),
            };
        }
        match self.configured(target) {
            Ok(credentials) => credentials,
            Err(why) => Credentials {
                key: None,
                headers: vec![],
                missing: Some(format!("no key was sent: {why}")),
            },
        }
    }

    /// The key and the headers of the configuration, checked against the address of the run. A problem
    /// with any part of it gives no credentials at all.
    fn configured(&self, target: &Target) -> Result<Credentials, String> {
        let config = self.config(&target.secrets_in)?;
        let provider = config
            .provider(&target.provider)
            .map_err(|problems| problems.to_string())?
            .ok_or_else(|| {
                format!(
                    "provider {:?} is no longer in the configuration",
                    target.provider
                )
            })?;
        // The log says where the request goes, and the files whom the key is for.
        let endpoint = target::endpoint(&provider, &target.model, &self.environment)
            .map_err(|error| error.to_string())?;
        if endpoint != target.endpoint {
            return Err(format!(
                "the address of {:?} in the configuration has changed since the run began",
                target.provider
            ));
        }
        let headers = provider.headers.iter();
        let headers = headers.map(|(name, value)| (name.clone(), value.expose().to_owned()));
        let own = provider.api_key.as_ref().map(|key| key.expose());
        // A configuration may name headers alone and leave the key to the variable.
        let named = target.key_env.as_deref();
        let key = own.or_else(|| self.environment.get(named?));
        Ok(Credentials {
            key: key.and_then(Secret::new),
            // What the configuration says counts more, and the last of a name is sent.
            headers: self
                .account_headers(target)
                .into_iter()
                .chain(headers)
                .collect(),
            missing: None,
        })
    }

    fn account_headers(&self, target: &Target) -> Vec<(String, String)> {
        account_headers(target, |name| self.environment.get(name).map(str::to_owned))
    }

    /// Read once by set of files and kept for the life of the process. The lock is held while reading,
    /// so that two requests do not read the same files twice.
    fn config(&self, files: &[String]) -> Result<Arc<Config>, String> {
        // A panic elsewhere cannot leave a map of finished values half written.
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(config) = read.get(files) {
            return Ok(config.clone());
        }
        let paths = files.iter().map(PathBuf::from);
        let cwd = std::env::current_dir().unwrap_or_default();
        let config = Config::load_files(paths, cwd, self.environment.clone(), &self.trust)
            .map_err(|problems| problems.to_string())?;
        let config = Arc::new(config);
        read.insert(files.to_vec(), config.clone());
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_with_headers_alone_leaves_the_key_to_the_variable() {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let file = dir.path().join("config.json");
        let text = r#"{"providers":{"openai":{"type":"openai","headers":{"X-Team":"blue"}}}}"#;
        std::fs::write(&file, text).expect("a file can be written");
        let variables = [("OPENAI_API_KEY".to_owned(), "key".to_owned())];
        let trust = Arc::new(Trust::once());
        let keyring = Keyring::new(variables.into_iter().collect()).trusting(trust);
        let target = Target {
            key_env: Some("OPENAI_API_KEY".into()),
            secrets_in: vec![file.to_string_lossy().into_owned()],
            ..Target::new("openai", "https://api.openai.com/v1", "m")
        };
        let found = keyring.credentials(&target);
        assert_eq!(found.key, Secret::new("key"));
        assert_eq!(found.headers, [("X-Team".to_owned(), "blue".to_owned())]);
    }
}
