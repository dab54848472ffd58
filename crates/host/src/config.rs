//! The configuration: layers of JSON files, merged, with values that know where they came from.
//!
//! Variables are put in when an entry is asked for, not before: a provider that nothing uses may name a
//! key that is not set. Files and the environment come in through [`Places`] and [`Environment`].

mod check;
mod entry;
pub(crate) mod env_file;
mod environment;
mod error;
mod expand;
mod explain;
mod key_path;
mod known;
mod layer;
mod mcp;
pub(crate) mod nearest;
mod oauth;
mod openapi_file;
pub mod options;
mod places;
mod pricing;
mod provider;
mod queue;
mod rest;
mod shape;
mod tree;
pub(crate) mod value_text;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use environment::{Environment, Secret};
pub use error::{ConfigError, Problems, Warning};
pub use explain::Explained;
pub use key_path::KeyPath;
pub use mcp::{HealthProbe, McpEndpoint, McpServer, McpTransport};
pub use places::{LayerFiles, Places};
pub use pricing::ModelPricing;
pub use provider::{
    ModelConfig, OpenaiMode, ProviderConfig, ProviderKind, ReasoningMap, Sampling, Sent, ToolChoice,
};
pub use queue::{DEFAULT_QUEUE, Queue};

use expand::Expanded;
use layer::Layer;
use options::{Given, TABLE};
use tree::Node;

/// The merged layers.
pub struct Config {
    /// Highest first.
    layers: Vec<Layer>,
    tree: Node,
    environment: Environment,
    cwd: PathBuf,
    warnings: Vec<Warning>,
}

impl fmt::Debug for Config {
    /// Only the files: the values hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.files()).finish()
    }
}

impl Config {
    /// Reads and merges the layers. What is wrong whatever a run uses is said here, all of it at once:
    /// files that cannot be read, values of a wrong type, tools bound to a queue that is not there.
    pub fn load(places: &Places, environment: Environment) -> Result<Self, Problems> {
        Self::load_layers(places.layers(), places.cwd.clone(), environment)
    }

    /// Reads the files, highest first, that another process had found: a run that is taken up again sees
    /// the same layers wherever that happens.
    pub fn load_files(
        files: impl IntoIterator<Item = PathBuf>,
        cwd: PathBuf,
        environment: Environment,
    ) -> Result<Self, Problems> {
        let layers = files.into_iter().map(LayerFiles::required).collect();
        Self::load_layers(layers, cwd, environment)
    }

    fn load_layers(
        files: Vec<LayerFiles>,
        cwd: PathBuf,
        environment: Environment,
    ) -> Result<Self, Problems> {
        let mut problems = Vec::new();
        let mut warnings = Vec::new();
        let mut layers = Vec::new();
        for files in files {
            match Layer::load(&files) {
                Ok(Some(layer)) => layers.push(layer),
                Ok(None) => {}
                Err(problem) => problems.push(problem),
            }
        }
        for (name, value) in layers.iter().flat_map(|layer| layer.variables.variables()) {
            environment.secrets().learn_value(name, value);
        }
        for layer in &mut layers {
            shape::check_layer(layer, &mut problems, &mut warnings);
        }
        Problems::none_of(problems)?;
        let mut config = Self {
            tree: tree::merge(&layers),
            layers,
            environment,
            cwd,
            warnings,
        };
        Problems::none_of(config.check_bindings())?;
        let noticed = config.notice();
        config.warnings.extend(noticed);
        Ok(config)
    }

    /// What is odd and does no harm: unknown keys, keys without effect here, guesses.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// The files that were read, highest first.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.layers.iter().map(|layer| layer.file.as_path())
    }

    /// What the configuration says about the options, for [`options::Sources::config`].
    pub fn defaults(&self) -> Result<BTreeMap<String, Given>, Problems> {
        let mut given = BTreeMap::new();
        let mut problems = Vec::new();
        for row in TABLE {
            let paths = row.config.iter().map(|path| KeyPath::dotted(path));
            let found = paths
                .filter_map(|path| Some((self.tree.at(&path)?, path)))
                .find(|(node, _)| !node.is_null());
            let Some((node, path)) = found else { continue };
            let place = format!("{}, {path}", self.file(node).display());
            let value = self.value(node, &path, &mut problems);
            given.insert(row.key.to_owned(), Given { value, place });
        }
        Problems::none_of(problems)?;
        Ok(given)
    }

    /// The names below a top-level key, such as all providers.
    fn names(&self, section: &str) -> Vec<&str> {
        match self.tree.at(&KeyPath::root().child(section)) {
            Some(Node::Object { children, .. }) => children
                .iter()
                .filter(|(_, child)| !child.is_null())
                .map(|(name, _)| name.as_str())
                .collect(),
            _ => Vec::new(),
        }
    }

    /// The file that a node came from; for an object, the highest file that has it.
    fn file(&self, node: &Node) -> &Path {
        &self.layers[node.layer()].file
    }

    /// The value of a node with its variables put in. What is missing is added to the problems.
    fn value(&self, node: &Node, path: &KeyPath, problems: &mut Vec<ConfigError>) -> Value {
        match node {
            Node::Object { children, .. } => children
                .iter()
                .map(|(key, child)| {
                    let value = self.value(child, &path.child(key), problems);
                    (key.clone(), value)
                })
                .collect(),
            Node::Leaf { value, layer } => {
                let expanded = self.expand(value, path, *layer);
                problems.extend(expanded.missing.into_iter().map(|variable| {
                    ConfigError::MissingVariable {
                        file: self.layers[*layer].file.clone(),
                        key_path: path.clone(),
                        variable,
                    }
                }));
                expanded.value
            }
        }
    }

    fn expand(&self, value: &Value, path: &KeyPath, layer: usize) -> Expanded {
        if expand::is_left_alone(path) {
            return Expanded::untouched(value);
        }
        expand::expand(value, &|name| self.variable(layer, name))
    }

    /// The layer's own file first, then the environment.
    fn variable(&self, layer: usize, name: &str) -> Option<String> {
        let own = self.layers[layer].variables.get(name);
        let value = own.or_else(|| self.environment.get(name));
        // MCP servers are commonly started below a root that is the working directory unless said.
        if name == "MCP_ROOT" && value.is_none_or(|root| root.trim().is_empty()) {
            return self.cwd.to_str().map(str::to_owned);
        }
        value.map(str::to_owned)
    }
}
