//! Which addresses requests made for users may reach (API.md, Egress and operator).

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

/// Ranges that are not the public internet (IANA special-purpose registries, RFC 6890 and later).
const CLOSED: [&str; 24] = [
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
    "::/96",
    "::1/128",
    "100::/64",
    "2001::/23",
    "2001:db8::/32",
    "3fff::/20",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
];

/// The filter: public addresses, and the ranges that the operator allows.
#[derive(Clone, Debug)]
pub struct Filter {
    closed: Vec<IpNet>,
    allowed: Vec<IpNet>,
}

impl Filter {
    /// A filter with these exceptions.
    pub fn new(allowed: Vec<IpNet>) -> Self {
        Self { closed: CLOSED.iter().filter_map(|net| net.parse().ok()).collect(), allowed }
    }

    /// Whether an address may be reached. An address inside another (IPv4-mapped, NAT64, 6to4) counts as
    /// the inner one.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = inner(address);
        let within = |nets: &[IpNet]| nets.iter().any(|net| net.contains(&address));
        within(&self.allowed) || !within(&self.closed)
    }
}

fn inner(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, .., g, h] = v6.segments();
    let low = |high: u16, low: u16| IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match (v6.to_ipv4_mapped(), a, b) {
        (Some(v4), ..) => IpAddr::V4(v4),
        // RFC 6052 well-known prefix, RFC 8215 local-use prefix.
        (_, 0x64, 0xff9b) => low(g, h),
        (_, 0x2002, _) => low(b, v6.segments()[2]),
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
        ] {
            assert!(!allows(closed), "{closed}");
        }
    }
}
