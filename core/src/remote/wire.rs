//! Encoding of the store protocol's messages (docs/store-protocol.md).
//!
//! Numbers are big-endian. `bytes` is a `u32` length followed by that many bytes; a list is a `u32` count followed by
//! its items. Every message begins with the protocol number and ends with its last member: a message that is truncated,
//! has trailing bytes or contains an unknown tag is malformed.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::version::Seen;
use crate::account::caller::PresentedToken;
use crate::http::caller::Credential;
use crate::http::request::{Body, Door, Method, Request, known_header};
use crate::limits::remote::ITEMS_MAX;
use crate::rate::{Caller, Rate};
use crate::seed::Seed;
use crate::store::Change;
use crate::time::Timestamp;
use crate::view::{Found, Order, Read, Scan};

/// Protocol number, the first byte of every message.
pub const PROTOCOL: u8 = 1;

/// Why bytes are not a valid message, in words.
pub type WireError = &'static str;

/// `POST /store/read`: execute reads on one snapshot in which `seen` holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadCall {
    /// Earlier reads of the step, with their versions.
    pub seen: Vec<Seen>,
    /// Reads to execute.
    pub reads: Vec<Read>,
    /// Token of a request, sent with its first reads: if it is valid, its rate limit is checked along with them.
    pub shown: Option<PresentedToken>,
}

/// Answer to a [`ReadCall`].
#[derive(Clone, Debug)]
pub struct ReadAnswer {
    /// Time at the store.
    pub now: Timestamp,
    /// Seed for a request whose first reads these are.
    pub seed: Seed,
    /// Result of each read, in their order.
    pub found: Vec<Found>,
    /// Rate-limit decision for the token sent; empty if none was sent or it is not valid.
    pub rates: Vec<(Caller, Option<Rate>)>,
}

/// `POST /store/commit`: commit changes, all or none, if `seen` holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitCall {
    /// All reads of the step, with their versions.
    pub seen: Vec<Seen>,
    /// Changes to commit.
    pub changes: Vec<Change>,
}

/// The head of `POST /store/pass`; the request's body follows it.
#[derive(Clone, Debug)]
pub struct PassCall {
    /// The request; its body only says whether one follows.
    pub request: Request,
    /// Rate-limit decisions already made for it.
    pub rates: Vec<(Caller, Option<Rate>)>,
}

/// A message of the store protocol.
pub trait WireMessage: Sized {
    /// Encodes the message, including the protocol number.
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::from([PROTOCOL]);
        self.write(&mut out);
        out
    }

    /// Decodes a complete message.
    fn from_bytes(bytes: &[u8]) -> Result<Self, WireError> {
        let mut input = Decoder { rest: bytes };
        if input.byte()? != PROTOCOL {
            return Err("another protocol");
        }
        let message = Self::read(&mut input)?;
        if input.rest.is_empty() { Ok(message) } else { Err("too long") }
    }

    /// Appends the encoded members.
    fn write(&self, out: &mut Vec<u8>);

    /// Decodes the members.
    fn read(input: &mut Decoder<'_>) -> Result<Self, WireError>;
}

impl WireMessage for ReadCall {
    fn write(&self, out: &mut Vec<u8>) {
        list(out, &self.seen, write_seen);
        list(out, &self.reads, write_read);
        out.push(u8::from(self.shown.is_some()));
        if let Some(shown) = self.shown {
            write_caller(shown.credential.bucket(), out);
            out.extend_from_slice(&shown.digest);
        }
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, WireError> {
        let (seen, reads) = (input.list(read_seen)?, input.list(read_read)?);
        let shown = if input.flag()? { Some(read_shown(input)?) } else { None };
        Ok(Self { seen, reads, shown })
    }
}

impl WireMessage for ReadAnswer {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.now.micros().to_be_bytes());
        out.extend_from_slice(self.seed.bytes());
        list(out, &self.found, write_found);
        list(out, &self.rates, write_told);
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, WireError> {
        let now = Timestamp::from_micros(u64::from_be_bytes(input.array()?));
        let seed = Seed::new(input.array()?);
        Ok(Self { now, seed, found: input.list(read_found)?, rates: input.list(read_told)? })
    }
}

