//! Addresses to listen on, as operators write them: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, or a port alone.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, ToSocketAddrs};

use serde::de::{Deserializer, Error, Visitor};

/// Parses an address. A port alone is of 127.0.0.1; a name is looked up, and of its addresses an IPv4 one is preferred.
pub fn parse(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    let found = text.to_socket_addrs().map_err(|error| format!("{error}: give HOST:PORT or PORT"))?;
    let found: Vec<SocketAddr> = found.collect();
    let preferred = found.iter().find(|address| address.is_ipv4()).or(found.first());
    preferred.copied().ok_or_else(|| format!("{text} has no address"))
}

/// Reads an address of a settings file: text, or a port as a number.
pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<SocketAddr>, D::Error> {
    from.deserialize_any(Written).map(Some)
}

struct Written;

impl Visitor<'_> for Written {
    type Value = SocketAddr;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address such as \"127.0.0.1:8080\", or a port")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<SocketAddr, E> {
        parse(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, port: i64) -> Result<SocketAddr, E> {
        parse(&port.to_string()).map_err(E::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, address) in [
            ("127.0.0.1:8080", "127.0.0.1:8080"),
            ("0.0.0.0:0", "0.0.0.0:0"),
            ("[::1]:80", "[::1]:80"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("8080", "127.0.0.1:8080"),
            ("0", "127.0.0.1:0"),
        ] {
            assert_eq!(parse(text).map(|address| address.to_string()), Ok(address.to_owned()), "{text}");
        }
        for text in ["", "localhost", "127.0.0.1", "65536", "localhost:65536", "http://localhost:8080", "-1", ":"] {
            let said = parse(text).expect_err(text);
            assert!(said.ends_with("give HOST:PORT or PORT"), "{text}: {said}");
        }
    }
}
