//! Copies of one request with one idempotency key: concurrent, over a store that changes under each of them, with hosts
//! that die between a commit and its reply. There is one effect, and every copy gets the same answer.
//!
//! The first line of an input has the number of copies, the number of their schedule, and how many hosts die; the rest
//! is the request.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Method, Request};
use switchboard_core::http::route::{BodyKind, Who};
use switchboard_core::key::{self, Kind};
use switchboard_core::outside::{Answer, HttpIn, Work};
use switchboard_core::remote::{HostEvent, InputRun, Next, region};
use switchboard_core::service::routes::ROUTES;
use switchboard_core::step::{Input, Outcome, OwnedInput, Ticket};
use switchboard_core::time::Timestamp;
use switchboard_core::view::Scene;
use switchboard_sim::random::Random;
use switchboard_tests::house::{assistant, campaign, tool, trunk};

use super::{Seen, Target, mutated};
use crate::http::{self, Text};
use crate::layer::Layer;
use crate::mutate::index;
use crate::town::Town;
use crate::{answer, corpus};

/// Most copies of one request.
const COPIES_MAX: u64 = 5;
/// Most actions of one schedule: more means that it never ends.
const ACTIONS_MAX: usize = 20_000;
/// Ticks between two attempts.
const TICKS_MAX: usize = 1_000;
/// How long a key stays locked after a host died, seconds (docs/api.md, Idempotency), plus one.
const RELEASED_SECONDS: u64 = 61;
/// How often a client without an answer retries.
const RETRIES_MAX: usize = 3;

/// Returns requests that succeed on their own.
fn good() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("owner", "/user/tools", tool("once")),
        ("owner", "/user/assistant", assistant()),
        ("owner", "/user/knowledgebases", json!({ "name": "K" })),
        ("owner", "/user/campaigns", campaign(1)),
        ("owner", "/user/leads", json!({ "campaign_id": 1, "phone_number": "+40700000777" })),
        ("owner", "/user/make_call", json!({ "assistant_id": 1, "phone_number": "+40700000777" })),
        ("owner", "/user/do-not-call", json!({ "phone_number": "+40700000778" })),
        ("owner", "/user/api-keys", json!({ "name": "Once" })),
        ("owner", "/user/phone-numbers/purchase", json!({ "phone_number": "+14155550177" })),
        ("owner", "/user/phone-numbers/caller-ids", json!({ "phone_number": "+40700000779" })),
        ("owner", "/user/phone-numbers/sip-trunks", trunk("+40700000780")),
        (
            "owner",
            "/user/knowledgebases/1/documents",
            json!({ "name": "D", "type": "website", "url": "https://a.example" }),
        ),
        ("owner", "/user/webhook-secrets/rotate", json!({})),
        ("operator", "/admin/accounts", json!({ "email": "once@example.com", "password": "a long password" })),
        ("operator", "/admin/plans", json!({ "name": "once" })),
        ("operator", "/admin/engine-tokens", json!({ "name": "Once" })),
    ]
}

/// Target `idempotency`: concurrent copies of one request.
pub struct Copies<'t> {
    town: &'t Town,
    corpus: Vec<Vec<u8>>,
    good: Vec<(&'static str, &'static str, Value)>,
}

impl<'t> Copies<'t> {
    /// Creates the target for a town.
    pub fn new(town: &'t Town) -> Self {
        Self { town, corpus: corpus::of("idempotency"), good: good() }
    }

    fn request(&self, random: &mut Random) -> Vec<u8> {
        if random.chance(750) {
            let (token, target, body) = &self.good[index(random, self.good.len())];
            return Text::new(Method::Post, target)
                .bearer(token)
                .header("idempotency-key", b"once")
                .json(body.to_string())
                .bytes();
        }
        let routes: Vec<_> = ROUTES
            .iter()
            .filter(|route| route.method == Method::Post && matches!(route.who, Who::User | Who::Operator))
            .collect();
        let route = random.one(&routes);
        let token = if route.who == Who::Operator { "operator" } else { "owner" };
        let text = Text::new(Method::Post, &self.town.owner.path(route.paths[0]));
        let text = text.bearer(token).header("idempotency-key", b"once");
        match route.body {
            BodyKind::Json(table, _) | BodyKind::Document(table) => {
                text.json(self.town.bodies.fit(random, table).to_string()).bytes()
            }
            BodyKind::File(..) | BodyKind::Object(..) => {
                let mut text = text.header("content-type", b"text/csv");
                text.body = Some(b"phone_number\n+40700000781\n".to_vec());
                text.bytes()
            }
            BodyKind::None => text.bytes(),
        }
    }

