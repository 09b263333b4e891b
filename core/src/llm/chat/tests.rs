use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::super::ChatPieces;
use super::*;
use crate::record::Secret;

fn answer(body: &[u8]) -> Answer {
    Answer::Http(HttpIn { status: 200, body: body.to_vec(), ..HttpIn::default() })
}

fn read(body: &str) -> Result<ChatAnswer, ChatFault> {
    ChatAnswer::read(&answer(body.as_bytes()))
}

fn asked(is_streamed: bool) -> crate::outside::HttpOut {
    let model = Llm { url: "http://llm.example/v1/".into(), key: Some(Secret("k".into())), model: "m".into() };
    let functions = json::parse(br#"[{"name":"look","description":"d","parameters":{}}]"#).expect("JSON");
    let call = FunctionCall { id: "c1".into(), name: "look".into(), arguments: "{}".into() };
    let messages = [
        ChatMessage::User("Hi".into()),
        ChatMessage::Assistant { text: String::new(), calls: vec![call] },
        ChatMessage::Function { call_id: "c1".into(), result: "found".into() },
    ];
    let question = ChatQuestion {
        system: "Be kind.",
        messages: &messages,
        functions: &functions,
        temperature: Hundredths(10),
        timeout_ms: 5_000,
        is_streamed,
    };
    match model.chat(&question) {
        Work::Http(out) => out,
        other => panic!("{other:?} is no request"),
    }
}

#[test]
fn a_turn_is_asked_as_the_api_has_it() {
    let out = asked(false);
    assert_eq!((&*out.url, out.timeout_ms), ("http://llm.example/v1/chat/completions", 5_000));
    assert_eq!(
        core::str::from_utf8(&out.body),
        Ok(concat!(
            r#"{"model":"m","temperature":0.1,"messages":[{"role":"system","content":"Be kind."},"#,
            r#"{"role":"user","content":"Hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","#,
            r#""function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"found"}],"#,
            r#""tools":[{"type":"function","function":{"name":"look","description":"d","parameters":{}}}]}"#,
        ))
    );
    let streamed = asked(true);
    assert!(streamed.headers.iter().any(|(name, value)| name == "accept" && value.0 == "text/event-stream"));
    assert!(streamed.body.ends_with(br#","stream":true}"#) && streamed.reply_bytes_max > out.reply_bytes_max);
}

#[test]
fn both_forms_of_an_answer_are_read() {
    let call =
        |id: &str, arguments: &str| FunctionCall { id: id.into(), name: "look".into(), arguments: arguments.into() };
    for (body, text, calls) in [
        (r#"{"choices":[{"message":{"content":"Hi"}}]}"#.to_string(), "Hi", vec![]),
        (r#"{"choices":[{"message":{"content":[{"type":"text","text":"H"},{"type":"text","text":"i"}]}}]}"#.into(), "Hi", vec![]),
        (
            r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"look","arguments":"{\"x\":1}"}},{"function":{"name":"look","arguments":{"x":1}}}]}}]}"#.into(),
            "",
            vec![call("a", r#"{"x":1}"#), call("call_1", r#"{"x":1}"#)],
        ),
        (
            concat!(
                ": hello\n\ndata: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"H\"}}]}\n\n",
                "data: {\"choices\":[{\"delta\":{\"content\":\"i\\u0000\"}}]}\r\n\r\ndata: {\"choices\":[],\"usage\":{}}\n\n",
                "data: [DONE]\n\n",
            )
            .into(),
            "Hi",
            vec![],
        ),
        (
            concat!(
                "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"look\",\"arguments\":\"\"}}]}}]}\n\n",
                "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"look\",\"arguments\":\"{\\\"x\\\"\"}}]}}]}\n\n",
                "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\":1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
            )
            .into(),
            "",
            vec![call("a", r#"{"x":1}"#)],
        ),
    ] {
        let got = read(&body).expect(&body);
        assert_eq!((&*got.text, got.calls), (text, calls), "{body}");
    }
}

#[test]
fn what_has_another_form_is_refused() {
    let many = r#"{"function":{"name":"a"}},"#.repeat(CHAT_CALLS_MAX) + r#"{"function":{"name":"a"}}"#;
    let long_name = "n".repeat(65);
    for body in [
        String::new(),
        "no".into(),
        "[]".into(),
        "{}".into(),
        r#"{"choices":{}}"#.into(),
        r#"{"choices":[]}"#.into(),
        r#"{"choices":[{"message":{}}]}"#.into(),
        r#"{"choices":[{"message":{"content":""}}]}"#.into(),
        r#"{"choices":[{"message":{"content":7}}]}"#.into(),
        r#"{"choices":[{"message":{"content":[7]}}]}"#.into(),
        r#"{"choices":[{"message":{"content":"x","tool_calls":{}}}]}"#.into(),
        r#"{"choices":[{"message":{"tool_calls":[{}]}}]}"#.into(),
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":7}}]}}]}"#.into(),
        r#"{"choices":[{"message":{"tool_calls":[{"function":{"name":"a","arguments":7}}]}}]}"#.into(),
        format!(r#"{{"choices":[{{"message":{{"tool_calls":[{many}]}}}}]}}"#),
        format!(r#"{{"choices":[{{"message":{{"tool_calls":[{{"function":{{"name":"{long_name}"}}}}]}}}}]}}"#),
        "data: {\"choices\":[{\"delta\":{\"content\":\"cut off\"}}]}\n\n".into(),
        "data: {\"error\":{\"message\":\"no\"}}\n\ndata: [DONE]\n\n".into(),
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":9,\"function\":{\"name\":\"a\"}}]}}]}\n\ndata: [DONE]\n\n".into(),
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1}]}}]}\n\ndata: [DONE]\n\n".into(),
        "data: [DONE]\n\n".into(),
    ] {
        assert_eq!(read(&body), Err(ChatFault::Malformed), "{body}");
    }
}

