//! An entry of a claim, for tests.

use serde_json::{Value, json};

/// Builds an entry of a claim: a call to this number with a fully equipped assistant.
pub fn claimed(id: u64, phone: &str) -> Value {
    json!({
        "lease": "2026-01-31T14:05:39.000000Z",
        "call": {
            "id": id,
            "type": "outbound",
            "status": "initiated",
            "client_phone_number": phone,
            "variables": { "customer_name": "Ada Park", "ticket": 41 },
            "created_at": "2026-01-31 14:05:09",
        },
        "assistant": {
            "name": "Front desk",
            "greeting": "Hello {{customer_name}}, this is the front desk{{missing}}.",
            "wait_for_customer": false,
            "max_duration": 600,
            "ringing_time": 30,
            "record": true,
            "end_call_on_voicemail": 1,
            "voice_mail_message": "Please call {{customer_name}} back.",
            "variables": { "customer_name": "nobody", "company": "Acme" },
            "tools": [
                { "type": "call_transfer", "phone_number": "+12025550111" },
                { "type": "end_call" },
                { "type": "dtmf_input" },
            ],
            "tool_ids": [1, 2],
            "functions": [
                function("end_call", &json!({})),
                function("look_up", &json!({ "ticket": { "type": "number" }, "email": { "type": "string" }, "urgent": { "type": "boolean" } })),
                function("unreachable", &json!({})),
            ],
            "knowledgebase_id": 5,
            "knowledge": null,
            "post_call_schema": [
                { "name": "visit_date", "type": "string", "description": "The day of the {{visit}}" },
                { "name": "rating", "type": "number", "description": "How content the customer is" },
                { "name": "agreed", "type": "bool", "description": "Whether the customer agreed" },
            ],
        },
    })
}

fn function(name: &str, properties: &Value) -> Value {
    let parameters = json!({ "type": "object", "properties": properties, "required": [] });
    json!({ "name": name, "description": "A tool", "parameters": parameters })
}
