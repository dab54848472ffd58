//! What the machines that work on a plan send one another through the store: the tree that items begin with, what each
//! is to do, and what it left in its copy.
//!
//! Everything is a content with a hash, and the log of an item's run names the one from which all others follow. The
//! store is not trusted with any of it: what comes is held against its hash, and what is another is refused and named.
//! Nothing here makes a copy, judges or publishes.

mod copy_state;
mod error;
mod order;
mod spool;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::Arc;

use bonded_kernel::{Hash, RunId};
use bonded_state::{ObjectPiece, PIECE_BYTES_MAX, PlanObjects, Store};
use bonded_work_rules::{Change, Child, Directory, Node, Special, Tree, TreePath};

use crate::plan::PlanId;
use crate::tree::{Checkpoints, decode_tree, encode_tree};
pub(crate) use copy_state::{CopySeen, CopyState};
pub use error::ExchangeError;
pub(crate) use order::ItemOrder;
use spool::Spool;

/// How many contents one statement asks for.
const ASKED_MAX: usize = 500;
/// How much one statement carries, beside the piece that goes beyond it.
const CARRIED_BYTES: u64 = 4 * 1024 * 1024;
/// More than the list of any tree that can be frozen in reasonable time takes.
const TREE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// Contents by their hashes, with their lengths.
pub(crate) type Lengths = BTreeMap<Hash, u64>;

/// The place of one plan in a store.
#[derive(Clone)]
pub(crate) struct Exchange {
    store: Arc<dyn Store>,
    plan: PlanId,
}

impl Exchange {
    pub(crate) fn new(store: Arc<dyn Store>, plan: PlanId) -> Self {
        Self { store, plan }
    }

    fn objects(&self) -> Result<&dyn PlanObjects, ExchangeError> {
        self.store.objects().ok_or(ExchangeError::NoObjects)
    }

    /// Sends a content that is no file's, unless it is there.
    pub(crate) async fn send(&self, bytes: &[u8]) -> Result<Hash, ExchangeError> {
        let hash = Hash::of(bytes);
        let objects = self.objects()?;
        let plan = self.plan.as_str();
        if objects.missing(plan, vec![hash]).await?.is_empty() {
            return Ok(hash);
        }
        let count = piece_count(bytes.len() as u64);
        let mut rest = bytes;
        for number in 0..count {
            let (piece, left) = rest.split_at(rest.len().min(PIECE_BYTES_MAX));
            rest = left;
            let piece = ObjectPiece {
                hash,
                number,
                count,
                bytes: piece.to_vec(),
            };
            objects.put(plan, vec![piece]).await?;
        }
        Ok(hash)
    }

    /// Sends a frozen tree with all of its contents; gives the content that lists it.
    pub(crate) async fn send_tree(
        &self,
        tree: &Tree,
        from: &Checkpoints,
    ) -> Result<Hash, ExchangeError> {
        let contents = contents_of(tree)?;
        self.send_contents(from, &contents).await?;
        self.send(&encode_tree(tree)).await
    }

    /// Sends those of these contents that are not there. The pieces of one content follow one another.
    pub(crate) async fn send_contents(
        &self,
        from: &Checkpoints,
        contents: &Lengths,
    ) -> Result<(), ExchangeError> {
        let objects = self.objects()?;
        let plan = self.plan.as_str();
        let all: Vec<Hash> = contents.keys().copied().collect();
        for asked in all.chunks(ASKED_MAX) {
            let (mut carried, mut carried_bytes) = (vec![], 0);
            for hash in objects.missing(plan, asked.to_vec()).await? {
                let bytes = contents.get(&hash).copied().unwrap_or_default();
                let count = piece_count(bytes);
                let mut content = from.read(hash)?;
                for number in 0..count {
                    let mut piece = vec![];
                    let most = PIECE_BYTES_MAX as u64;
                    let read = content.by_ref().take(most).read_to_end(&mut piece);
                    read.map_err(|source| ExchangeError::Unreadable { hash, source })?;
                    carried_bytes += piece.len() as u64;
                    carried.push(ObjectPiece {
                        hash,
                        number,
                        count,
                        bytes: piece,
                    });
                    if carried_bytes >= CARRIED_BYTES {
                        objects.put(plan, std::mem::take(&mut carried)).await?;
                        carried_bytes = 0;
                    }
                }
            }
            if !carried.is_empty() {
                objects.put(plan, carried).await?;
            }
        }
        Ok(())
    }

    /// Fetches a content that is no file's, and is no longer than `bytes_max`.
    pub(crate) async fn fetch(&self, hash: Hash, bytes_max: u64) -> Result<Vec<u8>, ExchangeError> {
        let mut content = vec![];
        let mut number = 0;
        loop {
            let piece = self.piece(hash, number).await?;
            content.extend_from_slice(&piece.bytes);
            number += 1;
            if number >= piece.count || content.len() as u64 > bytes_max {
                break;
            }
        }
        self.check(hash, Hash::of(&content))?;
        Ok(content)
    }

    /// Fetches the list of a tree, and checks that it is the one with this state.
    pub(crate) async fn fetch_tree(&self, list: Hash, state: Hash) -> Result<Tree, ExchangeError> {
        let bytes = self.fetch(list, TREE_BYTES_MAX).await?;
        let tree = decode_tree(&bytes).ok().filter(|tree| tree.hash() == state);
        tree.ok_or(ExchangeError::OtherTree { list, state })
    }

