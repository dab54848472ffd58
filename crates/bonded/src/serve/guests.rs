//! Who is connected, and who is sent away when there is no room.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bonded_host::CancellationToken;

use super::connection::client_of;

/// The open connections, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Guests(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    entered: u64,
    present: BTreeMap<u64, Arc<Presence>>,
}

#[derive(Debug)]
struct Presence {
    client: IpAddr,
    under_way: AtomicUsize,
    has_asked: AtomicBool,
    away: CancellationToken,
}

/// One connection, until it is dropped.
#[derive(Debug)]
pub(super) struct Guest {
    number: u64,
    presence: Arc<Presence>,
    guests: Guests,
}

/// A request under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Busy(Arc<Presence>);

impl Presence {
    fn is_idle(&self) -> bool {
        self.under_way.load(Ordering::Relaxed) == 0 && !self.away.is_cancelled()
    }
}

impl Guests {
    /// How many there are that were not sent away.
    pub(super) fn count(&self) -> usize {
        self.lock().present.len()
    }

    pub(super) fn has_idle(&self) -> bool {
        let known = self.lock();
        known.present.values().any(|presence| presence.is_idle())
    }

    pub(super) fn enter(&self, address: IpAddr) -> Guest {
        let presence = Arc::new(Presence {
            client: client_of(address),
            under_way: AtomicUsize::new(0),
            has_asked: AtomicBool::new(false),
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

    /// Sends an idle one away: of the client that has most of them, one that has never asked, the oldest.
    pub(super) fn send_one_away(&self) {
        let mut known = self.lock();
        let idle = || known.present.iter().filter(|(_, it)| it.is_idle());
        let mut counts: BTreeMap<IpAddr, usize> = BTreeMap::new();
        for (_, presence) in idle() {
            *counts.entry(presence.client).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        let Some((client, _)) = most else { return };
        let of_client = idle().filter(|(_, it)| it.client == client);
        let chosen = of_client.min_by_key(|(number, it)| {
            let has_asked = it.has_asked.load(Ordering::Relaxed);
            (has_asked, **number)
        });
        let Some((number, presence)) = chosen else {
            return;
        };
        presence.away.cancel();
        let number = *number;
        known.present.remove(&number);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// A request has come.
    pub(super) fn begin(&self) -> Busy {
        self.presence.has_asked.store(true, Ordering::Relaxed);
        self.presence.under_way.fetch_add(1, Ordering::Relaxed);
        Busy(self.presence.clone())
    }

    pub(super) fn has_asked(&self) -> bool {
        self.presence.has_asked.load(Ordering::Relaxed)
    }

    /// Resolves when others need the place.
    pub(super) async fn sent_away(&self) {
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
        assert!(!guests.has_idle());
        guests.send_one_away();
        assert!(!is_away(&many[0]), "nobody who waits for an answer goes");
        assert_eq!(guests.count(), 1);
        drop(busy);
        assert!(guests.has_idle());
        many.clear();
        assert_eq!(guests.count(), 0);
    }
}
