//! Messages round-trip, wrong answers of a host are refused, and conflicts end.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::version::Seen;
use super::wire::{CommitCall, PassCall, ReadAnswer, ReadCall, WireMessage};
use super::{Fault, HostEvent, InputRun, LoadedReads, Next, Progress, StepRun};
use crate::account::caller::PresentedToken;
use crate::account::token::{Token, TokenKind};
use crate::http::caller::Credential;
use crate::http::request::{Body, Door, HEADERS, Method, Request};
use crate::limits::remote::CONFLICTS_MAX;
use crate::rate::{Caller, Rate};
use crate::seed::Seed;
use crate::service::Service;
use crate::setup::Config;
use crate::step::OwnedInput;
use crate::store::Change;
use crate::time::Timestamp;
use crate::view::{Found, Order, Read, Scan};

fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..20)
}

fn caller() -> impl Strategy<Value = Caller> {
    prop_oneof![
        (any::<u32>(), any::<u64>()).prop_map(|(account, token)| Caller::Token { account, token }),
        any::<u64>().prop_map(Caller::LoginPair),
        any::<u64>().prop_map(Caller::LoginAddress),
    ]
}

fn shown() -> impl Strategy<Value = PresentedToken> {
    (any::<u32>(), any::<bool>(), any::<u32>(), any::<[u8; 32]>()).prop_map(|(account, session, count, digest)| {
        PresentedToken { credential: Credential { account, session, count }, digest }
    })
}

fn rate() -> impl Strategy<Value = Option<Rate>> {
    prop::option::of((any::<bool>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>()).prop_map(
        |(admitted, limit, remaining, reset, retry_after)| Rate { admitted, limit, remaining, reset, retry_after },
    ))
}

fn stored() -> impl Strategy<Value = Read> {
    let order = any::<bool>().prop_map(|up| if up { Order::Ascending } else { Order::Descending });
    prop_oneof![
        key().prop_map(Read::Get),
        (key(), key(), order, 0_usize..1_000_000).prop_map(|(from, to, order, limit)| Read::Scan(Scan {
            from,
            to,
            order,
            limit
        })),
    ]
}

fn seen() -> impl Strategy<Value = Vec<Seen>> {
    prop::collection::vec((stored(), any::<[u8; 16]>()).prop_map(|(read, version)| Seen { read, version }), 0..4)
}

fn found() -> impl Strategy<Value = Found> {
    prop_oneof![
        prop::option::of(key()).prop_map(Found::Value),
        prop::collection::vec((key(), key()), 0..4).prop_map(Found::Rows),
        rate().prop_map(Found::Rate),
    ]
}

