//! [`Logins`]: recent logins of an account, which limit the guessing of its password (docs/api.md, Logins).
//!
//! One row per account, bounded whatever strangers send: only a login that succeeds adds an address. All e-mails
//! without an account share one row in the root, so that a failed login writes as much, and takes as long, for them.
//!
//! 20 failures in 15 minutes; addresses are known for 30 days (`limits.rs`).

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::key;
use crate::limits::{LOGIN_ADDRESS_SECONDS, LOGIN_ADDRESSES_MAX, LOGIN_FAILURES_MAX, LOGIN_FAILURES_SECONDS};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

const DAMAGED: Stop = Stop::Corrupt("the logins of an account have an unknown form");
const TIME_BYTES: usize = 8;
const ADDRESS_BYTES: usize = 16;

/// Failed logins and the addresses that logged in, each oldest first.
///
/// Stored form: the number of failures (a byte), their times, then address and time of each login; times are
/// microseconds, little-endian, addresses IPv6 with IPv4 mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logins {
    failures: Vec<Timestamp>,
    known: Vec<([u8; ADDRESS_BYTES], Timestamp)>,
}

impl Logins {
    /// Loads the logins of an account; in the root, those of e-mails without an account.
    pub fn load(scope: Scope<'_>) -> Result<Self, Stop> {
        match scope.get(key::logins(scope.space()))? {
            Some(bytes) => Self::from_bytes(&bytes).ok_or(DAMAGED),
            None => Ok(Self::default()),
        }
    }

    /// Stores the logins.
    pub fn save(&self, scope: Scope<'_>) -> Result<(), Stop> {
        scope.put(key::logins(scope.space()), self.to_bytes())
    }

    /// Returns whether a login from this network may succeed: after too many failures, only where one did recently.
    pub fn admits(&self, network: IpAddr, now: Timestamp) -> bool {
        !self.is_guarded(now) || self.known.iter().any(|(known, at)| *known == bytes_of(network) && recent(*at, now))
    }

    /// Records a wrong password; returns whether this failure is the one from which on logins are guarded.
    pub fn failed(&mut self, now: Timestamp) -> bool {
        let before = self.is_guarded(now);
        self.failures.push(now);
        let most = self.failures.len().saturating_sub(LOGIN_FAILURES_MAX);
        self.failures.drain(..most);
        !before && self.is_guarded(now)
    }

    /// Records a login from this network.
    pub fn succeeded(&mut self, network: IpAddr, now: Timestamp) {
        let network = bytes_of(network);
        self.known.retain(|(known, at)| *known != network && recent(*at, now));
        self.known.push((network, now));
        let most = self.known.len().saturating_sub(LOGIN_ADDRESSES_MAX);
        self.known.drain(..most);
    }

    fn is_guarded(&self, now: Timestamp) -> bool {
        let first = self.failures.first().filter(|_| self.failures.len() >= LOGIN_FAILURES_MAX);
        first.is_some_and(|first| now < first.plus_seconds(LOGIN_FAILURES_SECONDS))
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::from([u8::try_from(self.failures.len()).unwrap_or(u8::MAX)]);
        for at in &self.failures {
            bytes.extend_from_slice(&at.micros().to_le_bytes());
        }
        for (network, at) in &self.known {
            bytes.extend_from_slice(network);
            bytes.extend_from_slice(&at.micros().to_le_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let time = |bytes: &[u8]| Some(Timestamp::from_micros(u64::from_le_bytes(bytes.try_into().ok()?)));
        let (count, rest) = bytes.split_first()?;
        let (failures, known) = rest.split_at_checked(usize::from(*count) * TIME_BYTES)?;
        let known = known.chunks(ADDRESS_BYTES + TIME_BYTES).map(|one| {
            let (network, at) = one.split_at_checked(ADDRESS_BYTES)?;
            Some((network.try_into().ok()?, time(at)?))
        });
        Some(Self {
            failures: failures.chunks(TIME_BYTES).map(time).collect::<Option<_>>()?,
            known: known.collect::<Option<_>>()?,
        })
    }
}

fn recent(at: Timestamp, now: Timestamp) -> bool {
    now < at.plus_seconds(LOGIN_ADDRESS_SECONDS)
}

fn bytes_of(network: IpAddr) -> [u8; ADDRESS_BYTES] {
    match network {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
        IpAddr::V6(ip) => ip.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn failures_shut_out_whoever_never_logged_in() {
        let (home, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let mut logins = Logins::default();
        logins.succeeded(home, at(1_000));
        for failure in 1..LOGIN_FAILURES_MAX as u64 {
            assert!(!logins.failed(at(1_000 + failure)));
            assert!(logins.admits(other, at(1_000 + failure)));
        }
        assert!(logins.failed(at(1_100)), "told once");
        assert!(!logins.failed(at(1_101)));
        let over = 1_002 + LOGIN_FAILURES_SECONDS;
        for now in [1_101, over - 1] {
            assert!(logins.admits(home, at(now)) && !logins.admits(other, at(now)), "{now}");
        }
        assert!(logins.admits(other, at(over)), "the twentieth before is too old");
        assert!(logins.failed(at(over)), "and one more is enough again");
    }

    #[test]
    fn addresses_are_forgotten_after_their_time_and_beyond_their_number() {
        let mut logins = Logins::default();
        let home = IpAddr::from(Ipv6Addr::LOCALHOST);
        logins.succeeded(home, at(0));
        for _ in 0..LOGIN_FAILURES_MAX {
            logins.failed(at(LOGIN_ADDRESS_SECONDS - 1));
        }
        assert!(logins.admits(home, at(LOGIN_ADDRESS_SECONDS - 1)));
        assert!(!logins.admits(home, at(LOGIN_ADDRESS_SECONDS)));
        for last in 0..=u32::try_from(LOGIN_ADDRESSES_MAX).expect("few") {
            logins.succeeded(Ipv4Addr::from_bits(last).into(), at(LOGIN_ADDRESS_SECONDS));
            logins.succeeded(Ipv4Addr::from_bits(last).into(), at(LOGIN_ADDRESS_SECONDS));
        }
        assert_eq!(logins.known.len(), LOGIN_ADDRESSES_MAX);
        assert!(!logins.admits(Ipv4Addr::from_bits(0).into(), at(LOGIN_ADDRESS_SECONDS)), "the oldest");
        assert!(logins.admits(Ipv4Addr::from_bits(1).into(), at(LOGIN_ADDRESS_SECONDS)));
        assert!(logins.to_bytes().len() < 2_000, "{}", logins.to_bytes().len());
    }

    #[test]
    fn rows_read_back() {
        let mut logins = Logins::default();
        for second in 0..30 {
            assert_eq!(Logins::from_bytes(&logins.to_bytes()), Some(logins.clone()));
            logins.failed(at(second));
            logins.succeeded(IpAddr::from([10, 0, 0, 7]), at(second));
            logins.succeeded(Ipv6Addr::from_bits(u128::from(second) << 64).into(), at(second));
        }
        for bytes in [&[][..], &[1], &[0, 1], &[1, 0, 0, 0, 0, 0, 0, 0, 0, 9]] {
            assert_eq!(Logins::from_bytes(bytes), None, "{bytes:?}");
        }
    }
}
