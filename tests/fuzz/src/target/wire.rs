//! Messages of the store protocol, at both ends: what a region accepts from a node, and a node from its region.
//!
//! The first byte of an input selects the message; for a conversation, the second selects the damaged answer, and the
//! rest is the request.

use switchboard_core::account::caller::PresentedToken;
use switchboard_core::account::token::{Token, TokenKind};
use switchboard_core::http::caller::Credential;
use switchboard_core::http::request::Body;
use switchboard_core::remote::version::{self, Seen as Read};
use switchboard_core::remote::wire::{CommitCall, PassCall, ReadAnswer, ReadCall, WireMessage};
use switchboard_core::remote::{Do, EdgeRequest, NodeEvent, region};
use switchboard_core::seed::Seed;
use switchboard_core::store::Change;
use switchboard_core::view::{self, Order, Scan};
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::town::Town;
use crate::{corpus, draw, http, mutate};

const READ: u8 = b'r';
const ANSWER: u8 = b'a';
const COMMIT: u8 = b'c';
const PASS: u8 = b'p';
const VISIT: u8 = b'v';
/// Most messages of one conversation.
const ROUNDS_MAX: usize = 40;

/// Target `wire`: messages between a region and its nodes.
pub struct Messages<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
    keys: Vec<&'t Vec<u8>>,
}

impl<'t> Messages<'t> {
    /// Creates the target for a town's store.
    pub fn new(town: &'t Town) -> Self {
        Self { town, corpus: corpus::of("wire"), keys: town.store.rows().keys().collect() }
    }

    fn key(&self, random: &mut Random) -> Vec<u8> {
        let mut key = random.one(&self.keys).clone();
        if random.chance(300) {
            mutate::bytes(random, &mut key);
        }
        key
    }

    fn read(&self, random: &mut Random) -> view::Read {
        if random.chance(600) {
            return view::Read::Get(self.key(random));
        }
        let order = random.one(&[Order::Ascending, Order::Descending]);
        let limit = random.one(&[0, 1, 5, 64, 1_024, u32::MAX as usize]);
        view::Read::Scan(Scan { from: self.key(random), to: self.key(random), order, limit })
    }

    fn message(&self, random: &mut Random) -> Vec<u8> {
        let reads: Vec<view::Read> = (0..random.below(5)).map(|_| self.read(random)).collect();
        let seen: Vec<Read> = (0..random.below(4))
            .filter_map(|_| {
                let read = self.read(random);
                let found = region::carry_out(&*self.town.store, std::slice::from_ref(&read)).ok()?;
                Some(Read { read, version: version::of(&found[0])? })
            })
            .collect();
        let tag = random.one(&[READ, ANSWER, COMMIT, PASS, VISIT]);
        let body = match tag {
            READ => {
                let shown = if random.chance(500) { self.shown(random) } else { None };
                ReadCall { seen, reads, shown }.to_bytes()
            }
            COMMIT => {
                let changes = reads.iter().map(|read| match read {
                    view::Read::Get(key) => Change::Put(key.clone(), mutate::noise(random, 20)),
                    _ => Change::Delete(self.key(random)),
                });
                CommitCall { seen, changes: changes.collect() }.to_bytes()
            }
            ANSWER => {
                let found = region::carry_out(&*self.town.store, &reads).unwrap_or_default();
                ReadAnswer { now: self.town.now, seed: Seed::new([1; 32]), found, rates: Vec::new() }.to_bytes()
            }
            PASS => {
                let request = http::parse(&draw::request(random, self.town).bytes(), &self.town.tokens);
                request.map_or_else(Vec::new, |request| PassCall { request, rates: Vec::new() }.to_bytes())
            }
            _ => {
                let round = mutate::byte(random) % 8;
                return [&[VISIT, round][..], &draw::request(random, self.town).bytes()].concat();
            }
        };
        let mut message = [&[tag][..], &body].concat();
        if random.chance(500) {
            mutate::bytes(random, &mut message);
        }
        message
    }

    /// Draws a token of the town in its wire form, now and then a forged one.
    fn shown(&self, random: &mut Random) -> Option<PresentedToken> {
        let (_, text) = random.one(&self.town.tokens.iter().collect::<Vec<_>>());
        let token = Token::parse(text)?;
        let mut digest = token.digest();
        if random.chance(300) {
            digest[0] ^= 1;
        }
        let session = token.kind == TokenKind::Session;
        Some(PresentedToken { credential: Credential { account: token.account, session, count: token.count }, digest })
    }

