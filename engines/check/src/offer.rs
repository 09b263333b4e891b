//! What a claim is answered with: calls and their assistants.

use serde_json::{Value, json};

use crate::book::CallBook;
use crate::cases::{CaseTwist, OfferedCall};

/// Bytes of a huge prompt: with the rest of its assistant about a mebibyte.
const HUGE_BYTES: usize = 1_000_000;
/// Words that mark the assistants of different accounts.
const MARKERS: [&str; 2] = ["kiwi", "mango"];

/// Returns the word that only the assistants of an account say.
pub fn marker(account: u64) -> String {
    MARKERS.get(usize::try_from(account).unwrap_or(0)).copied().unwrap_or("papaya").into()
}

/// Returns the entry of a call in the answer to a claim.
pub fn entry(book: &CallBook, call: OfferedCall, lease: &str, twist: CaseTwist) -> Value {
    let functions = [
        function("look_up", &json!({ "question": { "type": "string" } })),
        function("unreachable", &json!({ "question": { "type": "string" } })),
    ];
    let prompt =
        if call.is_huge { "You know the catalogue by heart. ".repeat(HUGE_BYTES / 33) } else { "Be brief.".into() };
    let mut entry = json!({
        "call": {
            "id": book.id,
            "type": "outbound",
            "status": "initiated",
            "client_phone_number": format!("+1202555{:04}", call.digits),
            "assistant_phone_number": "+12025550100",
            "assistant_id": 1,
            "variables": { "customer_name": "Ada Park" },
            "created_at": "2026-01-31 14:05:09",
        },
        "assistant": {
            "id": 1,
            "name": "Front desk",
            "mode": "pipeline",
            "prompt": prompt,
            "greeting": format!("Hello Ada Park, this is the front desk of {}.", book.marker),
            "voicemail": Value::Null,
            "wait_for_customer": false,
            "record": false,
            "max_duration": 600,
            "ringing_time": 30,
            "timings": { "ringing_time": 30, "max_duration": 600, "max_silence_duration": 30 },
            "turns": { "strategy": "silence", "stop_ms": 500, "min_words": 0, "threshold": 0.5 },
            "tools": [{ "type": "end_call" }],
            "tool_ids": [1, 2],
            "functions": functions,
            "knowledgebase_id": Value::Null,
            "knowledge": Value::Null,
            "post_call_schema": [],
        },
        "telephony": { "kind": "sip", "trunk_id": 1, "from": "+12025550100", "dial": format!("1202555{:04}", call.digits) },
        "lease": lease,
        "next_seq": book.next_seq(),
    });
    if twist == CaseTwist::Tomorrow {
        entry["hologram"] = json!({ "depth": [1, 2, 3] });
        entry["call"]["mood"] = json!({ "of": "the customer" });
        entry["assistant"]["gestures"] = json!([{ "name": "nods", "when": null }]);
        entry["assistant"]["functions"][0]["kind"] = "telepathy".into();
        entry["telephony"]["kind"] = "quantum".into();
    }
    entry
}

fn function(name: &str, properties: &Value) -> Value {
    let parameters = json!({ "type": "object", "properties": properties, "required": [] });
    json!({ "name": name, "description": "Looks something up", "parameters": parameters, "kind": "tool", "timeout": 10 })
}
