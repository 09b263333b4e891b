//! The heaviest operations stay within the budgets of a step, at the largest size that a plan allows.

use std::cell::Cell;
use std::ops::Range;

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::key::Key;
use switchboard_core::limits::IMPORT_SLICE_RECORDS;
use switchboard_core::limits::step::{CHANGES_MAX, READS_MAX};
use switchboard_core::memory::Memory;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::step::{Input, Outcome};
use switchboard_core::view::{Bytes, Order, Scene, Stop, View};
use switchboard_tests::cold;
use switchboard_tests::house::{House, assistant, tool, with};
use switchboard_tests::line::Line;

/// Most rows of a kind that a plan may allow (docs/api.md, Plans).
const PLAN_MAX: usize = 10_000;
/// Most documents of a knowledgebase.
const DOCUMENTS_MAX: usize = 1_000;

/// A store that counts its reads as a step's budget does.
struct Counted<'m> {
    store: &'m Memory,
    reads: Cell<usize>,
}

impl View for Counted<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.reads.set(self.reads.get() + keys.len());
        self.store.get(keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        let rows = self.store.scan(range, order, limit)?;
        self.reads.set(self.reads.get() + 1 + rows.len());
        Ok(rows)
    }

    fn admit(&self, _: Caller) -> Result<Option<Rate>, Stop> {
        Ok(None)
    }
}

/// Returns the reads and changes of one request that succeeds, without applying the changes.
fn cost(house: &mut House, method: Method, target: &str) -> (usize, usize) {
    let request = house.call(method, target).request();
    let seed = house.seed();
    let view = Counted { store: &house.store, reads: Cell::new(0) };
    let scene = Scene { now: house.now, seed, view: &view, careful: false };
    let output = house.service.step(&Input::Http(&request, &[]), &scene).expect("within budget");
    assert!(matches!(&output.outcome, Outcome::Reply(reply) if reply.status == 200), "{target}: {:?}", output.outcome);
    (view.reads.get(), output.changes.len())
}

/// Checks that a cost that grew from `small` to `large` rows stays within its budget at `most` rows.
#[track_caller]
fn within(what: &str, (small, low): (usize, usize), (large, high): (usize, usize), most: usize, budget: usize) {
    let slope = (high.saturating_sub(low)).div_ceil(large - small);
    let reached = high + slope * (most - large);
    assert!(reached < budget, "{what}: {reached} at {most} rows, the budget is {budget}");
}

#[test]
fn what_touches_every_assistant_stays_within_a_step() {
    const SIZES: [usize; 2] = [80, 240];
    let mut house = House::default();
    let tool = house.make("/user/tools", &tool("lookup"));
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let body = with(assistant(), &json!({ "tool_ids": [tool], "knowledgebase_id": base }));
    let rows = [
        (Method::Delete, format!("/user/tools/{tool}")),
        (Method::Delete, format!("/user/knowledgebases/{base}")),
        (Method::Get, "/user/assistants".to_owned()),
        (Method::Get, "/user/assistants/outbound".to_owned()),
    ];
    let mut costs = Vec::new();
    let mut made = 0;
    for size in SIZES {
        while made < size {
            house.make("/user/assistant", &body);
            made += 1;
        }
        costs.push(rows.clone().map(|(method, target)| cost(&mut house, method, &target)));
    }
    for (at, (_, target)) in rows.iter().enumerate() {
        let ((reads, changes), (more_reads, more_changes)) = (costs[0][at], costs[1][at]);
        within(&format!("reads of {target}"), (SIZES[0], reads), (SIZES[1], more_reads), PLAN_MAX, READS_MAX);
        within(&format!("changes of {target}"), (SIZES[0], changes), (SIZES[1], more_changes), PLAN_MAX, CHANGES_MAX);
    }
}

#[test]
fn a_step_goes_to_a_store_elsewhere_a_few_times() {
    let mut house = House::default();
    let body = assistant();
    // More members than the head row of a set holds by itself.
    for _ in 0..70 {
        house.make("/user/assistant", &body);
    }
    let (create, seed) = (house.post("/user/assistant", &body).request(), house.seed());
    let targets = ["/user/assistant/1", "/user/assistants/get", "/user/assistants/get?type=inbound"];
    let reads = targets.map(|target| house.call(Method::Get, target).request());
    let scene = Scene { now: house.now, seed, view: &house.store, careful: false };
    let trips = |request: &_| cold::step(&house.service, &Input::Http(request, &[]), &scene).1;
    assert_eq!((trips(&create), reads.each_ref().map(trips)), (3, [2, 3, 3]));
}