    /// Has a region parse a message and execute it.
    fn region(&self, bytes: &[u8]) -> Result<Seen, String> {
        let Ok(call) = ReadCall::from_bytes(bytes) else { return Ok(Seen::word("malformed")) };
        again::<ReadCall>(&call.to_bytes())?;
        let holds = region::holds(&*self.town.store, &call.seen);
        let found = region::carry_out(&*self.town.store, &call.reads);
        let told = call.shown.map(|shown| region::admit(&*self.town.store, &shown, self.town.now));
        let valid = matches!(told, Some(Ok(Some(_))));
        if let Ok(found) = &found
            && found.len() != call.reads.len()
        {
            return Err("a read has no answer".into());
        }
        Ok(Seen { said: "read".into(), kind: format!("read {holds:?} {} {valid}", found.is_ok()) })
    }

    fn commit(bytes: &[u8], town: &Town) -> Result<Seen, String> {
        let Ok(call) = CommitCall::from_bytes(bytes) else { return Ok(Seen::word("malformed")) };
        again::<CommitCall>(&call.to_bytes())?;
        let holds = region::holds(&*town.store, &call.seen);
        Ok(Seen { said: "commit".into(), kind: format!("commit {holds:?}") })
    }

    /// Has a node ask its region, one of whose answers is damaged.
    fn visit(&self, input: &[u8]) -> Result<Seen, String> {
        let Some((round, text)) = input.split_first() else { return Ok(Seen::word("malformed")) };
        let Some(mut request) = http::parse(text, &self.town.tokens) else { return Ok(Seen::word("no request")) };
        let mut body = std::mem::replace(&mut request.body, Body::Pending);
        if body == Body::Pending {
            body = Body::Full(b"{}".to_vec());
        }
        if matches!(body, Body::None) {
            request.body = Body::None;
        }
        let mut random = Random::new(corpus::digest(input));
        let mut visit = EdgeRequest::new(request, Seed::new([2; 32]));
        let mut came = NodeEvent::Begin;
        for at in 0..ROUNDS_MAX {
            came = match visit.next(&self.town.service, came) {
                Do::Reply(answered) => return Ok(Seen::word(&format!("visit, {}", answered.status))),
                Do::Pass { head, .. } => {
                    PassCall::from_bytes(head.get(4..).unwrap_or_default())?;
                    return Ok(Seen::word("visit, passed"));
                }
                Do::ReadBody(_) => NodeEvent::Body(body.clone()),
                Do::Ask { path, body } => {
                    let (status, mut answer) = self.ask(path, &body)?;
                    if at == usize::from(*round) {
                        mutate::bytes(&mut random, &mut answer);
                    }
                    NodeEvent::Answer { status, body: answer }
                }
            };
        }
        Err("a visit never ends".into())
    }

    fn ask(&self, path: &str, body: &[u8]) -> Result<(u16, Vec<u8>), String> {
        if path == "/store/commit" {
            CommitCall::from_bytes(body)?;
            return Ok((204, Vec::new()));
        }
        let call = ReadCall::from_bytes(body)?;
        match region::carry_out(&*self.town.store, &call.reads) {
            Ok(found) => {
                let told = call.shown.map(|shown| region::admit(&*self.town.store, &shown, self.town.now));
                let told = told.transpose().ok().flatten().flatten();
                let rates = told.map(|(credential, rate)| (credential.bucket(), rate)).into_iter().collect();
                let answer = ReadAnswer { now: self.town.now, seed: Seed::new([1; 32]), found, rates };
                Ok((200, answer.to_bytes()))
            }
            Err(_) => Ok((413, Vec::new())),
        }
    }
}

/// Checks that a written message round-trips.
fn again<M: WireMessage>(bytes: &[u8]) -> Result<(), String> {
    let message = M::from_bytes(bytes).map_err(|why| format!("what was written cannot be read: {why}"))?;
    if message.to_bytes() == bytes { Ok(()) } else { Err("a message reads as another".into()) }
}

impl Target for Messages<'_> {
    fn name(&self) -> &'static str {
        "wire"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| self.message(random))
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let Some((tag, bytes)) = input.split_first() else { return Ok(Seen::word("malformed")) };
        match *tag {
            READ => self.region(bytes),
            COMMIT => Self::commit(bytes, self.town),
            ANSWER => match ReadAnswer::from_bytes(bytes) {
                Ok(answer) => again::<ReadAnswer>(&answer.to_bytes()).map(|()| Seen::word("answer")),
                Err(why) => Ok(Seen { said: "malformed".into(), kind: why.into() }),
            },
            PASS => match PassCall::from_bytes(bytes) {
                Ok(call) => again::<PassCall>(&call.to_bytes()).map(|()| Seen::word("pass")),
                Err(why) => Ok(Seen { said: "malformed".into(), kind: why.into() }),
            },
            VISIT => self.visit(bytes),
            _ => Ok(Seen::word("malformed")),
        }
    }
}