    /// Runs copies concurrently to their end.
    fn at_once(&self, request: &Request, plan: &Plan) -> Result<Told<'_>, String> {
        let mut random = Random::new(plan.schedule);
        let mut told = Told::new(Layer::over(&self.town.store), self.town.now, plan.deaths);
        let mut running: Vec<Copy<'_>> = (0..plan.copies).map(|_| self.copy(request, &told, &mut random)).collect();
        for _ in 0..ACTIONS_MAX {
            if running.is_empty() {
                break;
            }
            let at = index(&mut random, running.len());
            match running[at].act(&mut told, &mut random)? {
                Step::Goes => {}
                Step::Ends => drop(running.swap_remove(at)),
                // The client of a dead host retries on another one.
                Step::Dies => running[at] = self.copy(request, &told, &mut random),
            }
        }
        if !running.is_empty() {
            return Err("the copies never end".into());
        }
        for _ in 0..RETRIES_MAX {
            if told.replies.iter().any(Reply::is_success) || told.died == 0 {
                break;
            }
            self.later(&mut told, &mut random)?;
            let mut copy = self.copy(request, &told, &mut random);
            while matches!(copy.act(&mut told, &mut random)?, Step::Goes) {}
        }
        Ok(told)
    }

    /// Has another host work until the key is free, which completes what a dead host began.
    fn later(&self, told: &mut Told<'_>, random: &mut Random) -> Result<(), String> {
        told.now = told.now.plus_seconds(RELEASED_SECONDS);
        told.waited += 1;
        let mut step = |told: &mut Told<'_>, input: &Input<'_>| {
            let scene = Scene { now: told.now, seed: random.seed(), view: &told.layer, careful: false };
            let output = self.town.service.step(input, &scene).map_err(|stop| format!("a job stopped: {stop:?}"))?;
            told.layer.apply(&output.changes);
            Ok::<_, String>(output)
        };
        for _ in 0..TICKS_MAX {
            let output = step(told, &Input::Tick)?;
            for send in output.sends.iter().filter(|send| send.ticket != Ticket::Exchange) {
                let answer = Outside { asked: 0, ..told.outside }.answer(&send.work);
                step(told, &Input::Answered(send.ticket.clone(), answer))?;
            }
            if output.wake.is_none_or(|at| at > told.now) {
                return Ok(());
            }
        }
        Err("the jobs never end".into())
    }

    fn copy(&self, request: &Request, told: &Told<'_>, random: &mut Random) -> Copy<'_> {
        let input = OwnedInput::Http(request.clone(), Vec::new());
        Copy { town: self.town, course: InputRun::new(input, told.now, random.seed()), event: Some(HostEvent::Begin) }
    }
}

/// How copies are run.
struct Plan {
    copies: u64,
    schedule: u64,
    deaths: u64,
}

impl Plan {
    /// Plan used when the line is not valid.
    const OTHER: Self = Self { copies: 2, schedule: 0, deaths: 1 };

    fn parse(line: &str) -> Option<Self> {
        let mut numbers = line.split(' ').map(str::parse);
        let (copies, schedule, deaths) = (numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        (1..=COPIES_MAX).contains(&copies).then_some(Self { copies, schedule, deaths })
    }
}

/// Result of all copies.
struct Told<'m> {
    layer: Layer<'m>,
    now: Timestamp,
    replies: Vec<Reply>,
    deaths_left: u64,
    died: u64,
    /// How often a client waited for the key to be free.
    waited: u64,
    outside: Outside,
}

impl<'m> Told<'m> {
    fn new(layer: Layer<'m>, now: Timestamp, deaths_left: u64) -> Self {
        Self { layer, now, replies: Vec::new(), deaths_left, died: 0, waited: 0, outside: Outside::default() }
    }

    fn dies(&mut self, random: &mut Random) -> bool {
        let dies = self.deaths_left > 0 && random.chance(500);
        if dies {
            self.deaths_left -= 1;
            self.died += 1;
        }
        dies
    }
}

/// One copy in progress.
struct Copy<'t> {
    town: &'t Town,
    course: InputRun,
    event: Option<HostEvent>,
}

enum Step {
    Goes,
    Ends,
    Dies,
}

