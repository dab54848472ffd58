//! The keeper of secrets: a secret goes only to an address of the layer that holds it, or to one that the person
//! answers for. One rule for providers, MCP servers, requests and logins.

use super::tree::Node;
use super::{Config, ConfigError, KeyPath};

impl Config {
    /// What is wrong where the secrets of an entry would go to an address of somebody else. `secrets` and
    /// `addresses` are fields of the entry, with everything in them.
    pub(super) fn misdirected(
        &self,
        entry: &KeyPath,
        secrets: &[&str],
        addresses: &[&str],
    ) -> Option<ConfigError> {
        let places = |fields: &[&str]| {
            let mut found = vec![];
            for field in fields {
                let path = field
                    .split('.')
                    .fold(entry.clone(), |path, key| path.child(key));
                if let Some(node) = self.tree.at(&path) {
                    leaves(node, &path, &mut found);
                }
            }
            found
        };
        let held = places(secrets).into_iter();
        let held: Vec<_> = held.filter(|(_, node)| !node.is_null()).collect();
        // A null counts as an address: it takes back the one that the secret was written for.
        for (place, address) in places(addresses) {
            let foreign = held.iter().find(|(_, secret)| {
                let same = secret.layer() == address.layer();
                !same && !self.layers[address.layer()].origin.is_persons()
            });
            if let Some((secret, node)) = foreign {
                return Some(ConfigError::Misdirected {
                    file: self.file(address).to_owned(),
                    key_path: place,
                    secret: secret.clone(),
                    held_in: self.file(node).to_owned(),
                });
            }
        }
        None
    }
}

fn leaves<'n>(node: &'n Node, path: &KeyPath, found: &mut Vec<(KeyPath, &'n Node)>) {
    match node {
        Node::Leaf { .. } => found.push((path.clone(), node)),
        Node::Object { children, .. } => {
            for (key, child) in children {
                leaves(child, &path.child(key), found);
            }
        }
    }
}
