//! Request bodies with random content.

use serde_json::{Value, json};

use crate::random::Random;
use crate::receiver::Receivers;

const ZONES: [&str; 12] = [
    "Etc/UTC",
    "Europe/Bucharest",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "Africa/Casablanca",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Auckland",
    "Pacific/Apia",
    "America/Santiago",
];
const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Draws a phone number, out of 2,000.
pub fn phone(random: &mut Random) -> String {
    format!("+4070{:07}", random.below(2_000))
}

/// Draws calling hours: often the whole day, otherwise a window of some minutes or hours.
fn hours(random: &mut Random) -> (String, String) {
    if random.chance(350) {
        return ("00:00".into(), "23:59".into());
    }
    let start = random.below(23 * 60);
    let end = (start + random.one(&[20, 60, 200, 600])).min(23 * 60 + 59);
    let clock = |minutes: u64, seconds: u64| format!("{:02}:{:02}:{seconds:02}", minutes / 60, minutes % 60);
    (clock(start, random.below(60)), clock(end, 0))
}

/// Draws the rules of a campaign.
pub fn rules(random: &mut Random) -> Value {
    let (start, end) = hours(random);
    let days: Vec<&str> = if random.chance(500) {
        DAYS.to_vec()
    } else {
        let first = random.one(&DAYS);
        DAYS.into_iter().filter(|day| *day == first || random.chance(500)).collect()
    };
    json!({
        "timezone": random.one(&ZONES), "max_calls_in_parallel": random.within(1..=10),
        "allowed_hours_start_time": start, "allowed_hours_end_time": end, "allowed_days": days,
        "max_retries": random.one(&[1, 1, 1, 2, 2, 3, 5]), "retry_interval": random.one(&[10, 10, 60, 240, 1_440, 4_320]),
        "retry_on_voicemail": random.chance(500), "retry_on_goal_incomplete": random.chance(300),
        "goal_completion_variable": "goal", "mark_complete_when_no_leads": random.chance(850),
    })
}

/// Draws a campaign of an assistant that calls from some of these numbers.
pub fn campaign(random: &mut Random, assistant: u64, numbers: &[Value]) -> Value {
    let mut body = rules(random);
    body["name"] = json!("Spring");
    body["assistant_id"] = json!(assistant);
    body["phone_number_ids"] = numbers.iter().filter(|_| random.chance(600)).cloned().collect();
    body
}

/// Draws a lead of a campaign, with up to three secondary contacts.
pub fn lead(random: &mut Random, campaign: u64) -> Value {
    let contacts: Vec<Value> = (0..random.weighed(&[(7, 0), (2, 1), (1, 3)]))
        .map(|_| json!({ "phone_number": phone(random), "variables": { "customer_name": "Bo" } }))
        .collect();
    json!({
        "campaign_id": campaign, "phone_number": phone(random), "allow_dupplicate": random.chance(900),
        "variables": { "customer_name": "Ana" }, "secondary_contacts": contacts,
    })
}

/// Draws the settings of an assistant for calls and webhooks.
pub fn manner(random: &mut Random, receiver: usize) -> Value {
    let schema = json!([{ "name": "goal", "type": "bool", "description": "Whether they agreed" }]);
    json!({
        "is_webhook_active": random.chance(750), "webhook_url": Receivers::url(receiver, random.below(3)),
        "send_webhook_only_on_completed": random.chance(500),
        "ringing_time": random.one(&[1, 10, 30, 60]), "max_duration": random.one(&[20, 60, 600]),
        "post_call_evaluation": random.chance(300),
        "conversation_inactivity_timeout": random.one(&[1, 5, 30, 240]),
        "conversation_ended_retrigger": random.chance(500),
        "conversation_ended_webhook_url":
            if random.chance(700) { json!(Receivers::url(receiver, random.below(3))) } else { Value::Null },
        "post_call_schema": if random.chance(500) { schema } else { json!([]) },
    })
}

/// Draws an assistant of a type, with its webhooks at a receiver.
pub fn assistant(random: &mut Random, kind: &str, receiver: usize) -> Value {
    let mut body = manner(random, receiver);
    let (mode, voice) = random.weighed(&[(6, ("pipeline", 1)), (2, ("dualplex", 1))]);
    let text = json!({
        "name": "Anna", "voice_id": voice, "language_id": 1, "type": kind, "mode": mode,
        "timezone": "Europe/Bucharest", "initial_message": "Hello {{customer_name}}", "llm_model_id": 1,
        "system_prompt": "Be kind.", "multimodal_model_id": 1,
    });
    for (name, value) in text.as_object().into_iter().flatten() {
        body[name] = value.clone();
    }
    body
}
