//! Values that must not be shown by accident.
//!
//! Printing is the danger: values get into messages, logs and debug output without anybody meaning it.
//! So the types here show names or stars, and a value must be asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::secrets::Secrets;

/// A value that is not printed unless it is asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Any text; whether it is hard to guess is judged elsewhere.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself. Whoever calls this must not print it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Variables by name: those of the process, or those of a layer's env file.
#[derive(Clone, Default)]
pub struct Environment {
    /// Names and values as they were given.
    variables: BTreeMap<String, String>,
    secrets: Arc<Secrets>,
}

impl Environment {
    /// A variable that is set to nothing is there, as an empty text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }

    /// The secrets that were met in these variables, and in every configuration that is read with them.
    pub fn secrets(&self) -> &Arc<Secrets> {
        &self.secrets
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.variables.iter();
        variables.map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(variables: I) -> Self {
        let variables: BTreeMap<String, String> = variables.into_iter().collect();
        let secrets = Secrets::default();
        for (name, value) in &variables {
            secrets.learn_named(name, value);
        }
        Self {
            variables,
            secrets: Arc::new(secrets),
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}
