//! What is wrong or odd with the whole configuration, beyond what one run uses of it.
//!
//! A run is stopped only by what it uses; this is for whoever asks whether the whole is right. Mistakes
//! are collected through all stages, each told once.

use std::collections::BTreeSet;

use super::options::{self, Sources};
use super::provider::KINDS;
use super::tree::ConfigNode;
use super::{Config, ConfigDirs, ConfigError, Environment, KeyPath, Problems, Warning};
use crate::trust::Trust;

/// The sections whose entries may be bound to a queue.
pub(super) const BOUND: [&str; 3] = ["mcpServers", "restTools", "openapiSpecs"];

/// What is wrong with a configuration, and what is only odd.
#[derive(Debug)]
pub struct CheckReport {
    /// What would stop a run that uses it.
    pub problems: Vec<ConfigError>,
    /// What is odd and does no harm.
    pub warnings: Vec<Warning>,
}

impl Config {
    /// Everything that is wrong with the configuration of these places, in all stages: what is wrong in one hides nothing
    /// of the next.
    pub fn check(places: &ConfigDirs, environment: Environment, trust: &Trust) -> CheckReport {
        let (config, mut all) = Self::inspect(places, environment, trust);
        all.extend(config.check_all());
        CheckReport {
            problems: each_once(all),
            warnings: config.warnings,
        }
    }

    /// Everything that is wrong beyond what loading found: every entry is read, whether a run uses it or not.
    pub fn check_all(&self) -> Vec<ConfigError> {
        let mut all = self.check_entries();
        all.extend(self.check_defaults());
        all
    }

    /// What is wrong with entries, whether a run uses them or not.
    pub(crate) fn check_entries(&self) -> Vec<ConfigError> {
        let mut all = Vec::new();
        let mut add = |problems: Option<Problems>| {
            all.extend(problems.into_iter().flat_map(Problems::into_all));
        };
        for name in self.names("providers") {
            add(self.provider(name).err());
        }
        for name in self.names("mcpServers") {
            add(self.mcp_server(name).err());
        }
        for name in self.names("restTools") {
            add(self.rest_tool(name).err());
        }
        for name in self.names("openapiSpecs") {
            add(self.openapi_document(name).err());
        }
        for (provider, model) in self.priced() {
            add(self.pricing(provider, model).err());
        }
        all
    }

    /// Whether a value of a wrong type stands at a place or below it, which has been told.
    pub(super) fn is_misshapen(&self, path: &KeyPath) -> bool {
        let mut places = self.misshapen.iter();
        places.any(|place| place.keys().starts_with(path.keys()))
    }

    fn priced(&self) -> Vec<(&str, &str)> {
        let mut priced = Vec::new();
        for provider in self.names("pricing") {
            let path = KeyPath::root().child("pricing").child(provider);
            if let Some(ConfigNode::Object { children, .. }) = self.tree.at(&path) {
                priced.extend(children.keys().map(|model| (provider, model.as_str())));
            }
        }
        priced
    }

    /// Each option by itself, so that one mistake does not hide another and each is told with its own
    /// key.
    fn check_defaults(&self) -> Vec<ConfigError> {
        let given = match self.defaults() {
            Ok(given) => given,
            Err(problems) => return problems.into_all(),
        };
        let single = given.into_iter().filter_map(|(key, given)| {
            let mut paths = options::find(&key)?.config.iter();
            let (path, node) = paths.find_map(|path| {
                let path = KeyPath::dotted(path);
                let node = self.tree.at(&path)?;
                Some((path, node))
            })?;
            let sources = Sources {
                config: [(key, given)].into(),
                ..Sources::default()
            };
            let error = options::resolve(&sources).err()?;
            Some(ConfigError::Unusable {
                file: self.file(node).to_owned(),
                key_path: path,
                message: error.to_string(),
            })
        });
        single.collect()
    }

    /// What must hold before anything starts: names that fit, and queues that exist.
    ///
    /// Before anything starts, whoever is used: a tool that is bound to a queue which does not exist
    /// could not be opened.
    pub(super) fn check_bindings(&self) -> Vec<ConfigError> {
        let mut problems = Vec::new();
        for section in BOUND {
            for name in self.names(section) {
                let path = KeyPath::root().child(section).child(name);
                let Some(node) = self.tree.at(&path) else {
                    continue;
                };
                if section == "mcpServers" && !is_server_name(name) {
                    problems.push(ConfigError::Unusable {
                        file: self.file(node).to_owned(),
                        key_path: path.clone(),
                        message: "a server name may contain only letters, digits, - and _".into(),
                    });
                }
                problems.extend(self.check_binding(&path.child("queue")));
            }
        }
        problems
    }

    fn check_binding(&self, path: &KeyPath) -> Option<ConfigError> {
        let Some(node @ ConfigNode::Leaf { value, .. }) = self.tree.at(path) else {
            return None;
        };
        // A name with a variable in it is checked when the entry is read.
        let queue = value.as_str().filter(|queue| !queue.contains("${"))?;
        self.unknown_queue(queue, path.clone(), self.file(node).to_owned())
    }

    /// Oddities that only the merged layers show.
    pub(super) fn notice(&self) -> Vec<Warning> {
        self.names("providers")
            .into_iter()
            .flat_map(|name| [self.notice_guess(name), self.notice_foreign_url(name)])
            .flatten()
            .collect()
    }

    /// A provider without a type whose name is that of a kind.
    fn notice_guess(&self, name: &str) -> Option<Warning> {
        let path = KeyPath::dotted("providers").child(name);
        let has_type = self.tree.at(&path.child("type")).is_some();
        let is_known = KINDS.iter().any(|(known, _)| *known == name);
        (is_known && !has_type).then(|| {
            self.warning(
                &path,
                format!("it has no type; {name} is assumed from its name"),
                true,
            )
        })?
    }

    /// A file in a project can send a key that lies at home to a server of its own.
    fn notice_foreign_url(&self, name: &str) -> Option<Warning> {
        let path = KeyPath::dotted("providers").child(name);
        let url = path.child("baseUrl");
        let from = self.tree.at(&url)?;
        let key = self.tree.at(&path.child("apiKey"))?;
        // What was found is refused when it is used.
        let is_foreign = from.layer() < key.layer() && !from.is_null() && !key.is_null();
        let is_foreign = is_foreign && self.layers[from.layer()].origin.is_persons();
        let key_file = self.file(key).display().to_string();
        is_foreign.then(|| {
            self.warning(
                &url,
                format!("the key from {key_file} is sent to the URL from this file"),
                false,
            )
        })?
    }

    fn warning(&self, path: &KeyPath, message: String, is_minor: bool) -> Option<Warning> {
        let node = self.tree.at(path)?;
        Some(Warning {
            file: self.file(node).to_owned(),
            key_path: path.clone(),
            message,
            nearest: None,
            is_minor,
        })
    }
}

/// A queue that is not there is found with all bindings, and again with its entry.
fn each_once(all: Vec<ConfigError>) -> Vec<ConfigError> {
    let mut shown = BTreeSet::new();
    let is_new = |problem: &ConfigError| shown.insert(problem.to_string());
    all.into_iter().filter(is_new).collect()
}

/// The names that [`is_server_name`] takes, for editors; requests and documents have the same.
pub(super) const TOOL_NAME_PATTERN: &str = "^[A-Za-z0-9_-]+$";

/// A server's name becomes part of its tools' names.
fn is_server_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}