impl Copy<'_> {
    fn act(&mut self, told: &mut Told<'_>, random: &mut Random) -> Result<Step, String> {
        let event = self.event.take().ok_or("a copy goes on after its end")?;
        let committed = matches!(event, HostEvent::Committed);
        let next = self.course.next(&self.town.service, event);
        // The commit is durable, and its reply is lost.
        if committed && told.dies(random) {
            return Ok(Step::Dies);
        }
        let holds = region::holds(&told.layer, &self.course.seen()).map_err(|stop| format!("{stop:?}"))?;
        self.event = Some(match next {
            Next::Read(_) | Next::Commit(_) if !holds => HostEvent::Changed,
            Next::Read(reads) => {
                HostEvent::Found(region::carry_out(&told.layer, &reads).map_err(|stop| format!("{stop:?}"))?)
            }
            Next::Commit(changes) => {
                told.layer.apply(&changes);
                HostEvent::Committed
            }
            Next::ReadBody(_) => HostEvent::Body(Body::Full(Vec::new())),
            Next::Perform(sends) => {
                HostEvent::Answered(sends.iter().map(|send| told.outside.answer(&send.work)).collect())
            }
            Next::Yield => HostEvent::Yielded,
            Next::Park(..) => HostEvent::Elapsed,
            Next::Done(output) => {
                let Outcome::Reply(reply) = output.outcome else { return Err("a request ends without a reply".into()) };
                told.replies.push(reply);
                return Ok(Step::Ends);
            }
            Next::Contended => {
                told.replies.extend(self.course.failed(None));
                return Ok(Step::Ends);
            }
            Next::Failed(fault) => return Err(format!("the step stopped: {fault:?}")),
        });
        Ok(Step::Goes)
    }
}

/// The outside: a carrier that sells and sends everything, and remembers what it sold.
#[derive(Default)]
struct Outside {
    /// Requests that may have an effect outside.
    asked: u64,
    /// Whether a number was sold.
    sold: bool,
}

impl Outside {
    fn answer(&mut self, asked: &Work) -> Answer {
        let Work::Http(request) = asked else { return answer::plain(asked, false) };
        let is_read = request.method == "GET";
        self.asked += u64::from(!is_read);
        self.sold |= !is_read && request.url.contains("IncomingPhoneNumbers");
        let number = json!({ "sid": "PN1", "status": "queued", "num_segments": "1", "capabilities": { "sms": true } });
        let body = if is_read {
            let owned = if self.sold { vec![number] } else { Vec::new() };
            json!({ "outgoing_caller_ids": [], "incoming_phone_numbers": owned })
        } else {
            number
        };
        Answer::Http(HttpIn {
            status: if is_read { 200 } else { 201 },
            body: body.to_string().into(),
            ..HttpIn::default()
        })
    }
}

/// Counts the rows of each kind that were added.
fn made(town: &Town, layer: &Layer<'_>) -> BTreeMap<Kind, usize> {
    let mut made = BTreeMap::new();
    for at in layer.whole().rows().keys().filter(|at| key::is_row(at) && !town.store.rows().contains_key(*at)) {
        if let Some((kind, _)) = key::read_row(at) {
            *made.entry(kind).or_default() += 1;
        }
    }
    made
}

fn body(reply: &Reply) -> Vec<u8> {
    if let Content::Json(bytes) = &reply.content { bytes.clone() } else { Vec::new() }
}

fn says(reply: &Reply, words: &str) -> bool {
    String::from_utf8_lossy(&body(reply)).contains(words)
}

