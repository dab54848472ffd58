//! A tree in a file: directories one inside the other, led by the hash of the whole.
//!
//! ```text
//! file      = "bonded tree 1\n" state-hash children
//! children  = count child*                          count is a varint
//! child     = length name kind
//! kind      = 'f' mode bytes content | 'l' length target | 'd' mode children | 'p' | 's' | 'v'
//! ```

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bonded_kernel::Hash;
use bonded_work_rules::{Child, Directory, Node, Special, Tree};

use super::error::TreeError;
use crate::files::write_durably;

const MAGIC: &[u8; 14] = b"bonded tree 1\n";
/// Longer paths than this cannot be frozen, and so no deeper trees either.
const DEPTH_MAX: usize = 2048;

type Children = Vec<(Box<[u8]>, Child)>;

/// Writes a tree durably.
pub fn write_tree(tree: &Tree, path: &Path) -> Result<(), TreeError> {
    write_durably(path, &encode_tree(tree)).map_err(TreeError::kept(path))
}

/// Reads a tree, and checks that it is the one that was written.
pub fn read_tree(path: &Path) -> Result<Tree, TreeError> {
    let bytes = fs::read(path).map_err(TreeError::unreadable(path))?;
    decode_tree(&bytes).map_err(|why| TreeError::Damaged {
        path: path.to_owned(),
        why,
    })
}

/// A tree as bytes, led by its hash.
pub(crate) fn encode_tree(tree: &Tree) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(tree.hash().as_bytes());
    encode_children(tree.root(), &mut out);
    out
}

/// The depth is bounded by the longest path that could be frozen.
fn encode_children(directory: &Directory, out: &mut Vec<u8>) {
    put_number(directory.children().len() as u64, out);
    for (name, child) in directory.children() {
        put_bytes(name, out);
        match child {
            Child::Directory(below) => {
                out.push(b'd');
                put_number(below.mode().into(), out);
                encode_children(below, out);
            }
            Child::Leaf(node) => encode_leaf(node, out),
        }
    }
}

fn encode_leaf(node: &Node, out: &mut Vec<u8>) {
    match node {
        Node::File {
            mode,
            bytes,
            content,
        } => {
            out.push(b'f');
            put_number((*mode).into(), out);
            put_number(*bytes, out);
            out.extend_from_slice(content.as_bytes());
        }
        Node::Link { target } => {
            out.push(b'l');
            put_bytes(target, out);
        }
        Node::Directory { mode } => {
            out.push(b'd');
            put_number((*mode).into(), out);
            put_number(0, out);
        }
        Node::Special { special } => out.push(match special {
            Special::Fifo => b'p',
            Special::Socket => b's',
            Special::Device => b'v',
        }),
    }
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Seven bits a byte, the lowest first.
fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

const CUT: &str = "it ends too early";
const UNKNOWN: &str = "it has content that no tree has";

/// The hash of the whole is computed anew: a file that was changed in any way is refused.
pub(crate) fn decode_tree(bytes: &[u8]) -> Result<Tree, &'static str> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it is not a tree")?;
    let (hash, rest) = rest.split_first_chunk().ok_or(CUT)?;
    let mut left = Left(rest);
    let children = left.tree()?;
    if !left.0.is_empty() {
        return Err("it has data after its end");
    }
    let tree = Tree::new(children);
    match tree.hash() == Hash::from_bytes(*hash) {
        true => Ok(tree),
        false => Err("it is not the tree that its hash names"),
    }
}

/// What is left to be read.
struct Left<'a>(&'a [u8]);

/// A directory whose children are being read.
struct OpenDirectory {
    name: Box<[u8]>,
    mode: u32,
    children: Children,
    left: u64,
}

