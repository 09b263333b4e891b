//! [`Notice`]: what of a step the operator should know.

use crate::job::JobKind;

/// What a step has to say to the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Too many logins of this account failed: for a while only addresses that logged in before are let in.
    LoginsGuarded(u32),
    /// This account would store more than its plan allows, and was refused.
    OverStorage(u32),
    /// A job came to nothing too often; of several in one step the last.
    JobSetAside {
        /// Its account's number.
        account: u32,
        /// Its kind.
        kind: JobKind,
    },
}
