//! Formats of text: each a check, its pattern for the published schema, and its error sentence.

use alloc::string::String;

use url::{Host, Url};

/// Format that a column may require of its text.
#[derive(Debug)]
pub struct Format {
    /// Name of the format, by which the generators of the tests draw texts.
    pub name: &'static str,
    /// The rule as an ECMA 262 pattern, as closely as one can state it: that of a URL leaves out rare forms of hosts.
    pub pattern: &'static str,
    /// Its `format` in the published schema, where the pattern is not the whole rule. Those that JSON Schema names for
    /// URLs and addresses are other rules (RFC 3986, RFC 5321): they would refuse what is accepted.
    pub known_as: Option<&'static str>,
    /// End of the error sentence, after "The … field"; with a leading `=`, the whole sentence.
    pub says: &'static str,
    /// Rewrites the text before its check, where what people write has more forms than what is kept.
    pub tidy: Option<fn(&str) -> String>,
    /// Check: whether a text has the format.
    pub accepts: fn(&str) -> bool,
}

/// Pattern of an absolute http or https URL whose user information excludes certain characters. It covers plain hosts
/// only, all of which are accepted unless they are Punycode: ASCII names whose last label does not begin with a digit,
/// IPv4, and IPv6 without an IPv4 part.
macro_rules! url {
    ($no_user:literal) => {
        url!(r"[hH][tT][tT][pP][sS]?", $no_user)
    };
    ($scheme:literal, $no_user:literal) => {
        concat!(
            "^",
            $scheme,
            r"://([^\s\\/?#\u0000-\u001f\u007f-\u009f",
            $no_user,
            r"]*@)?(([0-9A-Za-z_-]+\.)*[A-Za-z_-][0-9A-Za-z_-]*\.?",
            r"|((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])",
            r"|\[(([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|([0-9A-Fa-f]{1,4}:){1,7}:|([0-9A-Fa-f]{1,4}:){1,6}:[0-9A-Fa-f]{1,4}",
            r"|([0-9A-Fa-f]{1,4}:){1,5}(:[0-9A-Fa-f]{1,4}){1,2}|([0-9A-Fa-f]{1,4}:){1,4}(:[0-9A-Fa-f]{1,4}){1,3}",
            r"|([0-9A-Fa-f]{1,4}:){1,3}(:[0-9A-Fa-f]{1,4}){1,4}|([0-9A-Fa-f]{1,4}:){1,2}(:[0-9A-Fa-f]{1,4}){1,5}",
            r"|[0-9A-Fa-f]{1,4}:(:[0-9A-Fa-f]{1,4}){1,6}|:((:[0-9A-Fa-f]{1,4}){1,7}|:))\])",
            r"(:([0-9]{0,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?",
            r"([/?#][^\s\\\u0000-\u001f\u007f-\u009f]*)?$"
        )
    };
}

/// Absolute http or https URL (WHATWG URL).
pub static URL: Format = Format {
    name: "url",
    pattern: url!(""),
    known_as: Some("whatwg-url"),
    says: "must be a valid URL.",
    tidy: None,
    accepts: is_url,
};

/// URL to which secrets may be sent: https, or http to the same machine.
pub static PRIVATE_URL: Format = Format {
    name: "private-url",
    pattern: url!(r"[hH][tT][tT][pP][sS]", ""),
    known_as: None,
    says: "must be an https URL, or an http URL of this machine.",
    tidy: None,
    accepts: |text| is_url(text) && Url::parse(text).is_ok_and(|url| is_private(&url)),
};

/// URL of a tool, with placeholders in its path and query only (docs/api.md, How parameters reach the endpoint).
pub static ENDPOINT: Format = Format {
    name: "url",
    pattern: url!("{}"),
    known_as: Some("whatwg-url"),
    says: "must be a valid URL.",
    tidy: None,
    accepts: |text| {
        let authority = text.split("://").nth(1).and_then(|rest| rest.split(['/', '?', '#']).next());
        is_url(text) && authority.is_some_and(|authority| !authority.contains(['{', '}']))
    },
};

