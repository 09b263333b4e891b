//! Scripts plot by plot, and properties that hold for all of them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::lines::{LookupAnswer, NOTICE, with_answer};
use super::step::{
    CallCost, CallProgress, CallSentiment, Party, ScriptAct, ScriptStep, ScriptedAnalysis, Speaker, SpokenLine,
    cut_short,
};
use super::*;
use crate::entry::claimed;

/// Seeds tried per property.
const SEEDS: std::ops::Range<u64> = 0..40;
/// A number for each plot.
const PHONES: [&str; 14] = [
    "+12025550001",
    "+12025550002",
    "+12025550003",
    "+12025550004",
    "+12025550005",
    "+12025550006",
    "+12025550007",
    "+12025550008",
    "+12025550009",
    "+12025550010",
    "+12025550011",
    "+12025550012",
    "+12025550013",
    "+12025554711",
];

fn call(phone: &str, change: impl FnOnce(&mut Value)) -> CallInfo {
    let mut entry = claimed(7, phone);
    change(&mut entry);
    CallInfo::read(&entry).expect("it has an id")
}

fn plain(phone: &str) -> CallInfo {
    call(phone, |_| {})
}

fn analysis(steps: &[ScriptStep]) -> Option<&ScriptedAnalysis> {
    steps.iter().find_map(|step| match &step.act {
        ScriptAct::Analysis(analysis) => Some(analysis),
        _ => None,
    })
}

/// Returns how a call went: who picked up and how it ended.
fn outcome(steps: &[ScriptStep]) -> String {
    let mut words = Vec::new();
    for step in steps {
        match &step.act {
            ScriptAct::Dial => words.push("dial".to_string()),
            ScriptAct::Release(_) => words.push("release".into()),
            ScriptAct::Ring => words.push("ring".into()),
            ScriptAct::Detect(by) => words.push(format!("detected {}", by.word())),
            ScriptAct::Answer(by) => words.push(by.word().into()),
            ScriptAct::End { by, reason } => words.push(format!("{} {reason}", by.word())),
            ScriptAct::Fail(reason) => words.push(format!("fail {reason}")),
            _ => {}
        }
    }
    words.join(", ")
}