#[test]
fn every_other_answer_has_its_fault() {
    let with = |status, cut| Answer::Http(HttpIn { status, cut, body: b"{}".to_vec(), ..HttpIn::default() });
    for (answer, fault) in [
        (with(500, false), ChatFault::Refused(500)),
        (with(200, true), ChatFault::TooLong),
        (Answer::Failed(SendError::TimedOut), ChatFault::Late),
        (Answer::Failed(SendError::Unreachable), ChatFault::Unreachable),
        (Answer::Failed(SendError::Busy), ChatFault::NotAsked),
        (Answer::Yielded, ChatFault::Unreachable),
    ] {
        assert_eq!(ChatAnswer::read(&answer), Err(fault));
        assert!(fault.sentence().ends_with('.') && !fault.sentence().contains("http"));
    }
    let piece = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(10_000));
    assert_eq!(read(&piece.repeat(30)), Err(ChatFault::TooLong));
    let argument = "x".repeat(FUNCTION_ARGUMENTS_BYTES_MAX + 1);
    let body = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{{"function":{{"name":"a","arguments":"{argument}"}}}}]}}}}]}}"#
    );
    assert_eq!(read(&body), Err(ChatFault::TooLong));
}

/// Writes a stream whose events add these calls, each given as JSON.
fn called(deltas: &[&str]) -> String {
    let event = |calls: &&str| format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{calls}]}}}}]}}\n\n");
    deltas.iter().map(event).collect::<String>() + "data: [DONE]\n\n"
}