impl<'a> Left<'a> {
    /// Goes down and up without recursion: the depth is a stranger's choice.
    fn tree(&mut self) -> Result<Children, &'static str> {
        let mut above: Vec<OpenDirectory> = vec![];
        let mut open = self.open([].into(), 0)?;
        loop {
            if open.left > 0 {
                open.left -= 1;
                let name = Box::from(self.bytes()?);
                match self.byte()? {
                    b'd' if above.len() < DEPTH_MAX => {
                        let mode = self.mode()?;
                        above.push(std::mem::replace(&mut open, self.open(name, mode)?));
                    }
                    kind => open.children.push((name, self.leaf(kind)?)),
                }
                continue;
            }
            let Some(mut parent) = above.pop() else {
                return Ok(open.children);
            };
            let directory = Directory::new(open.mode, open.children);
            let child = Child::Directory(Arc::new(directory));
            parent.children.push((open.name, child));
            open = parent;
        }
    }

    fn open(&mut self, name: Box<[u8]>, mode: u32) -> Result<OpenDirectory, &'static str> {
        Ok(OpenDirectory {
            name,
            mode,
            children: vec![],
            left: self.number()?,
        })
    }

    fn leaf(&mut self, kind: u8) -> Result<Child, &'static str> {
        let special = |special| Node::Special { special };
        Ok(Child::Leaf(match kind {
            b'f' => Node::File {
                mode: self.mode()?,
                bytes: self.number()?,
                content: self.hash()?,
            },
            b'l' => Node::Link {
                target: self.bytes()?.into(),
            },
            b'p' => special(Special::Fifo),
            b's' => special(Special::Socket),
            b'v' => special(Special::Device),
            _ => return Err(UNKNOWN),
        }))
    }

    fn byte(&mut self) -> Result<u8, &'static str> {
        let (first, rest) = self.0.split_first().ok_or(CUT)?;
        self.0 = rest;
        Ok(*first)
    }

    /// At most ten bytes.
    fn number(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(UNKNOWN)
    }

    fn mode(&mut self) -> Result<u32, &'static str> {
        u32::try_from(self.number()?).map_err(|_| UNKNOWN)
    }

    fn bytes(&mut self) -> Result<&'a [u8], &'static str> {
        let length = usize::try_from(self.number()?).map_err(|_| CUT)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn hash(&mut self) -> Result<Hash, &'static str> {
        let (hash, rest) = self.0.split_first_chunk().ok_or(CUT)?;
        self.0 = rest;
        Ok(Hash::from_bytes(*hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Tree {
        let file = Node::File {
            mode: 0o644,
            bytes: 300,
            content: Hash::of(b"x"),
        };
        let link = Node::Link {
            target: b"../\xff".as_slice().into(),
        };
        let pipe = Node::Special {
            special: Special::Fifo,
        };
        let inner = vec![(b"\xfe".as_slice().into(), Child::Leaf(link))];
        let below = Child::Directory(Arc::new(Directory::new(0o1777, inner)));
        let empty = Child::Directory(Arc::new(Directory::new(0o700, vec![])));
        Tree::new(vec![
            (b"a".as_slice().into(), Child::Leaf(file)),
            (b"d".as_slice().into(), below),
            (b"e".as_slice().into(), empty),
            (b"p".as_slice().into(), Child::Leaf(pipe)),
        ])
    }

    #[test]
    fn a_tree_is_read_as_it_was_written_and_not_at_all_when_it_was_changed() {
        let bytes = encode_tree(&example());
        assert_eq!(decode_tree(&bytes), Ok(example()));
        for at in 0..bytes.len() {
            assert!(decode_tree(&bytes[..at]).is_err(), "cut at {at}");
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            assert!(decode_tree(&bytes).is_err(), "changed at {at}");
        }
    }

    #[test]
    fn a_tree_that_is_deeper_than_any_path_is_refused() {
        let mut bytes = [&MAGIC[..], &[0; 32]].concat();
        for _ in 0..100_000 {
            bytes.extend_from_slice(b"\x01\x01xd\x00");
        }
        assert!(decode_tree(&bytes).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_without_a_panic(rest: Vec<u8>) {
            let bytes = [&MAGIC[..], &[0; 32], &rest].concat();
            assert!(decode_tree(&bytes).is_err());
            assert!(decode_tree(&rest).is_err());
        }
    }
}
