//! Answers of the outside: a fixed rule that every host can follow.

use switchboard_core::outside::{Answer, Extracted, HttpIn, SendError, TextForm, Work};
use switchboard_core::work;

const CHAT: &str =
    r#"{"choices":[{"message":{"content":"{\"summary\":\"Fine.\",\"sentiment\":\"positive\",\"success\":true}"}}]}"#;

/// What a model says in a conversation: first it calls the tool, then it answers.
const CALLS: &str = r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]}}]}"#;
const SAYS: &str = r#"{"choices":[{"message":{"content":"We open at nine."}}]}"#;

/// Returns the answer to work.
///
/// # Panics
/// Never: work that is neither a request nor a file is pure.
pub fn answer(asked: &Work) -> Answer {
    match asked {
        Work::Http(request) if request.url.contains("/refuse") => Answer::Failed(SendError::Unreachable),
        Work::Http(request) if request.url.contains("/missing") => http(404, "{}"),
        Work::Http(request) if request.url.ends_with("/chat/completions") => http(200, said(&request.body)),
        Work::Http(_) => http(200, r#"{"ok":true}"#),
        Work::Extract { form: TextForm::Pdf, .. } => Answer::Extracted(Err("This file is damaged.".into())),
        Work::Extract { .. } => Answer::Extracted(Ok(Extracted {
            text: "We open at nine.\nWe close at five.".into(),
            ..Extracted::default()
        })),
        pure => work::perform(pure).expect("all other work is pure"),
    }
}

fn said(question: &[u8]) -> &'static str {
    let has = |words: &str| question.windows(words.len()).any(|window| window == words.as_bytes());
    match () {
        () if has("\"response_format\"") => CHAT,
        () if has("\"name\":\"look\"") && !has("\"role\":\"tool\"") => CALLS,
        () => SAYS,
    }
}

fn http(status: u16, body: &str) -> Answer {
    let headers = vec![("content-type".into(), "application/json".into())];
    Answer::Http(HttpIn { status, headers, body: body.into(), cut: false, duration_ms: 0 })
}
