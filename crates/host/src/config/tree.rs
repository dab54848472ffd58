//! The merged layers: objects merge key by key, everything else comes whole from the highest layer.
//!
//! Every node knows the layer that it came from, for messages and because secrets and addresses must be
//! of the same hand. A null is kept as a leaf: it hides what lies below without being a value.

use std::collections::BTreeMap;

use serde_json::Value;

use super::KeyPath;
use super::layer::Layer;

/// `layer` is an index into the layers, the highest first.
pub(super) enum ConfigNode {
    Leaf {
        value: Value,
        layer: usize,
    },
    Object {
        children: BTreeMap<String, ConfigNode>,
        /// The highest layer that has this object.
        layer: usize,
    },
}

impl ConfigNode {
    fn new(value: &Value, layer: usize) -> Self {
        match value {
            Value::Object(object) => Self::Object {
                children: object
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::new(value, layer)))
                    .collect(),
                layer,
            },
            value => Self::Leaf {
                value: value.clone(),
                layer,
            },
        }
    }

    pub(super) fn layer(&self) -> usize {
        match self {
            Self::Leaf { layer, .. } | Self::Object { layer, .. } => *layer,
        }
    }

    /// A null takes back what lower layers say.
    pub(super) fn is_null(&self) -> bool {
        matches!(
            self,
            Self::Leaf {
                value: Value::Null,
                ..
            }
        )
    }

    /// `None` where the way ends early.
    pub(super) fn at(&self, path: &KeyPath) -> Option<&Self> {
        path.keys().iter().try_fold(self, |node, key| match node {
            Self::Object { children, .. } => children.get(key),
            Self::Leaf { .. } => None,
        })
    }

    /// Fills in what a lower layer has and this does not.
    ///
    /// Where one of the two is no object, the higher one stays as it is.
    fn fill(&mut self, lower: Self) {
        let (
            Self::Object { children, .. },
            Self::Object {
                children: lower, ..
            },
        ) = (self, lower)
        else {
            return;
        };
        for (key, value) in lower {
            match children.get_mut(&key) {
                Some(child) => child.fill(value),
                None => {
                    children.insert(key, value);
                }
            }
        }
    }
}

/// Merges those of the layers that are `meant`. They are in order, the highest first.
pub(super) fn merge(layers: &[Layer], meant: impl Fn(usize, &Layer) -> bool) -> ConfigNode {
    let mut merged = ConfigNode::Object {
        children: BTreeMap::new(),
        layer: 0,
    };
    // From below, so that a null takes back everything that lies under it.
    let indexed = layers.iter().enumerate().rev();
    for (index, layer) in indexed.filter(|(index, layer)| meant(*index, layer)) {
        let mut higher = ConfigNode::new(&layer.value, index);
        higher.fill(merged);
        merged = higher;
    }
    merged
}
