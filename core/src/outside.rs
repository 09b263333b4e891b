//! Work that a step cannot do itself, and the answers to it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;

use url::Url;

use crate::choice;
use crate::object::{StoredObject, UploadError};
use crate::record::Secret;

/// Most characters of a URL in a sentence; the rest is cut off with a mark.
const NAMED_URL_CHARS_MAX: usize = 160;

/// Work that a step cannot do itself: requests over the network, or slow computation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Send an HTTP request.
    Http(HttpOut),
    /// Hash a new password, by [`crate::work::perform`].
    HashPassword {
        /// The password in plain text.
        password: Secret,
        /// Random salt of the hash.
        salt: [u8; 16],
    },
    /// Check a password against a stored digest, by [`crate::work::perform`].
    VerifyPassword {
        /// The password in plain text.
        password: Secret,
        /// Salt and digest, as stored.
        stored: Vec<u8>,
    },
    /// Extract the text of a file or page. The bytes are untrusted: a host parses them in isolation, with limits on
    /// time and memory.
    Extract {
        /// Format that the bytes should have.
        form: TextForm,
        /// The file or page, at most [`FILE_BYTES_MAX`](crate::limits::FILE_BYTES_MAX).
        bytes: Vec<u8>,
    },
    /// Delete an object, by its name; one that is not there counts as deleted.
    DeleteObject(String),
    /// Nothing: answered at once with [`Answer::Yielded`], which starts a task in a step of its own.
    Yield,
}

choice! {
    /// Format that text is extracted from.
    pub enum TextForm {
        /// A PDF file.
        Pdf = "pdf",
        /// A Word file (Office Open XML).
        Docx = "docx",
        /// A text file: UTF-8, UTF-16 with a byte order mark, else Windows-1252.
        Txt = "txt",
        /// A web page.
        Html = "html",
    }
}

/// Text extracted from a file or page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Title on one line, at most 255 characters; `None` if the file has none.
    pub title: Option<String>,
    /// Text of at most [`TEXT_BYTES_MAX`]: no control characters in lines, no trailing or double spaces, and never two
    /// blank lines in a row. Empty only for a page that asks not to be indexed, or that has nothing but links.
    ///
    /// [`TEXT_BYTES_MAX`]: crate::limits::TEXT_BYTES_MAX
    pub text: String,
    /// Links of a page as written, in page order, at most [`LINKS_MAX`]; links are omitted if the page or the link
    /// itself says `nofollow`.
    ///
    /// [`LINKS_MAX`]: crate::limits::LINKS_MAX
    pub links: Vec<String>,
    /// Base URL of the page's links (`<base href>`), as written.
    pub base_href: Option<String>,
    /// Whether the page asks not to be indexed: title and text are then left out.
    pub noindex: bool,
}

/// Result of a [`Work`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The HTTP response.
    Http(HttpIn),
    /// There is no HTTP response, for this reason.
    Failed(SendError),
    /// Salt and digest of the password, as stored.
    Hashed(Vec<u8>),
    /// Whether the password matches.
    Verified(bool),
    /// A wait ended without news.
    Elapsed,
    /// The exchange or task has yielded to other writers.
    Yielded,
    /// The text of a file or page, or why there is none: a full sentence of at most 255 characters.
    Extracted(Result<Extracted, String>),
    /// A piece of a list was sent: the rest is to be written.
    Rest(Unwritten),
    /// The body was made an object, or why it was not.
    Stored(Result<StoredObject, UploadError>),
    /// There is no object of this name any more.
    ObjectDeleted(String),
}

impl Answer {
    /// Returns whether asking again changes nothing outside.
    pub const fn is_repeatable(&self) -> bool {
        matches!(self, Self::Hashed(_) | Self::Verified(_))
    }

    /// Returns why there is no HTTP response. An answer to other work than a request counts as none.
    pub const fn send_error(&self) -> SendError {
        match self {
            Self::Failed(error) => *error,
            _ => SendError::Unreachable,
        }
    }
}

/// The part of a list that is not written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unwritten {
    /// Rows that were chosen with the first piece.
    Rows {
        /// Counts of the remaining rows, in order.
        rows: Vec<u32>,
        /// Bytes after the last row.
        tail: Vec<u8>,
    },
    /// The rows of CSV that are older than the one with this count, the last that is written.
    Below(u32),
}

/// Outgoing HTTP request.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpOut {
    /// HTTP method, in capitals.
    pub method: &'static str,
    /// Absolute URL.
    pub url: String,
    /// Header names and values; the values may be secret.
    pub headers: Vec<(String, Secret)>,
    /// Body; empty for none.
    pub body: Vec<u8>,
    /// Timeout until the whole response must have arrived, milliseconds.
    pub timeout_ms: u64,
    /// Maximum response body that is read, bytes; the rest is cut off.
    pub reply_bytes_max: usize,
    /// Which addresses it may connect to.
    pub egress: Egress,
    /// Which redirects it follows.
    pub redirects: Redirects,
}

impl HttpOut {
    /// Returns the size of URL, headers and body in bytes.
    pub fn bytes(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.0.len()).sum();
        self.url.len() + headers + self.body.len()
    }
}

impl fmt::Debug for HttpOut {
    /// Shows the method and the body's size, but nothing that may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOut")
            .field("method", &self.method)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Who chose the address of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// A user: only public addresses and ranges that the operator allows.
    User,
    /// The operator, in the configuration: any address.
    Operator,
    /// The operator, for a language model: any address, and an answer that takes its time.
    Model,
}