#[test]
fn a_full_knowledgebase_goes_in_one_step() {
    const SIZES: [usize; 2] = [20, 60];
    let mut house = House::default();
    let base = house.make("/user/knowledgebases", &json!({ "name": "Sites" }));
    let page = json!({ "name": "Home", "type": "website", "url": "https://example.com" });
    let mut costs = Vec::new();
    let mut made = 0;
    for size in SIZES {
        while made < size {
            house.make(&format!("/user/knowledgebases/{base}/documents"), &page);
            made += 1;
        }
        costs.push(cost(&mut house, Method::Delete, &format!("/user/knowledgebases/{base}")));
    }
    within("reads", (SIZES[0], costs[0].0), (SIZES[1], costs[1].0), DOCUMENTS_MAX, READS_MAX);
    within("changes", (SIZES[0], costs[0].1), (SIZES[1], costs[1].1), DOCUMENTS_MAX, CHANGES_MAX);
}

#[test]
fn lists_that_look_at_other_rows_stay_within_a_step() {
    const SIZES: [usize; 2] = [30, 90];
    let mut house = House::default();
    let rows = ["/user/knowledgebases", "/user/assistants/phone-numbers", "/user/phone-numbers/all"];
    let mut costs = Vec::new();
    let mut made = 0;
    for size in SIZES {
        while made < size {
            house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
            house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": format!("+4070000{made:04}") }));
            made += 1;
        }
        costs.push(rows.map(|target| cost(&mut house, Method::Get, target).0));
    }
    for (at, target) in rows.iter().enumerate() {
        within(&format!("reads of {target}"), (SIZES[0], costs[0][at]), (SIZES[1], costs[1][at]), PLAN_MAX, READS_MAX);
    }
}

/// A slice of an import must leave room in its step for this many times its own cost.
const SLICE_ROOM: usize = 4;

#[test]
fn a_slice_of_an_import_leaves_room() {
    let contacts = |n: usize| {
        let contact = |at| json!({ "phone_number": format!("+4071{n:03}{at:02}") });
        json!((0..10).map(contact).collect::<Vec<_>>())
    };
    // Largest slices: all records new, all already present, or all wrong.
    let fresh = |n: usize| json!({ "phone_number": format!("+4072{n:05}"), "secondary_contacts": contacts(n) });
    let same = |n: usize| with(fresh(n), &json!({ "phone_number": "+40700000001", "allow_dupplicate": n < 300 }));
    let bad =
        |n: usize| json!({ "phone_number": n, "variables": { "a": null, "b": [] }, "secondary_contacts": contacts(n) });
    for line in [&fresh as &dyn Fn(usize) -> serde_json::Value, &same, &bad] {
        let mut house = House::default();
        let id = house.make("/user/assistant", &assistant());
        let id = house.make("/user/campaigns", &json!({ "name": "Spring", "assistant_id": id }));
        let file = (0..600).map(|n| line(n).to_string()).collect::<Vec<_>>().join("\n");
        let call = house.call(Method::Post, &format!("/user/leads/import?campaign_id={id}"));
        let started = call.header("content-type", "application/x-ndjson").body(file.into_bytes()).send().expect(202);
        let path = format!("/user/leads/imports/{}", started.id());
        let mut slices = 0;
        while house.get(&path).json["data"]["status"] == "processing" {
            let seed = house.seed();
            let view = Counted { store: &house.store, reads: Cell::new(0) };
            let scene = Scene { now: house.now, seed, view: &view, careful: false };
            let changes = house.service.step(&Input::Tick, &scene).expect("within budget").changes;
            assert!(view.reads.get() * SLICE_ROOM < READS_MAX, "{} reads", view.reads.get());
            assert!(changes.len() * SLICE_ROOM < CHANGES_MAX, "{} changes", changes.len());
            house.store.apply(&changes);
            slices += 1;
        }
        assert!(slices >= 600 / IMPORT_SLICE_RECORDS, "{slices} slices");
    }
}

/// Returns the reads and changes of one step, without applying them.
fn cost_of(house: &mut House, input: &Input<'_>) -> (usize, usize) {
    let seed = house.seed();
    let view = Counted { store: &house.store, reads: Cell::new(0) };
    let scene = Scene { now: house.now, seed, view: &view, careful: false };
    let output = house.service.step(input, &scene).expect("within budget");
    let cost = (view.reads.get(), output.changes.len());
    house.store.apply(&output.changes);
    cost
}

