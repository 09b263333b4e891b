//! The engine against a service that is strict about numbers and states, and that fails as planned.

mod told;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::entry::claimed;
use super::fake::{EventsFault, Fake, SeenCall, TOKEN};
use super::*;

/// Sends every event in a request of its own, without long pauses.
fn pace() -> Pacing {
    Pacing {
        speed: 10_000.0,
        batch: Duration::ZERO,
        renew: Duration::from_secs(10),
        silence: Duration::from_millis(500),
        backoff: Duration::from_millis(1),
        backoff_max: Duration::from_millis(4),
        tries_max: 40,
    }
}

/// Creates a client. Nothing here uses TLS, but with the workspace's unified features it needs a provider.
fn client() -> Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let tls = tls.expect("ring knows them").with_root_certificates(rustls::RootCertStore::empty());
    let client = Client::builder().tls_backend_preconfigured(tls.with_no_client_auth()).no_proxy();
    client.build().expect("its parts fit")
}

struct Running {
    stop: watch::Sender<bool>,
    drain: watch::Sender<bool>,
    task: JoinHandle<Result<(), UnfitSettings>>,
}

impl Running {
    async fn stop(self) {
        self.stop.send_replace(true);
        assert_eq!(self.task.await.expect("the engine does not panic"), Ok(()));
    }
}

fn attach(fake: &Fake, pace: Pacing, capacity: usize) -> Running {
    let ((stop, stops), (drain, drains)) = (watch::channel(false), watch::channel(false));
    let settings = EngineSettings { speed: pace.speed, capacity, ..EngineSettings::new(&fake.url, TOKEN) };
    let signals = EngineSignals { drain: drains, stop: stops };
    Running { stop, drain, task: tokio::spawn(run_at(settings, client(), pace, signals)) }
}

/// Plays calls to these numbers, with ids from 1, until all are settled.
async fn play(phones: &[&str], plan: impl FnMut(u64, u32) -> EventsFault + Send + 'static) -> BTreeMap<u64, SeenCall> {
    let entries: Vec<Value> = (1..).zip(phones).map(|(id, phone)| claimed(id, phone)).collect();
    let fake = Fake::start(entries, plan).await;
    let engine = attach(&fake, pace(), 100);
    let count = phones.len();
    fake.until(|state| state.calls.len() == count && state.calls.values().all(SeenCall::is_settled)).await;
    engine.stop().await;
    fake.faultless()
}

async fn play_one(phone: &str, plan: impl FnMut(u64, u32) -> EventsFault + Send + 'static) -> SeenCall {
    play(&[phone], plan).await.remove(&1).expect("it was claimed")
}

fn kinds(seen: &SeenCall) -> Vec<&str> {
    seen.events.iter().filter_map(|event| event["type"].as_str()).collect()
}

#[tokio::test]
async fn each_number_comes_to_its_state() {
    let expected = [
        ("+12025550002", "busy"),
        ("+12025550003", "no-answer"),
        ("+12025550004", "ended_by_assistant"),
        ("+12025550005", "ended_by_customer"),
        ("+12025550006", "failed"),
        ("+12025550007", "ended"),
        ("+12025550009", "ended_by_assistant"),
        ("+12025550012", "ended_by_customer"),
    ];
    let calls = play(&expected.map(|(phone, _)| phone), |_, _| EventsFault::None).await;
    for ((phone, status), seen) in expected.iter().zip(calls.values()) {
        assert_eq!(seen.status, *status, "{phone}");
    }
}

#[tokio::test]
async fn a_talk_tells_everything() {
    let seen = play_one("+12025550001", |_, _| EventsFault::None).await;
    assert!(seen.status.starts_with("ended_by_"), "{}", seen.status);
    assert_eq!(&kinds(&seen)[..4], ["dialing", "ringing", "answered", "transcript"]);
    assert_eq!(seen.of("transcript")[0]["text"], crate::script::lines::NOTICE, "it says what it is before it talks");
    let kinds = kinds(&seen);
    assert_eq!(&kinds[kinds.len() - 6..], ["analysis", "recording", "ended", "quality", "usage", "cost"]);
    assert!(kinds.contains(&"metrics"), "{kinds:?}");
    let line = &seen.of("transcript")[2];
    assert!(line["started_at"].as_str() < line["ended_at"].as_str() && line["ended_at"] == line["at"], "{line}");
    assert_eq!(seen.of("answered")[0]["answered_by"], "human");
    assert_eq!((&seen.of("dtmf")[0]["digits"], &seen.of("dtmf")[0]["by"]), (&json!("1"), &json!("assistant")));
    assert_eq!(seen.of("recording")[0]["url"], "https://recordings.example.com/simulated/1.wav");
    let analysis = seen.of("analysis")[0];
    assert_eq!(analysis["evaluation"]["success"], true);
    assert_eq!(analysis["evaluation"]["sentiment"], "positive");
    assert!(analysis["evaluation"]["summary"].is_string());
    assert_eq!(analysis["variables"]["agreed"], true);
    let cost = seen.of("cost")[0];
    assert!(cost["total_cost"].as_f64() > cost["carrier_cost"].as_f64());
}