/// Which redirects a request follows, at most three of them (docs/api.md, Requests outside).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// None: the redirect itself is the answer.
    None,
    /// Only within the same scheme, host and port, because the content is meant for one receiver.
    SameOrigin,
    /// All that the address filter allows.
    Any,
}

/// Response to an outgoing HTTP request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpIn {
    /// HTTP status code.
    pub status: u16,
    /// Header names in lower case and values; values that are not text are left out.
    pub headers: Vec<(String, String)>,
    /// Its body, cut at the request's bound.
    pub body: Vec<u8>,
    /// Whether the body was longer than that bound.
    pub cut: bool,
    /// Time from the request to the end of the response, milliseconds.
    pub duration_ms: u64,
}

impl HttpIn {
    /// Returns the first value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns `Retry-After` in seconds (RFC 9110 section 10.2.3); `None` if absent or a date.
    pub fn retry_after(&self) -> Option<u64> {
        self.header("retry-after")?.trim().parse().ok()
    }
}

/// Why there is no HTTP response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The address filter does not allow the address.
    Refused,
    /// The connection failed or broke.
    Unreachable,
    /// The response was not complete within the timeout.
    TimedOut,
    /// Not sent: the share of this account or address is used up ([`crate::budget`]).
    ShareUsed,
    /// Not sent: the host's budget is exhausted, or it is stopping.
    Busy,
}

impl SendError {
    /// Says why a request to this URL has no response: a sentence that names the URL as [`named`] does, at most 255
    /// characters. `timeout_ms` is what the response had.
    pub fn sentence(self, url: &str, timeout_ms: u64) -> String {
        let url = named(url);
        match self {
            Self::Refused => {
                format!("{url} may not be reached from here: its address is not public; the operator can allow it.")
            }
            Self::Unreachable => format!("{url} could not be reached: there was no connection, or it broke off."),
            Self::TimedOut => format!("{url} did not answer within {} s.", timeout_ms.div_ceil(1_000)),
            Self::ShareUsed | Self::Busy => format!("{url} was not asked: too much is asked outside at once."),
        }
    }
}

/// Returns a URL as errors name it: without query, fragment and credentials, any of which may hold a secret, and cut
/// at 160 characters.
pub fn named(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "The URL".into() };
    url.set_query(None);
    url.set_fragment(None);
    // A URL without a host can have no credentials either: then there is nothing to take away.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    let text = String::from(url);
    match text.char_indices().nth(NAMED_URL_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Work that a handler asks for, matched with the answers so far by the order of asking.
///
/// A handler runs from its start each time, so it must ask the same questions in the same order; two questions are two
/// calls.
pub struct AskedWork<'a> {
    answers: &'a [Answer],
    asked: Cell<usize>,
    unanswered: RefCell<Vec<Work>>,
}

impl<'a> AskedWork<'a> {
    /// Starts with the answers so far.
    pub fn of(answers: &'a [Answer]) -> Self {
        Self { answers, asked: Cell::new(0), unanswered: RefCell::new(Vec::new()) }
    }

    /// Returns the answer; `None` if there is none yet, and the work is then in [`AskedWork::unanswered`].
    pub fn ask(&self, work: impl FnOnce() -> Work) -> Option<Answer> {
        let at = self.asked.get();
        self.asked.set(at + 1);
        let answer = self.answers.get(at).cloned();
        if answer.is_none() {
            self.unanswered.borrow_mut().push(work());
        }
        answer
    }

    /// Returns the answer to what the host was asked otherwise than by a [`Work`]; `None` if there is none yet.
    pub fn next(&self) -> Option<Answer> {
        let at = self.asked.get();
        self.asked.set(at + 1);
        self.answers.get(at).cloned()
    }

    /// Returns whether there is an answer to what is asked next.
    pub fn has_next(&self) -> bool {
        self.asked.get() < self.answers.len()
    }

    /// Returns whether `answer` is among the answers so far.
    pub fn has(&self, answer: &Answer) -> bool {
        self.answers.contains(answer)
    }

    /// Returns the part of a long list to write next; `None` for the first piece.
    pub fn rest(&self) -> Option<&'a Unwritten> {
        self.answers.iter().find_map(|answer| if let Answer::Rest(rest) = answer { Some(rest) } else { None })
    }

    /// Returns the number of answers so far.
    pub fn answered(&self) -> usize {
        self.answers.len()
    }

    /// Takes the work that has no answer yet.
    pub fn unanswered(&self) -> Vec<Work> {
        self.unanswered.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_named_without_what_may_be_secret() {
        for (url, name) in [
            ("https://a.example/x?key=k#f", "https://a.example/x"),
            ("https://user:pass@a.example:8443/x/y?z", "https://a.example:8443/x/y"),
            ("http://user@a.example", "http://a.example/"),
            ("no url", "The URL"),
        ] {
            assert_eq!(named(url), name);
        }
        let long = named(&format!("https://a.example/{}", "ü".repeat(400)));
        assert!(long.chars().count() == 161 && long.ends_with('…'), "{long}");
    }

    #[test]
    fn every_error_is_a_sentence_about_the_url() {
        use SendError::{Busy, Refused, ShareUsed, TimedOut, Unreachable};
        let long = format!("https://a.example/{}?key=marker", "x".repeat(2_000));
        for error in [Refused, Unreachable, TimedOut, ShareUsed, Busy] {
            let says = error.sentence(&long, 600_000);
            assert!(says.starts_with("https://a.example/") && says.ends_with('.'), "{says}");
            assert!(says.chars().count() <= 255 && !says.contains("marker"), "{says}");
        }
        assert_eq!(TimedOut.sentence("https://a.example/?q", 7_000), "https://a.example/ did not answer within 7 s.");
    }
}