#[test]
fn calls_are_told_apart_however_an_endpoint_marks_them() {
    let look = r#"{"function":{"name":"look","arguments":"{\"x\":1}"}}"#;
    let send = r#"{"function":{"name":"send","arguments":{"x":2}}}"#;
    let both = [("call_0", "look", r#"{"x":1}"#), ("call_1", "send", r#"{"x":2}"#)];
    for (deltas, calls) in [
        // Whole calls without index and id, in one delta or in two; of one function, too.
        (&[&*format!("{look},{send}")][..], &both[..]),
        (&[look, send], &both),
        (&[look, look], &[("call_0", "look", r#"{"x":1}"#), ("call_1", "look", r#"{"x":1}"#)]),
        (&[send, send], &[("call_0", "send", r#"{"x":2}"#), ("call_1", "send", r#"{"x":2}"#)]),
        // Pieces of one call, each with its name.
        (
            &[
                r#"{"function":{"name":"look"}}"#,
                r#"{"function":{"name":"look","arguments":"{\"x\""}}"#,
                r#"{"function":{"name":"look","arguments":":1}"}}"#,
            ],
            &both[..1],
        ),
        // Pieces of two calls in turns, by id.
        (
            &[
                r#"{"id":"a","function":{"name":"look","arguments":"{"}}"#,
                r#"{"id":"b","function":{"name":"send","arguments":"{"}}"#,
                r#"{"id":"a","function":{"arguments":"}"}}"#,
                r#"{"id":"b","function":{"arguments":" }"}}"#,
            ],
            &[("a", "look", "{}"), ("b", "send", "{ }")],
        ),
        // An index counts more than an id that changes with each piece.
        (
            &[
                r#"{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}"#,
                r#"{"index":0,"id":"b","function":{"name":"look","arguments":"}"}}"#,
            ],
            &[("a", "look", "{}")],
        ),
        // Arguments that are no JSON stay as they are.
        (&[r#"{"id":"a","function":{"name":"look","arguments":"{\"x\": oh"}}"#], &[("a", "look", "{\"x\": oh")]),
    ] {
        let got = read(&called(deltas)).expect("an answer").calls;
        let got: Vec<_> = got.iter().map(|call| (&*call.id, &*call.name, &*call.arguments)).collect();
        assert_eq!(got, calls, "{deltas:?}");
    }
}

#[test]
fn a_wrong_type_is_malformed_wherever_it_is() {
    let whole = r#"{"choices":[{"message":{"content":"x","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}"#;
    let piece = r#"{"choices":[{"delta":{"content":"x","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}"#;
    let places: [&[&str]; 9] = [
        &[],
        &["choices"],
        &["choices", "0"],
        &["choices", "0", "*"],
        &["choices", "0", "*", "content"],
        &["choices", "0", "*", "tool_calls"],
        &["choices", "0", "*", "tool_calls", "0", "id"],
        &["choices", "0", "*", "tool_calls", "0", "function"],
        &["choices", "0", "*", "tool_calls", "0", "function", "name"],
    ];
    let more: [&[&str]; 2] = [&["choices", "0", "finish_reason"], &["choices", "0", "*", "tool_calls", "0", "index"]];
    let wrong = || [Value::Bool(true), json::parse(b"-7.5").expect("JSON")];
    for (place, value) in places.iter().flat_map(|place| wrong().map(|value| (place, value))) {
        let body = with(whole, place, &value);
        assert_eq!(read(&body), Err(ChatFault::Malformed), "{body}");
    }
    for (place, value) in places.iter().chain(&more).flat_map(|place| wrong().map(|value| (place, value))) {
        for first in ["", piece] {
            let body = format!("data: {first}\n\ndata: {}\n\ndata: [DONE]\n\n", with(piece, place, &value));
            let body = body.strip_prefix("data: \n\n").unwrap_or(&body);
            assert_eq!(read(body), Err(ChatFault::Malformed), "{body}");
        }
    }
    let parts = r#"{"choices":[{"message":{"content":[{"type":"image_url","text":"x"}]}}]}"#;
    assert_eq!(read(parts), Err(ChatFault::Malformed));
}

/// Returns a JSON text with the value of one place replaced; `*` is `message` or `delta`.
fn with(text: &str, place: &[&str], value: &Value) -> String {
    let mut whole = json::parse(text.as_bytes()).expect("JSON");
    let found = place.iter().fold(&mut whole, |inside, name| match inside {
        Value::List(entries) => &mut entries[0],
        Value::Object(members) => {
            let is_named = |known: &str| known == *name || *name == "*" && ["message", "delta"].contains(&known);
            members.0.iter_mut().find(|(known, _)| is_named(known)).map(|(_, value)| value).expect("a member")
        }
        other => panic!("{other:?} has no {name}"),
    });
    *found = value.clone();
    String::from_utf8(whole.to_json()).expect("UTF-8")
}

#[test]
fn text_and_arguments_are_bounded_together() {
    let text =
        |bytes: usize| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "x".repeat(bytes));
    let arguments = "x".repeat(FUNCTION_ARGUMENTS_BYTES_MAX);
    let call = called(&[&format!(r#"{{"index":0,"function":{{"name":"a","arguments":"{arguments}"}}}}"#)]);
    let fits = CHAT_BYTES_MAX - FUNCTION_ARGUMENTS_BYTES_MAX;
    let parts = |bytes: usize| text(60_000).repeat(bytes / 60_000) + &text(bytes % 60_000) + &call;
    assert_eq!(read(&parts(fits)).map(|heard| heard.text.len()), Ok(fits));
    assert_eq!(read(&parts(fits + 1)), Err(ChatFault::TooLong));
}

#[test]
fn what_is_endless_ends() {
    let nested = "[".repeat(50_000);
    let calls = r#"{"function":{"name":"a"}},"#.repeat(2_000);
    for (body, fault) in [
        (format!(r#"{{"choices":{nested}"#), ChatFault::Malformed),
        (format!(r#"{{"choices":[{{"message":{{"content":"x","tool_calls":{nested}"#), ChatFault::Malformed),
        (format!("data: {nested}\n\ndata: [DONE]\n\n"), ChatFault::Malformed),
        (
            format!(r#"{{"choices":[{{"message":{{"tool_calls":[{}]}}}}]}}"#, calls.trim_end_matches(',')),
            ChatFault::Malformed,
        ),
        (format!("data: {}\n\n", "x".repeat(70_000)), ChatFault::TooLong),
        ("data: x\n".repeat(600_000), ChatFault::TooLong),
        (format!(r#"{{"choices":[{{"message":{{"content":"{}"}}}}]}}"#, "x".repeat(300 << 10)), ChatFault::TooLong),
    ] {
        assert_eq!(read(&body), Err(fault), "{}…", &body[..60]);
        assert_eq!(ChatPieces::default().push(body.as_bytes()), "", "{}…", &body[..60]);
    }
}

/// Draws the bytes of a streamed answer, sound or not.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let event = prop_oneof![
        6 => ".{0,12}".prop_map(|text| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":{}}}}}]}}\n\n", String::from_utf8(text.to_json()).expect("text"))),
        1 => Just(": comment\r\n\r\n".to_string()),
        1 => Just("data: {\"choices\":[]}\n\n".to_string()),
        1 => Just("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\r\r".to_string()),
        1 => ".{0,20}".prop_map(|text| format!("{text}\n")),
    ];
    prop::collection::vec(event, 0..12).prop_map(|events| (events.concat() + "data: [DONE]\n\n").into_bytes())
}

proptest! {
    #[test]
    fn pieces_are_the_text_wherever_they_are_cut(body in stream(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
        at.extend([0, body.len()]);
        at.sort_unstable();
        let mut pieces = ChatPieces::default();
        let text: String = at.windows(2).map(|pair| pieces.push(&body[pair[0]..pair[1]])).collect();
        // Also of an answer that cannot be read.
        prop_assert_eq!(&text, &ChatPieces::default().push(&body));
        if let Ok(whole) = ChatAnswer::read(&answer(&body)) {
            prop_assert_eq!(whole.text, text);
        }
    }

    #[test]
    fn whatever_a_model_says_is_bounded(body in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..400),
        "[\\[\\]{}\":,a-z0-9 ]{0,300}".prop_map(String::into_bytes),
        stream(),
    ]) {
        if let Ok(heard) = ChatAnswer::read(&answer(&body)) {
            prop_assert!(!heard.text.is_empty() || !heard.calls.is_empty());
            prop_assert!(heard.calls.len() <= CHAT_CALLS_MAX && heard.text.len() <= CHAT_BYTES_MAX);
        }
        ChatPieces::default().push(&body);
    }
}
