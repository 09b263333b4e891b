//! Locks that a process puts on itself for good before it opens a file: it may compute, allocate memory, read its input
//! and write its output. Opening files, sockets, and starting programs or processes are out of reach, whatever a parser
//! is made to do.
//!
//! Each lock is enforced by the kernel and independent: if one is missing the others hold, and [`Locks`] says so.

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{no_new_privs, set_no_new_privs};
use serde::{Deserialize, Serialize};

/// What Landlock blocks for a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Closed {
    /// Nothing: the kernel lacks Landlock.
    #[default]
    Nothing,
    /// Files, and whatever else an older kernel supports.
    Files,
    /// Files, TCP ports, and signals and sockets beyond the process.
    Everything,
}

/// Which locks are in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locks {
    /// Programs that it starts gain no privileges (`no_new_privs`).
    pub privileges: bool,
    /// What Landlock blocks.
    pub closed: Closed,
    /// Whether all but a few system calls are blocked (seccomp).
    pub calls: bool,
}

impl Locks {
    /// Returns the locks that are missing, by the names that kernel options and documentation use.
    pub fn missing(self) -> Vec<&'static str> {
        let all = [
            (self.privileges, "no-new-privileges"),
            (self.closed != Closed::Nothing, "Landlock"),
            (self.closed != Closed::Files, "Landlock of Linux 6.12"),
            (self.calls, "seccomp"),
        ];
        all.into_iter().filter(|(holds, _)| !holds).map(|(_, name)| name).collect()
    }
}

/// Makes the kernel kill this process when its parent ends; fails if the parent has ended already.
pub fn end_with(parent: u32) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have ended before the call above.
    let own = i32::try_from(parent).ok().and_then(Pid::from_raw);
    if getppid() == own { Ok(()) } else { Err(std::io::Error::other("the process that started this one has ended")) }
}

/// Blocks files and networks. It needs one file descriptor for a moment, so it comes before the descriptor limit.
pub fn close_files() -> Locks {
    let _ = set_no_new_privs(true);
    let privileges = no_new_privs().unwrap_or(false);
    Locks { privileges, closed: landlock::close().unwrap_or_default(), calls: false }
}

/// Blocks all system calls but a few; the last lock, as the others need calls. Returns whether it is in force.
pub fn close_calls() -> bool {
    calls::close().is_ok()
}

mod landlock {
    use super::Closed;
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, RulesetError, RulesetStatus, Scope};

    /// Restricts everything and allows nothing; an older kernel restricts what it supports.
    pub fn close() -> Result<Closed, RulesetError> {
        let rules = Ruleset::default()
            .handle_access(AccessFs::from_all(ABI::V6))?
            .handle_access(AccessNet::from_all(ABI::V6))?
            .scope(Scope::from_all(ABI::V6))?;
        Ok(match rules.create()?.restrict_self()?.ruleset {
            RulesetStatus::NotEnforced => Closed::Nothing,
            RulesetStatus::PartiallyEnforced => Closed::Files,
            RulesetStatus::FullyEnforced => Closed::Everything,
        })
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod calls {
    use std::collections::BTreeMap;
    use std::env::consts::ARCH;

    use rustix::io::Errno;
    use seccompiler::{
        BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        apply_filter_all_threads,
    };

    /// System calls that a process with its pipes and code needs: reading and writing, memory, waiting for itself,
    /// time, randomness, and its end by exit or by a signal.
    const CALLS: [i64; 22] = [
        libc::SYS_read,
        libc::SYS_write,
        libc::SYS_writev,
        libc::SYS_close,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_madvise,
        libc::SYS_brk,
        libc::SYS_futex,
        libc::SYS_sched_yield,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_getrandom,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];
    /// Calls that set memory permissions, allowed only without `PROT_EXEC` in their third argument.
    const MAPS: [i64; 2] = [libc::SYS_mmap, libc::SYS_mprotect];
    const PROT_EXEC: u64 = 4;
    /// Calls that send a signal, allowed only to the process itself, their first argument: an abort needs them.
    const SIGNALS: [i64; 2] = [libc::SYS_tgkill, libc::SYS_tkill];

    /// Installs the filter: all other calls fail with `EPERM`.
    pub fn close() -> Result<(), Error> {
        let only = |argument, operator, value| -> Result<Vec<SeccompRule>, Error> {
            let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?;
            Ok(vec![SeccompRule::new(vec![condition])?])
        };
        let own = u64::from(std::process::id());
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = CALLS.into_iter().map(|call| (call, Vec::new())).collect();
        for call in MAPS {
            rules.insert(call, only(2, SeccompCmpOp::MaskedEq(PROT_EXEC), 0)?);
        }
        for call in SIGNALS {
            rules.insert(call, only(0, SeccompCmpOp::Eq, own)?);
        }
        let refused = SeccompAction::Errno(Errno::PERM.raw_os_error().unsigned_abs());
        let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, ARCH.try_into()?)?;
        apply_filter_all_threads(&BpfProgram::try_from(filter)?)
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod calls {
    /// Fails: there is no table of system calls for this architecture.
    pub fn close() -> Result<(), ()> {
        Err(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_kernel_lacks_is_named_once() {
        let all = Locks { privileges: true, closed: Closed::Everything, calls: true };
        assert!(all.missing().is_empty());
        assert_eq!(Locks { closed: Closed::Files, ..all }.missing(), ["Landlock of Linux 6.12"]);
        assert_eq!(Locks { closed: Closed::Nothing, ..all }.missing(), ["Landlock"]);
        assert_eq!(Locks::default().missing(), ["no-new-privileges", "Landlock", "seccomp"]);
    }
}
