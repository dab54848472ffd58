//! The system calls that no command needs and an escape would use.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter, sock_filter,
};

use super::enter::failed;

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

/// Of a socket's type, the bits that are no flags.
const TYPE_BITS: u64 = 0xf;

/// Takes the system calls from this process and all that come of it.
pub(super) fn deny(network: bool) -> Result<(), String> {
    let program = program(network).map_err(failed("make the filter of system calls"))?;
    apply_filter(&program).map_err(failed("filter system calls"))
}

fn program(network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        DENIED.iter().map(|number| (*number, vec![])).collect();
    let flags = NAMESPACE_FLAGS
        .iter()
        .map(|flag| u64::from(flag.cast_unsigned()));
    let flagged = |flag| when(0, SeccompCmpOp::MaskedEq(flag), flag);
    rules.insert(
        libc::SYS_clone,
        flags.map(flagged).collect::<Result<_, _>>()?,
    );
    let typed = TYPING
        .iter()
        .map(|request| when(1, SeccompCmpOp::Eq, *request));
    rules.insert(libc::SYS_ioctl, typed.collect::<Result<_, _>>()?);
    if !network {
        rules.extend(
            DENIED_WITHOUT_NETWORK
                .iter()
                .map(|number| (*number, vec![])),
        );
        rules.extend(sockets_without_network()?);
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

/// Only local streams remain. A datagram names its receiver where the filter cannot look.
fn sockets_without_network() -> Result<Vec<(i64, Vec<SeccompRule>)>, seccompiler::BackendError> {
    let local = u64::from(libc::AF_UNIX.cast_unsigned());
    let datagram = u64::from(libc::SOCK_DGRAM.cast_unsigned());
    let refused = || {
        Ok::<_, seccompiler::BackendError>(vec![
            when(0, SeccompCmpOp::Ne, local)?,
            when(1, SeccompCmpOp::MaskedEq(TYPE_BITS), datagram)?,
        ])
    };
    let addressed = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    Ok(vec![
        (libc::SYS_socket, refused()?),
        (libc::SYS_socketpair, refused()?),
        (libc::SYS_sendto, vec![SeccompRule::new(vec![addressed])?]),
    ])
}

fn when(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
    SeccompRule::new(vec![condition])
}

/// `clone3` keeps its flags where the filter cannot look, and the numbers of the x32 calls are others than
/// those of the rules: both are answered as an older kernel would, and programs fall back.
fn unknown_as_missing() -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_GREATER_OR_EQUAL: u16 = 0x35;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const X32_BIT: u32 = 0x4000_0000;
    let instruction = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let missing = u32::from(SeccompAction::Errno(libc::ENOSYS.cast_unsigned()));
    vec![
        instruction(LOAD_NUMBER, 0, 0, 0),
        instruction(JUMP_IF_GREATER_OR_EQUAL, 1, 0, X32_BIT),
        instruction(JUMP_IF_EQUAL, 0, 1, libc::SYS_clone3 as u32),
        instruction(RETURN, 0, 0, missing),
    ]
}
