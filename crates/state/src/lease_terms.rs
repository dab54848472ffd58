//! How long a process may count on a lease that a server gave it, whatever keeps the lease.

use std::time::Duration;

/// The part of a lease that is left for stopping.
const MARGIN: u32 = 10;

/// How often a lease is renewed while it lasts.
const RENEWALS: u32 = 3;

/// What a process makes of the length of its lease. The server's clock decides when others may take over; the process counts
/// for itself, by a clock of its own that is never set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTerms {
    /// How long the server lets it last.
    pub length: Duration,
}

impl LeaseTerms {
    /// Until when the process may go on, by its own clock, after a renewal that it sent then: a little less than the lease, so
    /// that what it does has stopped when another process begins.
    pub fn until(self, sent: Duration) -> Duration {
        sent + self.length - self.length / MARGIN
    }

    /// How long after a renewal the next one is sent.
    pub fn pause(self) -> Duration {
        self.length / RENEWALS
    }

    /// The same after one that failed.
    pub fn pause_after_failure(self) -> Duration {
        self.pause() / RENEWALS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_counted_from_when_its_renewal_was_sent_and_ends_early() {
        let terms = LeaseTerms {
            length: Duration::from_secs(30),
        };
        assert_eq!(
            terms.until(Duration::from_secs(100)),
            Duration::from_secs(127)
        );
        assert_eq!(terms.pause(), Duration::from_secs(10));
        assert!(terms.pause_after_failure() < terms.pause());
    }
}
