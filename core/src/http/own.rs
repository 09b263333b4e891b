//! Which hosts and origins are the service's own, as browsers name them.

use alloc::format;

use url::{Host, Position, Url};

use super::base::{BaseUrl, is_trusted};
use super::request::Request;
use crate::setup::Config;

/// Returns whether a request names a host that is the service's own. To a client on this machine that is a name of this
/// machine or the public URL's: a name of somebody else's that leads here (DNS rebinding) is none.
pub fn is_host(config: &Config, request: &Request) -> bool {
    let host = request.header("host").unwrap_or_default();
    !is_local(config, request) || is_this_machine(host) || is_public(config, host)
}

/// Returns whether a request comes from this machine, and through no proxy that is known.
pub fn is_local(config: &Config, request: &Request) -> bool {
    !is_trusted(config, request) && request.peer.is_some_and(|peer| peer.to_canonical().is_loopback())
}

/// Returns whether a page of this origin is the service's own: of the public URL's, or of the host that the request names.
pub fn is_origin(config: &Config, request: &Request, origin: &str) -> bool {
    let is_of = |url: &str| Url::parse(url).is_ok_and(|url| url.origin().ascii_serialization() == origin);
    let host = request.header("host").unwrap_or_default();
    let by_host = || is_host(config, request) && is_of(&BaseUrl::of_request(config, request).0);
    config.public_url.as_deref().is_some_and(is_of) || !is_public(config, host) && by_host()
}

/// Returns whether the browser of a request reaches the service over https.
pub fn is_https(config: &Config, request: &Request) -> bool {
    let host = request.header("host").unwrap_or_default();
    let base =
        || if is_public(config, host) { BaseUrl::of(config, request) } else { BaseUrl::of_request(config, request) };
    request.header("origin").map_or_else(|| base().0.starts_with("https:"), |origin| origin.starts_with("https:"))
}

/// Returns whether a `Host` header names the host and port of the public URL.
fn is_public(config: &Config, host: &str) -> bool {
    let public = config.public_url.as_deref().and_then(|url| Url::parse(url).ok());
    public.is_some_and(|url| &url[Position::BeforeHost..Position::AfterPort] == host)
}

/// Returns whether a `Host` header names this machine.
fn is_this_machine(host: &str) -> bool {
    let url = Url::parse(&format!("http://{host}/")).ok();
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
