//! The keeper of secrets: a secret goes only to an address of whoever holds it, to one that the person answers for, or
//! to where everybody knows its provider to be. One rule for providers, MCP servers, requests, logins, and the providers
//! of a workspace's rules.
//!
//! Without it a file in a project could name a provider of the person's own configuration with another
//! address, and be sent the key.

use super::tree::ConfigNode;
use super::{Config, ConfigError, KeyPath};

/// Whose word an address is, or whose a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The person's, or of a server, whoever runs it: their files, flags and variables.
    Persons,
    /// Somebody else's, by a number that is theirs alone: the author of a directory, the member who wrote a rule.
    Others(usize),
    /// Everybody knows the provider to be there.
    Known,
}

impl Whose {
    /// Whether a secret of this one may be sent to an address of that one.
    pub fn goes_to(self, address: Self) -> bool {
        address == self || matches!(address, Self::Persons | Self::Known)
    }
}

impl Config {
    /// Everything that the person answers for is one; each found file is another one for itself.
    fn whose(&self, node: &ConfigNode) -> Whose {
        match self.layers[node.layer()].origin.is_persons() {
            true => Whose::Persons,
            false => Whose::Others(node.layer()),
        }
    }

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
            let to = self.whose(address);
            let foreign = held
                .iter()
                .find(|(_, secret)| !self.whose(secret).goes_to(to));
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

/// An object is what is said in it: each leaf may come from another file.
fn leaves<'n>(node: &'n ConfigNode, path: &KeyPath, found: &mut Vec<(KeyPath, &'n ConfigNode)>) {
    match node {
        ConfigNode::Leaf { .. } => found.push((path.clone(), node)),
        ConfigNode::Object { children, .. } => {
            for (key, child) in children {
                leaves(child, &path.child(key), found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_goes_to_its_holder_to_the_person_and_to_where_everybody_knows() {
        let (persons, one, other) = (Whose::Persons, Whose::Others(1), Whose::Others(2));
        for (secret, address, may) in [
            (persons, persons, true),
            (persons, Whose::Known, true),
            (persons, one, false),
            (one, one, true),
            (one, persons, true),
            (one, Whose::Known, true),
            (one, other, false),
        ] {
            assert_eq!(secret.goes_to(address), may, "{secret:?} to {address:?}");
        }
    }
}
