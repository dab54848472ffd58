//! Appends that come while another one is under way, and wait to be sent together.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_state::{Append, StoreError};
use tokio::sync::{Notify, oneshot};

use crate::keys::{HeldRun, RunNumber};
use crate::{blobs, body};

/// What the connection for groups begins with. A plan is made once, whatever the groups are: by the index, in the order of
/// the runs, so that two groups lock in the same order. A run that somebody else has locked holds up the others for a moment.
pub(crate) const SETTINGS: &str = " -c plan_cache_mode=force_generic_plan -c enable_hashjoin=off \
     -c enable_mergejoin=off -c enable_seqscan=off -c lock_timeout=200";

/// The same for a transaction through a pooler.
pub(crate) const POOLED_SETTINGS: &str = "; SET LOCAL enable_hashjoin TO off; SET LOCAL enable_mergejoin TO off; \
     SET LOCAL enable_seqscan TO off; SET LOCAL lock_timeout TO 200";

/// How many appends are sent together.
const MEMBERS_MAX: usize = 512;

/// How many bytes are sent together. One append may have more.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// An append that waits to be sent with others.
pub(crate) struct GroupMember {
    pub(crate) append: Arc<Append>,
    pub(crate) key: RunNumber,
    pub(crate) epoch: i64,
    pub(crate) named: Option<Vec<u8>>,
    pub(crate) body: Vec<u8>,
    pub(crate) answer: oneshot::Sender<GroupAnswer>,
}

/// What came of an append in a group.
pub(crate) enum GroupAnswer {
    /// Whether it was carried out; an error where that is not known.
    Sent(Result<bool, StoreError>),
    /// It is sent by itself. Others wait as long as the turn is held.
    Alone(Option<AppendTurn>),
}

/// The appends of a process.
#[derive(Default)]
pub(crate) struct AppendGathering {
    gathered: Mutex<Gathered>,
    /// Nothing is under way any more, and there is something to be sent.
    is_next: Notify,
}

#[derive(Default)]
struct Gathered {
    is_under_way: bool,
    waiting: Vec<GroupMember>,
}

impl std::fmt::Debug for AppendGathering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppendGathering").finish_non_exhaustive()
    }
}

/// An append or a group is under way. When it is dropped, those that have gathered meanwhile are sent.
pub(crate) struct AppendTurn(Arc<AppendGathering>);

impl Drop for AppendTurn {
    fn drop(&mut self) {
        let mut gathered = self.0.gathered();
        gathered.is_under_way = !gathered.waiting.is_empty();
        if gathered.is_under_way {
            self.0.is_next.notify_one();
        }
    }
}

impl AppendGathering {
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for what is under way; gives the turn where nothing is.
    pub(crate) fn enter(
        self: &Arc<Self>,
        append: &Arc<Append>,
        held: &HeldRun,
    ) -> Result<oneshot::Receiver<GroupAnswer>, AppendTurn> {
        let mut gathered = self.gathered();
        if !std::mem::replace(&mut gathered.is_under_way, true) {
            return Err(AppendTurn(Arc::clone(self)));
        }
        let (answer, waiting) = oneshot::channel();
        gathered.waiting.push(GroupMember {
            append: Arc::clone(append),
            key: held.key,
            epoch: held.epoch,
            named: blobs::referred(append),
            body: body::write(&append.entries),
            answer,
        });
        Ok(waiting)
    }

    /// Those that are sent next, with their turn, as soon as there are any.
    pub(crate) async fn next(self: &Arc<Self>) -> (Vec<GroupMember>, AppendTurn) {
        self.is_next.notified().await;
        let mut gathered = self.gathered();
        let (members, later) = divide(std::mem::take(&mut gathered.waiting));
        gathered.waiting = later;
        (members, AppendTurn(Arc::clone(self)))
    }
}

/// As many as one statement takes, by their runs, and those that have to wait. A run has one append in a group.
fn divide(waiting: Vec<GroupMember>) -> (Vec<GroupMember>, Vec<GroupMember>) {
    let (mut members, mut later) = (vec![], vec![]);
    let mut runs = BTreeSet::new();
    let mut bytes = 0;
    for member in waiting {
        let size = member.size();
        let has_room = members.is_empty() || bytes + size <= BYTES_MAX;
        // One that comes after another of its run waits for that one.
        let is_first = runs.insert(member.key);
        match is_first && has_room && members.len() < MEMBERS_MAX {
            true => {
                bytes += size;
                members.push(member);
            }
            false => later.push(member),
        }
    }
    members.sort_by_key(|member| member.key);
    (members, later)
}

impl GroupMember {
    fn size(&self) -> usize {
        let blobs = self.append.blobs.iter();
        self.body.len() + blobs.map(|(_, content)| content.len()).sum::<usize>()
    }

    pub(crate) fn decide(self, answer: GroupAnswer) {
        // Who appends waits until the end, unless the store is closed.
        let _decided = self.answer.send(answer);
    }
}