/// Returns what a side says, without the notice.
fn lines_of(steps: &[ScriptStep], who: Speaker) -> Vec<&str> {
    steps
        .iter()
        .filter_map(|step| match &step.act {
            ScriptAct::Say(line) if line.speaker == who && line.text != NOTICE => Some(line.text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn each_number_has_its_plot() {
    for (digits, expected, success, sentiment) in [
        ("0002", "dial, fail busy", None, None),
        ("0003", "dial, ring, fail no-answer", None, None),
        (
            "0004",
            "dial, ring, unknown, detected machine, assistant voicemail",
            Some(None),
            Some(CallSentiment::Neutral),
        ),
        ("0005", "dial, ring, human, customer hung-up", Some(Some(false)), Some(CallSentiment::Negative)),
        ("0006", "dial, fail carrier-error", None, None),
        ("0007", "dial, ring, human, service max-duration", Some(None), Some(CallSentiment::Neutral)),
        ("0009", "dial, ring, human, assistant transferred", Some(Some(true)), Some(CallSentiment::Positive)),
        ("0011", "dial, ring, human", None, None),
        ("0012", "dial, ring, human, customer hung-up", Some(Some(false)), Some(CallSentiment::Negative)),
        ("0013", "release", None, None),
    ] {
        for seed in SEEDS {
            let steps = script(&plain(&format!("+1202555{digits}")), seed);
            assert_eq!(outcome(&steps), expected, "{digits}, seed {seed}");
            assert_eq!(analysis(&steps).map(|analysis| analysis.success), success, "{digits}, seed {seed}");
            assert_eq!(analysis(&steps).map(|analysis| analysis.sentiment), sentiment, "{digits}, seed {seed}");
        }
    }
}

#[test]
fn every_other_number_talks_and_agrees() {
    let mut ends = BTreeSet::new();
    for phone in
        ["+12025550001", "+12025550000", "+12025550014", "+12025550099", "+12025550100", "+4470", "+12025559999"]
    {
        for seed in SEEDS {
            let steps = script(&plain(phone), seed);
            let analysis = analysis(&steps).expect("it was analysed");
            assert_eq!(
                (analysis.success, analysis.sentiment),
                (Some(true), CallSentiment::Positive),
                "{phone}, seed {seed}"
            );
            assert!(lines_of(&steps, Speaker::Human).len() >= 4, "{phone}, seed {seed}");
            ends.insert(outcome(&steps));
        }
    }
    let expected = ["dial, ring, human, assistant end-call", "dial, ring, human, customer hung-up"];
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), expected);
}

/// Whatever happens in a call: its first line says what plays it, once, at the moment of the answer.
#[test]
fn every_answered_call_begins_with_what_it_is() {
    for phone in PHONES {
        for seed in SEEDS {
            let steps = script(&plain(phone), seed);
            let said: Vec<_> = steps.iter().filter(|step| matches!(step.act, ScriptAct::Say(_))).collect();
            let is_notice = |step: &ScriptStep| {
                step.act == ScriptAct::Say(SpokenLine { text: NOTICE.into(), ..SpokenLine::default() })
            };
            let answered = steps.iter().position(|step| matches!(step.act, ScriptAct::Answer(_)));
            assert_eq!(said.first().is_some_and(|step| is_notice(step)), answered.is_some(), "{phone}, seed {seed}");
            assert_eq!(said.iter().skip(1).filter(|step| is_notice(step)).count(), 0, "{phone}, seed {seed}");
            let behind = answered.map(|at| (&steps[at + 1].act, steps[at + 1].after_ms));
            assert!(behind.is_none_or(|(act, after)| *act == said[0].act && after == 0), "{phone}, seed {seed}");
        }
    }
    assert!(["simulated", "script", "no prompt", "no model"].iter().all(|word| NOTICE.contains(word)));
}

#[test]
fn a_call_without_a_number_talks_too() {
    let web = call("", |entry| {
        entry["call"]["client_phone_number"] = Value::Null;
        entry["call"]["type"] = "web".into();
    });
    assert!(outcome(&script(&web, 1)).starts_with("unknown, "), "a web call is not dialed and does not ring");
}

#[test]
fn the_same_seed_gives_the_same_script() {
    for phone in PHONES {
        let call = plain(phone);
        for seed in SEEDS {
            assert_eq!(script(&call, seed), script(&call, seed), "{phone}, seed {seed}");
        }
    }
    let call = plain("+12025554711");
    let said = |call: &CallInfo, seed| lines_of(&script(call, seed), Speaker::Human).join("\n");
    let by_seed: BTreeSet<String> = SEEDS.map(|seed| said(&call, seed)).collect();
    let by_call: BTreeSet<String> = (1..40).map(|id| said(&CallInfo { id, ..call.clone() }, 1)).collect();
    assert!(by_seed.len() > 30 && by_call.len() > 30, "{} and {}", by_seed.len(), by_call.len());
}

#[test]
fn what_every_script_keeps_to() {
    for phone in PHONES {
        for seed in SEEDS {
            let steps = script(&plain(phone), seed);
            let mut progress = CallProgress::default();
            for step in &steps {
                let (answered, over) = (progress.talked_ms.is_some(), progress.over);
                let fits = match &step.act {
                    ScriptAct::Dial | ScriptAct::Ring | ScriptAct::Answer(_) => !answered && !over,
                    ScriptAct::Fail(_) => !over,
                    ScriptAct::Release(_) => steps.len() == 1,
                    ScriptAct::Quality(_) | ScriptAct::Usage(_) | ScriptAct::Cost(_) => over,
                    _ => answered && !over,
                };
                assert!(fits, "{step:?} of {phone}, seed {seed}");
                progress = progress.after(step);
            }
            assert_eq!(progress.over, !phone.ends_with("0011"), "{phone}, seed {seed}");
            assert!(progress.talked_ms.is_none_or(|talked| talked <= 600_000), "{phone}, seed {seed}");
        }
    }
}

#[test]
fn no_placeholder_is_ever_spoken() {
    for phone in PHONES {
        for seed in SEEDS {
            let call = call(phone, |entry| {
                entry["call"]["variables"]["customer_name"] = "{{x}} {}}{ {{".into();
                entry["assistant"]["greeting"] = "{{customer_name}}{{nobody_knows}} hello {{".into();
                entry["assistant"]["voice_mail_message"] = "{{ company }} calls {{{{again}}}}".into();
            });
            for step in script(&call, seed) {
                if let ScriptAct::Say(SpokenLine { text: line, .. }) = step.act {
                    assert!(!line.contains("{{") && !line.contains("}}"), "{line:?} of {phone}, seed {seed}");
                    assert!(!line.contains("{customer}") && !line.is_empty(), "{line:?} of {phone}, seed {seed}");
                }
            }
        }
    }
}

#[test]
fn every_type_of_the_schema_is_filled() {
    let names = [
        "full_name",
        "email",
        "phone",
        "day",
        "start_time",
        "address",
        "city",
        "reason",
        "summary",
        "mood",
        "outcome",
        "xyz",
    ];
    let numbers = ["rating", "price", "age", "percent", "guests"];
    for (phone, agreed) in
        [("+12025554711", true), ("+12025550012", false), ("+12025550004", false), ("+12025550005", false)]
    {
        let call = call(phone, |entry| {
            let of = |kind: &'static str| move |name: &&str| json!({ "name": name, "type": kind, "description": "Something to know" });
            let mut schema: Vec<Value> = names.iter().map(of("string")).collect();
            schema.extend(numbers.iter().map(of("number")));
            schema.extend(["booked", "ticket_open"].iter().map(of("bool")));
            entry["assistant"]["post_call_schema"] = schema.into();
        });
        for seed in SEEDS {
            let steps = script(&call, seed);
            let filled = &analysis(&steps).expect("it was analysed").variables;
            assert_eq!(filled.len(), names.len() + numbers.len() + 2, "{phone}, seed {seed}");
            assert!(names.iter().all(|name| filled[*name].as_str().is_some_and(|text| !text.is_empty())), "{filled:?}");
            assert!(numbers.iter().all(|name| filled[*name].is_number()), "{filled:?}");
            assert_eq!((&filled["booked"], &filled["ticket_open"]), (&json!(agreed), &json!(agreed)), "{phone}");
            if agreed {
                assert_eq!(filled["full_name"], "Ada Park");
                assert_eq!(filled["email"], "ada.park@example.com");
                assert_eq!(filled["phone"], phone);
                assert_eq!(filled["day"], "2026-02-01", "the day after the call");
                assert!(filled["rating"].as_u64().is_some_and(|rating| (7..=10).contains(&rating)));
            }
        }
    }
}

#[test]
fn what_the_call_knows_is_taken_where_its_type_fits() {
    let call = call("+12025554711", |entry| {
        entry["call"]["variables"] = json!({ "rating": 3, "visit_date": 12, "agreed": "yes" });
    });
    let steps = script(&call, 1);
    let filled = &analysis(&steps).expect("it was analysed").variables;
    assert_eq!((&filled["rating"], &filled["agreed"]), (&json!(3), &json!(true)));
    assert!(filled["visit_date"].is_string());
    // A customer who refuses has agreed to nothing, whatever the variables say.
    let refuses = self::call("+12025550012", |entry| entry["call"]["variables"]["agreed"] = true.into());
    let steps = script(&refuses, 1);
    assert_eq!(analysis(&steps).expect("it was analysed").variables["agreed"], false);
}

#[test]
fn noted_values_were_said() {
    for seed in SEEDS {
        let steps = script(&plain("+12025554711"), seed);
        let filled = &analysis(&steps).expect("it was analysed").variables;
        let said = lines_of(&steps, Speaker::Human).join("\n");
        let date = filled["visit_date"].as_str().expect("a text");
        assert!(said.contains(date) && said.contains(&filled["rating"].to_string()), "{said}, seed {seed}");
    }
}

#[test]
fn the_assistant_greets_with_the_customers_name() {
    let steps = script(&plain("+12025550001"), 1);
    assert_eq!(lines_of(&steps, Speaker::Bot)[0], "Hello Ada Park, this is the front desk.");
    let waits = call("+12025550001", |entry| entry["assistant"]["wait_for_customer"] = true.into());
    let first = script(&waits, 1).into_iter().find_map(|step| match step.act {
        ScriptAct::Say(line) if line.text != NOTICE => Some(line.speaker),
        _ => None,
    });
    assert_eq!(first, Some(Speaker::Human));
}

#[test]
fn a_name_that_nobody_gave_is_asked_for() {
    let call = call("+12025550001", |entry| {
        entry["call"]["variables"] = json!({});
        entry["assistant"]["variables"] = json!({});
    });
    for seed in SEEDS {
        let steps = script(&call, seed);
        let learned = steps.iter().find_map(|step| match &step.act {
            ScriptAct::Variables(variables) => variables["customer_name"].as_str(),
            _ => None,
        });
        let name = learned.expect("it was learned");
        assert!(lines_of(&steps, Speaker::Human).iter().any(|line| line.contains(name)), "{name}, seed {seed}");
    }
    let known = script(&plain("+12025550001"), 1);
    assert!(!known.iter().any(|step| matches!(step.act, ScriptAct::Variables(_))));
}

fn tools_of(steps: &[ScriptStep]) -> Vec<&str> {
    steps
        .iter()
        .filter_map(|step| match &step.act {
            ScriptAct::Tool { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn tools_are_asked_with_what_their_schema_wants() {
    let steps = script(&plain("+12025550008"), 3);
    assert_eq!(tools_of(&steps), ["look_up", "unreachable"], "a built-in function is no tool");
    let arguments = steps.iter().find_map(|step| match &step.act {
        ScriptAct::Tool { name, arguments } if name == "look_up" => Some(Value::Object(arguments.clone())),
        _ => None,
    });
    assert_eq!(arguments, Some(json!({ "ticket": 41, "email": "ada.park@example.com", "urgent": true })));
    for seed in SEEDS {
        assert_eq!(tools_of(&script(&plain("+12025550001"), seed)).len(), 1, "seed {seed}");
    }
    let without = call("+12025550008", |entry| entry["assistant"]["functions"] = json!([]));
    assert!(tools_of(&script(&without, 1)).is_empty());
}

#[test]
fn arguments_of_every_json_type() {
    let call = call("+12025550008", |entry| {
        entry["assistant"]["functions"] = json!([{ "name": "all", "parameters": { "properties": {
            "size": { "type": "string", "enum": ["small", "large"] },
            "count": { "type": "integer" },
            "maybe": { "type": ["boolean", "null"] },
            "rows": { "type": "array" },
            "more": { "type": "object" },
            "free": {},
        } } }, { "name": "none" }, { "name": "../bad" }]);
    });
    let steps = script(&call, 1);
    assert_eq!(tools_of(&steps), ["all", "none"], "a name that is no path segment is left out");
    let Some(ScriptAct::Tool { arguments, .. }) =
        steps.iter().map(|step| &step.act).find(|act| matches!(act, ScriptAct::Tool { .. }))
    else {
        panic!("a tool is asked")
    };
    assert!(["small", "large"].contains(&arguments["size"].as_str().unwrap_or("")));
    assert!(arguments["count"].is_u64() && arguments["free"].is_string());
    assert_eq!((&arguments["maybe"], &arguments["rows"], &arguments["more"]), (&json!(true), &json!([]), &json!({})));
}

#[test]
fn where_calls_are_transferred_to() {
    for (tools, expected) in [
        (json!([{ "type": "call_transfer", "phone_number": "+12025550111" }]), Some("+12025550111")),
        (json!([{ "type": "call_transfer", "custom": true }]), Some("+12025550100")),
        (json!([]), None),
    ] {
        let call = call("+12025550009", |entry| entry["assistant"]["tools"] = tools);
        let steps = script(&call, 1);
        let to = steps.iter().find_map(|step| match &step.act {
            ScriptAct::Transfer(to, TransferState::Accepted) => Some(to.as_str()),
            _ => None,
        });
        assert_eq!(to, expected);
        assert_eq!(analysis(&steps).and_then(|analysis| analysis.success), Some(expected.is_some()));
    }
}

#[test]
fn where_knowledge_comes_from() {
    let asks = |steps: &[ScriptStep]| steps.iter().filter(|step| matches!(step.act, ScriptAct::Knowledge(_))).count();
    assert_eq!(asks(&script(&plain("+12025550010"), 1)), 1);
    let prompt =
        call("+12025550010", |entry| entry["assistant"]["knowledge"] = "Open   from nine.\nClosed on Sundays.".into());
    let steps = script(&prompt, 1);
    assert_eq!(asks(&steps), 0);
    assert!(lines_of(&steps, Speaker::Bot).iter().any(|line| line.ends_with("Open from nine. Closed on Sundays.")));
    let none = call("+12025550010", |entry| entry["assistant"]["knowledgebase_id"] = Value::Null);
    assert_eq!(asks(&script(&none, 1)), 0);
}

#[test]
fn voicemail_gets_the_message() {
    let ended = script(&plain("+12025550004"), 1);
    assert_eq!(lines_of(&ended, Speaker::Bot), ["Please call Ada Park back."]);
    let goes_on = call("+12025550004", |entry| {
        entry["assistant"]["end_call_on_voicemail"] = 0.into();
        entry["assistant"]["voice_mail_message"] = Value::Null;
    });
    let steps = script(&goes_on, 1);
    assert_eq!(outcome(&steps), "dial, ring, unknown, detected machine, customer voicemail");
    assert_eq!(lines_of(&steps, Speaker::Bot), ["Hello Ada Park, this is the front desk."]);
}

#[test]
fn it_rings_as_long_as_the_assistant_says() {
    for seconds in [1, 7, 60] {
        let ringing = |phone: &str| call(phone, |entry| entry["assistant"]["ringing_time"] = seconds.into());
        assert_eq!(script(&ringing("+12025550003"), 1)[2].after_ms, seconds * 1_000);
        for seed in SEEDS {
            assert!(script(&ringing("+12025550001"), seed)[2].after_ms < seconds * 1_000, "seed {seed}");
        }
    }
}

#[test]
fn a_recording_only_where_it_is_recorded() {
    for (record, count) in [(true, 1), (false, 0)] {
        let call = call("+12025550001", |entry| entry["assistant"]["record"] = record.into());
        let steps = script(&call, 1);
        assert_eq!(steps.iter().filter(|step| matches!(step.act, ScriptAct::Recording(_))).count(), count);
    }
}

#[test]
fn costs_follow_the_talk() {
    for (talked_ms, carrier_micros, total_micros) in
        [(0, 0, 0), (1, 200, 1_500), (1_000, 200, 1_500), (60_001, 12_200, 91_500)]
    {
        assert_eq!(CallCost::of(talked_ms), CallCost { carrier_micros, total_micros });
    }
    for seed in SEEDS {
        let steps = script(&plain("+12025550001"), seed);
        let talked =
            steps.iter().fold(CallProgress::default(), CallProgress::after).talked_ms.expect("it was answered");
        assert_eq!(steps.last().map(|step| &step.act), Some(&ScriptAct::Cost(CallCost::of(talked))), "seed {seed}");
    }
    assert!(!script(&plain("+12025550003"), 1).iter().any(|step| matches!(step.act, ScriptAct::Cost(_))));
}

#[test]
fn no_talk_is_longer_than_allowed() {
    for (phone, max) in [("+12025550007", 600), ("+12025550007", 1_200), ("+12025550007", 20), ("+12025550001", 20)] {
        for seed in SEEDS {
            let call = call(phone, |entry| entry["assistant"]["max_duration"] = max.into());
            let steps = script(&call, seed);
            let talked = steps.iter().fold(CallProgress::default(), CallProgress::after).talked_ms;
            assert_eq!(talked, Some(max * 1_000), "{phone}, seed {seed}");
            assert_eq!(outcome(&steps), "dial, ring, human, service max-duration");
            assert_eq!(analysis(&steps).map(|analysis| analysis.success), Some(None), "there is no verdict");
        }
    }
}

#[test]
fn a_call_can_be_cut_short_anywhere() {
    for phone in PHONES {
        let steps = script(&plain(phone), 5);
        let mut progress = CallProgress::default();
        for (at, step) in steps.iter().enumerate() {
            if progress.over {
                break;
            }
            let rest = cut_short(&steps[at..], progress, Party::Service, "hangup");
            let end = rest
                .iter()
                .find(|step| matches!(step.act, ScriptAct::End { .. } | ScriptAct::Fail(_)))
                .map(|step| &step.act);
            let expected = match progress.talked_ms {
                Some(_) => ScriptAct::End { by: Party::Service, reason: "hangup" },
                None => ScriptAct::Fail("hangup"),
            };
            assert_eq!(end, Some(&expected), "{phone} at {at}");
            assert!(
                rest.iter().all(|step| step.after_ms == 0 && !matches!(step.act, ScriptAct::Say(_))),
                "{phone} at {at}"
            );
            progress = progress.after(step);
        }
    }
}

/// A timeline has what that of a real call has: turns with their lines, how quick they were, the line and its use.
#[test]
fn a_talk_is_measured() {
    for seed in SEEDS {
        let steps = script(&plain("+12025550001"), seed);
        let mut turn = 0;
        for (at, step) in steps.iter().enumerate() {
            let ScriptAct::Say(SpokenLine { speaker, turn: Some(said), confidence, .. }) = &step.act else { continue };
            assert!(*said == turn || *said == turn + 1, "turns are counted: {said} after {turn}, seed {seed}");
            let answers = *speaker == Speaker::Bot
                && steps[..at].iter().rev().find_map(|step| match &step.act {
                    ScriptAct::Say(line) if line.turn.is_some() => Some(line.speaker),
                    _ => None,
                }) == Some(Speaker::Human);
            let measured = match steps.get(at + 1).map(|step| &step.act) {
                Some(ScriptAct::Metrics(times)) => Some(times.turn),
                _ => None,
            };
            assert_eq!(measured, answers.then_some(*said), "an answer is measured, seed {seed}");
            assert_eq!(*confidence > 0, *speaker == Speaker::Human);
            turn = *said;
        }
        assert!(turn >= 3, "seed {seed}");
        let used = steps.iter().find_map(|step| match step.act {
            ScriptAct::Usage(usage) => Some(usage),
            _ => None,
        });
        let used = used.expect("it was used");
        assert!(used.heard_ms > 5_000 && used.line_ms > used.heard_ms && used.tokens_in > used.tokens_out, "{used:?}");
        let characters: usize = lines_of(&steps, Speaker::Bot).iter().map(|line| line.chars().count()).sum();
        assert_eq!(used.spoken_characters as usize, characters, "seed {seed}");
    }
    let refused = script(&plain("+12025550012"), 1);
    assert!(refused.iter().any(|step| matches!(&step.act, ScriptAct::Say(line) if line.is_interrupted)));
}

#[test]
fn answers_are_mentioned() {
    for (answer, expected) in [
        (LookupAnswer::Tool(Some(207)), "Done. The system answered with status 207."),
        (LookupAnswer::Tool(None), "Done. The system could not be reached."),
        (LookupAnswer::Knowledge(Some("We open at nine.".into())), "Done. Here is what it says: We open at nine."),
        (LookupAnswer::Knowledge(None), "Done. I found nothing about that."),
    ] {
        assert_eq!(with_answer("Done.", &answer), expected);
    }
}

#[test]
fn an_entry_without_members_still_has_a_script() {
    let bare = CallInfo::read(&json!({ "call": { "id": 3 } })).expect("it has an id");
    assert!(analysis(&script(&bare, 1)).is_some_and(|analysis| analysis.variables.is_empty()));
    for entry in [json!({}), json!({ "call": { "id": 0 } }), json!({ "call": { "id": "x" } }), json!(null)] {
        assert_eq!(CallInfo::read(&entry), None);
    }
}