    /// Fetches those of these contents that are not kept here. Each is checked before it is kept.
    pub(crate) async fn fetch_contents(
        &self,
        to: &Checkpoints,
        wanted: &Lengths,
    ) -> Result<(), ExchangeError> {
        let is_lacking = |(hash, _): &(&Hash, &u64)| !to.has(**hash);
        let lacking = wanted.iter().filter(is_lacking);
        let (mut batch, mut batch_bytes) = (Lengths::new(), 0);
        for (hash, bytes) in lacking {
            if *bytes > PIECE_BYTES_MAX as u64 {
                self.fetch_long(to, *hash, *bytes).await?;
                continue;
            }
            batch.insert(*hash, *bytes);
            batch_bytes += bytes;
            if batch_bytes >= CARRIED_BYTES || batch.len() == ASKED_MAX {
                self.fetch_short(to, std::mem::take(&mut batch)).await?;
                batch_bytes = 0;
            }
        }
        self.fetch_short(to, batch).await?;
        to.sync()?;
        Ok(())
    }

    /// Contents of one piece each.
    async fn fetch_short(
        &self,
        to: &Checkpoints,
        mut wanted: Lengths,
    ) -> Result<(), ExchangeError> {
        if wanted.is_empty() {
            return Ok(());
        }
        let asked = wanted.keys().copied().collect();
        let pieces = self.objects()?.get(self.plan.as_str(), asked, 0).await?;
        for piece in pieces {
            let Some(bytes) = wanted.remove(&piece.hash) else {
                continue;
            };
            self.check(piece.hash, Hash::of(&piece.bytes))?;
            self.check_length(piece.hash, piece.bytes.len() as u64, bytes)?;
            to.put(&piece.bytes)?;
        }
        match wanted.into_keys().next() {
            Some(hash) => Err(self.missing(hash)),
            None => Ok(()),
        }
    }

    /// A content of several pieces, which is never in memory as a whole.
    async fn fetch_long(
        &self,
        to: &Checkpoints,
        hash: Hash,
        bytes: u64,
    ) -> Result<(), ExchangeError> {
        let mut spool = Spool::new(to.dir())?;
        let mut number = 0;
        while spool.bytes() < bytes {
            let piece = self.piece(hash, number).await?;
            if piece.bytes.is_empty() {
                break;
            }
            spool.write(&piece.bytes)?;
            number += 1;
        }
        self.check(hash, spool.hash())?;
        self.check_length(hash, spool.bytes(), bytes)?;
        spool.keep(to)
    }

    async fn piece(&self, hash: Hash, number: u32) -> Result<ObjectPiece, ExchangeError> {
        let plan = self.plan.as_str();
        let pieces = self.objects()?.get(plan, vec![hash], number).await?;
        let piece = pieces.into_iter().next();
        piece.ok_or_else(|| self.missing(hash))
    }

    fn missing(&self, hash: Hash) -> ExchangeError {
        let plan = self.plan.clone();
        ExchangeError::Missing { hash, plan }
    }

    fn check(&self, hash: Hash, found: Hash) -> Result<(), ExchangeError> {
        match hash == found {
            true => Ok(()),
            false => Err(ExchangeError::OtherContent {
                hash,
                plan: self.plan.clone(),
            }),
        }
    }

    /// What a list says of a content that is as its hash says: the list is wrong.
    fn check_length(&self, hash: Hash, found: u64, listed: u64) -> Result<(), ExchangeError> {
        match found == listed {
            true => Ok(()),
            false => Err(ExchangeError::OtherLength { hash, listed }),
        }
    }

    /// Says in what state the copy of a run is.
    pub(crate) async fn leave(&self, state: &CopyState) -> Result<(), ExchangeError> {
        let hash = self.send(&state.to_bytes()).await?;
        self.objects()?.leave(&state.run, hash).await?;
        Ok(())
    }

    /// The state in which the copy of a run was left, which began with a tree of this state.
    pub(crate) async fn left(&self, run: &RunId, before: Hash) -> Result<CopySeen, ExchangeError> {
        let Some(hash) = self.objects()?.left(run).await? else {
            return Ok(CopySeen::unchanged());
        };
        let bytes = self.fetch(hash, CopyState::BYTES_MAX as u64).await?;
        let state = CopyState::read(&bytes);
        let state = state.filter(|it| it.run == *run && it.before == before);
        match state {
            Some(state) => Ok(state.seen),
            None => Err(ExchangeError::OtherState {
                run: run.clone(),
                hash,
            }),
        }
    }
}

/// An empty content is one empty piece.
fn piece_count(bytes: u64) -> u32 {
    let count = bytes.div_ceil(PIECE_BYTES_MAX as u64).max(1);
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// The contents of the files that changes end with.
pub(crate) fn contents_after(changes: &[Change]) -> Lengths {
    let after = changes.iter().filter_map(|change| change.after.as_ref());
    after.filter_map(content).collect()
}

fn content(node: &Node) -> Option<(Hash, u64)> {
    match node {
        Node::File { bytes, content, .. } => Some((*content, *bytes)),
        Node::Link { .. } | Node::Directory { .. } | Node::Special { .. } => None,
    }
}

/// Every content of a tree. A device cannot be made on another machine.
pub(crate) fn contents_of(tree: &Tree) -> Result<Lengths, ExchangeError> {
    let mut contents = Lengths::new();
    let mut left: Vec<(Option<TreePath>, Arc<Directory>)> = vec![(None, tree.root().clone())];
    while let Some((at, directory)) = left.pop() {
        for (name, child) in directory.children() {
            match child {
                Child::Leaf(Node::Special {
                    special: Special::Device,
                }) => {
                    let path = TreePath::child(at.as_ref(), name).ok();
                    return Err(ExchangeError::Device { path });
                }
                Child::Leaf(node) => contents.extend(content(node)),
                Child::Directory(below) => {
                    let path = TreePath::child(at.as_ref(), name).ok();
                    left.push((path, below.clone()));
                }
            }
        }
    }
    Ok(contents)
}