fn read_back<M: WireMessage + core::fmt::Debug>(message: &M) -> Result<(), TestCaseError> {
    let bytes = message.to_bytes();
    let again = M::from_bytes(&bytes).map_err(TestCaseError::fail)?;
    // `Debug` hides a seed, so bytes are compared.
    prop_assert_eq!(again.to_bytes(), bytes.clone());
    for cut in 0..bytes.len() {
        prop_assert!(M::from_bytes(&bytes[..cut]).is_err(), "cut at {}", cut);
    }
    prop_assert!(M::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn messages_read_back(
        seen in seen(),
        reads in prop::collection::vec(prop_oneof![stored(), caller().prop_map(Read::Admit)], 0..4),
        changes in prop::collection::vec((key(), prop::option::of(key())), 0..4),
        found in prop::collection::vec(found(), 0..4),
        now: u32, seed: [u8; 32],
        shown in prop::option::of(shown()), rates in prop::collection::vec((caller(), rate()), 0..3),
    ) {
        let changes = changes.into_iter().map(|(key, value)| match value {
            Some(value) => Change::Put(key, value),
            None => Change::Delete(key),
        });
        let commit = CommitCall { seen: seen.clone(), changes: changes.collect() };
        prop_assert_eq!(CommitCall::from_bytes(&commit.to_bytes()), Ok(commit.clone()));
        read_back(&commit)?;
        let read = ReadCall { seen, reads, shown };
        prop_assert_eq!(ReadCall::from_bytes(&read.to_bytes()), Ok(read.clone()));
        read_back(&read)?;
        let answer = ReadAnswer { now: Timestamp::from_seconds(now.into()), seed: Seed::new(seed), found: found.clone(), rates: rates.clone() };
        read_back(&answer)?;
        prop_assert_eq!(ReadAnswer::from_bytes(&answer.to_bytes()).map(|answer| (answer.found, answer.rates)), Ok((found, rates)));
    }

    #[test]
    fn a_head_reads_back(
        method in prop::sample::select(vec![Method::Get, Method::Post, Method::Other]),
        target in "\\PC{0,20}",
        headers in prop::collection::vec((prop::sample::select(HEADERS.to_vec()), key()), 0..4),
        pending: bool, peer: Option<core::net::IpAddr>,
        rates in prop::collection::vec((caller(), rate()), 0..3),
    ) {
        let body = if pending { Body::Pending } else { Body::None };
        let pass = PassCall { request: Request { method, target, headers, body, peer, door: Door::Main }, rates };
        read_back(&pass)?;
        let again = PassCall::from_bytes(&pass.to_bytes()).map_err(TestCaseError::fail)?;
        prop_assert_eq!(again.request, pass.request);
        prop_assert_eq!(again.rates, pass.rates);
    }

    #[test]
    fn noise_is_no_message(noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let noise = [&[super::wire::PROTOCOL][..], &noise].concat();
        let _ = (ReadCall::from_bytes(&noise).is_ok(), ReadAnswer::from_bytes(&noise).is_ok());
        let _ = (CommitCall::from_bytes(&noise).is_ok(), PassCall::from_bytes(&noise).is_ok());
    }
}

#[test]
fn a_false_count_is_refused_before_it_takes_memory() {
    let claims = [&[super::wire::PROTOCOL][..], &u32::MAX.to_be_bytes()].concat();
    assert_eq!(ReadCall::from_bytes(&claims), Err("too many items"));
    assert_eq!(ReadCall::from_bytes(&[9]), Err("another protocol"));
}

fn scan(order: Order) -> Read {
    Read::Scan(Scan { from: vec![1], to: vec![5], order, limit: 2 })
}

#[test]
fn rows_that_no_scan_could_find_are_refused() {
    let rows = |keys: &[u8]| Found::Rows(keys.iter().map(|key| (vec![*key], Vec::new())).collect());
    for (read, found, fits) in [
        (scan(Order::Ascending), rows(&[1, 4]), true),
        (scan(Order::Descending), rows(&[4, 1]), true),
        (scan(Order::Ascending), rows(&[4, 1]), false),
        (scan(Order::Ascending), rows(&[2, 2]), false),
        (scan(Order::Ascending), rows(&[1, 2, 3]), false),
        (scan(Order::Ascending), rows(&[5]), false),
        (scan(Order::Ascending), rows(&[0]), false),
        (scan(Order::Ascending), Found::Value(None), false),
        (Read::Get(vec![1]), rows(&[1]), false),
        (Read::Admit(Caller::LoginPair(1)), Found::Value(None), false),
    ] {
        assert_eq!(LoadedReads::default().load(read.clone(), found.clone()).is_ok(), fits, "{read:?} {found:?}");
    }
}

fn request(target: &str) -> Request {
    let token = Token::new(TokenKind::ApiKey, 1, 1, &[7; 32]);
    let headers = vec![
        ("authorization", alloc::format!("Bearer {}", token.text()).into_bytes()),
        ("x-request-id", b"one".to_vec()),
    ];
    Request { method: Method::Get, target: target.into(), headers, body: Body::None, peer: None, door: Door::Main }
}

fn begin(target: &str) -> (Service, InputRun) {
    let input = OwnedInput::Http(request(target), Vec::new());
    (Service::new(Config::default()), InputRun::new(input, Timestamp::from_seconds(1), Seed::new([1; 32])))
}

#[test]
fn a_host_that_answers_too_little_or_too_much_is_told() {
    let service = Service::new(Config::default());
    let mut session = StepRun::new(OwnedInput::Tick, Timestamp::from_seconds(1), Seed::new([1; 32]));
    let Ok(Progress::Need(reads)) = session.advance(&service, Vec::new()) else { panic!("a tick reads") };
    let too_many = vec![Found::Value(None); reads.len() + 1];
    assert!(matches!(session.clone().advance(&service, too_many), Err(Fault::Misread(_))));
    assert!(matches!(session.advance(&service, Vec::new()), Err(Fault::Misread(_))));
}

#[test]
fn a_refusal_without_a_read_needs_no_store() {
    let (service, mut run) = begin("/nowhere");
    let Next::Done(output) = run.next(&service, HostEvent::Begin) else { panic!("no reply") };
    assert!(matches!(output.outcome, crate::step::Outcome::Reply(reply) if reply.status == 404));
}

#[test]
fn a_store_that_changes_for_ever_ends_in_503() {
    let (service, mut run) = begin("/user/me");
    assert!(run.request().is_some());
    let mut next = run.next(&service, HostEvent::Begin);
    let mut tries = 0;
    while let Next::Read(_) = next {
        tries += 1;
        next = run.next(&service, HostEvent::Changed);
    }
    assert!(matches!(next, Next::Contended), "{next:?}");
    assert_eq!(tries, CONFLICTS_MAX + 1);
    let reply = run.failed(None).expect("a request has a reply");
    let header = |name: &str| reply.headers.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
    assert_eq!(
        (reply.status, header("retry-after"), header("x-request-id")),
        (503, Some("1".into()), Some(String::from("one")))
    );
}
