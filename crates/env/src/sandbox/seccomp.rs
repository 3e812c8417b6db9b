//! The filter of system calls: what is denied to commands, as a program for the kernel.
//!
//! Whatever is not named here is allowed. A denied call fails with `EPERM`; the program that made it
//! goes on. Programs for another architecture, whose calls have other numbers, are ended.
//!
//! When the kernel takes such a program it runs it for every call there is, to know which it need not ask about. One
//! that compares a call with each that is named, one after the other, takes it a quarter of a millisecond, for every
//! command. So calls are named in groups, and a call is only compared with those of the group that it would be in.

use std::collections::BTreeMap;
use std::io;

use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

/// What sockets commands may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// None of the internet.
    None,
    /// TCP only, to where Landlock lets it.
    Tcp,
    /// TCP and UDP, in a network of their own or the real one.
    Internet,
}

/// What a filter is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is decided by itself")]
pub(super) struct Wanted {
    pub(super) sockets: Sockets,
    /// Whether Unix sockets may be made, and not only pairs of them.
    pub(super) unix: bool,
    /// Whether the network's own settings may be asked for.
    pub(super) netlink: bool,
    /// Whether modes, owners and times of files are kept as they are, because nothing else keeps them.
    pub(super) keep_modes: bool,
    /// Whether memory, messages and semaphores of System V are everybody's, so that there are to be none.
    pub(super) shared_ipc: bool,
}

/// Denied always: to reach into other processes, to change what is mounted or the kernel itself, and
/// what goes around this filter.
const DENIED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_perf_event_open,
    // Its operations are seen by no filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // What is where.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_fanotify_init,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    // Keys of the session.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// Denied where nothing else keeps modes, owners, times and attributes.
const MODES: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    SYS_FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Denied where they are everybody's: what is not ours could be read, changed and removed.
const SHARED_IPC: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
];

// Younger than the table of the C library; the same on every architecture.
const SYS_FCHMODAT2: libc::c_long = 452;
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_FILE_SETATTR: libc::c_long = 469;
const SYS_CLONE3: u32 = 435;

/// Bits that make `clone` and `unshare` give a process namespaces of its own, and with them powers.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
    // For time; as a bit of `clone` it is a part of the signal, which is never as large.
    0x80,
];

/// To type into a terminal, and to paste into the console.
const TYPING: &[u64] = &[0x5412, 0x541c];
/// To change the attributes of a file.
const ATTRIBUTES: &[u64] = &[0x4008_6602, 0x401c_5820];

/// The bits of a socket's type that are not flags.
const KIND: u64 = 0xf;
/// The kinds of Unix sockets of which those of a pair send to each other only, whatever address is named.
const BOUND: &[libc::c_int] = &[libc::SOCK_STREAM, libc::SOCK_SEQPACKET];
/// To connect by sending, of which Landlock hears nothing.
const FAST_OPEN: u64 = 0x2000_0000;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// The program for the kernel.
pub(super) fn filter(wanted: Wanted) -> io::Result<BpfProgram> {
    let rules: Vec<(i64, Vec<SeccompRule>)> = rules(wanted)?.into_iter().collect();
    let mut program = prologue().to_vec();
    let mut groups = rules.chunks(GROUP).peekable();
    while let Some(group) = groups.next() {
        let group = compiled(group.iter().cloned().collect())?;
        if let Some((next, _)) = groups.peek().and_then(|after| after.first()) {
            program.extend(past(group.len(), *next)?);
        }
        program.extend(group);
    }
    Ok(program)
}

/// What is denied, by the numbers of the calls.
fn rules(wanted: Wanted) -> io::Result<Rules> {
    let mut rules: Rules = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    if wanted.keep_modes {
        rules.extend(MODES.iter().map(|call| (*call, Vec::new())));
    }
    if wanted.shared_ipc {
        rules.extend(SHARED_IPC.iter().map(|call| (*call, Vec::new())));
    }
    // Only its own limits: those of others can end them.
    rules.insert(libc::SYS_prlimit64, vec![rule([is_not(0, 0)])?]);
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        let bits = NAMESPACES.iter().map(|bit| u64::from(bit.unsigned_abs()));
        rules.insert(call, bits.map(|bit| rule([has(0, bit)])).collect::<io::Result<_>>()?);
    }
    let codes = TYPING.iter().chain(if wanted.keep_modes { ATTRIBUTES } else { &[] });
    rules.insert(libc::SYS_ioctl, codes.map(|code| rule([is(1, *code)])).collect::<io::Result<_>>()?);
    sockets(&mut rules, wanted)?;
    Ok(rules)
}

/// How many calls are in a group: about as many as there are groups.
const GROUP: usize = 8;

