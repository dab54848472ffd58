//! The sockets that a command may make: families, types and protocols by name. Everything else is refused, because a
//! socket with a path leads to whatever listens there: a terminal's server, a container engine, an agent with keys.
//!
//! The filter sees the numbers of a call and not the address behind a pointer, so that a path cannot be told
//! from another: sockets with paths are refused as a family. Pairs are allowed, because many programs talk to
//! their children so.

use seccompiler::{BackendError, SeccompCmpOp, SeccompRule};

use super::syscalls::{Condition, rule};

/// Of a socket's type, the bits that are no flags.
const TYPE_BITS: u64 = 0xf;

/// A family with what may be made of it.
///
/// Each of the three is compared by itself: any listed type goes with any listed protocol.
struct Allowed {
    family: i32,
    types: &'static [i32],
    protocols: &'static [i32],
}

/// 0 leaves the choice to the system. Raw protocols are not among them.
const INTERNET: [i32; 6] = [
    0,
    libc::IPPROTO_TCP,
    libc::IPPROTO_UDP,
    libc::IPPROTO_ICMP,
    libc::IPPROTO_ICMPV6,
    libc::IPPROTO_MPTCP,
];

const WITH_NETWORK: [Allowed; 3] = [
    Allowed {
        family: libc::AF_INET,
        types: &[libc::SOCK_STREAM, libc::SOCK_DGRAM],
        protocols: &INTERNET,
    },
    Allowed {
        family: libc::AF_INET6,
        types: &[libc::SOCK_STREAM, libc::SOCK_DGRAM],
        protocols: &INTERNET,
    },
    // How programs ask for the machine's addresses.
    Allowed {
        family: libc::AF_NETLINK,
        types: &[libc::SOCK_RAW, libc::SOCK_DGRAM],
        protocols: &[libc::NETLINK_ROUTE],
    },
];

/// Pairs of one process and its children. A datagram of a pair could still be sent to a path.
const PAIRS: [Allowed; 1] = [Allowed {
    family: libc::AF_UNIX,
    types: &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET],
    protocols: &[0],
}];

/// What is refused of `socket` and `socketpair`. A call without rules is refused whatever its arguments are.
pub(super) fn refused(network: bool) -> Result<Vec<(i64, Vec<SeccompRule>)>, BackendError> {
    let sockets = match network {
        true => all_but(&WITH_NETWORK)?,
        false => vec![],
    };
    Ok(vec![
        (libc::SYS_socket, sockets),
        (libc::SYS_socketpair, all_but(&PAIRS)?),
    ])
}

/// The filter knows no "neither", so that each family's other types are named one by one.
///
/// The rules of one call are alternatives, and the conditions of a rule hold together. One rule is for the
/// families that are not listed; for each that is, one for each type that is not and one for all protocols that
/// are not.
fn all_but(allowed: &[Allowed]) -> Result<Vec<SeccompRule>, BackendError> {
    let is_not = |argument, value: i32| Condition(argument, SeccompCmpOp::Ne, number(value));
    let others = allowed.iter().map(|it| is_not(0, it.family));
    let mut rules = vec![rule(others)?];
    for it in allowed {
        let of_family = || Condition(0, SeccompCmpOp::Eq, number(it.family));
        for kind in 0..=TYPE_BITS {
            if !it.types.iter().any(|allowed| number(*allowed) == kind) {
                let is_kind = Condition(1, SeccompCmpOp::MaskedEq(TYPE_BITS), kind);
                rules.push(rule([of_family(), is_kind])?);
            }
        }
        let others = it.protocols.iter().map(|allowed| is_not(2, *allowed));
        rules.push(rule(others.chain([of_family()]))?);
    }
    Ok(rules)
}

/// As the filter compares it: the lower 32 bits.
fn number(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}