/// Origin of a page (RFC 6454): scheme, host and, where it is not the scheme's own, port.
pub static ORIGIN: Format = Format {
    name: "origin",
    pattern: r"^https?://[^\s\\/?#@A-Z]+$",
    known_as: Some("origin"),
    says: "must be an origin such as https://example.com.",
    tidy: None,
    accepts: |text| is_url(text) && Url::parse(text).is_ok_and(|url| url.origin().ascii_serialization() == text),
};

/// Type of an engine's event that this release does not know. Those of events that the service itself writes are not
/// among them: an engine cannot claim that a tool was asked.
pub static EVENT_TYPE: Format = Format {
    name: "event_type",
    pattern: "^[a-z][a-z0-9_.-]*$",
    known_as: Some("event-type"),
    says: "must be a word of lower-case letters, digits, dots, hyphens and underscores that is no event of the service itself.",
    tidy: None,
    accepts: |text| {
        let rest = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.-".contains(&b);
        let is_word = text.starts_with(|c: char| c.is_ascii_lowercase()) && text.bytes().all(rest);
        is_word && !SERVICE_EVENTS.contains(&text)
    },
};

/// Types of the events of a call that the service writes.
const SERVICE_EVENTS: [&str; 9] =
    ["initiated", "claimed", "hangup", "completed", "dropped", "tool", "knowledge", "webhook", "deleted"];

/// Keys of a telephone (RFC 4733, section 3.2).
pub static KEYS: Format = Format {
    name: "keys",
    pattern: "^[0-9A-D*#]+$",
    known_as: None,
    says: "must be keys of a telephone: 0 to 9, *, # and A to D.",
    tidy: None,
    accepts: |text| !text.is_empty() && text.bytes().all(|b| b"0123456789ABCD*#".contains(&b)),
};

