//! Endpoints that hang, reset, redirect, or answer without end, requested by the real binary.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard::room::Holder;
use switchboard::rooms::Rooms;
use switchboard::send::{Hearing, Outside};
use switchboard_core::budget::{MODEL_BYTES, OPERATOR_REQUESTS};
use switchboard_core::egress::Filter;
use switchboard_core::outside::{Answer, Egress, HttpOut, Redirects, SendError, Work};
use switchboard_tests::house::{assistant, tool, with};

use crate::conversations::Owner;
use crate::outside::{sender, sender_in, serve};
use crate::server::{Folder, Server, call};

#[test]
fn an_endpoint_that_misbehaves_gets_a_clear_answer_and_bounded_memory() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--egress-allow", "127.0.0.0/8", "--engine", "none"]);
    let other = serve(|_| (200, vec![], b"other".to_vec()));
    let elsewhere = format!("{other}/");
    let url = serve(move |came| {
        let to = |place: &str| (307, vec![("location", place.to_owned())], Vec::new());
        match came.target.as_str() {
            "/hang" => {
                std::thread::sleep(Duration::from_secs(3));
                (200, vec![], Vec::new())
            }
            "/once" => to("/ok"),
            "/ok" => (200, vec![], came.body),
            "/loop" => to("/loop"),
            "/elsewhere" => to(&elsewhere),
            "/large" => (200, vec![], vec![b'x'; 64 << 20]),
            "/garbage" => (200, vec![("content-type", "application/json".to_owned())], vec![0xff, 0xfe, 0]),
            _ => (404, vec![], Vec::new()),
        }
    });
    let reset = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || listener.incoming().for_each(drop));
        url
    };
    let ask = |endpoint: &str| -> (u16, Value) {
        let timeout = if endpoint.ends_with("/hang") { 1 } else { 10 };
        let body = with(tool("probe"), &json!({ "endpoint": endpoint, "method": "POST", "timeout": timeout }));
        let (status, made) =
            call("POST", &format!("{}/user/tools", server.text("url")), server.text("api_key"), Some(&body));
        assert_eq!(status, 201, "{made}");
        let path = format!("{}/user/tools/{}/test", server.text("url"), made["data"]["id"]);
        call("POST", &path, server.text("api_key"), Some(&json!({})))
    };
    let local = |path: &str| format!("{url}{path}");
    for (endpoint, status, told, body) in [
        (local("/hang"), 504, Value::Null, None),
        (reset, 502, Value::Null, None),
        ("http://127.0.0.1:1/".to_owned(), 502, Value::Null, None),
        ("http://10.0.0.1/".to_owned(), 502, Value::Null, None),
        (local("/once"), 200, json!(200), Some("{}")),
        (local("/loop"), 200, json!(307), Some("")),
        (local("/elsewhere"), 200, json!(307), Some("")),
        (local("/garbage"), 200, json!(200), None),
        (local("/none"), 200, json!(404), Some("")),
    ] {
        let (got, json) = ask(&endpoint);
        assert_eq!((got, &json["status"]), (status, &told), "{endpoint} {json}");
        assert!(got == 200 || json["message"].is_string(), "{endpoint}");
        if let Some(body) = body {
            assert_eq!(json["body"], body, "{endpoint}");
        }
    }
    let (status, json) = ask(&local("/large"));
    assert_eq!((status, json["body"].as_str().map(str::len)), (200, Some(1 << 20)));
    assert_eq!(server.stop(), Some(0));
}

