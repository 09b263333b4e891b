//! What must hold once people have acted and time has passed: all work is done, the store is sound, and the API's lists
//! agree with a plain count of the rows.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_core::call::tables::CallStatus;
use switchboard_core::campaign::tables::CampaignStatus;
use switchboard_core::id;
use switchboard_core::key::{Kind, Space};
use switchboard_core::lead::tables::LeadStatus;
use switchboard_core::record::Choice;
use switchboard_core::verify::verify;
use switchboard_core::webhook::tables::DeliveryStatus;

use super::{Held, histories, holds, planned};
use crate::client::Ask;
use crate::facts::Lead;
use crate::mirror::{At, Mirror};
use crate::world::World;

/// Fails if something is unfinished: a running call, a delivery with retries left, a conversation that has not ended or
/// has a message without an answer, a campaign that should have completed, or an endless one that has not called
/// everybody.
pub fn settled(mirror: &Mirror) -> Held {
    histories::answered(mirror)?;
    if let Some((kind, at)) = mirror.open.first() {
        let (call, delivery, talk) = (mirror.calls.get(at), mirror.deliveries.get(at), mirror.conversations.get(at));
        return Err(match kind {
            Kind::Conversation => format!("every conversation ends: {at:?} {talk:?}"),
            _ => format!("every call finishes, every delivery leaves pending: {at:?} of {call:?} or {delivery:?}"),
        });
    }
    for (at, campaign) in &mirror.campaigns {
        if campaign.status != CampaignStatus::InProgress {
            continue;
        }
        let open = mirror
            .leads
            .iter()
            .find(|(lead, row)| lead.0 == at.0 && row.campaign == at.1 && row.parent.is_none() && !row.is_done());
        holds!(
            open.is_none() && !campaign.rules.mark_complete_when_no_leads,
            "every running campaign reaches completed: {at:?} {campaign:?}, {open:?} is open"
        );
    }
    Ok(())
}

/// Checks a world that has come to rest.
pub fn sound(world: &mut World) -> Held {
    let report = verify(&world.store).map_err(|stop| format!("a store can be verified: {stop:?}"))?;
    holds!(report.faults.is_empty(), "verify finds no fault: {:?}", report.faults);
    for person in 0..world.people.len() {
        let (account, asked) = (world.people[person].account, world.people[person].by_hand);
        let made = world.checks.by_hand(account);
        holds!(
            made <= asked,
            "one effect an idempotency key: {made} calls by hand in {account}, {asked} were asked for"
        );
        planned::judge(world, account)?;
        let shown = world.owner(person, &Ask::get("/user/me"))["total_balance"].as_f64();
        world.checks.money.agrees(account, shown)?;
        calls(world, person)?;
        leads(world, person)?;
        deliveries(world, person)?;
        histories::judge(world, person)?;
        feed(world, person)?;
    }
    Ok(())
}

fn total(world: &mut World, person: usize, target: &str) -> Option<u64> {
    world.owner(person, &Ask::get(target))["total"].as_u64()
}

/// Compares the total of a list with a count of rows.
fn agrees(world: &mut World, person: usize, target: &str, want: usize) -> Held {
    let got = total(world, person, target);
    holds!(got == Some(want as u64), "a list's total is a plain count of its rows: {target} has {got:?} of {want}");
    Ok(())
}

fn campaigns_of(world: &World, account: u32) -> Vec<At> {
    world.mirror.campaigns.keys().filter(|at| at.0 == account).copied().collect()
}

fn calls(world: &mut World, person: usize) -> Held {
    let account = world.people[person].account;
    let mut by: BTreeMap<(Option<u32>, &str), usize> = BTreeMap::new();
    for (at, call) in &world.mirror.calls {
        if at.0 == account {
            *by.entry((call.campaign, call.status.word())).or_default() += 1;
        }
    }
    let count = |campaign: Option<u32>, status: Option<&str>| {
        let fits = |key: &(Option<u32>, &str)| {
            (campaign.is_none() || key.0 == campaign) && status.is_none_or(|status| status == key.1)
        };
        by.iter().filter(|(key, _)| fits(key)).map(|(_, count)| count).sum::<usize>()
    };
    agrees(world, person, "/user/calls", count(None, None))?;
    for status in ["completed", "failed", world.random.one(CallStatus::WORDS)] {
        agrees(world, person, &format!("/user/calls?status={status}"), count(None, Some(status)))?;
    }
    for at in campaigns_of(world, account) {
        let named = id::of(Space::Account(at.0), at.1);
        let status = world.random.one(CallStatus::WORDS);
        let both = format!("/user/calls?campaign_id={named}&status={status}");
        agrees(world, person, &both, count(Some(at.1), Some(status)))?;
    }
    Ok(())
}

