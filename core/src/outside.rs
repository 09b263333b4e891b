//! What a step cannot do itself: what it asks of the world outside, and what came of it.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;

use crate::choice;
use crate::record::Secret;

/// What a step cannot do itself: another machine's answer, or slow pure work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// An HTTP request.
    Http(HttpOut),
    /// A new password's digest, by [`crate::work::perform`].
    HashPassword {
        /// The password.
        password: Secret,
        /// Its salt.
        salt: [u8; 16],
    },
    /// Whether a password fits a digest, by [`crate::work::perform`].
    VerifyPassword {
        /// The password.
        password: Secret,
        /// Salt and digest, as stored.
        stored: Vec<u8>,
    },
    /// The text of a file or page. Whoever sent the bytes chose them: a host reads them where they can do
    /// no harm, with bounds on time and memory.
    Extract {
        /// What the bytes should be.
        form: TextForm,
        /// The file or page, at most [`FILE_BYTES_MAX`](crate::limits::FILE_BYTES_MAX).
        bytes: Vec<u8>,
    },
    /// Nothing: a task is begun by itself once this is answered, with [`Answer::Elapsed`].
    Turn,
}

choice! {
    /// What text is read from.
    pub enum TextForm {
        /// A PDF file.
        Pdf = "pdf",
        /// A Word file (Office Open XML).
        Docx = "docx",
        /// A text file: UTF-8, UTF-16 with its mark, else Windows-1252.
        Txt = "txt",
        /// A web page.
        Html = "html",
    }
}

/// What was read from a file or page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Its title, one line, at most 255 characters.
    pub title: Option<String>,
    /// Its text, at most [`TEXT_BYTES_MAX`]: lines without control characters, spaces at their ends or two
    /// spaces in a row, and never two blank lines together. It is empty only for a page that asks not to be
    /// indexed, or that has links and nothing else.
    ///
    /// [`TEXT_BYTES_MAX`]: crate::limits::TEXT_BYTES_MAX
    pub text: String,
    /// The links of a page as they are written, in its order, at most [`LINKS_MAX`]; none where the page, or
    /// the link itself, says `nofollow`.
    ///
    /// [`LINKS_MAX`]: crate::limits::LINKS_MAX
    pub links: Vec<String>,
    /// What the page says its links are relative to (`<base href>`), as it is written.
    pub base_href: Option<String>,
    /// Whether the page asks not to be indexed: then it has no title and no text here.
    pub noindex: bool,
}

/// What came of a [`Work`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An HTTP answer.
    Http(HttpIn),
    /// No HTTP answer.
    Failed(SendError),
    /// Salt and digest of a password.
    Hashed(Vec<u8>),
    /// Whether the password fits.
    Verified(bool),
    /// What a request waited for did not come in time, or others had their turn.
    Elapsed,
    /// The text of a file or page, or why there is none: a finished sentence of at most 255 characters.
    Extracted(Result<Extracted, String>),
    /// A piece of a list was taken: the rest is wanted.
    Rest(Unwritten),
}

/// What of a list is not written yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// The rows, by their counts.
    pub(crate) rows: Vec<u32>,
    /// What stands behind the last row.
    pub(crate) tail: Vec<u8>,
}

/// An HTTP request to the outside.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpOut {
    /// Its method.
    pub method: &'static str,
    /// Where to.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, Secret)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Until its answer must be complete, milliseconds.
    pub timeout_ms: u64,
    /// How much of the answer's body is read, bytes.
    pub reply_bytes_max: usize,
    /// Which addresses it may reach.
    pub egress: Egress,
    /// Which redirects are followed.
    pub redirects: Redirects,
}

impl HttpOut {
    /// The bytes of its URL, headers and body.
    pub fn bytes(&self) -> usize {
        let headers: usize = self.headers.iter().map(|(name, value)| name.len() + value.0.len()).sum();
        self.url.len() + headers + self.body.len()
    }
}

impl fmt::Debug for HttpOut {
    /// Where to, and nothing that may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpOut")
            .field("method", &self.method)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Whose choice an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Egress {
    /// A user's: public addresses only, and those the operator allows.
    User,
    /// The operator's own configuration: any address.
    Operator,
}

/// Which redirects a request follows, at most three of them (docs/api.md, Requests outside).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// None: a redirect is the answer.
    None,
    /// Within the same scheme, host and port: what is sent is meant for one receiver.
    SameOrigin,
    /// Any that the address filter lets through.
    Any,
}

/// An HTTP answer from the outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpIn {
    /// Its status.
    pub status: u16,
    /// Names in lower case and values, as far as they are text.
    pub headers: Vec<(String, String)>,
    /// Its body, cut at the request's bound.
    pub body: Vec<u8>,
    /// Whether the body was longer than that.
    pub cut: bool,
    /// From the request to the end of the answer, milliseconds.
    pub duration_ms: u64,
}

impl HttpIn {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// `Retry-After` in seconds (RFC 9110 section 10.2.3); a date is not read.
    pub fn retry_after(&self) -> Option<u64> {
        self.header("retry-after")?.trim().parse().ok()
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendError {
    /// The address is not one that may be reached.
    Refused,
    /// No connection, or it broke.
    Unreachable,
    /// Not complete in time.
    TimedOut,
    /// Nobody tried: the share of this account or address is used up ([`crate::budget`]).
    ShareUsed,
    /// Nobody tried: there is no room for more.
    Busy,
}

/// What a handler asks for, and the answers that came so far, in the order of asking.
///
/// A handler runs from its start each time: it reads top to bottom, and asking twice is two calls.
pub struct Asks<'a> {
    answers: &'a [Answer],
    asked: Cell<usize>,
    unanswered: RefCell<Vec<Work>>,
}

impl<'a> Asks<'a> {
    /// With the answers so far.
    pub fn of(answers: &'a [Answer]) -> Self {
        Self { answers, asked: Cell::new(0), unanswered: RefCell::new(Vec::new()) }
    }

    /// The answer, or nothing yet: then the work is among [`Asks::unanswered`].
    pub fn ask(&self, work: impl FnOnce() -> Work) -> Option<Answer> {
        let at = self.asked.get();
        self.asked.set(at + 1);
        let answer = self.answers.get(at).cloned();
        if answer.is_none() {
            self.unanswered.borrow_mut().push(work());
        }
        answer
    }

    /// Whether an answer is among those that came.
    pub fn has(&self, answer: &Answer) -> bool {
        self.answers.contains(answer)
    }

    /// What of a long list is wanted.
    pub fn rest(&self) -> Option<&'a Unwritten> {
        self.answers.iter().find_map(|answer| if let Answer::Rest(rest) = answer { Some(rest) } else { None })
    }

    /// How many answers there are.
    pub fn answered(&self) -> usize {
        self.answers.len()
    }

    /// What has no answer yet.
    pub fn unanswered(&self) -> Vec<Work> {
        self.unanswered.take()
    }
}
