//! The start of absolute URLs (docs/api.md, Base URL).

use alloc::format;
use alloc::string::{String, ToString};
use core::net::{IpAddr, Ipv6Addr};

use super::request::Request;
use crate::setup::Config;

/// `scheme://host` as callers see it, without a trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(pub String);

impl BaseUrl {
    /// Returns the configured public URL, else one built from the request; forwarding headers count only from trusted
    /// proxies.
    pub fn of(config: &Config, request: &Request) -> Self {
        match &config.public_url {
            Some(url) => Self(url.trim_end_matches('/').to_string()),
            None => Self::of_request(config, request),
        }
    }

    /// Returns the one built from the request alone, whatever is configured.
    pub fn of_request(config: &Config, request: &Request) -> Self {
        let host = request.header("host").filter(|host| is_host(host)).unwrap_or("localhost");
        if !is_trusted(config, request) {
            return Self(format!("http://{host}"));
        }
        let forwarded = Forwarded::of(request);
        let scheme = forwarded.proto.filter(|proto| ["http", "https"].contains(proto)).unwrap_or("http");
        Self(format!("{scheme}://{}", forwarded.host.filter(|host| is_host(host)).unwrap_or(host)))
    }
}

/// Returns whether nobody between the caller and the service can read what they say: it is https up to a trusted proxy,
/// or stays on this machine. Where the host knows no peer, the configured public URL says so.
pub fn is_private(config: &Config, request: &Request) -> bool {
    match request.peer {
        Some(_) if is_trusted(config, request) => Forwarded::of(request).proto == Some("https"),
        Some(peer) => peer.to_canonical().is_loopback(),
        None => config.public_url.as_deref().is_some_and(|url| url.starts_with("https://")),
    }
}

/// Returns the caller's address: the peer of the connection, or the address that a trusted proxy reports.
pub fn client(config: &Config, request: &Request) -> Option<IpAddr> {
    if !is_trusted(config, request) {
        return request.peer;
    }
    let trusted = |ip: &IpAddr| config.trust_proxy.iter().any(|net| net.contains(ip));
    let listed = request.list("x-forwarded-for").unwrap_or_default();
    // The rightmost address that is not a trusted proxy: anything to its left may be forged.
    let named = listed.rsplit(',').map_while(|text| text.trim().parse::<IpAddr>().ok()).find(|ip| !trusted(ip));
    named.or_else(|| Forwarded::of(request).address).or(request.peer)
}

/// Returns what counts as one address: an IPv4 address, or the /64 of an IPv6 address, which providers assign to one
/// customer.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(ip) => Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64).into(),
        ip @ IpAddr::V4(_) => ip,
    }
}

/// Returns whether a request comes from a proxy that is trusted.
pub fn is_trusted(config: &Config, request: &Request) -> bool {
    request.peer.is_some_and(|ip| config.trust_proxy.iter().any(|net| net.contains(&ip)))
}

fn is_host(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b))
}

/// The older family of forwarding headers.
const LEGACY: [&str; 3] = ["x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"];

/// What the last proxy reports: from `X-Forwarded-*` if any of them is present, else from `Forwarded` (RFC 7239).
///
/// A proxy sets only one of the two families: one that sets `X-Forwarded-*` passes on a `Forwarded` sent by the client,
/// which must not be trusted.
#[derive(Default)]
struct Forwarded<'r> {
    proto: Option<&'r str>,
    host: Option<&'r str>,
    address: Option<IpAddr>,
}

impl<'r> Forwarded<'r> {
    fn of(request: &'r Request) -> Self {
        let last = |name: &str| request.header(name).and_then(|value| value.rsplit(',').next()).map(str::trim);
        if LEGACY.iter().any(|name| request.count(name) > 0) {
            return Self { proto: last("x-forwarded-proto"), host: last("x-forwarded-host"), address: None };
        }
        let mut forwarded = Self::default();
        for pair in last("forwarded").unwrap_or_default().split(';') {
            let Some((name, value)) = pair.split_once('=') else { continue };
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "proto" => forwarded.proto = Some(value),
                "host" => forwarded.host = Some(value),
                "for" => forwarded.address = value.trim_matches(['[', ']']).parse().ok(),
                _ => {}
            }
        }
        forwarded
    }
}
