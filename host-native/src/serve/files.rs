//! Files that the binary brings along, packed when it was built: the console's, the API explorer's and the widget's. They
//! load nothing from elsewhere; content security policies enforce that for the pages.

use hyper::Response;
use hyper::header::HeaderValue;
use switchboard_core::http::etag;
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::reply::Reply;

use super::response::{ResponseBody, full, response as plain};

/// A file of the binary.
pub struct EmbeddedFile {
    /// Path within its folder, without a slash at its begin.
    path: &'static str,
    /// Value of `Content-Type`.
    media: &'static str,
    /// Its entity tag, with quotes.
    etag: &'static str,
    /// Its content, gzip.
    packed: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The page that a folder begins with.
const INDEX: &str = "index.html";
/// How long a copy is good: a client asks each time, because a new release serves other files at the same paths.
const ASKED_EACH_TIME: &str = "no-cache";
/// Of the widget, which loads by itself what it needs: a page of a customer has it at once, and asks meanwhile.
const ASKED_MEANWHILE: &str = "public, max-age=300, stale-while-revalidate=86400";
const EXPLORER_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A request for a file, as far as its response depends on it.
pub struct FileRequest<'r> {
    /// Path and query as sent.
    pub target: &'r str,
    /// Values of `If-None-Match`, if there are any.
    pub known: Option<&'r str>,
}

impl FileRequest<'_> {
    /// Returns what the path names below `start`.
    fn below(&self, start: &str) -> &str {
        let path = self.target.split('?').next().unwrap_or_default();
        path.strip_prefix(start).unwrap_or_default().trim_start_matches('/')
    }

    /// Returns the console's page at `/`.
    pub fn home(&self, reply: Reply) -> Response<ResponseBody> {
        self.answer(reply, find(CONSOLE, INDEX), ASKED_EACH_TIME)
    }

    /// Returns the script by which a page embeds an assistant.
    pub fn widget(&self, reply: Reply) -> Response<ResponseBody> {
        self.answer(reply, Some(&WIDGET), ASKED_MEANWHILE)
    }

    /// Returns a file of the console. An address that names none, and does not look like a file, is one of the page's own.
    pub fn console(&self, reply: Reply) -> Response<ResponseBody> {
        let path = self.below("/console");
        let is_own = !path.rsplit('/').next().unwrap_or_default().contains('.');
        let file = find(CONSOLE, path).or_else(|| find(CONSOLE, INDEX).filter(|_| is_own));
        self.answer(reply, file, ASKED_EACH_TIME)
    }

    /// Returns a file of the API explorer: a list of all operations, and Swagger UI for the one that is chosen.
    pub fn explorer(&self, reply: Reply) -> Response<ResponseBody> {
        let path = self.below("/docs");
        let reply = reply.header("content-security-policy", EXPLORER_POLICY);
        self.answer(reply, find(EXPLORER, if path.is_empty() { INDEX } else { path }), ASKED_EACH_TIME)
    }

    /// Returns a file: 304 if the client has it, 404 if there is none. It is sent as packed, without content negotiation:
    /// every browser accepts gzip, and nothing else reads these files. `cached` is its `Cache-Control`.
    fn answer(&self, reply: Reply, file: Option<&EmbeddedFile>, cached: &'static str) -> Response<ResponseBody> {
        let Some(file) = file else { return plain(Refusal::NoRoute.reply_to(""), None) };
        let is_known = self.known.is_some_and(|field| etag::none_match(field, file.etag));
        let (status, body) = if is_known { (304, None) } else { (200, Some((file.media, full(file.packed)))) };
        let mut response = plain(Reply { status, ..reply }, body);
        let headers = response.headers_mut();
        headers.insert("etag", HeaderValue::from_static(file.etag));
        headers.insert("cache-control", HeaderValue::from_static(cached));
        if !is_known {
            headers.insert("content-encoding", HeaderValue::from_static("gzip"));
        }
        response
    }
}

/// Finds a file by its path within the folder.
fn find(files: &'static [EmbeddedFile], path: &str) -> Option<&'static EmbeddedFile> {
    files.iter().find(|file| file.path == path)
}