impl WireMessage for CommitCall {
    fn write(&self, out: &mut Vec<u8>) {
        list(out, &self.seen, write_seen);
        list(out, &self.changes, |change, out| match change {
            Change::Put(key, value) => {
                out.push(0);
                bytes(out, key);
                bytes(out, value);
            }
            Change::Delete(key) => {
                out.push(1);
                bytes(out, key);
            }
        });
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, WireError> {
        let seen = input.list(read_seen)?;
        let changes = input.list(|input| match input.byte()? {
            0 => Ok(Change::Put(input.bytes()?, input.bytes()?)),
            1 => Ok(Change::Delete(input.bytes()?)),
            _ => Err("an unknown change"),
        })?;
        Ok(Self { seen, changes })
    }
}

impl WireMessage for PassCall {
    fn write(&self, out: &mut Vec<u8>) {
        let request = &self.request;
        bytes(out, request.method.name().as_bytes());
        bytes(out, request.target.as_bytes());
        list(out, &request.headers, |(name, value), out| {
            bytes(out, name.as_bytes());
            bytes(out, value);
        });
        out.push(u8::from(request.body != Body::None));
        bytes(out, request.peer.map(|peer| alloc::format!("{peer}")).unwrap_or_default().as_bytes());
        list(out, &self.rates, write_told);
    }

    fn read(input: &mut Decoder<'_>) -> Result<Self, WireError> {
        let method = Method::parse(&input.text()?);
        let target = input.text()?;
        let headers = input.list(|input| {
            let name = input.text()?;
            let known = known_header(&name).ok_or("an unknown header")?;
            Ok((known, input.bytes()?))
        })?;
        let body = if input.flag()? { Body::Pending } else { Body::None };
        let peer = input.text()?;
        let peer: Option<IpAddr> =
            if peer.is_empty() { None } else { Some(peer.parse().map_err(|_| "an unknown address")?) };
        let request = Request { method, target, headers, body, peer, door: Door::Main };
        Ok(Self { request, rates: input.list(read_told)? })
    }
}

fn write_seen(seen: &Seen, out: &mut Vec<u8>) {
    write_read(&seen.read, out);
    out.extend_from_slice(&seen.version);
}

fn read_seen(input: &mut Decoder<'_>) -> Result<Seen, WireError> {
    match read_read(input)? {
        Read::Admit(_) => Err("a rate limit has no version"),
        read => Ok(Seen { read, version: input.array()? }),
    }
}

fn write_read(read: &Read, out: &mut Vec<u8>) {
    match read {
        Read::Get(key) => {
            out.push(0);
            bytes(out, key);
        }
        Read::Scan(scan) => {
            out.push(if scan.order == Order::Ascending { 1 } else { 2 });
            bytes(out, &scan.from);
            bytes(out, &scan.to);
            length(out, scan.limit);
        }
        Read::Admit(caller) => {
            out.push(3);
            write_caller(*caller, out);
        }
    }
}

fn read_read(input: &mut Decoder<'_>) -> Result<Read, WireError> {
    let order = match input.byte()? {
        0 => return Ok(Read::Get(input.bytes()?)),
        1 => Order::Ascending,
        2 => Order::Descending,
        3 => return Ok(Read::Admit(read_caller(input)?)),
        _ => return Err("an unknown read"),
    };
    Ok(Read::Scan(Scan { from: input.bytes()?, to: input.bytes()?, order, limit: input.length()? }))
}

fn write_caller(caller: Caller, out: &mut Vec<u8>) {
    let (kind, account, digest) = match caller {
        Caller::Token { account, token } => (0, account, token),
        Caller::LoginPair(digest) => (1, 0, digest),
        Caller::LoginAddress(digest) => (2, 0, digest),
        Caller::Reply { account, token } => (3, account, token),
    };
    out.push(kind);
    out.extend_from_slice(&account.to_be_bytes());
    out.extend_from_slice(&digest.to_be_bytes());
}

fn read_caller(input: &mut Decoder<'_>) -> Result<Caller, WireError> {
    let kind = input.byte()?;
    let account = u32::from_be_bytes(input.array()?);
    let token = u64::from_be_bytes(input.array()?);
    match (kind, account) {
        (0, account) => Ok(Caller::Token { account, token }),
        (1, 0) => Ok(Caller::LoginPair(token)),
        (2, 0) => Ok(Caller::LoginAddress(token)),
        (3, account) => Ok(Caller::Reply { account, token }),
        _ => Err("an unknown caller"),
    }
}

fn read_shown(input: &mut Decoder<'_>) -> Result<PresentedToken, WireError> {
    let credential = Credential::of_bucket(read_caller(input)?).ok_or("an unknown token")?;
    Ok(PresentedToken { credential, digest: input.array()? })
}

fn write_told((caller, rate): &(Caller, Option<Rate>), out: &mut Vec<u8>) {
    write_caller(*caller, out);
    write_rate(rate.as_ref(), out);
}

fn read_told(input: &mut Decoder<'_>) -> Result<(Caller, Option<Rate>), WireError> {
    Ok((read_caller(input)?, read_rate(input)?))
}

fn write_found(found: &Found, out: &mut Vec<u8>) {
    match found {
        Found::Value(None) => out.push(0),
        Found::Value(Some(value)) => {
            out.push(1);
            bytes(out, value);
        }
        Found::Rows(rows) => {
            out.push(2);
            list(out, rows, |(key, value), out| {
                bytes(out, key);
                bytes(out, value);
            });
        }
        Found::Rate(rate) => {
            out.push(3);
            write_rate(rate.as_ref(), out);
        }
    }
}

fn read_found(input: &mut Decoder<'_>) -> Result<Found, WireError> {
    match input.byte()? {
        0 => Ok(Found::Value(None)),
        1 => Ok(Found::Value(Some(input.bytes()?))),
        2 => Ok(Found::Rows(input.list(|input| Ok((input.bytes()?, input.bytes()?)))?)),
        3 => Ok(Found::Rate(read_rate(input)?)),
        _ => Err("an unknown answer"),
    }
}

fn write_rate(rate: Option<&Rate>, out: &mut Vec<u8>) {
    out.push(u8::from(rate.is_some()));
    if let Some(rate) = rate {
        out.push(u8::from(rate.admitted));
        out.extend_from_slice(&rate.limit.to_be_bytes());
        out.extend_from_slice(&rate.remaining.to_be_bytes());
        out.extend_from_slice(&rate.reset.to_be_bytes());
        out.extend_from_slice(&rate.retry_after.to_be_bytes());
    }
}

fn read_rate(input: &mut Decoder<'_>) -> Result<Option<Rate>, WireError> {
    if !input.flag()? {
        return Ok(None);
    }
    Ok(Some(Rate {
        admitted: input.flag()?,
        limit: u32::from_be_bytes(input.array()?),
        remaining: u32::from_be_bytes(input.array()?),
        reset: u64::from_be_bytes(input.array()?),
        retry_after: u64::from_be_bytes(input.array()?),
    }))
}

fn length(out: &mut Vec<u8>, length: usize) {
    // Lengths in memory stay far below `u32::MAX`; a longer one would be refused as malformed.
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
}

fn bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    length(out, bytes.len());
    out.extend_from_slice(bytes);
}

