//! Whoever guesses passwords is slowed down, more with each guess; nobody else is. What counts is where guesses come from
//! and whose password they are for, so that strangers cannot keep the owner out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bonded_kernel::Hash;
use bonded_workspace::store::{GuessRule, Guesser};
use bonded_workspace_rules::Code;

use tokio::time::Instant;

use super::site::Site;
use crate::json_api::details::RateDetails;
use crate::json_api::refusal::ApiRefusal;

/// Wrong passwords of one account from one place that cost nothing: people mistype.
const FREE: u32 = 5;
/// The same for all accounts from one place: several people may be there.
const FREE_FROM_PLACE: u32 = 50;
/// After the free ones; each further one is twice as long.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// No pause is longer.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// After so long without a guess everything is forgotten.
const FORGET_AFTER: Duration = Duration::from_secs(15 * 60);
/// How many places and accounts are remembered; a flood of addresses must not cost memory without bound.
const REMEMBERED_MAX: usize = 16_384;

/// Where a guess comes from, and whose password it is for; `None` counts all of them.
type GuessKey = (IpAddr, Option<[u8; 32]>);

/// Kept in memory only: a restart forgets it. Where several servers share a store, that keeps it too, for all of them.
#[derive(Debug, Default)]
pub(super) struct Guesses(Mutex<HashMap<GuessKey, Wrong>>);

/// What is known of one guesser.
#[derive(Clone, Copy, Debug)]
struct Wrong {
    /// Wrong ones, and those that are not known to be right yet.
    count: u32,
    /// When the last one came.
    last: Instant,
    /// Nothing is looked at before.
    next: Instant,
}

/// An attempt that is counted as wrong until it is said to be right: many at once are as many.
#[derive(Debug)]
#[must_use]
pub(super) struct LoginAttempt {
    /// Where it came from.
    from: IpAddr,
    /// The hash of the name, so that no names are kept.
    account: [u8; 32],
}

impl LoginAttempt {
    /// As a shared store names them: the account from this place, and the place.
    fn names(&self) -> (String, String) {
        let place = self.from.to_string();
        let account = Hash::from_bytes(self.account);
        (format!("{place} {account}"), place)
    }
}

impl Site {
    /// Counts an attempt, or refuses to look at it and says when the next may come.
    pub(super) async fn begin_guess(
        &self,
        from: IpAddr,
        account: [u8; 32],
    ) -> Result<LoginAttempt, ApiRefusal> {
        let attempt = self.guesses.begin(from, account)?;
        if self.store.is_shared() {
            let (own, place) = attempt.names();
            let guesser = |name, free| Guesser { name, free };
            let guessers = vec![guesser(own, FREE), guesser(place, FREE_FROM_PLACE)];
            let rule = GuessRule {
                pause,
                forget_after: FORGET_AFTER,
            };
            let rest = self.store.begin_guess(guessers, rule, self.now()).await?;
            if let Some(rest) = rest {
                return Err(too_often(rest));
            }
        }
        Ok(attempt)
    }

    /// It was no guess.
    pub(super) async fn right_guess(&self, attempt: &LoginAttempt) -> Result<(), ApiRefusal> {
        self.guesses.right(attempt);
        if self.store.is_shared() {
            let (own, place) = attempt.names();
            self.store.right_guess(own, place).await?;
        }
        Ok(())
    }
}

impl Guesses {
    /// Counts an attempt, or refuses to look at it and says when the next may come.
    fn begin(&self, from: IpAddr, account: [u8; 32]) -> Result<LoginAttempt, ApiRefusal> {
        let now = Instant::now();
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.retain(|_, wrong| now - wrong.last < FORGET_AFTER);
        let counted = [
            ((from, Some(account)), FREE),
            ((from, None), FREE_FROM_PLACE),
        ];
        let waits = counted.iter().filter_map(|(guesser, _)| seen.get(guesser));
        let rest = waits
            .map(|wrong| wrong.next.saturating_duration_since(now))
            .max();
        if let Some(rest) = rest.filter(|rest| !rest.is_zero()) {
            return Err(too_often(rest));
        }
        for (guesser, free) in counted {
            if seen.len() >= REMEMBERED_MAX && !seen.contains_key(&guesser) {
                continue;
            }
            let wrong = seen.entry(guesser).or_insert(Wrong {
                count: 0,
                last: now,
                next: now,
            });
            wrong.count += 1;
            wrong.last = now;
            wrong.next = now + pause(wrong.count, free);
        }
        Ok(LoginAttempt { from, account })
    }

    /// It was no guess.
    fn right(&self, attempt: &LoginAttempt) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.remove(&(attempt.from, Some(attempt.account)));
        if let Some(wrong) = seen.get_mut(&(attempt.from, None)) {
            wrong.count = wrong.count.saturating_sub(1);
            wrong.next = wrong.last;
        }
    }
}

/// Doubles with each guess, up to a bound.
fn pause(count: u32, free: u32) -> Duration {
    match count.checked_sub(free + 1) {
        None => Duration::ZERO,
        Some(more) => PAUSE_FIRST
            .saturating_mul(2_u32.saturating_pow(more))
            .min(PAUSE_MAX),
    }
}

/// Says when the next may come, in whole seconds rounded up.
fn too_often(rest: Duration) -> ApiRefusal {
    let seconds = rest.as_secs() + u64::from(rest.subsec_nanos() > 0);
    let message = format!(
        "too many wrong passwords came from this address; try again after {seconds} s, or from another address"
    );
    let details = RateDetails {
        limit: FREE,
        window_seconds: FORGET_AFTER.as_secs(),
        retry_after_seconds: seconds,
    };
    ApiRefusal {
        retry_after_seconds: Some(seconds),
        ..ApiRefusal::new(Code::RateLimited, message).details(details)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUESSER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
    const OWNER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
    const ACCOUNT: [u8; 32] = [1; 32];

    #[tokio::test(start_paused = true)]
    async fn a_guesser_waits_longer_and_longer_and_nobody_elsewhere_waits_at_all() {
        let guesses = Guesses::default();
        let mut looked_at = 0;
        for _ in 0..3600 {
            looked_at += u32::from(guesses.begin(GUESSER, ACCOUNT).is_ok());
            let own = guesses
                .begin(OWNER, ACCOUNT)
                .expect("the owner is elsewhere");
            guesses.right(&own);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!(
            (60..80).contains(&looked_at),
            "{looked_at} guesses in an hour"
        );
        let refused = guesses.begin(GUESSER, ACCOUNT);
        let later = guesses.begin(GUESSER, [2; 32]);
        assert!(
            refused.is_err() || later.is_ok(),
            "another account is another matter"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn many_attempts_at_once_are_as_many_and_a_right_one_makes_up_for_them() {
        let guesses = Guesses::default();
        let begun: Vec<_> = (0..100)
            .filter_map(|_| guesses.begin(GUESSER, ACCOUNT).ok())
            .collect();
        assert_eq!(begun.len() as u32, FREE + 1);
        tokio::time::advance(Duration::from_secs(1)).await;
        let right = guesses
            .begin(GUESSER, ACCOUNT)
            .expect("it may be tried again");
        guesses.right(&right);
        assert!(guesses.begin(GUESSER, ACCOUNT).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn trying_one_password_with_many_names_is_guessing_too() {
        let guesses = Guesses::default();
        let mut looked_at = 0;
        for number in 0..200_u8 {
            looked_at += u32::from(guesses.begin(GUESSER, [number; 32]).is_ok());
        }
        assert_eq!(looked_at, FREE_FROM_PLACE + 1);
    }
}
