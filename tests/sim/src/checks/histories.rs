//! At the end, what the API shows of conversations: their lists, what was said in each, and every answer that somebody
//! heard.

use super::{Held, holds, micros};
use crate::client::Ask;
use crate::facts::Message;
use crate::mirror::{At, Mirror};
use crate::talk::HeardReply;
use crate::world::World;

/// Fails if a message waits for an answer.
pub fn answered(mirror: &Mirror) -> Held {
    let waits = mirror.conversations.keys().find(|at| mirror.is_unanswered(**at));
    holds!(waits.is_none(), "every message that can be answered is: {waits:?} {:?}", waits.map(|at| &mirror.said[at]));
    Ok(())
}

/// Checks the conversations of a person's account.
pub fn judge(world: &mut World, person: usize) -> Held {
    let account = world.people[person].account;
    let rows: Vec<At> = world.mirror.conversations.keys().filter(|at| at.0 == account).copied().collect();
    for kind in ["test", "widget", "api"] {
        let want = rows.iter().filter(|at| world.mirror.conversations[at].kind == kind).count();
        let got = world.owner(person, &Ask::get(format!("/user/conversations?type={kind}")))["total"].as_u64();
        holds!(got == Some(want as u64), "a list has every conversation: {got:?} of {want} {kind}");
    }
    for at in rows {
        let row = world.mirror.conversations[&at].clone();
        let shown = world.owner(person, &Ask::get(format!("/user/conversations/{}", row.uuid)));
        let lines = shown["history"].as_array().cloned().unwrap_or_default();
        let history: Vec<Message> = lines.into_iter().filter_map(|line| serde_json::from_value(line).ok()).collect();
        let said = world.mirror.said.get(&at).cloned().unwrap_or_default();
        holds!(history == said, "a history is what was said: {at:?} {history:?}, not {said:?}");
        let cost = shown["total_cost"].as_f64().map(micros);
        holds!(cost == Some(micros(row.total_cost)), "a conversation shows what it costs: {at:?} {cost:?}");
        for talker in world.talkers.iter().filter(|talker| talker.person == person) {
            let heard: Vec<&HeardReply> = talker.heard.iter().filter(|heard| heard.conversation == row.uuid).collect();
            in_order(&heard, &history).map_err(|claim| format!("{claim}: {at:?} {heard:?}, not in {history:?}"))?;
        }
    }
    Ok(())
}

/// Fails unless the answers that somebody heard stand in a history behind their messages, each once, in their order.
fn in_order(heard: &[&HeardReply], history: &[Message]) -> Held {
    let mut pairs = history.windows(2);
    for reply in heard {
        let stands =
            pairs.any(|pair| pair[0].is_users() && pair[0].content == reply.message && pair[1].content == reply.reply);
        holds!(stands, "what was heard stands in the history once, in order");
    }
    Ok(())
}
