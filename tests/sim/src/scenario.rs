//! Worlds with a plan of their own. A large but plain workload: one campaign with many leads on ten lines in office hours,
//! without faults, which must be done within a week. And a day of conversations alone, on hosts that often fail.

use serde_json::json;
use switchboard_core::time::Timestamp;

use crate::agenda::SECOND;
use crate::base::base;
use crate::client::Ask;
use crate::draw;
use crate::engine::{Engine, Errand, Manners};
use crate::faults::Faults;
use crate::mirror::At;
use crate::person::Person;
use crate::plan::Plan;
use crate::random::Random;
use crate::tamper::Tampering;
use crate::world::{Event, World};
use crate::{Outcome, live};

const WEEK_SECONDS: u64 = 7 * 86_400;
/// Conversations of a day.
const TALKS: usize = 20;

/// Runs a week of a campaign with this many leads.
pub fn week(seed: u64, leads: u64) -> Outcome {
    let start = Timestamp::parse_iso("2026-06-15T03:00:00Z").expect("the date above is a date");
    let plan = Plan {
        start,
        busy_seconds: 0,
        accounts: 1,
        campaigns: 1,
        leads,
        acts: 0,
        engines: 1,
        receivers: 1,
        nodes: 1,
        model: false,
        faults: Faults::default(),
    };
    let mut world = World::new(plan, Random::new(seed));
    world.people.push(Person { account: 0, key: base().keys[0].clone(), acts: 0, inbound: Vec::new(), by_hand: 0 });
    world.receivers.please(0);
    found(&mut world, leads);
    let mut engine = Engine::new(&base().engines[0], 0, &mut world.random);
    (engine.manners, engine.capacity) = (Manners::default(), 16);
    world.engines.push(engine);
    world.later(0, Event::Engine(0, Errand::Claim));
    world.calm = true;
    world.deadline = start.plus_seconds(WEEK_SECONDS);
    live(world)
}

/// Runs a day of conversations, with a defect if one is given.
pub fn talks(seed: u64, tampering: Option<Tampering>) -> Outcome {
    let start = Timestamp::parse_iso("2026-06-15T03:00:00Z").expect("the date above is a date");
    let faults = Faults { before: 10, after: 20, replies: 30, stands: 350, down_seconds: 120, ..Faults::default() };
    let plan = Plan {
        start,
        busy_seconds: 86_400,
        accounts: 1,
        campaigns: 1,
        leads: 0,
        acts: 4,
        engines: 1,
        receivers: 2,
        nodes: 2,
        model: !seed.is_multiple_of(4),
        faults,
    };
    let mut world = World::new(plan, Random::new(seed));
    world.set_up();
    world.meter(0, 50.0);
    let assistants: Vec<At> = world.mirror.assistants.keys().copied().collect();
    for _ in 0..TALKS {
        let assistant = world.random.one(&assistants);
        let after = world.random.below(80_000 * SECOND);
        world.begin_talk(0, assistant, after);
    }
    world.tampering = tampering;
    live(world)
}

fn found(world: &mut World, leads: u64) {
    let mut body = draw::assistant(&mut world.random, "outbound", 0);
    body["is_webhook_active"] = json!(true);
    body["post_call_evaluation"] = json!(false);
    let assistant = world.owner(0, &Ask::post("/user/assistant", body))["data"]["id"].as_u64().unwrap_or(0);
    world.owner(0, &Ask::put(format!("/user/assistants/{assistant}"), json!({ "status": "active" })));
    let body = json!({
        "name": "Large", "assistant_id": assistant, "timezone": "Europe/Bucharest", "max_calls_in_parallel": 10,
        "allowed_hours_start_time": "09:00", "allowed_hours_end_time": "18:00", "max_retries": 3, "retry_interval": 60,
        "retry_on_voicemail": true,
    });
    let campaign = world.owner(0, &Ask::post("/user/campaigns", body))["data"]["id"].clone();
    for lead in 0..leads {
        let body = json!({ "campaign_id": campaign, "phone_number": format!("+4072{lead:07}") });
        world.owner(0, &Ask::post("/user/lead", body));
    }
    let start = json!({ "campaign_id": campaign, "action": "start" });
    world.owner(0, &Ask::post("/user/campaigns/update-status", start));
}
