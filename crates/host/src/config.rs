//! The configuration: layers of JSON files, merged, with values that know where they came from.
//!
//! Variables are put in when an entry is asked for, not before: a provider that nothing uses may name a
//! key that is not set. Files and the environment come in through [`ConfigDirs`] and [`Environment`].
//!
//! Which layers there are follows from the places; which of them count, and how far, from who answers
//! for them and from what a person trusts. Only after that are they merged, so that nothing of an
//! untrusted file is ever looked up by accident.
//!
//! Wherever two layers meet, the rule is that what is found may tighten and not loosen. A change here
//! must keep that: `layering` and `sift` are the only places that compare layers of different origin.

mod accepts;
mod capabilities;
mod check;
mod entry;
pub mod env_file;
mod environment;
mod error;
mod expand;
mod explain;
mod keeper;
mod key_path;
mod known;
mod layer;
mod layering;
mod mcp;
mod oauth;
mod openapi_file;
pub mod options;
mod order;
mod origin;
mod places;
pub(crate) mod policy;
mod pricing;
mod provider;
mod pulled;
mod queue;
mod rest;
mod schema;
mod shape;
mod sift;
mod tree;
mod wants;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub use crate::provider::OpenaiMode;
pub use accepts::AcceptsConfig;
pub use capabilities::Capabilities;
pub use check::CheckReport;
pub use environment::{Environment, Secret};
pub use error::{ConfigError, Problems, Warning};
pub use explain::Explained;
pub use keeper::Whose;
pub use key_path::KeyPath;
pub(crate) use layer::real;
pub use mcp::{HealthProbe, McpEndpoint, McpServer, McpTransport};
pub use order::Order;
pub use origin::Origin;
pub use places::{ConfigDirs, LayerFiles};
pub use pricing::{LongPricing, ModelPricing};
pub use provider::{
    ModelConfig, ProviderConfig, ProviderKind, ReasoningMap, Sampling, Sent, ToolChoice,
};
pub use queue::QueueEntry;
pub use schema::config_schema;

use expand::Expanded;
use layer::Layer;
use layering::Layered;
use options::{Given, Sources, TABLE};
use tree::ConfigNode;

use crate::trust::{Contents, Trust, TrustExtent, Wants};

/// The merged layers.
pub struct Config {
    /// Highest first.
    layers: Vec<Layer>,
    tree: ConfigNode,
    /// What the person answers for, alone.
    own: ConfigNode,
    /// Approvals of layers that nobody trusts.
    ///
    /// They hold beside all others, so that they can only make stricter.
    rules: Vec<Given>,
    /// What does not count of a layer, by its place.
    left_out: Vec<(usize, Vec<KeyPath>)>,
    environment: Environment,
    /// The value of `MCP_ROOT` where nobody sets it.
    cwd: PathBuf,
    warnings: Vec<Warning>,
    /// The places of values of a wrong type, which only a check goes on with: they have been told of.
    misshapen: Vec<KeyPath>,
}

