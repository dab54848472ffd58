//! The system calls that no command needs and an escape would use.
//!
//! It is a list of what is denied, since what programs need is not known in advance, with one exception: calls
//! that are newer than the list are answered as missing. A denied call fails with `EPERM` and does not kill,
//! because many programs try such calls and go on without. The filter is the last wall: most of what it denies
//! needs rights that a command does not have, and it stands for the day on which a hole in the kernel gives
//! them.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter, sock_filter,
};

use super::enter::failed;
use super::sockets;

/// Other processes, the kernel's own objects, mounts, namespaces, clocks, and ways around the filter.
const DENIED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Without a network nobody is connected to, by address or by path: a path may lead to the socket of a
/// program outside. What a process is given or makes in pairs still works.
const DENIED_WITHOUT_NETWORK: &[i64] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_listen,
];

/// With a user namespace of its own a process would have all rights in it, and with them the larger part of the
/// kernel to attack.
const NAMESPACE_FLAGS: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// They put characters into a terminal as if a person had typed them.
const TYPING: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// The bits of a mode that lend its owner's rights to whoever starts the file.
const LENDING: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

/// The flags with which a file is made, so that its mode counts.
const MAKING: [u64; 2] = [libc::O_CREAT as u64, O_TMPFILE];
/// Without the bit that says that it is about a directory.
const O_TMPFILE: u64 = 0o20_000_000;

/// Calls that set a mode, with the argument that is it.
const MODES: &[(i64, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];

/// Calls that may make a file, with the arguments that are its flags and its mode.
const OPENING: &[(i64, u8, u8)] = &[
    (libc::SYS_openat, 2, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
];

/// Takes the system calls from this process and all that come of it.
pub(super) fn deny(network: bool) -> Result<(), String> {
    let program = program(network).map_err(failed("make the filter of system calls"))?;
    apply_filter(&program).map_err(failed("filter system calls"))
}

/// Without a network, data may be sent only to what is connected already: `sendto` is denied where an address
/// is given. The address is a pointer and compared with all of its 64 bits.
fn program(network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|number| (*number, vec![])).collect();
    let flags = NAMESPACE_FLAGS
        .iter()
        .map(|flag| u64::from(flag.cast_unsigned()));
    let flagged = |flag| rule([Condition(0, SeccompCmpOp::MaskedEq(flag), flag)]);
    rules.insert(
        libc::SYS_clone,
        flags.map(flagged).collect::<Result<_, _>>()?,
    );
    let typed = TYPING
        .iter()
        .map(|request| rule([Condition(1, SeccompCmpOp::Eq, *request)]));
    rules.insert(libc::SYS_ioctl, typed.collect::<Result<_, _>>()?);
    rules.extend(lending()?);
    rules.extend(sockets::refused(network)?);
    if !network {
        let denied = DENIED_WITHOUT_NETWORK.iter();
        rules.extend(denied.map(|number| (*number, vec![])));
        let addressed = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        rules.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![addressed])?]);
    }
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        std::env::consts::ARCH.try_into()?,
    )?;
    let mut program = unknown_as_missing();
    program.extend(BpfProgram::try_from(filter)?);
    Ok(program)
}

/// Nobody leaves a program behind that runs with the rights of whoever let it be made.
fn lending() -> Result<Vec<(i64, Vec<SeccompRule>)>, seccompiler::BackendError> {
    let has = |argument, bit| Condition(argument, SeccompCmpOp::MaskedEq(bit), bit);
    let mut rules = vec![];
    for (number, mode) in MODES {
        let lent = LENDING.iter().map(|bit| rule([has(*mode, *bit)]));
        rules.push((*number, lent.collect::<Result<_, _>>()?));
    }
    for (number, flags, mode) in OPENING {
        let mut lent = vec![];
        for (made, bit) in MAKING
            .iter()
            .flat_map(|made| LENDING.map(|bit| (made, bit)))
        {
            lent.push(rule([has(*flags, *made), has(*mode, bit)])?);
        }
        rules.push((*number, lent));
    }
    Ok(rules)
}

/// An argument, how it is compared, and with what.
pub(super) struct Condition(pub(super) u8, pub(super) SeccompCmpOp, pub(super) u64);

/// A rule that fits where all of its conditions do.
///
/// Only the lower 32 bits of an argument are compared: the kernel takes flags, modes and families as such, and
/// ignores what a program puts above them.
pub(super) fn rule(
    conditions: impl IntoIterator<Item = Condition>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let conditions = conditions
        .into_iter()
        .map(|Condition(argument, operator, value)| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
        });
    SeccompRule::new(conditions.collect::<Result<_, _>>()?)
}

/// `clone3` and `openat2` keep their flags and modes where the filter cannot look, the numbers of the x32 calls are
/// others than those of the rules, and of calls that are newer than the rules nobody knows what they do: all are answered
/// as an older kernel would, and programs fall back.
fn unknown_as_missing() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    /// The first call that is not known here; the bit of the x32 calls is beyond it.
    const UNKNOWN: u32 = 467;
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let missing = u32::from(SeccompAction::Errno(libc::ENOSYS.cast_unsigned()));
    vec![
        instruction(LOAD_NUMBER, 0, 0, 0),
        instruction(JUMP_IF_GREATER_OR_EQUAL, 2, 0, UNKNOWN),
        instruction(JUMP_IF_EQUAL, 1, 0, libc::SYS_clone3 as u32),
        instruction(JUMP_IF_EQUAL, 0, 1, libc::SYS_openat2 as u32),
        instruction(RETURN, 0, 0, missing),
    ]
}