#[tokio::test]
async fn tools_and_knowledge_are_asked_and_mentioned() {
    let calls = play(&["+12025550008", "+12025550010"], |_, _| EventsFault::None).await;
    let names: Vec<&str> = calls[&1].tools.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["look_up", "unreachable"]);
    assert_eq!(calls[&1].tools[0].1, json!({ "ticket": 41, "email": "ada.park@example.com", "urgent": true }));
    let lines = calls[&1].bot_lines().join("\n");
    assert!(lines.contains("The system answered with status 207."), "{lines}");
    assert!(lines.contains("The system could not be reached."), "{lines}");
    assert_eq!(calls[&2].queries.len(), 1);
    assert_eq!(calls[&2].queries[0]["limit"], 3);
    let lines = calls[&2].bot_lines().join("\n");
    assert!(lines.contains("Here is what it says: We  at nine."), "{lines}");
}

#[tokio::test]
async fn faults_neither_lose_nor_double_events() {
    let calm = play_one("+12025550001", |_, _| EventsFault::None).await;
    for (name, fault) in [
        ("dropped before", EventsFault::DropBefore),
        ("dropped after", EventsFault::DropAfter),
        ("500", EventsFault::Status(500)),
        ("503", EventsFault::Status(503)),
        ("429", EventsFault::Status(429)),
        ("forgets the last", EventsFault::Forget(1)),
        ("forgets three", EventsFault::Forget(3)),
    ] {
        // Rare enough that a call which is set back makes progress.
        let seen = play_one("+12025550001", move |_, nth| if nth % 5 == 0 { fault } else { EventsFault::None }).await;
        assert!(seen.requests > calm.requests, "{name}");
        assert_eq!(kinds(&seen), kinds(&calm), "{name}");
        assert_eq!(seen.bot_lines(), calm.bot_lines(), "{name}");
    }
}

#[tokio::test]
async fn a_request_that_stays_unanswered_is_repeated() {
    let seen =
        play_one("+12025550002", |_, nth| if nth < 9 { EventsFault::DropAfter } else { EventsFault::None }).await;
    assert_eq!((seen.status.as_str(), seen.requests, seen.events.len()), ("busy", 10, 2));
}

#[tokio::test]
async fn a_command_to_hang_up_is_obeyed_at_once() {
    for nth in [3, 6, 9] {
        let seen =
            play_one("+12025550007", move |_, n| if n == nth { EventsFault::HangUp } else { EventsFault::None }).await;
        assert_eq!(seen.status, "ended");
        let after: Vec<&str> = kinds(&seen).split_off(nth as usize);
        let expected = ["command", "analysis", "recording", "ended", "quality", "usage", "cost"];
        assert_eq!(after, expected, "after request {nth}");
        assert_eq!(seen.of("command")[0]["status"], "done");
        assert_eq!(seen.of("ended")[0]["by"], "service");
        assert_eq!(seen.of("ended")[0]["reason"], "hangup");
        assert_eq!(seen.of("analysis")[0]["evaluation"]["success"], Value::Null);
    }
}

#[tokio::test]
async fn a_call_that_rings_is_hung_up_as_a_failure() {
    let seen = play_one("+12025550003", |_, n| if n == 2 { EventsFault::HangUp } else { EventsFault::None }).await;
    assert_eq!(kinds(&seen), ["dialing", "ringing", "command", "failed"]);
    assert_eq!((seen.status.as_str(), &seen.of("failed")[0]["reason"]), ("failed", &json!("hangup")));
}

#[tokio::test]
async fn a_call_whose_end_was_told_is_not_hung_up_again() {
    let seen = play_one("+12025550002", |_, n| if n > 1 { EventsFault::HangUp } else { EventsFault::None }).await;
    assert_eq!((kinds(&seen), seen.status.as_str()), (vec!["dialing", "failed"], "busy"));
    let seen = play_one("+12025550005", |_, n| if n == 8 { EventsFault::HangUp } else { EventsFault::None }).await;
    assert_eq!(seen.of("ended").len(), 1);
    assert_eq!(seen.status, "ended_by_customer");
}

/// Checks that an abandoned call frees its place for the next; returns what the service saw of it.
async fn left(fault: EventsFault) -> SeenCall {
    let entries = vec![claimed(1, "+12025550007"), claimed(2, "+12025550002")];
    let fake =
        Fake::start(entries, move |call, nth| if call == 1 && nth >= 4 { fault } else { EventsFault::None }).await;
    let engine = attach(&fake, pace(), 1);
    fake.until(|state| state.calls.get(&2).is_some_and(SeenCall::is_settled)).await;
    engine.stop().await;
    fake.faultless().remove(&1).expect("it was claimed")
}