/// Checks that there was one effect, and one answer for all.
fn one_effect(town: &Town, alone: &Told<'_>, told: &Told<'_>) -> Result<(), String> {
    let statuses: Vec<u16> = told.replies.iter().map(|reply| reply.status).collect();
    let good: Vec<&Reply> = told.replies.iter().filter(|reply| reply.is_success()).collect();
    let (wanted, found) = (made(town, &alone.layer), made(town, &told.layer));
    // A dead host may have executed it: an answer that shows a token is never stored (docs/api.md, Idempotency), and
    // what was begun, such as buying a number, is completed without anyone waiting for it.
    let is_there = if wanted.is_empty() {
        told.replies.last().is_some_and(|reply| says(reply, "showed a token"))
    } else {
        found == wanted
    };
    let unheard = told.died > 0 && is_there;
    if !good.is_empty() && found != wanted {
        return Err(format!("alone it makes {wanted:?}, here {found:?} ({statuses:?})"));
    }
    if good.is_empty() && found.iter().any(|(kind, count)| wanted.get(kind).is_none_or(|wanted| count > wanted)) {
        return Err(format!("without success it makes {found:?} ({statuses:?})"));
    }
    // A dead host may have asked: a request whose result is unknown is sent again.
    let (asked, once) = (told.outside.asked, alone.outside.asked);
    if asked > once * (1 + told.died) {
        return Err(format!("the outside was asked {asked} times instead of {once}"));
    }
    if good.iter().any(|reply| (reply.status, body(reply)) != (good[0].status, body(good[0]))) {
        return Err(format!("the answers differ ({statuses:?})"));
    }
    let first = |reply: &&&Reply| !reply.headers.iter().any(|(name, _)| *name == "idempotency-replayed");
    if good.iter().filter(first).count() > 1 {
        return Err(format!("it was carried out more than once ({statuses:?})"));
    }
    let succeeds = alone.replies.iter().any(Reply::is_success);
    let odd = statuses.iter().find(|status| !matches!(status, 200..=299 | 409 | 503));
    match odd {
        Some(status) if succeeds && !unheard => Err(format!("a copy is refused with {status} ({statuses:?})")),
        _ if succeeds && good.is_empty() && !unheard => Err(format!("no copy succeeds ({statuses:?})")),
        _ => Ok(()),
    }
}

impl Target for Copies<'_> {
    fn name(&self) -> &'static str {
        "idempotency"
    }

    fn draw(&self, random: &mut Random) -> Vec<u8> {
        mutated(random, &self.corpus, |random| {
            let copies = 2 + random.below(COPIES_MAX - 1);
            let plan = format!("{copies} {} {}\n", random.below(1 << 32), random.below(3));
            [plan.into_bytes(), self.request(random)].concat()
        })
    }

    fn run(&self, input: &[u8]) -> Result<Seen, String> {
        let at = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let plan = std::str::from_utf8(&input[..at]).ok().and_then(Plan::parse).unwrap_or(Plan::OTHER);
        let Some(mut request) = http::parse(&input[(at + 1).min(input.len())..], &self.town.tokens) else {
            return Ok(Seen::word("no request"));
        };
        // A login ignores the key, and so do a rotation, which ends the token of its copies, and an order to a node, which
        // only its host carries out.
        if request.method != Method::Post
            || ["login", "operator-token", "/admin/nodes/"].iter().any(|word| request.target.contains(word))
        {
            return Ok(Seen::word("no key"));
        }
        request.headers.retain(|(name, _)| *name != "idempotency-key");
        request.headers.push(("idempotency-key", b"once".to_vec()));
        let told = self.at_once(&request, &plan)?;
        let mut alone = self.at_once(&request, &Plan { copies: 1, schedule: plan.schedule, deaths: 0 })?;
        for _ in 0..told.waited {
            self.later(&mut alone, &mut Random::new(plan.schedule))?;
        }
        one_effect(self.town, &alone, &told)?;
        let status = alone.replies.first().map_or(0, |reply| reply.status);
        let path = request.target.split('?').next().unwrap_or_default();
        Ok(Seen { said: format!("{status}"), kind: format!("{path} {status} {}", told.died) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_good_request_succeeds_and_makes_or_changes_something() {
        let town = Town::new();
        let copies = Copies::new(&town);
        for (token, target, body) in &copies.good {
            let text = Text::new(Method::Post, target).bearer(token).header("idempotency-key", b"once");
            let request = http::parse(&text.json(body.to_string()).bytes(), &town.tokens).expect("a request");
            let told = copies.at_once(&request, &Plan { copies: 1, schedule: 1, deaths: 0 }).expect("an end");
            let reply = &told.replies[0];
            assert!(reply.is_success(), "{target}: {} {}", reply.status, String::from_utf8_lossy(&self::body(reply)));
            assert!(told.layer.commits > 0, "{target}");
            // Without the key, every copy has its effect.
            let free = Request {
                headers: request.headers.iter().filter(|(name, _)| *name != "idempotency-key").cloned().collect(),
                ..request
            };
            let twice = copies.at_once(&free, &Plan { copies: 2, schedule: 1, deaths: 0 }).expect("an end");
            // Unique or replaced resources have one effect even without a key.
            let one_anyway = ["rotate", "sip-trunks", "accounts", "plans"].iter().any(|part| target.contains(part));
            assert!(one_effect(&town, &told, &twice).is_err() || one_anyway, "{target}");
        }
    }
}