fn list<T>(out: &mut Vec<u8>, items: &[T], write: impl Fn(&T, &mut Vec<u8>)) {
    length(out, items.len());
    items.iter().for_each(|item| write(item, out));
}

/// The rest of a message that is being decoded.
#[derive(Debug)]
pub struct Decoder<'b> {
    rest: &'b [u8],
}

impl Decoder<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or("cut")?;
        self.rest = rest;
        Ok(*array)
    }

    fn byte(&mut self) -> Result<u8, WireError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn flag(&mut self) -> Result<bool, WireError> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err("a flag is 0 or 1"),
        }
    }

    fn length(&mut self) -> Result<usize, WireError> {
        usize::try_from(u32::from_be_bytes(self.array()?)).map_err(|_| "too long")
    }

    fn bytes(&mut self) -> Result<Vec<u8>, WireError> {
        let length = self.length()?;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or("cut")?;
        self.rest = rest;
        Ok(bytes.to_vec())
    }

    fn text(&mut self) -> Result<String, WireError> {
        String::from_utf8(self.bytes()?).map_err(|_| "not text")
    }

    /// Decodes a list of at most [`ITEMS_MAX`] items.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Result<T, WireError>) -> Result<Vec<T>, WireError> {
        let count = self.length()?;
        if count > ITEMS_MAX {
            return Err("too many items");
        }
        (0..count).map(|_| item(self)).collect()
    }
}
