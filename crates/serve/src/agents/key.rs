//! Idempotency keys: the same key with the same body is the same run.
//!
//! The key is part of the id of the run, so that the store itself says whether there was one: nothing has to be kept
//! beside it, and a restart forgets nothing. Keys of different callers and different bodies give different ids.

use axum::http::HeaderMap;
use bonded_kernel::{Event, Hash, RunId, TerminationKind};
use bonded_state::{ListFilter, Listed, Store, StoreError};

use super::access::Caller;
use super::own::Own;
use super::refusal::AgentRefusal;

/// As OpenAI's clients send it.
const HEADER: &str = "idempotency-key";
/// Longer keys are refused, not cut: two of them could be cut to the same.
const KEY_BYTES_MAX: usize = 255;
/// Hexadecimal digits of a hash in an id.
const DIGITS: usize = 24;

/// How the ids of a key's runs are written: `key-KEY-BODY`, and `key-KEY-BODY-2` for the second run; where callers have
/// runs of their own, after the caller's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunKey {
    of_key: String,
    of_body: String,
}

/// A run that a key has begun before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Earlier {
    /// The run that the key began.
    pub(super) id: RunId,
    /// Whether it was cancelled, and so has answered nothing.
    pub(super) is_cancelled: bool,
}

impl RunKey {
    /// The key of a request. Callers with different tokens do not share keys.
    pub(super) fn of(
        headers: &HeaderMap,
        caller: Caller,
        body: Hash,
    ) -> Result<Option<Self>, AgentRefusal> {
        let value = headers.get(HEADER);
        let key = value.map(|value| Self::of_value(value.as_bytes(), caller, body));
        key.transpose()
    }

    /// A key that was said, wherever that was.
    pub(crate) fn of_value(value: &[u8], caller: Caller, body: Hash) -> Result<Self, AgentRefusal> {
        if value.is_empty() || value.len() > KEY_BYTES_MAX {
            let message = format!("the Idempotency-Key must have 1 to {KEY_BYTES_MAX} bytes");
            return Err(AgentRefusal::bad_request(
                "bad_idempotency_key",
                None,
                message,
            ));
        }
        let whose = [caller.0.as_bytes().as_slice(), value].concat();
        let digits = |hash: Hash| hash.to_string().chars().take(DIGITS).collect::<String>();
        Ok(Self {
            of_key: format!("key-{}-", digits(Hash::of(&whose))),
            of_body: digits(body),
        })
    }

    /// The same among the runs of a caller that has runs of its own.
    #[must_use]
    pub(super) fn of_own(mut self, own: Option<&Own>) -> Self {
        if let Some(own) = own {
            self.of_key.insert_str(0, &own.prefix());
        }
        self
    }

    /// How the ids of all its runs begin.
    pub(super) fn prefix(&self) -> &str {
        &self.of_key
    }

    /// The id to run under. A run that was cancelled has answered nothing: another one takes its place.
    pub(super) fn choose(&self, earlier: &[Earlier]) -> Result<RunId, AgentRefusal> {
        let stem = format!("{}{}", self.of_key, self.of_body);
        let mut newest: Option<(u32, &Earlier)> = None;
        for run in earlier {
            let number = number_of(&run.id, &stem).ok_or_else(AgentRefusal::other_body)?;
            if newest.is_none_or(|(known, _)| number > known) {
                newest = Some((number, run));
            }
        }
        let number = match newest {
            None => 1,
            Some((_, run)) if !run.is_cancelled => return Ok(run.id.clone()),
            Some((number, _)) => number.saturating_add(1),
        };
        let id = match number {
            1 => stem,
            number => format!("{stem}-{number}"),
        };
        Ok(RunId::new(&id).expect("hexadecimal digits and hyphens name a run"))
    }
}

/// The number of a run of the same body; `None` for that of another.
fn number_of(id: &RunId, stem: &str) -> Option<u32> {
    match id.as_str().strip_prefix(stem)? {
        "" => Some(1),
        rest => rest.strip_prefix('-')?.parse().ok(),
    }
}

/// The runs of a key that the store knows.
pub(super) async fn stored(store: &dyn Store, key: &RunKey) -> Result<Vec<Earlier>, StoreError> {
    let filter = ListFilter {
        prefix: Some(key.prefix().to_owned()),
        ..ListFilter::default()
    };
    let listed = store.list(filter).await?;
    Ok(listed.into_iter().map(earlier).collect())
}

/// A log that is damaged counts as not cancelled, so that no second run is begun beside it.
fn earlier(listed: Listed) -> Earlier {
    let last = listed.ends.ok().map(|ends| ends.last.event);
    let is_cancelled = last.is_some_and(|event| {
        matches!(event, Event::RunEnded(ended) if ended.termination.kind == TerminationKind::Cancelled)
    });
    Earlier {
        id: listed.run,
        is_cancelled,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(token: &str, key: &str, body: &str) -> RunKey {
        let value = key.parse().expect("the test's key is a header");
        let headers = HeaderMap::from_iter([(HEADER.parse().expect("a name"), value)]);
        let caller = Caller(Hash::of(token.as_bytes()));
        let key = RunKey::of(&headers, caller, Hash::of(body.as_bytes()));
        key.expect("the key is short").expect("there is a key")
    }

    fn earlier(id: &RunId, is_cancelled: bool) -> Earlier {
        Earlier {
            id: id.clone(),
            is_cancelled,
        }
    }

    #[test]
    fn a_key_names_one_run_until_that_is_cancelled() {
        let key = key("t", "k", "b");
        let first = key.choose(&[]).expect("it is new");
        assert_eq!(key.choose(&[earlier(&first, false)]), Ok(first.clone()));

        let second = key.choose(&[earlier(&first, true)]).expect("it is new");
        assert_eq!(second.as_str(), format!("{first}-2"));
        let both = [earlier(&second, false), earlier(&first, true)];
        assert_eq!(key.choose(&both), Ok(second.clone()));
        let both = [earlier(&first, true), earlier(&second, true)];
        let third = key.choose(&both).expect("it is new");
        assert_eq!(third.as_str(), format!("{first}-3"));
    }

    #[test]
    fn another_body_under_a_key_is_refused_and_another_caller_has_keys_of_its_own() {
        let first = key("t", "k", "b").choose(&[]).expect("it is new");
        let refused = key("t", "k", "other").choose(&[earlier(&first, true)]);
        assert_eq!(refused, Err(AgentRefusal::other_body()));
        assert_ne!(key("t", "k", "b").prefix(), key("u", "k", "b").prefix());
        assert_ne!(key("t", "k", "b").prefix(), key("t", "l", "b").prefix());
    }
}
