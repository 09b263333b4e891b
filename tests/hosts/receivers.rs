//! Endpoints that hang, reset, redirect, or answer without end, asked by the real binary.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_tests::house::{tool, with};

use crate::outside::serve;
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
        let body = with(tool("probe"), &json!({ "endpoint": endpoint, "method": "POST", "timeout": 1 }));
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
