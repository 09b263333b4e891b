//! [`Notice`]: what of a request the operator should know.

/// What a step has to say to the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Too many logins of this account failed: for a while only addresses that logged in before are let in.
    LoginsGuarded(u32),
    /// This account would store more than its plan allows, and was refused.
    OverStorage(u32),
}
