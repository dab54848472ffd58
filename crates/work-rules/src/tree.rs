//! A whole tree of files, and the hash of its state.

use std::sync::Arc;

use bonded_kernel::Hash;
use serde::{Deserialize, Serialize};

use super::path::TreePath;

/// What lies at one path, without what lies below it. Times are no part of a tree's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Node {
    /// A regular file.
    File {
        mode: u32,
        bytes: u64,
        content: Hash,
    },
    /// A symbolic link, which is never followed.
    Link {
        /// Bytes, because targets are.
        target: Box<[u8]>,
    },
    /// A directory by itself.
    Directory { mode: u32 },
    /// Something that is neither.
    Special { special: Special },
}

/// What has no content that could be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A socket of the local machine.
    Socket,
    /// A device, of blocks or characters.
    Device,
}

/// What a name in a directory stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// Never [`Node::Directory`].
    Leaf(Node),
    /// A directory with all that lies in it.
    Directory(Arc<Directory>),
}

/// A directory with everything below it. Its hash covers all of that, so two that are equal need not be
/// looked into.
#[derive(Clone, Debug)]
pub struct Directory {
    mode: u32,
    /// Sorted by name.
    children: Vec<(Box<[u8]>, Child)>,
    hash: Hash,
}

impl PartialEq for Directory {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
    }
}

impl Eq for Directory {}

impl Directory {
    /// Of two children with one name the later one counts.
    pub fn new(mode: u32, mut children: Vec<(Box<[u8]>, Child)>) -> Self {
        children.sort_by(|(a, _), (b, _)| b.cmp(a));
        children.reverse();
        children.dedup_by(|earlier, later| earlier.0 == later.0);
        let hash = hash(mode, &children);
        Self {
            mode,
            children,
            hash,
        }
    }

    /// Its permissions.
    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// Over its mode and everything below it.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Sorted by their names.
    pub fn children(&self) -> &[(Box<[u8]>, Child)] {
        &self.children
    }

    /// What a name in it stands for.
    pub fn child(&self, name: &[u8]) -> Option<&Child> {
        let at = self.place(name).ok()?;
        Some(&self.children[at].1)
    }

    fn place(&self, name: &[u8]) -> Result<usize, usize> {
        self.children
            .binary_search_by(|(other, _)| other.as_ref().cmp(name))
    }
}

impl Child {
    /// The child by itself, without what lies below it.
    pub fn node(&self) -> Node {
        match self {
            Self::Leaf(node) => node.clone(),
            Self::Directory(directory) => Node::Directory {
                mode: directory.mode,
            },
        }
    }
}

/// Every field is led by its length or has a fixed one, so that no two states are written alike.
fn hash(mode: u32, children: &[(Box<[u8]>, Child)]) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"bonded directory 1\0");
    hasher.update(&mode.to_be_bytes());
    for (name, child) in children {
        update_with_length(&mut hasher, name);
        match child {
            Child::Directory(directory) => {
                hasher.update(b"d").update(directory.hash.as_bytes());
            }
            Child::Leaf(node) => update_with_node(&mut hasher, node),
        }
    }
    hasher.into()
}

fn update_with_node(hasher: &mut blake3::Hasher, node: &Node) {
    match node {
        Node::File {
            mode,
            bytes,
            content,
        } => {
            hasher.update(b"f").update(&mode.to_be_bytes());
            hasher
                .update(&bytes.to_be_bytes())
                .update(content.as_bytes());
        }
        Node::Link { target } => {
            hasher.update(b"l");
            update_with_length(hasher, target);
        }
        Node::Directory { mode } => {
            hasher.update(b"D").update(&mode.to_be_bytes());
        }
        Node::Special { special } => {
            hasher.update(match special {
                Special::Fifo => b"p",
                Special::Socket => b"s",
                Special::Device => b"v",
            });
        }
    }
}

fn update_with_length(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    let length = bytes.len() as u64;
    hasher.update(&length.to_be_bytes()).update(bytes);
}

/// A tree as it is at one moment. The mode of its root is no part of it: a copy's root has its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    root: Arc<Directory>,
}

impl Tree {
    /// A tree whose root holds these. The root's own mode is no part of its state.
    pub fn new(children: Vec<(Box<[u8]>, Child)>) -> Self {
        Self {
            root: Arc::new(Directory::new(0, children)),
        }
    }

    /// The state hash.
    pub fn hash(&self) -> Hash {
        self.root.hash
    }

    /// The root as a directory.
    pub fn root(&self) -> &Arc<Directory> {
        &self.root
    }

    /// What lies at a path.
    pub fn get(&self, path: &TreePath) -> Option<&Child> {
        let mut names = path.names();
        let mut child = self.root.child(names.next()?)?;
        for name in names {
            let Child::Directory(directory) = child else {
                return None;
            };
            child = directory.child(name)?;
        }
        Some(child)
    }

    /// What lies at a path, without what lies below it.
    pub fn node(&self, path: &TreePath) -> Option<Node> {
        self.get(path).map(Child::node)
    }
}
