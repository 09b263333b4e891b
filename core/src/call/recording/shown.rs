//! Links in the calls that an answer shows. Rows hold no link, so that a link can be of today; and entity tags are made
//! without them, so that a new day changes none.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;
use core::ops::Range;

use super::link::{is_own, signed};
use super::rows::RecordingAccount;
use crate::http::csv;
use crate::http::ctx::Ctx;
use crate::http::etag;
use crate::http::reply::{Content, Reply};
use crate::id;
use crate::limits::{RECORDING_LINK_DAYS, TAGGED_BYTES_MAX};
use crate::store::Scope;
use crate::view::Stop;

/// Name of the member, as call objects have it once: no text of a call holds an unescaped quote, and only members that
/// the service itself writes stand behind it.
const MEMBER: &[u8] = b"\"recording_url\":\"";

/// The links of one answer.
pub struct ShownLinks<'a> {
    account: Scope<'a>,
    base: String,
    today: crate::time::Day,
    key: OnceCell<Option<[u8; 32]>>,
    /// Whether links are written at once, because nobody makes a tag of the answer.
    is_csv: bool,
    /// Places of URLs in the answer, and the links that go there.
    links: Vec<(Range<usize>, String)>,
}

impl<'a> ShownLinks<'a> {
    /// Begins an answer of calls.
    pub fn of(ctx: &Ctx<'a>, account: Scope<'a>) -> Self {
        let is_csv = csv::is_wanted(ctx.route, ctx.request);
        Self { account, base: ctx.base().0, today: ctx.now.day(), key: OnceCell::new(), is_csv, links: Vec::new() }
    }

    /// Appends the stored JSON of a call to the answer.
    pub fn write(&mut self, call: u32, public: &[u8], out: &mut Vec<u8>) -> Result<(), Stop> {
        let Some((place, link)) = self.link(call, public)? else {
            out.extend_from_slice(public);
            return Ok(());
        };
        if self.is_csv {
            out.extend([&public[..place.start], link.as_bytes(), &public[place.end..]].concat());
        } else {
            self.links.push((out.len() + place.start..out.len() + place.end, link));
            out.extend_from_slice(public);
        }
        Ok(())
    }

    /// Puts the links into the answer, and tells its tag without them.
    pub fn finish(self, mut reply: Reply) -> Reply {
        if self.links.is_empty() {
            return reply;
        }
        let tag = match &mut reply.content {
            Content::Json(body) => {
                // Larger answers have no tag, as everywhere.
                let tag = (body.len() <= TAGGED_BYTES_MAX).then(|| etag::of(body));
                *body = spliced(body, &self.links);
                tag
            }
            Content::Piece(piece) => {
                piece.bytes = spliced(&piece.bytes, &self.links);
                None
            }
            _ => None,
        };
        tag.into_iter().fold(reply, |reply, tag| reply.header("etag", tag))
    }

    /// Returns the place of the URL in a call, and the link for it; `None` if it has no recording of the service's own.
    fn link(&self, call: u32, public: &[u8]) -> Result<Option<(Range<usize>, String)>, Stop> {
        let name = &MEMBER[..MEMBER.len() - 1];
        let Some(at) = public.windows(name.len()).rposition(|window| window == name) else { return Ok(None) };
        let Some(text) = public[at..].strip_prefix(MEMBER) else { return Ok(None) };
        let length = text.iter().position(|b| *b == b'"').unwrap_or(text.len());
        if !core::str::from_utf8(&text[..length]).is_ok_and(is_own) {
            return Ok(None);
        }
        let Some(key) = self.key()? else { return Ok(None) };
        let start = at + MEMBER.len();
        let link = signed(&key, &self.base, id::of(self.account.space(), call), self.today, RECORDING_LINK_DAYS);
        Ok(Some((start..start + length, link)))
    }

    /// Returns the key of the account, which is read for the first link alone.
    fn key(&self) -> Result<Option<[u8; 32]>, Stop> {
        if let Some(key) = self.key.get() {
            return Ok(*key);
        }
        let own = RecordingAccount::load(self.account)?;
        let key = own.map(|own| own.signing_key()).transpose()?;
        Ok(*self.key.get_or_init(|| key))
    }
}

fn spliced(body: &[u8], links: &[(Range<usize>, String)]) -> Vec<u8> {
    let longer: usize = links.iter().map(|(_, link)| link.len()).sum();
    let mut out = Vec::with_capacity(body.len() + longer);
    let mut from = 0;
    for (place, link) in links {
        out.extend_from_slice(&body[from..place.start]);
        out.extend_from_slice(link.as_bytes());
        from = place.end;
    }
    out.extend_from_slice(&body[from..]);
    out
}
