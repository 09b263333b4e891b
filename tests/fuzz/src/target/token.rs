//! Short texts written by callers: tokens, ids, times, zones, queries, entity tags.

use switchboard_core::account::token::{Token, TokenKind};
use switchboard_core::http::{etag, query};
use switchboard_core::id;
use switchboard_core::key::Space;
use switchboard_core::time::{Day, Timestamp, zone};
use switchboard_sim::random::Random;

use super::{Seen, Target, mutated};
use crate::town::Town;
use crate::{corpus, draw, mutate};

/// Well-formed texts, as a base for mutation.
const WELL_FORMED: &[&str] = &[
    "2026-01-31T14:05:09.000000Z",
    "2026-01-31 14:05:09",
    "9999-12-31T23:59:59Z",
    "2026-02-29",
    "Europe/Bucharest",
    "per_page=5&page=2&status=completed",
    "a=%41+b&a=&=c&&%zz=1",
    "\"0123\", W/\"x\", *",
];

/// Target `token`: short texts that callers write.
pub struct Tokens<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
}

impl<'t> Tokens<'t> {
    /// Creates the target, with valid and invalid tokens of a town.
    pub fn new(town: &'t Town) -> Self {
        Self { town, corpus: corpus::of("token") }
    }

    /// Checks that a text accepted as a token is one that was issued, and that it round-trips.
    fn token(&self, text: &str) -> Result<bool, String> {
        let Some(token) = Token::parse(text) else { return Ok(false) };
        let known = self.town.tokens.iter().any(|(_, known)| known == text);
        if token.text() != text || !known {
            return Err(format!("{text} reads as a token"));
        }
        let made =
            matches!(token.kind, TokenKind::ApiKey | TokenKind::Session | TokenKind::Operator | TokenKind::Engine);
        if made && token.fits(&token.digest()) { Ok(true) } else { Err("a token does not fit itself".into()) }
    }

    fn ids(text: &str) -> Result<bool, String> {
        let Some(id) = id::parse_any(text) else { return Ok(false) };
        let (account, count) = id::split(id);
        let space = Space::Account(account);
        if id.to_string() != text || id::of(space, count) != id || id::parse(space, text) != Some(count) {
            return Err(format!("{text} reads as the id {id}"));
        }
        Ok(true)
    }

    fn times(text: &str) -> Result<bool, String> {
        let iso = Timestamp::parse_iso(text);
        if iso.is_some_and(|at| Timestamp::parse_iso(&at.iso()) != Some(at)) {
            return Err(format!("{text} is another time when it is written"));
        }
        let sql = Timestamp::parse_sql(text);
        if sql.is_some_and(|at| at.sql() != text) {
            return Err(format!("{text} is written otherwise"));
        }
        let day = Day::parse(text).map(|day| (day.number(), day.next().start()));
        Ok(iso.is_some() || sql.is_some() || day.is_some() || zone(text).is_some())
    }
}

impl Target for Tokens<'_> {
    fn name(&self) -> &'static str {
        "token"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let mut text = match random.below(4) {
                0 => self.town.tokens[mutate::index(random, self.town.tokens.len())].1.clone().into_bytes(),
                1 => draw::id(random).into_bytes(),
                2 => mutate::text(random).into_bytes(),
                _ => random.one(WELL_FORMED).as_bytes().to_vec(),
            };
            if random.chance(700) {
                mutate::bytes(random, &mut text);
            }
            text
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let Ok(text) = std::str::from_utf8(input) else { return Ok(Seen::word("no text")) };
        let tag = etag::of(input);
        if !etag::matches(&tag, &tag) || !etag::none_match(&format!("{text}, {tag}"), &tag) && !text.contains('"') {
            return Err("a tag does not match itself".into());
        }
        let asked = query::parse(text).is_ok();
        let said = match (self.token(text)?, Self::ids(text)?, Self::times(text)?) {
            (true, ..) => "token",
            (_, true, _) => "id",
            (.., true) => "time or zone",
            _ if asked => "query",
            _ => "nothing",
        };
        Ok(Seen::word(said))
    }
}