/// Requests of an account that wait for its endpoints take up no more than its share of outgoing requests.
#[test]
fn endpoints_that_hang_keep_only_their_own_account_waiting() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--egress-allow", "127.0.0.0/8", "--engine", "none"]);
    let (key, other) = (server.text("api_key"), server.second_account());
    let (hanging, released) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    let (seen, over) = (Arc::clone(&hanging), Arc::clone(&released));
    let endpoint = serve(move |_| {
        seen.fetch_add(1, Ordering::SeqCst);
        while !over.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        (200, vec![], b"late".to_vec())
    });
    let quick = serve(|_| (200, vec![], b"at once".to_vec()));
    let probe = |key: &str, endpoint: &str| {
        let body = with(tool("probe"), &json!({ "endpoint": endpoint, "method": "POST", "timeout": 30 }));
        let (status, made) = call("POST", &format!("{}/user/tools", server.text("url")), key, Some(&body));
        assert_eq!(status, 201, "{made}");
        format!("{}/user/tools/{}/test", server.text("url"), made["data"]["id"])
    };
    let (slow, fast) = (probe(key, &endpoint), probe(&other, &quick));
    std::thread::scope(|scope| {
        let slow = &slow;
        let waiting: Vec<_> = (0..20).map(|_| scope.spawn(move || call("POST", slow, key, Some(&json!({}))))).collect();
        while hanging.load(Ordering::SeqCst) < 16 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let (status, json) = call("POST", &fast, &other, Some(&json!({})));
        assert_eq!((status, &json["body"]), (200, &json!("at once")), "another account is answered");
        assert_eq!(hanging.load(Ordering::SeqCst), 16, "four wait for their turn");
        assert!(waiting.iter().all(|one| !one.is_finished()));
        released.store(true, Ordering::SeqCst);
        for one in waiting {
            let (status, json) = one.join().expect("an answer");
            assert_eq!((status, &json["body"]), (200, &json!("late")));
        }
    });
    assert_eq!(server.stop(), Some(0));
}

/// Returns a request that an address may be sent at once.
fn request(url: &str, egress: Egress) -> Work {
    let (url, redirects) = (url.to_owned(), Redirects::None);
    let (headers, body, timeout_ms, reply_bytes_max) = (vec![], vec![], 60_000, 9);
    Work::Http(HttpOut { method: "GET", url, headers, body, timeout_ms, reply_bytes_max, egress, redirects })
}

/// The operator's model hangs for one account: another one's requests are sent all the same.
#[test]
fn an_account_has_a_share_of_the_operators_requests() {
    let hanging = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&hanging);
    let silent = serve(move |_| {
        asked.fetch_add(1, Ordering::SeqCst);
        std::thread::park();
        (200, vec![], Vec::new())
    });
    let served = serve(|_| (200, vec![], b"yes".to_vec()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let outside = Outside::World(Filter::new(vec!["127.0.0.0/8".parse().expect("a range")]));
        let sender = Arc::new(sender(outside));
        let ask = |url: &str, account| {
            let (sender, work) = (Arc::clone(&sender), request(url, Egress::Operator));
            tokio::spawn(async move { sender.perform(work, Holder::Account(account)).await })
        };
        let share = usize::try_from(OPERATOR_REQUESTS.account).expect("a few");
        let own: Vec<_> = (0..share + 4).map(|_| ask(&silent, 1)).collect();
        while hanging.load(Ordering::SeqCst) < share {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let said = ask(&served, 2).await.expect("an answer");
        assert!(matches!(&said, Answer::Http(answer) if answer.body == b"yes"), "{said:?}");
        assert_eq!(hanging.load(Ordering::SeqCst), share, "four wait for their turn");
        own.iter().for_each(tokio::task::JoinHandle::abort);
    });
}

/// A question to a model counts with its bytes until it is answered, and the answer until its turn is over.
#[test]
fn questions_to_models_and_their_answers_use_up_a_share() {
    const QUESTION: usize = 1 << 20;
    let served = serve(|_| (200, vec![], vec![b'x'; 64]));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let rooms = Arc::<Rooms>::default();
        let sender = sender_in(Outside::World(Filter::new(vec![])), &rooms);
        let ask = |bytes: usize, reply_bytes_max| {
            let Work::Http(request) = request(&served, Egress::Model) else { panic!("an HTTP request") };
            Work::Http(HttpOut { method: "POST", body: vec![b' '; bytes], reply_bytes_max, ..request })
        };
        let mut hearing = Hearing::default();
        for _ in 0..100 {
            // One after the other: none is under way with another, and only the answers stay.
            let said = sender.perform_for(ask(QUESTION, 64), Holder::Account(1), &mut hearing).await;
            assert!(matches!(&said, Answer::Http(answer) if answer.body.len() == 64), "{said:?}");
        }
        assert_eq!(rooms.model_bytes.used(), 6_400);
        let share = usize::try_from(MODEL_BYTES.account).expect("a few");
        let large = sender.perform_for(ask(share - 6_400 - 63, 64), Holder::Account(1), &mut hearing).await;
        assert_eq!(large, Answer::Failed(SendError::ShareUsed), "its answer does not fit any more");
        let larger = sender.perform_for(ask(share, 64), Holder::Account(1), &mut hearing).await;
        assert_eq!(larger, Answer::Failed(SendError::ShareUsed), "nor does this question");
        assert_eq!(rooms.model_bytes.used(), 6_400);
        let other = sender.perform_for(ask(QUESTION, 64), Holder::Account(2), &mut hearing).await;
        assert!(matches!(other, Answer::Http(_)), "{other:?}");
        drop(hearing);
        assert_eq!(rooms.model_bytes.used(), 0);
    });
}