/// A whole program: it answers for every call.
fn compiled(rules: Rules) -> io::Result<BpfProgram> {
    let arch = std::env::consts::ARCH.try_into().map_err(io::Error::other)?;
    let deny = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, deny, arch).map_err(io::Error::other)?;
    filter.try_into().map_err(io::Error::other)
}

fn sockets(rules: &mut Rules, wanted: Wanted) -> io::Result<()> {
    let mut families = Vec::new();
    if wanted.unix {
        families.push(libc::AF_UNIX);
    }
    if wanted.sockets != Sockets::None {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if wanted.netlink {
        families.push(libc::AF_NETLINK);
    }
    let mut made = Vec::new();
    if !families.is_empty() {
        made.push(rule(families.iter().map(|family| is_not(0, number(*family))))?);
        // A program of one's own makes no packets by hand.
        for family in [libc::AF_INET, libc::AF_INET6] {
            made.push(rule([is(0, number(family)), kind(number(libc::SOCK_RAW))])?);
        }
    }
    if wanted.sockets == Sockets::Tcp {
        for family in [libc::AF_INET, libc::AF_INET6].map(number) {
            made.push(rule([is(0, family), kind(number(libc::SOCK_DGRAM))])?);
            let other = [0, libc::IPPROTO_TCP].map(|protocol| is_not(2, number(protocol)));
            made.push(rule([is(0, family)].into_iter().chain(other))?);
        }
        for (call, flags) in [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)] {
            rules.insert(call, vec![rule([has(flags, FAST_OPEN)])?]);
        }
    }
    rules.insert(libc::SYS_socket, made);
    let mut pairs = vec![rule([is_not(0, number(libc::AF_UNIX))])?];
    if !wanted.unix {
        // One of a pair of datagrams can send to any address, and those are made of more than one kind.
        let is_bound = |kind: &u64| BOUND.iter().any(|bound| number(*bound) == *kind);
        for other in (0..=KIND).filter(|kind| !is_bound(kind)) {
            pairs.push(rule([kind(other)])?);
        }
    }
    rules.insert(libc::SYS_socketpair, pairs);
    Ok(())
}

/// A rule that holds if all its conditions do.
fn rule(conditions: impl IntoIterator<Item = io::Result<SeccompCondition>>) -> io::Result<SeccompRule> {
    let conditions = conditions.into_iter().collect::<io::Result<Vec<_>>>()?;
    SeccompRule::new(conditions).map_err(io::Error::other)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value).map_err(io::Error::other)
}

