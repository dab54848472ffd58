//! Appends of several runs in one statement, with one commit.
//!
//! Nothing waits for a group to form: an append that comes alone is sent at once, and those that come while it is under way
//! are sent together when it is answered. Each is judged by itself. What is refused, or unknown, is settled by who appends,
//! as if it had been sent alone; and where something is wrong that names no run, each is sent alone.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bonded_state::{Append, StoreError};
use tokio::time::timeout;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use crate::append::{bytes, seq, state_after};
use crate::blobs;
use crate::connection;
use crate::gathering::{AppendTurn, GroupAnswer, GroupMember, POOLED_SETTINGS};
use crate::keys::{HeldRun, RunNumber};
use crate::parameter::SqlValues;
use crate::server::Server;

/// For how long an append that waits for a lock keeps others from being sent.
const LOCK_WAIT: Duration = Duration::from_millis(200);

/// How often a group is sent again that another one was in the way of.
const DEADLOCKS_MAX: u32 = 3;

/// Moves the heads as one append moves its own, each if it is where its entries follow and its claim is the last one.
macro_rules! advance {
    () => {
        "WITH h AS (UPDATE bonded.drive d SET head = g.last, hash = g.hash, \
            worker = CASE WHEN g.state = 3 THEN NULL ELSE d.worker END, \
            state = CASE WHEN g.state >= 3 OR d.state < 3 THEN coalesce(g.state, d.state) ELSE d.state END, \
            lane = CASE WHEN g.state = 4 THEN NULL ELSE d.lane END, \
            ready = CASE WHEN g.state = 2 THEN NULL WHEN g.state = 0 AND d.state < 3 THEN clock_timestamp() ELSE d.ready END \
         FROM unnest($1::bigint[], $2::int[], $3::smallint[], $4::int[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bytea[], \
            $9::bigint[]) AS g (run, first, state, last, hash, blobs, body, prev, epoch) \
         WHERE d.run = g.run AND d.head = g.first AND d.hash = g.prev AND d.epoch = g.epoch \
         RETURNING g.run, g.first, g.last, g.hash, g.blobs, g.body)"
    };
}

macro_rules! add_steps {
    () => {
        " INSERT INTO bonded.step (run, first, last, hash, blobs, body) \
         SELECT run, first + 1, last, hash, blobs, body FROM h RETURNING run"
    };
}

const GROUP: &str = concat!(advance!(), add_steps!());

const GROUP_WITH_BLOBS: &str = concat!(
    advance!(),
    ", b AS (INSERT INTO bonded.blob (run, hash, bytes) SELECT t.run, t.hash, t.bytes \
        FROM unnest($10::bigint[], $11::bytea[], $12::bytea[]) AS t (run, hash, bytes) JOIN h ON h.run = t.run \
        ON CONFLICT DO NOTHING)",
    add_steps!()
);

impl Server {
    /// Sends an append of a run that this process holds, with those of others where there are any. Says whether it was carried
    /// out.
    pub(crate) async fn send_held(
        self: &Arc<Self>,
        append: &Arc<Append>,
        held: &HeldRun,
    ) -> Result<bool, StoreError> {
        if !self.address.groups_appends {
            return self.send(append, held.key, Some(held)).await;
        }
        let turn = match self.gathering.enter(append, held) {
            Err(turn) => Some(turn),
            Ok(waiting) => match waiting.await {
                Ok(GroupAnswer::Sent(done)) => return done,
                Ok(GroupAnswer::Alone(turn)) => turn,
                Err(_) => {
                    return Err(StoreError::Closed {
                        file: self.address.label().into(),
                    });
                }
            },
        };
        let mut sent = std::pin::pin!(self.send(append, held.key, Some(held)));
        if let Ok(done) = timeout(LOCK_WAIT, &mut sent).await {
            return done;
        }
        drop(turn);
        sent.await
    }

    /// Sends what has gathered, one group after the other, for as long as there is a store.
    pub(crate) async fn send_groups(self: Arc<Self>) {
        loop {
            let (members, turn) = self.gathering.next().await;
            self.send_gathered(members, turn).await;
        }
    }