#[tokio::test]
async fn calls_that_are_no_longer_the_engines_are_left() {
    for (fault, requests) in [
        (EventsFault::Status(404), 4),
        (EventsFault::Status(401), 4),
        (EventsFault::Status(422), 4),
        (EventsFault::End, 4),
        // The service expects the event that its state refuses.
        (EventsFault::Wants(4), 4),
        // It expects a number that was never sent.
        (EventsFault::Wants(99), 4),
        // It expects the same number again and again.
        (EventsFault::Wants(1), 5),
        // It stays unreachable.
        (EventsFault::Status(500), 4 + 40),
    ] {
        let seen = left(fault).await;
        assert_eq!(seen.requests, requests, "{fault:?}");
        assert!(seen.of("ended").is_empty(), "{fault:?}");
    }
}

#[tokio::test]
async fn a_silent_call_has_no_end_and_gives_its_place_back() {
    let fake =
        Fake::start(vec![claimed(1, "+12025550011"), claimed(2, "+12025550002")], |_, _| EventsFault::None).await;
    let engine = attach(&fake, pace(), 1);
    fake.until(|state| state.calls.get(&2).is_some_and(SeenCall::is_settled)).await;
    engine.stop().await;
    let seen = fake.faultless().remove(&1).expect("it was claimed");
    assert_eq!(seen.status, "in-progress");
    assert_eq!(kinds(&seen).last(), Some(&"transcript"));
}

#[tokio::test]
async fn long_pauses_renew_the_lease() {
    let fake = Fake::start(vec![claimed(1, "+12025550003")], |_, _| EventsFault::None).await;
    fake.with(|state| state.has_heartbeats = false);
    let slow = Pacing { speed: 0.01, silence: Duration::from_millis(2), ..pace() };
    let engine = attach(&fake, slow, 1);
    fake.until(|state| state.calls.values().any(|seen| seen.renewals >= 5)).await;
    assert!(!fake.with(|state| state.has_heartbeats), "where the service has none, a call renews its own lease");
    engine.stop().await;
    assert_eq!(kinds(&fake.faultless()[&1]), ["dialing"], "nothing else has happened in the call yet");
}

#[tokio::test]
async fn a_command_reaches_a_call_between_its_events() {
    let slow = Pacing { speed: 0.01, silence: Duration::from_millis(2), ..pace() };
    let fake =
        Fake::start(
            vec![claimed(1, "+12025550006")],
            |_, n| if n == 3 { EventsFault::HangUp } else { EventsFault::None },
        )
        .await;
    let engine = attach(&fake, slow, 1);
    fake.until(|state| state.calls.values().any(SeenCall::is_settled)).await;
    engine.stop().await;
    let seen = fake.faultless().remove(&1).expect("it was claimed");
    assert_eq!((seen.renewals, kinds(&seen)), (2, vec!["dialing", "command", "failed"]));
    assert_eq!(seen.of("failed")[0]["reason"], "hangup");
}

#[tokio::test]
async fn claims_go_on_after_empty_ones_and_failures() {
    let fake = Fake::start(vec![], |_, _| EventsFault::None).await;
    fake.with(|state| state.refused_claims = 3);
    let engine = attach(&fake, pace(), 2);
    fake.until(|state| state.empty_claims >= 1).await;
    fake.with(|state| state.queue.extend([json!({ "call": {} }), claimed(9, "+12025550002")]));
    fake.until(|state| state.calls.get(&9).is_some_and(SeenCall::is_settled)).await;
    engine.stop().await;
    assert_eq!(fake.with(|state| state.refused_claims), 0);
    fake.faultless();
}

#[tokio::test]
async fn events_that_lie_close_together_share_a_request() {
    let fake = Fake::start(vec![claimed(1, "+12025550001")], |_, _| EventsFault::None).await;
    let engine = attach(&fake, Pacing { batch: Duration::from_hours(1), silence: Duration::from_mins(1), ..pace() }, 1);
    fake.until(|state| state.calls.values().any(SeenCall::is_settled)).await;
    engine.stop().await;
    let seen = fake.faultless().remove(&1).expect("it was claimed");
    assert!(seen.requests <= 4, "{} requests: one before each search or tool, one at the end", seen.requests);
}