/// Id in digits, or UUID.
pub static ID_OR_UUID: Format = Format {
    name: "id_or_uuid",
    pattern: "^([1-9][0-9]{0,15}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12})$",
    known_as: None,
    says: "must be an id or a UUID.",
    tidy: None,
    accepts: |text| {
        let digits = || (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        digits() && !text.starts_with('0') || text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
    },
};

/// Telephone number (ITU-T E.164), checked by [`is_e164`].
pub static E164: Format = E164_FORMAT;

const E164_FORMAT: Format = Format {
    name: "e164",
    pattern: r"^\+[1-9][0-9]{1,14}$",
    known_as: None,
    says: "must be a phone number in E.164 format.",
    tidy: None,
    accepts: is_e164,
};

/// Telephone number as people write it, kept as [`E164`]: see [`dialed`].
pub static WRITTEN_E164: Format = Format { tidy: Some(dialed), ..E164_FORMAT };

/// Number of a SIP trunk: a telephone number as people write it, or an extension of the telephone system.
pub static TRUNK_NUMBER: Format = Format {
    name: "trunk_number",
    pattern: r"^(\+[1-9][0-9]{1,14}|[A-Za-z0-9._-]{1,15})$",
    known_as: None,
    says: "must be a phone number in E.164 format, or an extension of 1 to 15 letters, digits, dots, hyphens and underscores.",
    tidy: Some(dialed),
    accepts: |text| is_e164(text) || (EXTENSION.accepts)(text),
};

/// Extension of a telephone system, such as `101` or `front-desk`.
pub static EXTENSION: Format = Format {
    name: "extension",
    pattern: "^[A-Za-z0-9._-]{1,15}$",
    known_as: None,
    says: "must be an extension of 1 to 15 letters, digits, dots, hyphens and underscores.",
    tidy: None,
    accepts: |text| {
        (1..=15).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    },
};

/// Drops the blanks, dots, dashes and brackets of a number that begins with `+`; returns any other text as it is.
pub fn dialed(text: &str) -> String {
    match text.trim().strip_prefix('+') {
        Some(rest) => {
            let digits = rest.chars().filter(|c| !matches!(c, ' ' | '\u{a0}' | '.' | '-' | '(' | ')'));
            core::iter::once('+').chain(digits).collect()
        }
        None => text.into(),
    }
}

/// Returns whether a text is `+` and 2 to 15 digits, the first not 0 (ITU-T E.164).
pub fn is_e164(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or_default().as_bytes();
    let sized = (2..=15).contains(&digits.len()) && !digits.starts_with(b"0");
    sized && digits.iter().all(u8::is_ascii_digit)
}

/// Time zone of the IANA database in the form Region/City, such as `Europe/Bucharest`.
pub static ZONE: Format = Format {
    name: "zone",
    pattern: r"^[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)+$",
    known_as: None,
    says: "must be a valid timezone.",
    tidy: None,
    accepts: |text| crate::time::zone(text).is_some(),
};

/// E-mail address, as far as can be judged without sending to it: two non-empty parts around one `@`.
pub static EMAIL: Format = Format {
    name: "email",
    pattern: r"^[^\s@]+@[^\s@]+$",
    known_as: Some("mailbox"),
    says: "must be a valid email address.",
    tidy: None,
    accepts: |text| {
        let clean = !text.chars().any(|c| c.is_whitespace() || c.is_control());
        clean
            && text
                .split_once('@')
                .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'))
    },
};

/// ASCII digits, possibly none.
pub static DIGITS: Format = Format {
    name: "digits",
    pattern: "^[0-9]*$",
    known_as: None,
    says: "must contain digits only.",
    tidy: None,
    accepts: |text| text.bytes().all(|b| b.is_ascii_digit()),
};

/// Day of the calendar, `YYYY-MM-DD`.
pub static DATE: Format = Format {
    name: "date",
    pattern: r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$",
    known_as: None,
    says: "must be a valid date in the form YYYY-MM-DD.",
    tidy: None,
    accepts: |text| crate::time::Day::parse(text).is_some(),
};

/// Instant in the ISO form, UTC; the fraction of up to six digits is optional.
pub static INSTANT: Format = Format {
    name: "instant",
    pattern: r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,6})?Z$",
    known_as: None,
    says: "must be a valid time in the form YYYY-MM-DDTHH:MM:SSZ.",
    tidy: None,
    accepts: |text| crate::time::Timestamp::parse_iso(text).is_some(),
};

/// Instant, or local time without a zone, `YYYY-MM-DDTHH:MM` or with seconds.
pub static START: Format = Format {
    name: "start",
    pattern: r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]((\.[0-9]{1,6})?Z)?)?$",
    known_as: None,
    says: "must be a valid time in the form YYYY-MM-DDTHH:MM, or YYYY-MM-DDTHH:MM:SSZ.",
    tidy: None,
    accepts: |text| {
        let at = |text: &str| crate::time::Timestamp::parse_iso(text).is_some();
        at(text)
            || matches!(text.len(), 16 | 19)
                && at(&alloc::format!("{text}{}Z", if text.len() == 16 { ":00" } else { "" }))
    },
};

/// Time of day, `HH:MM` or `HH:MM:SS`.
pub static CLOCK: Format = Format {
    name: "clock",
    pattern: "^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$",
    known_as: None,
    says: "must be a time in the form HH:MM, such as 09:00.",
    tidy: None,
    accepts: is_clock,
};

/// Name of a mid-call tool (docs/api.md, Creating a tool).
pub static TOOL_NAME: Format = Format {
    name: "tool_name",
    pattern: "^[a-z][a-z_]*$",
    known_as: None,
    says: "=Tool name must contain only lowercase letters and underscores, and start with a letter.",
    tidy: None,
    accepts: |text| begins(text, char::is_ascii_lowercase) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
};

/// Name of a tool's parameter (docs/api.md, Creating a tool).
pub static PARAMETER_NAME: Format = Format {
    name: "parameter_name",
    pattern: "^[A-Za-z][A-Za-z_]*$",
    known_as: None,
    says: "must contain only letters and underscores and start with a letter.",
    tidy: None,
    accepts: |text| {
        begins(text, char::is_ascii_alphabetic) && text.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_')
    },
};