/// Users' addresses hang in as many requests as may be under way: the operator's own is requested all the same.
#[test]
fn addresses_of_users_that_hang_do_not_keep_the_operators_waiting() {
    let hanging = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&hanging);
    let silent = serve(move |_| {
        asked.fetch_add(1, Ordering::SeqCst);
        std::thread::park();
        (200, vec![], Vec::new())
    });
    let served = serve(|_| (200, vec![], b"yes".to_vec()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let outside = Outside::World(Filter::new(vec!["127.0.0.0/8".parse().expect("a range")]));
        let sender = Arc::new(sender(outside));
        let ask = |url: &str, egress, account| {
            let (sender, work) = (Arc::clone(&sender), request(url, egress));
            tokio::spawn(async move { sender.perform(work, Holder::Account(account)).await })
        };
        // Eight accounts with more requests than their shares, which together are the whole budget.
        let users: Vec<_> = (0..320).map(|at| ask(&silent, Egress::User, at % 8)).collect();
        while hanging.load(Ordering::SeqCst) < 256 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let said = ask(&served, Egress::Operator, 1).await.expect("an answer");
        assert!(matches!(&said, Answer::Http(answer) if answer.body == b"yes"), "{said:?}");
        assert!(users.iter().all(|user| !user.is_finished()), "none of the others has its answer");
        assert_eq!(hanging.load(Ordering::SeqCst), 256, "nor are more of them asked");
        users.iter().for_each(tokio::task::JoinHandle::abort);
    });
}

/// Queries may carry keys: neither the log of a failure nor any other line shows them.
#[test]
fn the_log_shows_no_query_of_an_address() {
    let folder = Folder::new();
    let log = folder.path("log");
    let server = Server::start_logging(
        &folder.path("data"),
        &["--egress-allow", "127.0.0.0/8", "--engine", "none"],
        &[("SWITCHBOARD_LOG", "debug")],
        std::fs::File::create(&log).expect("a log"),
    );
    // The port of a listener that is closed again.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    let (url, key) = (server.text("url"), server.text("api_key"));
    let endpoint = format!("http://{closed}/look?key=pineapple");
    let body = with(tool("probe"), &json!({ "endpoint": endpoint }));
    let (status, made) = call("POST", &format!("{url}/user/tools"), key, Some(&body));
    assert_eq!(status, 201, "{made}");
    let id = made["data"]["id"].as_u64().or(made["id"].as_u64()).expect("an id");
    let (status, said) = call("POST", &format!("{url}/user/tools/{id}/test"), key, Some(&json!({})));
    assert_eq!(status, 502, "{said}");
    let log = std::fs::read_to_string(&log).expect("a log");
    assert!(log.contains("a send failed"), "{log}");
    assert!(!log.contains("pineapple"), "{log}");
}

/// Why a model gave no answer stands in the log for the operator, without the password of its address.
#[test]
fn the_log_says_that_a_model_gave_no_answer_and_shows_no_password() {
    let folder = Folder::new();
    let log = folder.path("log");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    let model = format!("http://me:pineapple@{closed}/v1");
    let server = Server::start_logging(
        &folder.path("data"),
        &["--engine", "none", "--llm-url", &model, "--llm-model", "m"],
        &[("SWITCHBOARD_LOG", "info")],
        std::fs::File::create(&log).expect("a log"),
    );
    let owner = Owner::of(&server);
    let talk = owner.begin(&assistant());
    let message = json!({ "message": "Hi" });
    let (status, said) = call("POST", &format!("{}{talk}/messages", owner.url), &owner.key, Some(&message));
    assert_eq!(status, 502, "{said}");
    let log = std::fs::read_to_string(&log).expect("a log");
    assert!(log.contains("a model gave no answer") && log.contains(&format!("{closed}/v1/chat/completions")), "{log}");
    assert!(!log.contains("pineapple"), "{log}");
}
