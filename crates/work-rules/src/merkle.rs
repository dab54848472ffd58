//! A Merkle tree over hashes: one root stands for all of them, and a short proof shows that one is among them.

use serde::{Deserialize, Serialize};

use bonded_kernel::Hash;

/// Sets the nodes of the tree apart from every hash of JSON.
const NODE: &[u8] = b"bonded merkle node 1\0";

/// The hash beside the way up, and on which side it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofStep {
    /// It comes before what was computed so far.
    Left(Hash),
    /// It comes after.
    Right(Hash),
}

/// The root over leaves in their order. One leaf is its own root, none at all is the hash of the empty text, and
/// the last of an odd number goes up as it is.
pub fn merkle_root(leaves: &[Hash]) -> Hash {
    let mut row = leaves.to_vec();
    while row.len() > 1 {
        row = above(&row);
    }
    row.first().copied().unwrap_or_else(|| Hash::of(b""))
}

/// Shows that a leaf is under the root; nothing where there is no such leaf.
pub fn merkle_proof(leaves: &[Hash], leaf: usize) -> Option<Vec<ProofStep>> {
    leaves.get(leaf)?;
    let (mut row, mut at) = (leaves.to_vec(), leaf);
    let mut proof = vec![];
    while row.len() > 1 {
        let step = match at % 2 {
            0 => row.get(at + 1).copied().map(ProofStep::Right),
            _ => row.get(at - 1).copied().map(ProofStep::Left),
        };
        proof.extend(step);
        row = above(&row);
        at /= 2;
    }
    Some(proof)
}

/// The root that a leaf and its proof lead to.
pub fn root_from_proof(leaf: Hash, proof: &[ProofStep]) -> Hash {
    proof.iter().fold(leaf, |below, step| match step {
        ProofStep::Left(left) => node(*left, below),
        ProofStep::Right(right) => node(below, *right),
    })
}

fn above(row: &[Hash]) -> Vec<Hash> {
    let pair = |pair: &[Hash]| match pair {
        [left, right] => node(*left, *right),
        _ => pair[0],
    };
    row.chunks(2).map(pair).collect()
}

fn node(left: Hash, right: Hash) -> Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(NODE);
    hasher.update(left.as_bytes()).update(right.as_bytes());
    hasher.into()
}