/// Name of a field to extract after a call (docs/api.md, Creating an assistant).
pub static EXTRACT_NAME: Format = Format {
    name: "extract_name",
    pattern: "^[a-z0-9_]*$",
    known_as: None,
    says: "must contain only lowercase letters, digits and underscores.",
    tidy: None,
    accepts: |text| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
};

/// Name of a header that a tool may send (RFC 9110 section 5.1; docs/api.md, Creating a tool): not `Host`,
/// `Connection`, `Content-Length`, `Transfer-Encoding`, and none that begins with `Webhook-`.
pub static HEADER_NAME: Format = Format {
    name: "header_name",
    pattern: "^(?!([hH][oO][sS][tT]|[cC][oO][nN][tT][eE][nN][tT]-[lL][eE][nN][gG][tT][hH]|[tT][rR][aA][nN][sS][fF][eE][rR]-[eE][nN][cC][oO][dD][iI][nN][gG]|[cC][oO][nN][nN][eE][cC][tT][iI][oO][nN])$|[wW][eE][bB][hH][oO][oO][kK]-)[!#$%&'*+.^_`|~0-9A-Za-z-]+$",
    known_as: None,
    says: "must be the name of a header that a tool may send.",
    tidy: None,
    accepts: is_header_name,
};

/// Header value without control characters.
pub static HEADER_VALUE: Format = Format {
    name: "header_value",
    pattern: r"^[^\u0000-\u001f\u007f]*$",
    known_as: None,
    says: "must not contain control characters.",
    tidy: None,
    accepts: |text| !text.bytes().any(|b| b < b' ' || b == 0x7f),
};

/// IP address, or a range in CIDR notation.
pub static ADDRESS: Format = Format {
    name: "address",
    pattern: "^[0-9a-fA-F.:]+(/[0-9]{1,3})?$",
    known_as: None,
    says: "must be an IP address or a CIDR range.",
    tidy: None,
    accepts: |text| text.parse::<core::net::IpAddr>().is_ok() || text.parse::<ipnet::IpNet>().is_ok(),
};

/// SIP host: a name or an address, with an optional port.
pub static SIP_HOST: Format = Format {
    name: "sip_host",
    pattern: r"^[A-Za-z0-9.:\[\]_-]+$",
    known_as: None,
    says: "must be a host name or address.",
    tidy: None,
    accepts: |text| text.bytes().all(|b| b.is_ascii_alphanumeric() || b".:[]_-".contains(&b)),
};

/// Printable ASCII.
pub static PRINTABLE: Format = Format {
    name: "printable",
    pattern: r"^[!-~]+( +[!-~]+)*$",
    known_as: None,
    says: "must be printable ASCII.",
    tidy: None,
    accepts: |text| text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()),
};

/// Name of a plan: lowercase letters, digits, hyphens and underscores.
pub static PLAN_NAME: Format = Format {
    name: "plan_name",
    pattern: "^[a-z0-9_-]+$",
    known_as: None,
    says: "must contain only lowercase letters, digits, hyphens and underscores.",
    tidy: None,
    accepts: |text| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b)),
};

fn begins(text: &str, accepts: fn(&char) -> bool) -> bool {
    text.chars().next().is_some_and(|first| accepts(&first))
}

/// Returns whether what is sent to a URL is for its receiver alone: it is https, or stays on this machine.
fn is_private(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || is_here
}

fn is_url(text: &str) -> bool {
    // The parser drops tabs and newlines and reads `\` as `/`: such text never gets that far.
    let clean = !text.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\');
    let scheme = text.split_once("://").is_some_and(|(scheme, rest)| {
        (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
            && !rest.starts_with(['/', '?', '#'])
    });
    clean && scheme && Url::parse(text).is_ok_and(|url| url.host().is_some())
}

fn is_clock(text: &str) -> bool {
    let mut parts = text.split(':');
    let mut part = |limit: u8| {
        let part = parts.next()?;
        let digits = part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| part.parse::<u8>().ok())?.filter(|n| *n < limit)
    };
    part(24).is_some()
        && part(60).is_some()
        && match text.len() {
            5 => true,
            8 => part(60).is_some(),
            _ => false,
        }
}

