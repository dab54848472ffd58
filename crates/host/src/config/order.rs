//! What it means that one setting allows no more than another: an order for each option that is a capability.
//!
//! Every option has one, so that a new option cannot slip past the question what a stranger's file may
//! do with it.

// A case that is new must be thought of here.
#![deny(clippy::wildcard_enum_match_arm)]

use bonded_kernel::SandboxLevel;

use super::options::Parsed;

/// How the values of an option compare, and so what somebody else's file may do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Taste: nothing more can be done, spent or seen by it.
    Free,
    /// It has no order, and a stranger does not set it.
    Trusted,
    /// It has no order, and where the person's own files say it, that holds.
    Fixed,
    /// A smaller number allows less.
    Lower,
    /// A narrower level of the sandbox allows less.
    Level,
    /// From allow over ask to deny.
    Strict,
    /// `false` allows less.
    Off,
    /// `true` allows less.
    On,
    /// Fewer names allow less.
    Fewer,
    /// Rules that all hold beside each other.
    Rules,
}

impl Order {
    /// The most that both allow. Without an order that is the bound.
    pub(super) fn meet(self, value: &Parsed, bound: &Parsed) -> Parsed {
        use Parsed::{Flag, List, Whole, Word};
        match (self, value, bound) {
            (_, value, Parsed::Nothing) => value.clone(),
            (_, Parsed::Nothing, bound) => bound.clone(),
            (Self::Lower, Whole(value), Whole(bound)) => Whole(*value.min(bound)),
            (Self::Off, Flag(value), Flag(bound)) => Flag(*value && *bound),
            (Self::On, Flag(value), Flag(bound)) => Flag(*value || *bound),
            (Self::Level, Word(value), Word(bound)) => {
                let narrower = SandboxLevel::parse(value) <= SandboxLevel::parse(bound);
                Word(if narrower { value } else { bound })
            }
            (Self::Strict, Word(value), Word(bound)) => {
                let stricter = strictness(value) >= strictness(bound);
                Word(if stricter { value } else { bound })
            }
            (Self::Fewer, List(value), List(bound)) => {
                let common = value.iter().filter(|name| bound.contains(name));
                List(common.cloned().collect())
            }
            (Self::Free | Self::Trusted | Self::Rules, value, _) => value.clone(),
            (_, _, bound) => bound.clone(),
        }
    }

    /// Whether a value allows no more than the bound.
    pub(super) fn is_within(self, value: &Parsed, bound: &Parsed) -> bool {
        match self {
            Self::Free | Self::Rules => true,
            Self::Trusted | Self::Fixed => value == bound,
            Self::Lower | Self::Level | Self::Strict | Self::Off | Self::On | Self::Fewer => {
                self.meet(value, bound) == *value
            }
        }
    }

    /// Whether what the person's own files say binds everybody else's.
    pub(super) fn is_bound(self) -> bool {
        !matches!(self, Self::Free | Self::Trusted | Self::Rules)
    }
}

/// A larger number is stricter; an unknown word is the mildest.
fn strictness(word: &str) -> usize {
    let words = ["allow", "ask", "deny"];
    words.iter().position(|it| *it == word).unwrap_or_default()
}