/// A layer as a person is told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayerShown {
    /// The file as it was named or found.
    pub file: PathBuf,
    /// Who answers for it.
    pub origin: Origin,
    /// Whether all of it counts, or what tightens.
    pub held: TrustExtent,
    /// What does not count of it: it would allow more than is trusted, or than the person's own files allow.
    pub left_out: Vec<KeyPath>,
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
    pub fn load(
        places: &ConfigDirs,
        environment: Environment,
        trust: &Trust,
    ) -> Result<Self, Problems> {
        Self::load_layers(&places.layers(), places.cwd.clone(), environment, trust)
    }

    /// Reads the files, highest first, that another process had found: a run that is taken up again sees
    /// the same layers wherever that happens.
    pub fn load_files(
        files: impl IntoIterator<Item = PathBuf>,
        cwd: PathBuf,
        environment: Environment,
        trust: &Trust,
    ) -> Result<Self, Problems> {
        let files = files.into_iter();
        let layers = files.map(|file| LayerFiles::again(file, &cwd, trust));
        let layers: Vec<LayerFiles> = layers.collect();
        Self::load_layers(&layers, cwd, environment, trust)
    }

    /// What each file that is found in these places holds and wants, whoever trusts it. Nothing of it counts.
    pub fn examine(
        places: &ConfigDirs,
        environment: &Environment,
    ) -> Result<Vec<(Contents, Wants)>, Problems> {
        let (mut layers, _) = Self::read(&places.layers(), environment)?;
        for layer in layers.iter_mut().filter(|it| it.origin == Origin::Found) {
            pulled::pull(layer, environment, &places.cwd);
        }
        let wanted = layering::wanted(&layers).into_iter();
        Ok(wanted
            .map(|(index, wants)| (layers[index].contents.clone(), wants))
            .collect())
    }

    /// The same for one file, which was named when it counted.
    pub fn examine_file(
        file: &Path,
        places: &ConfigDirs,
        environment: &Environment,
    ) -> Result<(Contents, Wants), Problems> {
        let mut files = vec![LayerFiles::found(file)];
        let layers = places.layers().into_iter();
        files.extend(layers.filter(|it| it.origin == Origin::Own));
        let (mut layers, _) = Self::read(&files, environment)?;
        pulled::pull(&mut layers[0], environment, &places.cwd);
        let mut wanted = layering::wanted(&layers).into_iter();
        let wants = wanted.next().map(|(_, wants)| wants).unwrap_or_default();
        Ok((layers[0].contents.clone(), wants))
    }

    /// Reading, resolving, merging, in this order; the first stage that fails says everything that is
    /// wrong in it.
    fn load_layers(
        files: &[LayerFiles],
        cwd: PathBuf,
        environment: Environment,
        trust: &Trust,
    ) -> Result<Self, Problems> {
        let (mut layers, warnings) = Self::read(files, &environment)?;
        let resolved = layering::resolve(&mut layers, &environment, &cwd, trust)?;
        let config = Self::merged(layers, resolved, environment, cwd, warnings);
        Problems::none_of(config.check_bindings())?;
        Ok(config)
    }

    /// The same for whoever wants to know everything that is wrong: what can be made of the layers, whatever they are
    /// like, and why no run would take them.
    pub(crate) fn inspect(
        places: &ConfigDirs,
        environment: Environment,
        trust: &Trust,
    ) -> (Self, Vec<ConfigError>) {
        let (mut layers, warnings, mut problems) = Self::read_all(&places.layers(), &environment);
        let misshapen = problems.iter().filter_map(ConfigError::misshapen);
        let misshapen: Vec<KeyPath> = misshapen.cloned().collect();
        let cwd = places.cwd.clone();
        let resolved = layering::resolve(&mut layers, &environment, &cwd, trust);
        let resolved = resolved.unwrap_or_else(|why| {
            problems.extend(why.into_all());
            // Nothing is read of what nobody trusts.
            layers.retain(|layer| layer.origin.is_persons());
            Layered::default()
        });
        let mut config = Self::merged(layers, resolved, environment, cwd, warnings);
        config.misshapen = misshapen;
        problems.extend(config.check_bindings());
        (config, problems)
    }

    /// What the person answers for is merged a second time by itself: it is the bound for everybody
    /// else's files.
    fn merged(
        layers: Vec<Layer>,
        resolved: Layered,
        environment: Environment,
        cwd: PathBuf,
        warnings: Vec<Warning>,
    ) -> Self {
        let mut config = Self {
            tree: tree::merge(&layers, |_, _| true),
            own: tree::merge(&layers, |_, layer| layer.origin.is_persons()),
            rules: resolved.rules,
            left_out: resolved.left_out,
            layers,
            environment,
            cwd,
            warnings,
            misshapen: vec![],
        };
        let noticed = config.notice();
        config.warnings.extend(noticed);
        config
    }

    /// Reads the layers that are there, as they are written.
    fn read(
        files: &[LayerFiles],
        environment: &Environment,
    ) -> Result<(Vec<Layer>, Vec<Warning>), Problems> {
        let (layers, warnings, problems) = Self::read_all(files, environment);
        Problems::none_of(problems)?;
        Ok((layers, warnings))
    }

    /// The variables of env files are learnt as secrets before any value is shown, also those of layers
    /// that will not count.
    fn read_all(
        files: &[LayerFiles],
        environment: &Environment,
    ) -> (Vec<Layer>, Vec<Warning>, Vec<ConfigError>) {
        let mut problems = Vec::new();
        let mut warnings = Vec::new();
        let mut layers: Vec<Layer> = Vec::new();
        for files in files {
            layers.extend(Layer::load(files, &mut problems, &mut warnings));
        }
        for (name, value) in layers.iter().flat_map(|layer| layer.variables.variables()) {
            environment.secrets().learn_value(name, value);
        }
        for layer in &mut layers {
            shape::check_layer(layer, &mut problems, &mut warnings);
        }
        (layers, warnings, problems)
    }

    /// What is odd and does no harm: unknown keys, keys without effect here, guesses.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// What each layer is, and what of it counts, highest first.
    pub fn layers(&self) -> Vec<LayerShown> {
        let layers = self.layers.iter().enumerate();
        layers
            .map(|(index, layer)| LayerShown {
                file: layer.file.clone(),
                origin: layer.origin,
                held: layer.held,
                left_out: self
                    .left_out
                    .iter()
                    .filter(|(at, _)| *at == index)
                    .flat_map(|(_, paths)| paths.clone())
                    .collect(),
            })
            .collect()
    }

    /// The files that were read, highest first.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.layers.iter().map(|layer| layer.file.as_path())
    }

    /// What the configuration says about the options.
    pub fn sources(&self) -> Result<Sources, Problems> {
        Ok(Sources {
            config: self.defaults()?,
            own: self.given(&self.own)?,
            rules: self.rules.clone(),
            ..Sources::default()
        })
    }

    /// What the configuration says about the options, for [`options::Sources::config`].
    pub fn defaults(&self) -> Result<BTreeMap<String, Given>, Problems> {
        self.given(&self.tree)
    }

    /// The first path of a row that has a value counts; one that was told to be misshapen is passed
    /// over.
    fn given(&self, tree: &ConfigNode) -> Result<BTreeMap<String, Given>, Problems> {
        let mut given = BTreeMap::new();
        let mut problems = Vec::new();
        for row in TABLE {
            let paths = row.config.iter().map(|path| KeyPath::dotted(path));
            let found = paths
                .filter_map(|path| Some((tree.at(&path)?, path)))
                .find(|(node, _)| !node.is_null());
            let Some((node, path)) = found else { continue };
            if self.is_misshapen(&path) {
                continue;
            }
            let place = format!("{}, {path}", self.file(node).display());
            let value = self.value(node, &path, &mut problems);
            given.insert(row.key.to_owned(), Given { value, place });
        }
        Problems::none_of(problems)?;
        Ok(given)
    }

    /// Whether an entry of this name is a tool that the person's own files say something of.
    pub(crate) fn is_own_tool(&self, name: &str) -> bool {
        let sections = ["mcpServers", "restTools", "openapiSpecs"].iter();
        let mut places = sections.map(|section| KeyPath::root().child(section).child(name));
        places.any(|path| self.own.at(&path).is_some_and(|node| !node.is_null()))
    }

    /// The names below a top-level key, such as all providers.
    fn names(&self, section: &str) -> Vec<&str> {
        match self.tree.at(&KeyPath::root().child(section)) {
            Some(ConfigNode::Object { children, .. }) => children
                .iter()
                .filter(|(_, child)| !child.is_null())
                .map(|(name, _)| name.as_str())
                .collect(),
            Some(ConfigNode::Leaf { .. }) | None => Vec::new(),
        }
    }

    /// The file that a node came from; for an object, the highest file that has it.
    fn file(&self, node: &ConfigNode) -> &Path {
        &self.layers[node.layer()].file
    }

    /// The value of a node with its variables put in. What is missing is added to the problems.
    fn value(&self, node: &ConfigNode, path: &KeyPath, problems: &mut Vec<ConfigError>) -> Value {
        match node {
            ConfigNode::Object { children, .. } => children
                .iter()
                .map(|(key, child)| {
                    let value = self.value(child, &path.child(key), problems);
                    (key.clone(), value)
                })
                .collect(),
            ConfigNode::Leaf { value, layer } => {
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
        let own = &self.layers[layer].variables;
        Self::lookup(own, &self.environment, &self.cwd, name)
    }

    /// Also for layers that are not merged yet, with their own variables alone.
    fn lookup(
        own: &Environment,
        environment: &Environment,
        cwd: &Path,
        name: &str,
    ) -> Option<String> {
        let value = own.get(name).or_else(|| environment.get(name));
        // MCP servers are commonly started below a root that is the working directory unless said.
        if name == "MCP_ROOT" && value.is_none_or(|root| root.trim().is_empty()) {
            return cwd.to_str().map(str::to_owned);
        }
        value.map(str::to_owned)
    }
}
