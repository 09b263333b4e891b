//! Mutations of bytes: odd strings and numbers known to cause trouble, and random cuts, copies and flips.

use std::ops::Range;

use switchboard_sim::random::Random;

/// Texts that often trip parsers.
pub const TEXTS: &[&str] = &[
    "",
    " ",
    "0",
    "-1",
    "null",
    "true",
    "\0",
    "\u{1}",
    "\r\n",
    "\u{feff}",
    "\u{202e}abc",
    "e\u{301}\u{301}\u{301}",
    "\u{1F468}\u{200d}\u{1F469}\u{200d}\u{1F467}",
    "\u{10ffff}",
    "ß",
    "İ",
    "ﬀ",
    "..",
    "../../etc/passwd",
    "%00",
    "%",
    "%zz",
    "%ff%fe",
    "+",
    "+40700000001",
    "+0",
    "+99999999999999999",
    "{{",
    "}}",
    "{{x}}",
    "{{ customer_name }}",
    "{id}",
    "https://a.example/",
    "http://[::1",
    "http://\u{ff0e}example",
    "ftp://x",
    "HTTPS://A.EXAMPLE:99999/",
    "a@b",
    "Etc/UTC",
    "europe/bucharest",
    "2026-02-30",
    "9999-12-31",
    "2030-01-01T00:00:00Z",
    "0000-00-00T00:00:00Z",
    "24:00",
    "23:59:60",
    "<script>",
    "\"",
    "\\",
    "',--",
    "*",
    "W/\"x\"",
    "NaN",
    "Infinity",
    "1e999",
    "-0",
    "0x10",
    "١٢٣",
    "９",
    "****wxyz",
];

/// Boundary values of numbers, as JSON writes them.
pub const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "2",
    "10",
    "100",
    "101",
    "1000",
    "0.0",
    "0.5",
    "1.5",
    "-0.001",
    "1e0",
    "1e2",
    "1e308",
    "-1e308",
    "1e309",
    "1e-400",
    "0.1",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "4294967297",
    "9007199254740991",
    "9007199254740992",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
];

/// Byte sequences that are syntax to some parser.
const TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\u0000",
    b"\\ud800",
    b"\\u",
    b"\r\n\r\n",
    b"\n",
    b"--",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"<!--",
    b"]]>",
    b"<![CDATA[",
    b"&#x10ffff;",
    b"&#0;",
    b"obj",
    b"endstream",
    b"/Length",
    b"PK\x03\x04",
    b"%PDF-1.7",
];

/// Longest input that mutation produces, bytes.
const BYTES_MAX: usize = 1 << 16;

/// Draws an index below a length; 0 for an empty one.
pub fn index(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length as u64)).expect("a length fits")
}

/// Draws one of the odd texts, now and then a long one.
pub fn text(random: &mut Random) -> String {
    if random.chance(40) {
        let one = random.one(&["x", "é", "\u{1F600}", "{{", "a ", "{{a}}"]);
        return one.repeat(index(random, 300));
    }
    random.one(TEXTS).to_owned()
}

/// Changes a few places.
pub fn bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        once(random, bytes);
        bytes.truncate(BYTES_MAX);
    }
}

fn once(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = index(random, bytes.len() + 1);
    match random.below(10) {
        0 => bytes.truncate(at),
        1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        2 if at < bytes.len() => bytes[at] = byte(random),
        3 => insert(bytes, at, random.one(TOKENS)),
        4 => insert(bytes, at, random.one(NUMBERS).as_bytes()),
        5 => insert(bytes, at, text(random).as_bytes()),
        6 => {
            let end = (at + index(random, 64)).min(bytes.len());
            bytes.drain(at..end);
        }
        7 => {
            let end = (at + index(random, 256)).min(bytes.len());
            let copied = bytes[at..end].to_vec();
            let to = index(random, bytes.len() + 1);
            insert(bytes, to, &copied);
        }
        8 => {
            let number = next_number(bytes, at);
            bytes.splice(number, random.one(NUMBERS).bytes());
        }
        _ => {
            let noise: Vec<u8> = (0..random.below(16)).map(|_| byte(random)).collect();
            insert(bytes, at, &noise);
        }
    }
}

/// Returns the range of the first digits from `at` on, empty at the end if there are none.
fn next_number(bytes: &[u8], at: usize) -> Range<usize> {
    let start = bytes[at..].iter().position(u8::is_ascii_digit).map_or(bytes.len(), |digit| at + digit);
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    start..start + length
}

fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    bytes.splice(at..at, more.iter().copied());
}

/// Draws a byte, each value with the same probability.
pub fn byte(random: &mut Random) -> u8 {
    random.bits().to_le_bytes()[0]
}

/// Formats bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Draws up to `most` random bytes.
pub fn noise(random: &mut Random, most: usize) -> Vec<u8> {
    (0..index(random, most + 1)).map(|_| byte(random)).collect()
}
