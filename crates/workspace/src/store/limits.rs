//! What bounds those who ask, where several servers share a store: how often somebody may, and who guesses passwords.
//!
//! It is counted here only where it must be; a file is served by one process, which counts in its memory. What is lost of
//! it when the server of the database crashes does no harm.

use std::time::Duration;

use bonded_kernel::Millis;
use rusqlite::params;

use super::codes::{at, count, number, time};
use super::connection::Connection;
use super::error::{StoreFault, WorkspaceError};
use super::rows;
use super::workspace_store::WorkspaceStore;

/// How many guessers are remembered; a flood of addresses must not fill the store.
const GUESSERS_MAX: u64 = 16_384;

/// A place that guesses come from, or one account of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guesser {
    /// Tells it from others.
    pub name: String,
    /// So many wrong ones cost nothing.
    pub free: u32,
}

/// How guessers are slowed down.
#[derive(Clone, Copy, Debug)]
pub struct GuessRule {
    /// How long nothing is looked at after so many, of which so many were free.
    pub pause: fn(u32, u32) -> Duration,
    /// After so long without a guess everything is forgotten.
    pub forget_after: Duration,
}

impl WorkspaceStore {
    /// Counts a request for all servers of the store together, at most so many within any window. Says how long to wait
    /// where it is one too many.
    pub async fn take_turn(
        &self,
        name: String,
        limit: u32,
        window: Duration,
    ) -> Result<Option<Duration>, WorkspaceError> {
        self.look_up(move |connection| {
            let window_ms = window.as_millis() as f64;
            if limit == 0 {
                return Ok(Some(window));
            }
            let recent = "SELECT seen FROM unnest(rate.times) AS seen \
                          WHERE seen > clock_timestamp() - ?2 * interval '1 millisecond'";
            let sql = format!(
                "INSERT INTO rate (name, times) VALUES (?1, ARRAY[clock_timestamp()]) \
                 ON CONFLICT (name) DO UPDATE SET times = array_append(ARRAY({recent}), clock_timestamp()) \
                 WHERE cardinality(ARRAY({recent})) < ?3"
            );
            let parameters = params![name, window_ms, i64::from(limit)];
            if connection.execute(&sql, parameters)? > 0 {
                return Ok(None);
            }
            let sql = format!(
                "SELECT CAST(extract(epoch FROM (SELECT min(seen) FROM ({recent}) AS recent (seen)) \
                 + ?2 * interval '1 millisecond' - clock_timestamp()) * 1000 AS bigint) \
                 FROM rate WHERE name = ?1"
            );
            let rest = rows::one(connection, &sql, params![name, window_ms], |row| {
                row.get::<Option<i64>>(0)
            })?;
            let rest_ms = rest.flatten().map_or(1, |rest| count(rest).max(1));
            Ok(Some(Duration::from_millis(rest_ms)))
        })
        .await
    }

    /// Counts an attempt as wrong until it is said to be right, or says how long nothing is looked at.
    pub async fn begin_guess(
        &self,
        guessers: Vec<Guesser>,
        rule: GuessRule,
        now: Millis,
    ) -> Result<Option<Duration>, WorkspaceError> {
        self.change(move |transaction| begin(transaction.connection, &guessers, rule, now))
            .await
    }

    /// It was none: the first of these is forgotten, and the other has one less.
    pub async fn right_guess(&self, own: String, place: String) -> Result<(), WorkspaceError> {
        self.change(move |transaction| {
            let connection = transaction.connection;
            connection.execute("DELETE FROM guess WHERE guesser = ?1", [&own])?;
            let sql = "UPDATE guess SET count = greatest(count - 1, 0), next_at = last_at \
                       WHERE guesser = ?1";
            connection.execute(sql, [&place])?;
            Ok(())
        })
        .await
    }
}

fn begin(
    connection: Connection<'_>,
    guessers: &[Guesser],
    rule: GuessRule,
    now: Millis,
) -> Result<Option<Duration>, StoreFault> {
    let forgotten = now.0.saturating_sub(rule.forget_after.as_millis() as u64);
    connection.execute("DELETE FROM guess WHERE last_at < ?1", [number(forgotten)])?;
    let mut counts = Vec::with_capacity(guessers.len());
    let mut rest_ms = 0;
    for guesser in guessers {
        let sql = "SELECT count, next_at FROM guess WHERE guesser = ?1";
        let found = rows::one(connection, sql, [&guesser.name], |row| {
            Ok((row.get::<u32>(0)?, at(row.get(1)?)))
        })?;
        rest_ms = rest_ms.max(found.map_or(0, |(_, next)| next.0.saturating_sub(now.0)));
        counts.push(found.map_or(0, |(count, _)| count));
    }
    if rest_ms > 0 {
        return Ok(Some(Duration::from_millis(rest_ms)));
    }
    let sql = "SELECT count(*) FROM guess";
    let known = rows::one(connection, sql, params![], |row| Ok(count(row.get(0)?)))?;
    let is_full = known.unwrap_or(0) >= GUESSERS_MAX;
    for (guesser, before) in guessers.iter().zip(counts) {
        if is_full && before == 0 {
            continue;
        }
        let count = before.saturating_add(1);
        let pause = (rule.pause)(count, guesser.free).as_millis() as u64;
        let next = Millis(now.0.saturating_add(pause));
        connection.execute(
            "INSERT INTO guess (guesser, count, last_at, next_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (guesser) DO UPDATE SET count = excluded.count, last_at = excluded.last_at, \
             next_at = excluded.next_at",
            params![guesser.name, count, time(now), time(next)],
        )?;
    }
    Ok(None)
}
