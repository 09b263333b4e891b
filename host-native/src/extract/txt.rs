//! Extracts text from plain text files.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use switchboard_core::outside::Extracted;

use super::prose::Prose;

const NOT_TEXT: &str = "The file is not plain text.";
/// First bytes of files that are often mistaken for text: PDF, zip, older Office files, RTF, gzip.
const OTHER_FILES: [&[u8]; 5] = [b"%PDF-", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"{\\rtf", b"\x1f\x8b"];
/// A file is still text with at most one control character in this many bytes.
const BYTES_PER_CONTROL: usize = 100;

/// Reads UTF-8, UTF-16 with a byte order mark, else Windows-1252.
pub fn read(bytes: &[u8]) -> Result<Extracted, String> {
    if OTHER_FILES.iter().any(|start| bytes.starts_with(start)) {
        return Err(NOT_TEXT.into());
    }
    let text = decode(bytes);
    let controls = text.bytes().filter(|byte| *byte < b' ' && !b"\t\n\r\x0c\x1b".contains(byte)).count();
    if text.contains('\0') || controls > text.len() / BYTES_PER_CONTROL {
        return Err(NOT_TEXT.into());
    }
    let mut prose = Prose::default();
    prose.push(&text)?;
    Ok(Extracted { text: prose.finish(), ..Extracted::default() })
}

/// Decodes text by its byte order mark; without one, as UTF-8 if valid, else as Windows-1252, in which any bytes are
/// valid.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let unmarked = if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 };
    let encoding = Encoding::for_bom(bytes).map_or(unmarked, |(encoding, _)| encoding);
    encoding.decode_with_bom_removal(bytes).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings() {
        for (bytes, expected) in [
            (&b"plain"[..], "plain"),
            ("zi bună".as_bytes(), "zi bună"),
            ("\u{feff}zi bună".as_bytes(), "zi bună"),
            (b"\xff\xfeh\0\xe9\0", "hé"),
            (b"\xfe\xff\0h\0\xe9", "hé"),
            (b"\xff\xfeh\0\x3d\xd8", "h\u{fffd}"),
            (b"\xef\xbb\xbfa\xffb", "a\u{fffd}b"),
            (b"caf\xe9 \x80 5\x85", "café € 5…"),
            (b"one\r\ntwo\r\n\r\n\r\nthree\r\n", "one\ntwo\n\nthree"),
        ] {
            assert_eq!(read(bytes).expect("text").text, expected, "{bytes:?}");
        }
    }

    #[test]
    fn other_files_are_no_text() {
        for bytes in [
            &b"%PDF-1.7\n"[..],
            b"PK\x03\x04rest",
            b"\x1f\x8b\x08",
            b"{\\rtf1\\ansi text}",
            b"a\0b",
            b"h\0i\0",
            b"\x01\x02 some text",
        ] {
            assert_eq!(read(bytes), Err(NOT_TEXT.into()), "{bytes:?}");
        }
    }
}