/// The largest claim, report and end of a call stay far below a step's budgets.
#[test]
fn what_engines_do_stays_within_a_step() {
    let mut house = House::default();
    let tools: Vec<u64> = (0..50_u8)
        .map(|n| {
            house
                .make("/user/tools", &tool(&format!("tool_{}{}", char::from(b'a' + n / 26), char::from(b'a' + n % 26))))
        })
        .collect();
    let id = house.make("/user/assistant", &with(assistant(), &json!({ "tool_ids": tools })));
    for _ in 0..40 {
        house.make_call(id);
    }
    let line = Line::attach(&mut house);
    let body = json!({ "engine": "test", "capacity": 1_000 });
    let claim = house.post("/engine/claim", &body).token(&line.token).request();
    let (reads, changes) = cost_of(&mut house, &Input::Http(&claim, &[]));
    assert!(reads < READS_MAX / 4 && changes < CHANGES_MAX / 4, "a claim: {reads} reads, {changes} changes");
    // A call with as many events as are stored, ended in one request of a hundred.
    let said: Vec<Value> = std::iter::once(json!({ "seq": 1, "type": "answered" }))
        .chain((2..=100).map(|seq| json!({ "seq": seq, "type": "transcript", "sender": "bot", "text": "x" })))
        .collect();
    line.send(&mut house, 1, &said).expect(200);
    for start in (101..10_001_u64).step_by(100) {
        let more: Vec<Value> = (start..start + 100)
            .map(|seq| json!({ "seq": seq, "type": "transcript", "sender": "human", "text": "y" }))
            .collect();
        line.send(&mut house, 1, &more).expect(200);
    }
    let mut last: Vec<Value> =
        (10_001..10_100_u64).map(|seq| json!({ "seq": seq, "type": "dtmf", "digits": "1" })).collect();
    last.push(json!({ "seq": 10_100, "type": "ended" }));
    let end = house.post("/engine/calls/1/events", &json!({ "events": last })).token(&line.token).request();
    let (reads, changes) = cost_of(&mut house, &Input::Http(&end, &[]));
    assert!(reads < READS_MAX / 2 && changes < CHANGES_MAX / 4, "an end: {reads} reads, {changes} changes");
    house.tick();
    let shown = house.get("/user/calls/1").json;
    assert_eq!(
        (&shown["status"], shown["transcript"].as_str().map(|text| text.lines().count() > 9_000)),
        (&json!("completed"), Some(true))
    );
    let (reads, changes) = cost(&mut house, Method::Delete, "/user/calls/1");
    assert!(reads < READS_MAX / 2 && changes < CHANGES_MAX / 4, "a deletion: {reads} reads, {changes} changes");
}

/// A run of the dialer costs no more in a campaign with many leads.
#[test]
fn a_dialers_run_stays_within_a_step() {
    let mut costs = Vec::new();
    for leads in [100, 1_000] {
        let mut house = House::default();
        let id = house.make("/user/assistant", &assistant());
        house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
        let campaign =
            house.make("/user/campaigns", &json!({ "name": "C", "assistant_id": id, "max_calls_in_parallel": 10 }));
        for n in 0..leads {
            house.make("/user/lead", &json!({ "campaign_id": campaign, "phone_number": format!("+407{n:08}") }));
        }
        house
            .post("/user/campaigns/update-status", &json!({ "campaign_id": campaign, "action": "start" }))
            .send()
            .expect(200);
        costs.push(cost_of(&mut house, &Input::Tick));
    }
    let [(few, _), (many, changes)] = costs[..] else { panic!("two sizes") };
    assert!(many < READS_MAX / 4 && changes < CHANGES_MAX / 4, "{many} reads, {changes} changes");
    assert!(many < few * 2, "{few} reads with a hundred leads, {many} with a thousand");
}

#[test]
fn a_token_that_cannot_be_real_is_refused_without_a_read() {
    let mut house = House::default();
    let key = house.key.clone();
    let last = if key.ends_with('0') { '1' } else { '0' };
    for (token, reads) in [(format!("{}{last}", &key[..key.len() - 1]), 0..1), ("nonsense".into(), 0..1), (key, 1..9)] {
        let request = house.call(Method::Get, "/user/me").token(&token).request();
        let seed = house.seed();
        let view = Counted { store: &house.store, reads: Cell::new(0) };
        let scene = Scene { now: house.now, seed, view: &view, careful: false };
        house.service.step(&Input::Http(&request, &[]), &scene).expect("within budget");
        assert!(reads.contains(&view.reads.get()), "{token}: {} reads", view.reads.get());
    }
}
