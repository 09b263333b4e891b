//! Text messages (docs/api.md, Messages): one commit charges and stores a message, then it is sent, the next commit
//! settles it.

use alloc::string::String;
use alloc::vec::Vec;

use crate::account::prices::{PriceUnit, price};
use crate::account::profile::{Profile, dollars, micros};
use crate::carrier::{Ask, CarrierAnswer, segments};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Form, Halt, Invalid, Refusal};
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::json::ToJson;
use crate::key::{self, Kind, Unique};
use crate::number::{self, SmsSender};
use crate::record;
use crate::record::{Iso, Rest, Stored, format, id, int, iso, number, text};
use crate::store::Row;
use crate::time::Timestamp;
use crate::view::Stop;

record! {
    /// Body of `POST /user/sms`.
    pub struct NewMessage {
        /// Id of the account's number to send from; must be `sms_capable`.
        from: u64 = id().required(),
        /// Number to send to, E.164; blanks, dots, dashes and brackets are dropped.
        to: String = text(1, 16).form(&format::WRITTEN_E164).required(),
        /// Text to send; long ones are split into segments.
        body: String = text(1, 300).required().alias(&["message"]),
    }
}

record! {
    /// A text message that was sent.
    pub struct Message stored as "a message" {
        /// Id of the message.
        id: u64 = id().required(),
        /// Id of the number it was sent from.
        phone_number_id: u64 = id().required(),
        /// Number it was sent to, E.164.
        to: String = text(0, 16).required(),
        /// Text of the message.
        body: String = text(0, 300).required(),
        /// Id of the account that sent it.
        user_id: u64 = id().required(),
        /// Segments it was split into, as the carrier counts them.
        segments: u32 = int(1, 10).required(),
        /// Price of a segment, USD.
        segment_price: f64 = number(0.0, 0.0).required(),
        /// Price of all segments, USD.
        total_cost: f64 = number(0.0, 0.0).required(),
        /// The carrier's status when it took the message, such as `queued`.
        status: String = text(0, 32).required(),
        /// The carrier's id of the message.
        sms_sid: Option<String> = text(0, 64),
        /// Time at which it was asked for.
        created_at: Iso = iso().required(),
        /// Time at which the carrier took it; later changes of its status are not followed.
        updated_at: Iso = iso().required(),
    }
}

/// `POST /user/sms`
pub fn send(ctx: &Ctx<'_>) -> Handled {
    let new: NewMessage = ctx.body()?;
    let sender = match ctx.own(new.from) {
        Some(count) => number::sender(ctx.account(), count)?,
        None => None,
    };
    let sender = sender.ok_or_else(|| declined("From number not found"))?;
    let SmsSender { phone_number, sms_capable } = sender;
    if !sms_capable {
        return Err(declined("From number is not SMS capable").into());
    }
    let note = ctx.uuid("message");
    // The step runs again with the answer of the carrier; only its first run charges.
    if ctx.answered() == 0 {
        charge(ctx, &new, &note)?;
    }
    let told = ctx.carrier(&Ask::Message { from: &phone_number, to: &new.to, body: &new.body })?;
    settle(ctx, &new, &note, told)
}

/// What a message costs.
#[derive(Clone, Copy)]
struct Cost {
    segments: u32,
    /// Price of a segment, millionths of a dollar.
    price: i64,
}

impl Cost {
    fn micros(self) -> i64 {
        i64::from(self.segments) * self.price
    }
}

fn declined(text: &str) -> Refusal {
    Refusal::Declined(text.into())
}

fn charge(ctx: &Ctx<'_>, new: &NewMessage, note: &str) -> Result<(), Halt> {
    let account = ctx.account();
    let mut profile = Profile::of(account)?;
    let cost = Cost { segments: segments(&new.body), price: price(ctx.root(), PriceUnit::SmsSegment, None)? };
    if !profile.pay(cost.micros()) {
        return Err(declined("Insufficient balance").into());
    }
    profile.save(account)?;
    let (count, at) = account.allot(Kind::Message, ctx.now)?;
    account.put(key::unique(account.space(), Unique::Message, note.as_bytes()), count.to_be_bytes().to_vec())?;
    let shown = message(ctx, new, count, (at, at), cost, "sending".into(), None);
    Ok(account.insert(Kind::Message, count, at, &Row::open(Vec::new(), shown.to_json()))?)
}

fn message(
    ctx: &Ctx<'_>,
    new: &NewMessage,
    count: u32,
    times: (Timestamp, Timestamp),
    cost: Cost,
    status: String,
    sid: Option<String>,
) -> Message {
    Message {
        id: ctx.id(count),
        phone_number_id: new.from,
        to: new.to.clone(),
        body: new.body.clone(),
        user_id: id::user(ctx.caller().account),
        segments: cost.segments,
        segment_price: dollars(cost.price),
        total_cost: dollars(cost.micros()),
        status,
        sms_sid: sid,
        created_at: Iso(times.0),
        updated_at: Iso(times.1),
        rest: Rest::default(),
    }
}

fn settle(ctx: &Ctx<'_>, new: &NewMessage, note: &str, told: CarrierAnswer) -> Handled {
    let account = ctx.account();
    let noted = key::unique(account.space(), Unique::Message, note.as_bytes());
    let count = account.get(noted.clone())?.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)));
    let count = count.ok_or(Stop::Corrupt("a message was not noted"))?;
    let row = account.find(Kind::Message, count)?.ok_or(Stop::Corrupt("a message was not noted"))?;
    let refuse = |refusal: Refusal| Ok(refusal.reply(Form::Message, Invalid::First));
    let stored = Message::read(&row.public)?;
    // The price of the moment at which it was charged, whatever the list says now.
    let charged = Cost { segments: stored.segments, price: micros(stored.segment_price) };
    let mut profile = Profile::of(account)?;
    match told {
        CarrierAnswer::Sent { sid, status, segments } => {
            // The carrier's count of segments is what is paid, whatever was estimated.
            profile.refund(charged.micros());
            let cost = Cost { segments, ..charged };
            if !profile.pay(cost.micros()) {
                profile.state.balance = Some(0);
            }
            let times = (stored.created_at.0, ctx.now.max(stored.created_at.0));
            let sent = message(ctx, new, count, times, cost, status, Some(sid));
            let shown = Message { rest: stored.rest, ..sent };
            account.replace(Kind::Message, count, &row, &Row::open(Vec::new(), shown.to_json()))?;
            account.delete(noted)?;
            profile.save(account)?;
            Ok(Reply::ok(&message_data("SMS sent successfully", &shown)))
        }
        // It may have been sent, so it stays charged and stored.
        CarrierAnswer::Silent => {
            refuse(Refusal::BadGateway("The carrier did not answer; the message may have been sent.".into()))
        }
        told => {
            profile.refund(charged.micros());
            profile.save(account)?;
            account.remove(Kind::Message, count, &row)?;
            account.delete(noted)?;
            match told {
                CarrierAnswer::NoSuchNumber => refuse(declined("Invalid to phone number")),
                _ => refuse(Refusal::BadGateway("The carrier refused the message.".into())),
            }
        }
    }
}