fn is_header_name(text: &str) -> bool {
    const REFUSED: [&str; 4] = ["host", "content-length", "transfer-encoding", "connection"];
    let token = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    let webhook = text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("webhook-"));
    token && !webhook && !REFUSED.iter().any(|name| text.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use proptest::prelude::*;
    use proptest::string::string_regex;

    fn shown(format: &Format) -> impl Strategy<Value = String> + use<> {
        let drawn = string_regex(format.pattern.trim_matches(['^', '$'])).expect("a pattern");
        drawn.prop_filter("Punycode", |url| !url.to_ascii_lowercase().contains("xn--"))
    }

    proptest! {
        #[test]
        fn a_url_that_is_shown_is_accepted(url in shown(&URL), endpoint in shown(&ENDPOINT)) {
            prop_assert!((URL.accepts)(&url), "{url:?}");
            prop_assert!((ENDPOINT.accepts)(&endpoint), "{endpoint:?}");
        }
    }

    fn check(format: &Format, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!((format.accepts)(text), "{} refuses {text:?}", format.name);
        }
        for text in bad {
            assert!(!(format.accepts)(text), "{} accepts {text:?}", format.name);
        }
    }

    #[test]
    fn forms() {
        check(&ENDPOINT, &["https://a/{id}?x={{customer_phone}}"], &["https://{host}/", "https://{u}@a/"]);
        check(
            &URL,
            &["http://a", "https://example.com/x?y=1#z", "HTTPS://EXAMPLE.COM", "http://127.0.0.1:99/"],
            &[
                "",
                "example.com",
                "ftp://a",
                "http:///x",
                "http://",
                "https:a.b",
                "http://a b",
                "http://a\n",
                "http:\\\\a",
                "http://[::1",
                "http://a:99999",
            ],
        );
        check(&EMAIL, &["a@b", "Owner.One+x@example.com"], &["", "a", "@b", "a@", "a@b@c", "a b@c"]);
        check(&CLOCK, &["00:00", "23:59", "09:30:15"], &["24:00", "9:30", "09:60", "09:30:60", "09:30:", "0930"]);
        check(&TOOL_NAME, &["a", "get_weather"], &["", "_a", "Get", "a1", "a-b"]);
        check(&PARAMETER_NAME, &["ab", "City_Name"], &["_a", "a1", "1a"]);
        check(
            &HEADER_NAME,
            &["X-Key", "Authorization", "webhook"],
            &["", "Host", "hOST", "Content-Length", "connection", "Webhook-Id", "a b", "a:"],
        );
        check(&HEADER_VALUE, &["", "plain", "ünïcode"], &["a\r\nb", "a\0", "\u{7f}"]);
        check(&ADDRESS, &["1.2.3.4", "10.0.0.0/8", "::1", "fd00::/8"], &["1.2.3", "10.0.0.0/33", "host"]);
        check(&E164, &["+12", "+123456789012345"], &["12", "+0123", "+1", "+1234567890123456", "+1a"]);
    }

    #[test]
    fn a_number_is_read_as_people_write_it() {
        let written = ["+40 721 000 001", "+40-721.000(001)", " +40\u{a0}721000001 "];
        assert!(written.iter().all(|text| dialed(text) == "+40721000001"));
        for kept in ["0721 000 001", "front-desk", "+4072100000a", ""] {
            assert_eq!(dialed(kept), kept);
        }
    }

    #[test]
    fn e164_edges() {
        assert!(is_e164("+12") && is_e164("+123456789012345"));
        let mut bad = "/+/+1/12/+02/+1234567890123456/+1 2/++12/+1\u{662}".split('/');
        assert!(bad.all(|text| !is_e164(text)));
    }
}