#[tokio::test]
async fn a_call_that_is_to_end_asks_no_tool_first() {
    let fake =
        Fake::start(
            vec![claimed(1, "+12025550008")],
            |_, n| if n == 3 { EventsFault::HangUp } else { EventsFault::None },
        )
        .await;
    let engine = attach(&fake, pace(), 1);
    fake.until(|state| state.calls.values().any(SeenCall::is_settled)).await;
    engine.stop().await;
    let seen = fake.faultless().remove(&1).expect("it was claimed");
    assert_eq!((seen.tools.len(), seen.status.as_str()), (0, "ended"));
}

#[tokio::test]
async fn an_engine_that_is_told_to_stop_leaves_its_calls() {
    let fake = Fake::start(vec![claimed(1, "+12025550007")], |_, _| EventsFault::None).await;
    let engine = attach(&fake, Pacing { speed: 0.01, ..pace() }, 1);
    fake.until(|state| state.calls.contains_key(&1)).await;
    engine.stop().await;
    assert!(["initiated", "dialing"].contains(&fake.faultless()[&1].status.as_str()));
    let (stop, told) = watch::channel(false);
    drop(stop);
    assert_eq!(
        run(EngineSettings::new(&fake.url, TOKEN), client(), told).await,
        Ok(()),
        "nobody can tell it to stop any more"
    );
}

#[tokio::test]
async fn hundreds_of_calls_at_once() {
    const CALLS: u64 = 300;
    let expected = |id: u64| match id % 100 {
        2 => "busy",
        3 => "no-answer",
        4 | 9 => "ended_by_assistant",
        5 | 12 => "ended_by_customer",
        6 => "failed",
        7 => "ended",
        13 => "released",
        11 => "in-progress",
        _ => "ended_by_",
    };
    let entries = (1..=CALLS).map(|id| claimed(id, &format!("+120255500{:02}", id % 100))).collect();
    // A mix of all faults.
    let faults = [EventsFault::DropBefore, EventsFault::DropAfter, EventsFault::Status(502), EventsFault::Forget(2)];
    // Before a first report nothing can be forgotten.
    let plan = move |call: u64, nth: u32| match (call + u64::from(nth)) % 7 {
        0 if nth > 1 => faults[usize::try_from(call % 4).unwrap_or(0)],
        _ => EventsFault::None,
    };
    let fake = Fake::start(entries, plan).await;
    let engine = attach(&fake, Pacing { batch: Duration::from_millis(2), ..pace() }, 400);
    let silent = |id: &u64| id % 100 == 11;
    let done = |(id, seen): (&u64, &SeenCall)| seen.is_settled() || (silent(id) && seen.of("transcript").len() >= 3);
    fake.until(|state| state.calls.len() == 300 && state.calls.iter().all(done)).await;
    engine.stop().await;
    for (id, seen) in fake.faultless() {
        assert!(seen.status.starts_with(expected(id)), "call {id}: {} instead of {}", seen.status, expected(id));
    }
}

#[tokio::test]
async fn settings_that_cannot_be_are_refused() {
    let good = EngineSettings::new("http://127.0.0.1:1", TOKEN);
    let (_stop, told) = watch::channel(true);
    assert_eq!(run(good.clone(), client(), told.clone()).await, Ok(()));
    for (settings, expected) in [
        (EngineSettings { url: "127.0.0.1:1".into(), ..good.clone() }, UnfitSettings::Url),
        (EngineSettings { url: "ftp://host".into(), ..good.clone() }, UnfitSettings::Url),
        (EngineSettings { url: "http://host/?a=b".into(), ..good.clone() }, UnfitSettings::Url),
        (EngineSettings { token: "a\nb".into(), ..good.clone() }, UnfitSettings::Token),
        (EngineSettings { speed: 0.0, ..good.clone() }, UnfitSettings::Speed),
        (EngineSettings { speed: f64::NAN, ..good.clone() }, UnfitSettings::Speed),
        (EngineSettings { speed: f64::INFINITY, ..good.clone() }, UnfitSettings::Speed),
        (EngineSettings { capacity: 0, ..good.clone() }, UnfitSettings::Capacity),
        (EngineSettings { capacity: CAPACITY_MAX + 1, ..good.clone() }, UnfitSettings::Capacity),
    ] {
        let text = format!("{settings:?}");
        assert!(!text.contains("token"), "{text}");
        assert_eq!(run(settings, client(), told.clone()).await, Err(expected), "{text}: {expected}");
    }
}

#[test]
fn pauses_grow_and_are_spread() {
    let pace = Pacing::of(50.0);
    for call in [0, 1, u64::MAX] {
        let pauses: Vec<Duration> = (0..40).map(|tries| pace.pause(call, tries)).collect();
        assert!(pauses[0] >= pace.backoff && pauses[3] > pauses[0]);
        assert!(pauses.iter().all(|pause| *pause < pace.backoff_max * 3 / 2), "{pauses:?}");
    }
    assert_ne!(pace.pause(1, 0), pace.pause(2, 0));
}