fn is(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn has(argument: u8, bit: u64) -> io::Result<SeccompCondition> {
    condition(argument, SeccompCmpOp::MaskedEq(bit), bit)
}

/// That a socket is of a type, whatever its flags.
fn kind(of: u64) -> io::Result<SeccompCondition> {
    condition(1, SeccompCmpOp::MaskedEq(KIND), of)
}

fn number(of: libc::c_int) -> u64 {
    u64::from(of.unsigned_abs())
}

// The steps of such a program that are written here.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const IF_AT_LEAST: u16 = 0x35;
const IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

fn step(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Two kinds of calls that the kernel is to say it does not know: those with the numbers of the x32
/// interface, which would be denied nothing, and `clone3`, whose flags no filter sees and for which
/// every C library has something else. Leaves the number of the call loaded.
fn prologue() -> [sock_filter; 4] {
    const NUMBER: u32 = 0;
    const X32: u32 = 0x4000_0000;
    let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    [
        step(LOAD, 0, 0, NUMBER),
        step(IF_AT_LEAST, 1, 0, X32),
        step(IF_EQUAL, 0, 1, SYS_CLONE3),
        step(RETURN, 0, 0, unknown),
    ]
}

/// Past so many steps, if the loaded number is that of this call or of a later one. In two steps, because a step that
/// compares does not jump far.
fn past(steps: usize, call: i64) -> io::Result<[sock_filter; 2]> {
    let call = u32::try_from(call).map_err(io::Error::other)?;
    let steps = u32::try_from(steps).map_err(io::Error::other)?;
    Ok([step(IF_AT_LEAST, 0, 1, call), step(JUMP, 0, 0, steps)])
}

/// The program as the kernel reads it from a file.
pub(super) fn bytes(program: &[sock_filter]) -> Vec<u8> {
    let step = |step: &sock_filter| {
        let [a, b] = step.code.to_ne_bytes();
        let [k0, k1, k2, k3] = step.k.to_ne_bytes();
        [a, b, step.jt, step.jf, k0, k1, k2, k3]
    };
    program.iter().flat_map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every combination of what may be wanted.
    fn all() -> impl Iterator<Item = Wanted> {
        [Sockets::None, Sockets::Tcp, Sockets::Internet].into_iter().flat_map(|sockets| {
            (0..16).map(move |bits| {
                let [unix, netlink, keep_modes, shared_ipc] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
                Wanted { sockets, unix, netlink, keep_modes, shared_ipc }
            })
        })
    }

    /// What a program answers to a call with these arguments, and in how many steps. The kernel's machine, as far as
    /// the steps go that there are in such programs.
    fn answer(program: &[sock_filter], arch: u32, call: u32, arguments: [u32; 6]) -> (u32, usize) {
        let word = |at: u32| match at {
            0 => call,
            4 => arch,
            // The lower half of an argument, and the upper.
            at if at >= 16 && at % 8 == 0 => arguments[usize::try_from((at - 16) / 8).unwrap()],
            _ => 0,
        };
        let (mut at, mut loaded) = (0, 0);
        for steps in 1.. {
            let sock_filter { code, jt, jf, k } = program[at].clone();
            at += 1;
            let holds = match code {
                LOAD => {
                    loaded = word(k);
                    continue;
                }
                0x54 => {
                    loaded &= k;
                    continue;
                }
                JUMP => {
                    at += usize::try_from(k).unwrap();
                    continue;
                }
                RETURN => return (k, steps),
                IF_EQUAL => loaded == k,
                IF_AT_LEAST => loaded >= k,
                0x25 => loaded > k,
                _ => panic!("a step of another kind: {code:#x}"),
            };
            at += usize::from(if holds { jt } else { jf });
        }
        unreachable!()
    }

    fn own_arch(program: &[sock_filter]) -> u32 {
        // It is compared with what was loaded last.
        let load = program.iter().position(|step| step.code == LOAD && step.k == 4).unwrap();
        program[load + 1].k
    }

    #[test]
    fn every_filter_compiles_and_is_short_enough_for_the_kernel() {
        for wanted in all() {
            let program = filter(wanted).unwrap();
            assert!(program.len() < 4096, "{wanted:?}");
            assert_eq!(bytes(&program).len(), program.len() * 8);
        }
    }

    #[test]
    fn groups_answer_as_one_does() {
        for wanted in all() {
            let program = filter(wanted).unwrap();
            let single: Vec<sock_filter> =
                prologue().into_iter().chain(compiled(rules(wanted).unwrap()).unwrap()).collect();
            let arch = own_arch(&single);
            let families = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, 40];
            for call in (0..600).chain([0x4000_0000, 0x4000_0027, u32::MAX]) {
                let mut tried = vec![[0; 6], [1; 6], [u32::MAX; 6], [0, 0x5412, 0, 0, 0, 0]];
                for family in families.map(libc::c_int::unsigned_abs) {
                    tried.extend((0..16).chain([0x80002, 0x80803]).map(|kind| [family, kind, 0, 0, 0, 0]));
                }
                tried.extend(NAMESPACES.iter().map(|bit| [bit.unsigned_abs(), 0, 0, 0, 0, 0]));
                for arguments in tried {
                    let (ours, theirs) =
                        (answer(&program, arch, call, arguments), answer(&single, arch, call, arguments));
                    assert_eq!(ours.0, theirs.0, "{wanted:?}: {call} {arguments:?}");
                }
            }
            for call in [0, 41, 101, 300] {
                let ended = libc::SECCOMP_RET_KILL_PROCESS;
                assert_eq!(answer(&program, arch ^ 1, call, [0; 6]).0, ended, "{wanted:?}: {call}");
            }
        }
    }

    #[test]
    fn of_a_pair_neither_sends_to_others() {
        for wanted in all() {
            let program = filter(wanted).unwrap();
            let arch = own_arch(&program);
            let pair = |family: libc::c_int, kind: libc::c_int| {
                let call = u32::try_from(libc::SYS_socketpair).unwrap();
                let arguments = [family.unsigned_abs(), kind.unsigned_abs(), 0, 0, 0, 0];
                answer(&program, arch, call, arguments).0 == libc::SECCOMP_RET_ALLOW
            };
            for flags in
                [0, libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK, libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK]
            {
                for kind in 0..16 {
                    let is_allowed = wanted.unix || [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].contains(&kind);
                    assert_eq!(
                        pair(libc::AF_UNIX, kind | flags),
                        is_allowed,
                        "{wanted:?}: {kind} {flags:#x}"
                    );
                    assert!(!pair(libc::AF_INET, kind | flags), "{wanted:?}: {kind} {flags:#x}");
                }
            }
        }
    }

    #[test]
    fn no_call_is_compared_with_all_that_are_named() {
        for wanted in all() {
            let program = filter(wanted).unwrap();
            let arch = own_arch(&program);
            let allowed = (0..600).map(|call| answer(&program, arch, call, [0; 6]));
            let most = allowed.filter(|(said, _)| *said == libc::SECCOMP_RET_ALLOW).map(|(_, steps)| steps);
            assert!(most.max().unwrap() < 100, "{wanted:?}");
        }
    }
}
