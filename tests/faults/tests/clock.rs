//! A running service whose system clock is set forward and back: requests are answered, and failed webhooks are retried.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::clock::{Clock, Pace, Reading, TimeSource};
use switchboard::host::{Host, HostOptions};
use switchboard::metrics::Metrics;
use switchboard::rooms::Rooms;
use switchboard::send::Outside;
use switchboard::serve::{self, Entrance, Front};
use switchboard::store::Store;
use switchboard_core::http::reply::Content;
use switchboard_core::http::request::Door;
use switchboard_core::outside::{Answer, HttpIn, Work};
use switchboard_core::rate::RateLimits;
use switchboard_core::setup::Config;
use switchboard_tests::server::{Folder, call};
use tokio::sync::watch;

/// Speed-up of the service's time: the first retries of a webhook, 5 and 300 seconds after an attempt, come soon.
const SPEED: f64 = 3_600.0;
/// Start of the service's clock, seconds since 1970.
const SINCE: u64 = 1_800_000_000;
/// How far it jumps: sixty hours of the service's time.
const JUMP: Duration = Duration::from_mins(1);

/// The machine's time, with an offset of the clock in milliseconds.
struct Jumping {
    began: Instant,
    forward_ms: Arc<AtomicU64>,
}

impl TimeSource for Jumping {
    fn read(&self) -> Reading {
        let monotonic = self.began.elapsed();
        let forward = Duration::from_millis(self.forward_ms.load(Ordering::SeqCst));
        Reading { system: Duration::from_secs(SINCE) + monotonic + forward, monotonic }
    }
}

/// A service at `url`, with the attempts of its webhooks counted.
struct Town {
    runtime: tokio::runtime::Runtime,
    stop: watch::Sender<bool>,
    url: String,
    key: String,
    tries: Arc<Mutex<Vec<Instant>>>,
    forward_ms: Arc<AtomicU64>,
    _folder: Folder,
}

impl Town {
    fn new() -> Self {
        let folder = Folder::new();
        let (tries, forward_ms) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU64::new(0)));
        let noted = Arc::clone(&tries);
        let outside = move |work: &Work| match work {
            Work::Http(_) => {
                noted.lock().expect("no panic").push(Instant::now());
                Answer::Http(HttpIn { status: 503, ..HttpIn::default() })
            }
            other => switchboard_core::work::perform(other).expect("there is only HTTP and passwords"),
        };
        let source = Jumping { began: Instant::now(), forward_ms: Arc::clone(&forward_ms) };
        let rooms = Arc::new(Rooms::default());
        let means = HostOptions {
            vault: None,
            config: Config::default(),
            store: Store::open(&folder.path("data")).expect("a store"),
            rate_limits: RateLimits { per_minute: 0, replies: 0 },
            clock: Arc::new(Clock::over(source, Some(Pace { since: SINCE, speed: SPEED }))),
            outside: Outside::Script(Box::new(outside)),
            edge: None,
            metrics: Arc::new(Metrics::of(&rooms)),
            rooms,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (host, _) = Host::start(means).expect("the host starts");
        let secrets = runtime.block_on(host.first_start()).expect("a first start").expect("an owner");
        let Content::Json(secrets) = secrets.content else { panic!("secrets are JSON") };
        let secrets: Value = serde_json::from_slice(&secrets).expect("JSON");
        let (stop, stopping) = watch::channel(false);
        let listener = runtime.block_on(async { serve::bind(([127, 0, 0, 1], 0).into()) }).expect("a free port");
        let url = format!("http://{}/api", listener.local_addr().expect("an address"));
        runtime.spawn(serve::serve(
            Front::over(Arc::clone(&host)),
            vec![(listener, Entrance::Clients(Door::Main))],
            stopping.clone(),
        ));
        runtime.spawn(host.schedule(stopping));
        let key = secrets["api_key"].as_str().expect("a key").into();
        Self { runtime, stop, url, key, tries, forward_ms, _folder: folder }
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, reply) = call(method, &format!("{}{path}", self.url), &self.key, Some(body));
        assert!((200..300).contains(&status), "{method} {path}: {status} {reply}");
        reply
    }

    /// Ends a call, whose webhook fails.
    fn fail_a_webhook(&self, assistant: &Value) {
        let placed =
            self.call("POST", "/user/make_call", &json!({ "assistant_id": assistant, "phone_number": "+40700000001" }));
        let id = &placed["call_id"];
        self.call("POST", &format!("/user/calls/{id}/hangup"), &json!({}));
    }

    fn tries_within(&self, wait: Duration, wanted: usize) -> usize {
        let until = Instant::now() + wait;
        loop {
            let tries = self.tries.lock().expect("no panic").len();
            if tries >= wanted || Instant::now() > until {
                return tries;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn retries_run_after_the_clock_jumped() {
    let town = Town::new();
    let assistant = json!({
        "name": "Anna", "voice_id": 1, "language_id": 1, "type": "outbound", "mode": "pipeline",
        "timezone": "Etc/UTC", "llm_model_id": 1, "initial_message": "Hello.", "system_prompt": "Be brief.",
        "is_webhook_active": true, "send_webhook_only_on_completed": false, "webhook_url": "https://receiver.example/",
    });
    let assistant = town.call("POST", "/user/assistant", &assistant)["data"]["id"].clone();
    town.forward_ms.store(JUMP.as_millis().try_into().expect("it is short"), Ordering::SeqCst);
    town.call("PATCH", &format!("/user/assistant/{assistant}"), &json!({ "status": "active" }));
    town.forward_ms.store(0, Ordering::SeqCst);
    town.fail_a_webhook(&assistant);
    // At half of 3,600 times the speed the third attempt comes after 305 / 1,800 s.
    assert!(
        town.tries_within(JUMP / 3, 3) >= 3,
        "time stands still: {} tries",
        town.tries.lock().expect("no panic").len()
    );
    let _ = town.stop.send(true);
    town.runtime.shutdown_timeout(Duration::from_secs(5));
}
