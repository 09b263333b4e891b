//! [`LoginLink`]: the link by which `switchboard dev` opens the console, signed in: a one-time code in its fragment, which
//! browsers send to nobody.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use sha2::{Digest, Sha256};
use switchboard::clock;
use switchboard_core::limits::LOGIN_CODE_SECONDS;
use switchboard_core::setup::OneTimeCode;
use switchboard_core::time::Timestamp;

use super::Failed;

/// Characters of a code, five bits each.
const CODE_CHARS: usize = 32;

/// A link that logs the owner in, once.
pub struct LoginLink(String);

impl LoginLink {
    /// Draws a code.
    pub fn new() -> Result<Self, Failed> {
        Ok(Self(clock::seed()?.word("login-code", CODE_CHARS)))
    }

    /// Returns what the service knows of the code, which counts from `now` on.
    pub fn code(&self, now: Timestamp) -> OneTimeCode {
        OneTimeCode { digest: Sha256::digest(&self.0).into(), until: now.plus_seconds(LOGIN_CODE_SECONDS) }
    }

    /// Returns the link for a service that listens on this address; none where this machine cannot reach it as itself.
    pub fn at(&self, address: SocketAddr) -> Option<String> {
        let near = near(address);
        near.ip().is_loopback().then(|| format!("http://{near}/console/#code={}", self.0))
    }
}

/// Returns the address by which this machine reaches a listener.
pub fn near(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    address
}
