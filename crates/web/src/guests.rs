//! Who is connected, and who is sent away when there is no room.
//!
//! Each open connection is a guest with a place. When a newcomer needs one, an idle guest of the client that has
//! most idle ones goes first, so that a client which opens many connections pays with its own. Where nobody is
//! idle, the token that has more than half of all places gives its oldest up, even in the middle of a request:
//! otherwise one client with long requests could keep everybody else out. Whoever is sent away loses the place at
//! once and learns it by a token; the task of the connection ends itself.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_kernel::Hash;
use tokio_util::sync::CancellationToken;

use super::peer::client_of;

/// The open connections, the oldest first.
#[derive(Clone, Debug, Default)]
pub struct Guests(Arc<Mutex<GuestList>>);

/// The guests by number; a smaller number has entered before.
#[derive(Debug, Default)]
struct GuestList {
    /// How many have entered since the start: the number of the last one.
    entered: u64,
    present: BTreeMap<u64, Arc<Presence>>,
}

/// What is known of a guest. The list, the guest and its requests share it.
#[derive(Debug)]
struct Presence {
    /// The client that the connection counts for, as `client_of` gives it.
    client: IpAddr,
    /// How many requests are not answered to their end.
    under_way: AtomicUsize,
    /// Whether a request has ever come. It stays true.
    has_asked: AtomicBool,
    /// Whose token the last request had, where several are served.
    holder: Mutex<Option<Hash>>,
    /// Cancelled when others need the place.
    away: CancellationToken,
}

/// Whoever asks, until it is known who that is.
#[derive(Clone, Debug)]
pub struct Asker(Arc<Presence>);

/// One connection, until it is dropped.
#[derive(Debug)]
pub struct Guest {
    number: u64,
    presence: Arc<Presence>,
    guests: Guests,
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub struct Busy(Arc<Presence>);

impl Presence {
    fn holder(&self) -> Option<Hash> {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing is lost when it goes. One that was sent away already cannot be sent again.
    fn is_idle(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) == 0 && !self.away.is_cancelled()
    }
}

impl Guests {
    /// How many there are that were not sent away.
    pub fn count(&self) -> usize {
        self.lock().present.len()
    }

    /// Whether somebody could be sent away if all places were taken.
    pub fn can_make_room(&self) -> bool {
        let known = self.lock();
        known.present.values().any(|presence| presence.is_idle()) || known.greedy().is_some()
    }

    /// Gives a new connection its place. The bound is the caller's: this takes whoever comes.
    pub fn enter(&self, address: IpAddr) -> Guest {
        let presence = Arc::new(Presence {
            client: client_of(address),
            under_way: AtomicUsize::new(0),
            has_asked: AtomicBool::new(false),
            holder: Mutex::default(),
            away: CancellationToken::new(),
        });
        let mut known = self.lock();
        known.entered += 1;
        let number = known.entered;
        known.present.insert(number, presence.clone());
        Guest {
            number,
            presence,
            guests: self.clone(),
        }
    }

    /// Sends one away that is idle; where nobody is, one of a token that has more than half of all places.
    pub fn send_one_away(&self) {
        let mut known = self.lock();
        if let Some(number) = known.idle().or_else(|| known.greedy())
            && let Some(presence) = known.present.remove(&number)
        {
            presence.away.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, GuestList> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GuestList {
    /// An idle one: of the client that has most of them, one that has never asked, the oldest.
    fn idle(&self) -> Option<u64> {
        let idle = || self.present.iter().filter(|(_, it)| it.is_idle());
        let client = most(idle().map(|(_, presence)| presence.client))?.0;
        let of_client = idle().filter(|(_, it)| it.client == client);
        let chosen = of_client.min_by_key(|(number, it)| {
            let has_asked = it.has_asked.load(Ordering::Relaxed);
            (has_asked, **number)
        });
        chosen.map(|(number, _)| *number)
    }

    /// The oldest of the token that has most, if that are more than half of all.
    fn greedy(&self) -> Option<u64> {
        let holders = self.present.values().filter_map(|it| it.holder());
        let (holder, count) = most(holders)?;
        let mut of_holder = self.present.iter();
        let oldest = of_holder.find(|(_, it)| it.holder() == Some(holder));
        let is_greedy = count > self.present.len() / 2;
        oldest.map(|(number, _)| *number).filter(|_| is_greedy)
    }
}

/// What comes most often, and how often.
fn most<T: Ord>(all: impl Iterator<Item = T>) -> Option<(T, usize)> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count)
}

impl Asker {
    /// Notes whose token it is.
    pub fn is(&self, caller: Hash) {
        let holder = self.0.holder.lock();
        *holder.unwrap_or_else(PoisonError::into_inner) = Some(caller);
    }
}

impl Busy {
    /// For the request: the handler that has checked a token notes with it whose request this is.
    pub fn asker(&self) -> Asker {
        Asker(self.0.clone())
    }
}

impl Guest {
    /// A request has come.
    pub fn begin(&self) -> Busy {
        self.presence.has_asked.store(true, Ordering::Relaxed);
        self.presence.under_way.fetch_add(1, Ordering::Relaxed);
        Busy(self.presence.clone())
    }

    /// Whether a request has come since the connection was opened.
    pub fn has_asked(&self) -> bool {
        self.presence.has_asked.load(Ordering::Relaxed)
    }

    /// Resolves when others need the place.
    pub async fn sent_away(&self) {
        self.presence.away.cancelled().await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.guests.lock().present.remove(&self.number);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_silent_ones_of_whoever_has_most_make_room_first() {
        let guests = Guests::default();
        let at = |text: &str| text.parse::<IpAddr>().expect("an address");
        let mut many: Vec<Guest> = (0..4).map(|_| guests.enter(at("10.0.0.1"))).collect();
        let other = guests.enter(at("10.0.0.2"));
        let busy = many[0].begin();
        drop(many[1].begin());
        let is_away = |guest: &Guest| guest.presence.away.is_cancelled();

        guests.send_one_away();
        assert!(is_away(&many[2]), "the oldest that never asked");
        guests.send_one_away();
        assert!(is_away(&many[3]));
        guests.send_one_away();
        assert!(is_away(&many[1]) || is_away(&other), "both have one idle");
        guests.send_one_away();
        assert!(is_away(&many[1]) && is_away(&other) && !is_away(&many[0]));
        assert!(!guests.can_make_room());
        guests.send_one_away();
        assert!(!is_away(&many[0]), "nobody who waits for an answer goes");
        assert_eq!(guests.count(), 1);
        drop(busy);
        assert!(guests.can_make_room());
        many.clear();
        assert_eq!(guests.count(), 0);
    }

    #[test]
    fn a_token_that_has_most_places_gives_one_up_where_nobody_is_idle() {
        let guests = Guests::default();
        let here: IpAddr = "127.0.0.1".parse().expect("an address");
        let (much, little) = (Hash::of(b"much"), Hash::of(b"little"));
        let holders = [little, much, much, much];
        let all: Vec<(Guest, Busy)> = holders
            .iter()
            .map(|holder| {
                let guest = guests.enter(here);
                let busy = guest.begin();
                busy.asker().is(*holder);
                (guest, busy)
            })
            .collect();
        let away = || {
            all.iter()
                .map(|(guest, _)| guest.presence.away.is_cancelled())
        };
        guests.send_one_away();
        assert!(away().eq([false, true, false, false]), "his oldest");
        guests.send_one_away();
        guests.send_one_away();
        assert!(
            away().eq([false, true, true, false]),
            "half is not more than half"
        );
        assert!(!guests.can_make_room());
    }
}