    /// Sends what has gathered, and tells each what came of it.
    async fn send_gathered(&self, members: Vec<GroupMember>, turn: AppendTurn) {
        let members = match <[GroupMember; 1]>::try_from(members) {
            Ok([member]) => return member.decide(GroupAnswer::Alone(Some(turn))),
            Err(members) => members,
        };
        let sent = self.send_group(&members).await;
        // The next ones are on their way before these are told.
        drop(turn);
        for member in members {
            let answer = match &sent {
                GroupOutcome::Done(done) => GroupAnswer::Sent(Ok(done.contains(&member.key))),
                GroupOutcome::Unknown(error) => GroupAnswer::Sent(Err(error.clone())),
                GroupOutcome::Undone => GroupAnswer::Alone(None),
            };
            member.decide(answer);
        }
    }

    async fn send_group(&self, members: &[GroupMember]) -> GroupOutcome {
        let mut deadlocks = 0;
        loop {
            let pool = &self.pools.groups;
            let connection = match connection::take(&self.address, pool, self.access).await {
                Ok(connection) => connection,
                Err(error) if error.may_pass() => return GroupOutcome::Unknown(error),
                // Each finds out for itself.
                Err(_) => return GroupOutcome::Undone,
            };
            let sent = self.ask_group(&connection, members).await;
            let error = match sent {
                Ok(done) => return GroupOutcome::Done(done),
                Err(error) => error,
            };
            match error.code().map(SqlState::code) {
                Some("40P01") if deadlocks < DEADLOCKS_MAX => deadlocks += 1,
                // All of it was undone, and nothing says because of which run.
                Some("40P01" | "55P03") => return GroupOutcome::Undone,
                _ => {
                    let error = self.fault_on(connection, &error);
                    return match error.may_pass() {
                        true => GroupOutcome::Unknown(error),
                        false => GroupOutcome::Undone,
                    };
                }
            }
        }
    }

    /// The runs whose appends were carried out.
    async fn ask_group(
        &self,
        connection: &deadpool_postgres::Object,
        members: &[GroupMember],
    ) -> Result<BTreeSet<RunNumber>, Error> {
        let column = |of: fn(&GroupMember) -> i32| members.iter().map(of).collect::<Vec<i32>>();
        let keys: Vec<i64> = members.iter().map(|it| it.key).collect();
        let epochs: Vec<i64> = members.iter().map(|it| it.epoch).collect();
        let first = column(|it| seq(it.append.expected));
        let last = column(|it| seq(it.append.head));
        let states: Vec<Option<i16>> = members.iter().map(|it| state_after(&it.append)).collect();
        let hashes = members.iter().map(|it| bytes(&it.append.head.hash));
        let hashes: Vec<&[u8]> = hashes.collect();
        let prev = members.iter().map(|it| bytes(&it.append.expected.hash));
        let prev: Vec<&[u8]> = prev.collect();
        let named: Vec<Option<&[u8]>> = members.iter().map(|it| it.named.as_deref()).collect();
        let bodies: Vec<&[u8]> = members.iter().map(|it| it.body.as_slice()).collect();
        let values: SqlValues<'_> = &[
            &keys, &first, &states, &last, &hashes, &named, &bodies, &prev, &epochs,
        ];
        let rows = match named.iter().any(Option::is_some) {
            false => self.ask(connection, GROUP, values, POOLED_SETTINGS).await?,
            true => {
                let (mut runs, mut hashes, mut contents) = (vec![], vec![], vec![]);
                for member in members {
                    let (own_hashes, own_contents) = blobs::columns(&member.append);
                    runs.extend(own_hashes.iter().map(|_| member.key));
                    hashes.extend(own_hashes);
                    contents.extend(own_contents);
                }
                let mut values = values.to_vec();
                values.extend_from_slice(&[&runs, &hashes, &contents]);
                self.ask(connection, GROUP_WITH_BLOBS, &values, POOLED_SETTINGS)
                    .await?
            }
        };
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}

/// What came of a group.
enum GroupOutcome {
    /// The appends of these runs were carried out, and the others refused.
    Done(BTreeSet<RunNumber>),
    /// Nothing is known.
    Unknown(StoreError),
    /// None was carried out.
    Undone,
}
