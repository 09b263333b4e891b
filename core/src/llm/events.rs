//! [`Events`]: server-sent events (WHATWG HTML, section 9.2) read from bytes that are cut anywhere.

use alloc::string::String;
use alloc::vec::Vec;

use crate::limits::{CHAT_LINE_BYTES_MAX, CHAT_PIECE_BYTES_MAX};

/// A byte order mark: the first line may begin with one.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// A reader of events: bytes go in, the data of each whole event comes out.
#[derive(Default)]
pub struct Events {
    line: Vec<u8>,
    /// Data of the event so far; `None` before its first line of data.
    data: Option<String>,
    /// Whether the first line ended.
    is_begun: bool,
    /// Whether the last byte was a carriage return, whose line feed ends no line of its own.
    after_return: bool,
    is_broken: bool,
}

impl Events {
    /// Takes the next bytes, and passes the data of each event that they end to `heard`.
    pub fn push(&mut self, bytes: &[u8], mut heard: impl FnMut(&str)) {
        for byte in bytes {
            if self.is_broken {
                return;
            }
            let is_second = self.after_return && *byte == b'\n';
            self.after_return = *byte == b'\r';
            match byte {
                b'\n' if is_second => {}
                b'\n' | b'\r' => self.end_line(&mut heard),
                byte => self.line.push(*byte),
            }
            let data_bytes = self.data.as_ref().map_or(0, String::len);
            self.is_broken |= self.line.len() > CHAT_LINE_BYTES_MAX || data_bytes > CHAT_PIECE_BYTES_MAX;
        }
    }

    /// Returns whether a line or an event was too long, so that the rest was not read.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }

    fn end_line(&mut self, heard: &mut impl FnMut(&str)) {
        let line = core::mem::take(&mut self.line);
        let is_first = !core::mem::replace(&mut self.is_begun, true);
        let line = line.strip_prefix(MARK).filter(|_| is_first).unwrap_or(&line);
        if line.is_empty() {
            if let Some(data) = self.data.take() {
                heard(&data);
            }
            return;
        }
        let Some(data) = line.strip_prefix(b"data") else { return };
        let data = match data.strip_prefix(b":") {
            Some(data) => data.strip_prefix(b" ").unwrap_or(data),
            None if data.is_empty() => data,
            None => return,
        };
        let data = String::from_utf8_lossy(data);
        match &mut self.data {
            Some(before) => before.extend(["\n", &*data]),
            None => self.data = Some(data.into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(parts: &[&[u8]]) -> Vec<String> {
        let (mut events, mut all) = (Events::default(), Vec::new());
        parts.iter().for_each(|part| events.push(part, |data| all.push(data.into())));
        all
    }

    #[test]
    fn events_end_at_an_empty_line_however_it_is_written() {
        for (bytes, want) in [
            (&b"data: a\n\ndata:b\n\n"[..], &["a", "b"][..]),
            (b"data: a\r\n\r\ndata: b\r\r", &["a", "b"]),
            (b": a comment\nevent: x\nid: 1\ndata: a\ndata: b\n\n", &["a\nb"]),
            (b"data: a\r\ndata: b\r\n\r\n", &["a\nb"]),
            (b"data\n\n", &[""]),
            (b"data: not ended\n", &[]),
            (b"\n\n\ndatax: no\n\n", &[]),
            ("data: ă 😀\n\n".as_bytes(), &["ă 😀"]),
            ("\u{feff}data: a\n\n\u{feff}data: no\n\n".as_bytes(), &["a"]),
        ] {
            assert_eq!(heard(&[bytes]), want, "{}", String::from_utf8_lossy(bytes));
            for cut in 0..=bytes.len() {
                assert_eq!(heard(&[&bytes[..cut], &bytes[cut..]]), want, "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut events = Events::default();
        for _ in 0..100 {
            events.push(&[b'x'; 10_000], |_| panic!("there is no event"));
        }
        assert!(events.is_broken() && events.line.len() <= CHAT_LINE_BYTES_MAX + 1);
    }
}
