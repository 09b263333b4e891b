//! An edge's settings from its environment: the region's address, the store token, and the settings shared with the
//! region.

use std::fmt;

use switchboard_core::settings;
use switchboard_core::setup::Config;

/// Environment variable with the region's address, such as `https://region.example`.
pub const REGION: &str = "SWITCHBOARD_REGION";
/// Environment variable with the token of the region's store.
pub const STORE_TOKEN: &str = "SWITCHBOARD_STORE_TOKEN";

/// Environment variable with the service's settings, one JSON object: give the edge the same as the region.
pub const CONFIG: &str = "SWITCHBOARD_SETTINGS";

/// The settings of an edge.
#[derive(Clone)]
pub struct EdgeSettings {
    /// Address of the region.
    pub region: Region,
    /// Token that the region requires of an edge.
    pub store_token: String,
    /// Settings of the service, the same as the region's.
    pub config: Config,
}

/// The address of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Whether TLS is used.
    pub secure: bool,
    /// Host, and port unless it is the default one.
    pub authority: String,
    /// Prefix of every path: empty, or a path without a trailing slash.
    pub base: String,
}

impl EdgeSettings {
    /// Reads the settings from environment variables.
    ///
    /// # Errors
    ///
    /// A sentence that says which variable is wrong.
    pub fn from_environment(variables: &[(String, String)]) -> Result<Self, String> {
        let value = |name: &str| {
            let found = variables.iter().find(|(variable, _)| variable == name).map(|(_, value)| value.trim());
            found.filter(|value| !value.is_empty()).ok_or_else(|| format!("{name} is not set."))
        };
        let region = Region::parse(value(REGION)?)?;
        let store_token = value(STORE_TOKEN)?;
        if !store_token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("{STORE_TOKEN} must be visible ASCII without spaces."));
        }
        let text = value(CONFIG).unwrap_or("{}");
        let config = settings::parse(text.as_bytes()).map_err(|error| format!("{CONFIG}: {error}"))?.config;
        Ok(Self { region, store_token: store_token.to_owned(), config })
    }
}

impl Region {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{REGION} must be an address such as https://region.example, not {text:?}.");
        let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
        let secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return Err(wrong()),
        };
        let (authority, base) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '\\' | '@' | '"' | '<' | '>');
        if authority.is_empty() || !authority.chars().chain(base.chars()).all(plain) {
            return Err(wrong());
        }
        Ok(Self { secure, authority: authority.to_owned(), base: base.trim_end_matches('/').to_owned() })
    }
}

impl fmt::Debug for EdgeSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeSettings").field("region", &self.region).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(region: &str, token: &str) -> Result<EdgeSettings, String> {
        let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        EdgeSettings::from_environment(&[variable(REGION, region), variable("HOME", "/"), variable(STORE_TOKEN, token)])
    }

    #[test]
    fn addresses_are_taken_apart() {
        for (text, secure, authority, base) in [
            ("https://region.example", true, "region.example", ""),
            ("http://127.0.0.1:8080/", false, "127.0.0.1:8080", ""),
            ("HTTPS://[::1]:8443/a/b/", true, "[::1]:8443", "/a/b"),
        ] {
            let region = settings(text, "t").map(|settings| settings.region);
            assert_eq!(region, Ok(Region { secure, authority: authority.into(), base: base.into() }));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_by_name() {
        for text in
            ["region.example", "ftp://a", "https://", "https:///a", "https://a?b", "https://u:p@a", "https://a b"]
        {
            let error = settings(text, "t").expect_err(text);
            assert!(error.starts_with("SWITCHBOARD_REGION must be") && error.contains(text), "{error}");
        }
        assert_eq!(settings(" ", "t").expect_err("empty"), "SWITCHBOARD_REGION is not set.");
        assert_eq!(settings("http://a", "").expect_err("empty"), "SWITCHBOARD_STORE_TOKEN is not set.");
        assert!(settings("http://a", "a\nb").expect_err("two lines").starts_with("SWITCHBOARD_STORE_TOKEN must be"));
    }

    #[test]
    fn the_token_is_not_shown() {
        let shown = format!("{:?}", settings("http://a", "secret").expect("settings"));
        assert!(shown.contains("\"a\"") && !shown.contains("secret"), "{shown}");
    }
}
