//! The `twilio` carrier over real sockets, against a local server that answers in its documented shapes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::server::{Folder, Server, call};

/// A number on offer, one that is taken, and one for which the server never answers.
const FREE: &str = "+12125550101";
const TAKEN: &str = "+12125550102";
const SLOW: &str = "+12125550103";
const BUSY: &str = "+12125550104";

/// Answers one request of the service as Twilio would.
fn twilio(method: &str, target: &str, body: &str) -> (u16, Value) {
    let resource = target.split("/Accounts/AC1/").nth(1).unwrap_or_default();
    let number = |number: &str| body.contains(&number.replace('+', "%2B"));
    match (method, resource) {
        ("GET", resource) if resource.starts_with("AvailablePhoneNumbers/US/Local.json") => {
            let one = json!({ "phone_number": FREE, "address_requirements": "none", "capabilities": { "SMS": true, "voice": true } });
            (200, json!({ "available_phone_numbers": [one] }))
        }
        ("POST", "IncomingPhoneNumbers.json") if number(TAKEN) => {
            (400, json!({ "code": 21422, "message": "not available", "status": 400 }))
        }
        ("POST", "IncomingPhoneNumbers.json") if number(BUSY) => {
            (429, json!({ "code": 20429, "message": "too many requests", "status": 429 }))
        }
        ("POST", "IncomingPhoneNumbers.json") if number(SLOW) => {
            std::thread::sleep(Duration::from_secs(20));
            (201, json!({}))
        }
        ("POST", "IncomingPhoneNumbers.json") => {
            (201, json!({ "sid": "PN1", "phone_number": FREE, "capabilities": { "sms": true } }))
        }
        ("DELETE", "IncomingPhoneNumbers/PN1.json") => (204, Value::Null),
        ("POST", "Messages.json") if body.contains("To=%2B40700000000") => {
            (400, json!({ "code": 21211, "message": "invalid", "status": 400 }))
        }
        ("POST", "Messages.json") => (201, json!({ "sid": "SM1", "status": "queued", "num_segments": "1" })),
        _ => (404, json!({ "code": 20404, "message": "not found", "status": 404 })),
    }
}

fn answer(stream: &TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let (mut line, mut length, mut authorized) = (String::new(), 0, false);
    reader.read_line(&mut line).ok()?;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        length = header.strip_prefix("content-length: ").and_then(|n| n.parse().ok()).unwrap_or(length);
        // Base64 of `AC1:secret`, in lower case.
        authorized |= header == "authorization: basic qumxonnly3jlda==";
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (status, json) = if authorized {
        twilio(method, target, &String::from_utf8_lossy(&body))
    } else {
        (401, json!({ "code": 20003 }))
    };
    let text = if status == 204 { String::new() } else { json.to_string() };
    let mut stream = stream;
    write!(stream, "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}", text.len()).ok()
}

/// Serves a Twilio on a port of its own until the test ends; returns its URL.
fn listen() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream));
        }
    });
    url
}

#[test]
fn numbers_and_messages_by_twilio() {
    let (folder, twilio) = (Folder::new(), listen());
    let carrier = [
        "--carrier",
        "twilio",
        "--twilio-account-sid",
        "AC1",
        "--twilio-auth-token",
        "secret",
        "--twilio-base-url",
        &twilio,
    ];
    let server = Server::start(&folder.path("data"), &carrier);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let post = |path: &str, body: Value| call("POST", &format!("{url}{path}"), &key, Some(&body));
    let (status, found) = call("GET", &format!("{url}/user/phone-numbers/search"), &key, None);
    assert_eq!(
        (status, &found["data"][0]["phone_number"], &found["data"][0]["price"]),
        (200, &json!(FREE), &json!(1.15))
    );
    let buy = |number: &str| post("/user/phone-numbers/purchase", json!({ "phone_number": number }));
    assert_eq!(buy(TAKEN), (400, json!({ "error": "This phone number is not available." })));
    assert_eq!(buy(BUSY), (502, json!({ "error": "The carrier could not carry out the purchase." })));
    let (status, bought) = buy(FREE);
    assert_eq!((status, &bought["data"]["sms_capable"]), (201, &json!(true)));
    let id = &bought["data"]["id"];
    let sms = |to: &str| post("/user/sms", json!({ "from": id, "to": to, "body": "hi" }));
    assert_eq!(sms("+40700000001").1["data"]["sms_sid"], "SM1");
    assert_eq!(sms("+40700000000"), (400, json!({ "message": "Invalid to phone number" })));
    assert_eq!(call("DELETE", &format!("{url}/user/phone-numbers/{id}"), &key, None).0, 200);
    let (status, silent) = buy(SLOW);
    assert_eq!(status, 502, "{silent}");
    assert_eq!(buy(SLOW).0, 400, "what may have been bought is not bought again");
}
