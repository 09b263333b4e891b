//! Filter of the addresses that requests made for users may reach (docs/api.md, Requests outside).
//!
//! Asked by the hosts before they connect: `host-native/src/send.rs` and `host-wasm/js/npm/host/send.js`.
//! [`crate::outside::Egress`] says whose request it is.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

/// Ranges that are not the public internet (IANA special-purpose registries, RFC 6890 and later). Only `2000::/3` of
/// IPv6 is allocated: everything else is local, reserved or embeds another address.
const CLOSED: [&str; 22] = [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "::/3",
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
    "4000::/2",
    "8000::/2",
    "c000::/2",
];

/// Address filter that allows public addresses and the operator's ranges.
#[derive(Clone, Debug)]
pub struct Filter {
    closed: Vec<IpNet>,
    allowed: Vec<IpNet>,
}

impl Filter {
    /// Builds a filter that also allows these ranges.
    pub fn new(allowed: Vec<IpNet>) -> Self {
        Self { closed: CLOSED.iter().filter_map(|net| net.parse().ok()).collect(), allowed }
    }

    /// Returns whether an address may be reached. An address embedded in another (IPv4-mapped, NAT64, 6to4) counts as
    /// the inner one.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = inner(address);
        let within = |nets: &[IpNet]| nets.iter().any(|net| net.contains(&address));
        within(&self.allowed) || !within(&self.closed)
    }
}

fn inner(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let of = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        // The well-known NAT64 prefix (RFC 6052). Under the local-use one (RFC 8215) the position of the inner address
        // is up to its network, so it is not decoded.
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => of(high, low),
        _ => IpAddr::V6(v6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn only_the_public_internet_is_open() {
        let filter = Filter::new(vec!["127.0.0.0/8".parse().expect("a range")]);
        let allows = |text: &str| filter.allows(text.parse().expect(text));
        for open in
            ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::8.8.8.8"]
        {
            assert!(allows(open), "{open}");
        }
        for closed in [
            "10.0.0.1",
            "169.254.169.254",
            "192.168.1.1",
            "172.31.0.1",
            "100.64.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fd00::1",
            "ff02::1",
            "::ffff:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::a00:1",
            "2002:a00:1::1",
            "2001:db8::1",
            "::10.0.0.1",
            // Under the local-use NAT64 prefix the inner address may be anywhere.
            "64:ff9b:1:a00:0:100:808:808",
            "64:ff9b:1::808:808",
            "64:ff9b::1:0:808:808",
            // Translated (RFC 2765), site-local (RFC 3879), dummy (RFC 9780), segment routing (RFC 9602).
            "::ffff:0:10.0.0.1",
            "::ffff:0:8.8.8.8",
            "fec0::1",
            "100:0:0:1::1",
            "5f00::1",
            "2001::1",
            "4000::1",
            "e000::1",
        ] {
            assert!(!allows(closed), "{closed}");
        }
    }
}