fn leads(world: &mut World, person: usize) -> Held {
    let account = world.people[person].account;
    let mut by: BTreeMap<(u32, &str), usize> = BTreeMap::new();
    for (at, lead) in &world.mirror.leads {
        let listed = world.mirror.campaigns.contains_key(&(account, lead.campaign));
        if at.0 == account && lead.parent.is_none() && listed {
            *by.entry((lead.campaign, lead.status.word())).or_default() += 1;
        }
    }
    parts(world, person)?;
    let status_of = |status: &str| by.iter().filter(|((_, word), _)| *word == status).map(|(_, count)| count).sum();
    for status in ["completed", world.random.one(LeadStatus::WORDS)] {
        agrees(world, person, &format!("/user/leads?status={status}"), status_of(status))?;
    }
    for at in campaigns_of(world, account) {
        let named = id::of(Space::Account(at.0), at.1);
        let status = world.random.one(LeadStatus::WORDS);
        let want = by.get(&(at.1, status)).copied().unwrap_or(0);
        agrees(world, person, &format!("/user/leads?campaign_id={named}&status={status}"), want)?;
    }
    Ok(())
}

/// Checks a list of the leads whose number contains some digits.
fn parts(world: &mut World, person: usize) -> Held {
    let account = world.people[person].account;
    let digits = world.random.within(0..=99).to_string();
    let listed = |lead: &&Lead| lead.parent.is_none() && world.mirror.campaigns.contains_key(&(account, lead.campaign));
    let leads = world.mirror.leads.iter().filter(|(at, _)| at.0 == account).map(|(_, lead)| lead);
    let want = leads.filter(listed).filter(|lead| lead.phone[1..].contains(&digits)).count();
    agrees(world, person, &format!("/user/leads?phone_number={digits}"), want)
}

fn deliveries(world: &mut World, person: usize) -> Held {
    let account = world.people[person].account;
    for status in ["delivered", world.random.one(DeliveryStatus::WORDS)] {
        let rows = world.mirror.deliveries.iter();
        let want = rows.filter(|(at, row)| at.0 == account && row.status.word() == status).count();
        agrees(world, person, &format!("/user/webhook-deliveries?status={status}"), want)?;
    }
    Ok(())
}

/// Checks that no payload shows a deleted call, lead or conversation.
fn shows_what_is_there(world: &World, account: u32, event: &Value) -> Held {
    let payload = &event["payload"];
    if let Some(uuid) = payload["conversation_id"].as_str() {
        let is_there = world.mirror.conversation(uuid).is_some_and(|at| at.0 == account);
        holds!(is_there, "the feed shows nothing that was deleted: {event}");
        return Ok(());
    }
    let there = |id: &Value, is_there: &dyn Fn(&(u32, u32)) -> bool| {
        id.as_u64().map(switchboard_core::id::split).is_none_or(|at| at.0 == account && is_there(&at))
    };
    let calls = |at: &(u32, u32)| world.mirror.calls.contains_key(at);
    let leads = |at: &(u32, u32)| world.mirror.leads.contains_key(at);
    let shown =
        there(&payload["id"], &calls) && there(&payload["call_id"], &calls) && there(&payload["lead"]["id"], &leads);
    holds!(shown, "the feed shows nothing that was deleted: {event}");
    Ok(())
}

/// Checks that the feed, read from its oldest event, has no gap, and carries the ids and bodies that receivers saw.
fn feed(world: &mut World, person: usize) -> Held {
    let account = world.people[person].account;
    let kept: Vec<u32> = world.mirror.events.keys().filter(|at| at.0 == account).map(|at| at.1).collect();
    let Some(first) = kept.first() else { return Ok(()) };
    let mut after = first - 1;
    let mut bodies: BTreeMap<String, Value> = BTreeMap::new();
    loop {
        let page = world.owner(person, &Ask::get(format!("/user/events?after={after}&limit=100")));
        let events = page["data"].as_array().cloned().ok_or("the feed is a list")?;
        if events.is_empty() {
            break;
        }
        for event in events {
            after += 1;
            holds!(event["seq"] == after, "the feed has no gaps: {} is not {after}", event["seq"]);
            shows_what_is_there(world, account, &event)?;
            bodies.insert(event["id"].as_str().unwrap_or_default().to_owned(), event["payload"].clone());
        }
    }
    holds!(kept.last() == Some(&after), "the feed ends with its last event: {after} of {:?}", kept.last());
    for (id, seen) in world.receivers.all_seen() {
        let Some(payload) = bodies.get(id).filter(|_| !world.mirror.emptied.contains(id)) else { continue };
        let body: Value = serde_json::from_slice(&seen.body).map_err(|error| error.to_string())?;
        holds!(*payload == body, "the feed carries what was delivered: {id}");
    }
    for delivery in world.mirror.deliveries.iter().filter(|(at, _)| at.0 == account).map(|(_, row)| row) {
        holds!(bodies.contains_key(&delivery.webhook_id), "the feed carries every webhook: {}", delivery.webhook_id);
    }
    Ok(())
}
