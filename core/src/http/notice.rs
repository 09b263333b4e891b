//! [`Notice`]: an event of a step for the operator's log.

use crate::job::JobKind;

/// Message to the operator's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Too many logins of this account (its number) failed: for `LOGIN_FAILURES_SECONDS` only addresses that logged in
    /// before may try.
    LoginsGuarded(u32),
    /// A request of this account (its number) was refused because its plan allows no more storage.
    OverStorage(u32),
    /// A job failed `JOB_FAULTS_MAX` times in a row and was set aside; if there were several in one step, the last.
    JobSetAside {
        /// Number of the account that the job belongs to.
        account: u32,
        /// What the job does.
        kind: JobKind,
    },
}
