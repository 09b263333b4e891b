//! What the engine is told besides its own calls' events: commands, heartbeats, drains; and tools that get lost.

use super::*;

/// Has one command arrive once a call talks, and returns what came of it.
async fn commanded(phone: &str, command: &'static str) -> SeenCall {
    let at = |_, nth| if nth == 6 { EventsFault::Command(command) } else { EventsFault::None };
    play_one(phone, at).await
}

fn ends(seen: &SeenCall) -> Vec<(&str, &str)> {
    let ends = seen.of("command").into_iter();
    ends.map(|end| (end["id"].as_str().unwrap_or_default(), end["status"].as_str().unwrap_or_default())).collect()
}

#[tokio::test]
async fn each_command_is_carried_out_and_told() {
    for (command, expected) in [
        (r#"{"id":"1","type":"say","text":"One more thing."}"#, vec!["transcript", "command"]),
        (r#"{"id":"1","type":"dtmf","digits":"12#"}"#, vec!["dtmf", "command"]),
        (
            r#"{"id":"1","type":"transfer","to":"+12025550144"}"#,
            vec!["transfer", "transfer", "command", "analysis", "recording", "ended", "quality", "usage", "cost"],
        ),
        (r#"{"id":"1","type":"end"}"#, vec!["command", "analysis", "recording", "ended", "quality", "usage", "cost"]),
        (
            r#"{"id":"1","type":"hangup"}"#,
            vec!["command", "analysis", "recording", "ended", "quality", "usage", "cost"],
        ),
    ] {
        let seen = commanded("+12025550007", command).await;
        let after = kinds(&seen).split_off(6);
        assert_eq!(&after[..expected.len()], expected, "{command}");
        assert_eq!(ends(&seen), [("1", "done")], "{command}");
    }
    let seen = commanded("+12025550007", r#"{"id":"7","type":"transfer","to":"+12025550144"}"#).await;
    assert_eq!((seen.status.as_str(), &seen.of("transfer")[1]["to"]), ("ended_by_assistant", &json!("+12025550144")));
    assert_eq!(seen.of("ended")[0]["reason"], "transferred");
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_with_a_reason_and_the_call_goes_on() {
    for command in [
        r#"{"id":"1","type":"context","text":"She is in a hurry."}"#,
        r#"{"id":"1","type":"resume"}"#,
        r#"{"id":"1","type":"whistle"}"#,
        r#"{"id":"1","type":"say"}"#,
    ] {
        let seen = commanded("+12025550001", command).await;
        assert_eq!(ends(&seen), [("1", "refused")], "{command}");
        assert!(seen.of("command")[0]["reason"].as_str().is_some_and(|reason| reason.ends_with('.')), "{command}");
        assert!(seen.status.starts_with("ended_by_"), "{command}: {}", seen.status);
    }
}

#[tokio::test]
async fn a_call_on_hold_waits_until_it_is_resumed() {
    let plan = |_, nth| match nth {
        6 => EventsFault::Command(r#"{"id":"1","type":"hold"}"#),
        8 => EventsFault::Command(r#"{"id":"2","type":"say","text":"Are you there?"}"#),
        9 => EventsFault::Command(r#"{"id":"3","type":"resume"}"#),
        _ => EventsFault::None,
    };
    let seen = play_one("+12025550001", plan).await;
    assert_eq!(&kinds(&seen)[6..11], ["hold", "command", "command", "resume", "command"], "{:?}", kinds(&seen));
    assert_eq!(ends(&seen), [("1", "done"), ("2", "refused"), ("3", "done")]);
    assert!(seen.status.starts_with("ended_by_"));
}

#[tokio::test]
async fn an_end_waits_for_the_sentence_that_is_being_said() {
    for (command, line) in [(r#"{"id":"1","type":"end","after":"sentence"}"#, 1), (r#"{"id":"1","type":"end"}"#, 0)] {
        // Behind the ninth event, a question of the customer, the assistant answers.
        let plan = move |_, nth| if nth == 9 { EventsFault::Command(command) } else { EventsFault::None };
        let seen = play_one("+12025550007", plan).await;
        let said = kinds(&seen)[9..].iter().filter(|kind| **kind == "transcript").count();
        assert_eq!((said, seen.status.as_str()), (line, "ended_by_assistant"), "{command}: {:?}", kinds(&seen));
    }
}

#[tokio::test]
async fn a_command_that_is_repeated_is_carried_out_once() {
    // Its end is not taken for a while, so that it comes with every answer.
    let plan = |_, nth| match nth {
        6 => EventsFault::Command(r#"{"id":"1","type":"dtmf","digits":"5"}"#),
        7..=9 => EventsFault::Status(503),
        _ => EventsFault::None,
    };
    let seen = play_one("+12025550012", plan).await;
    assert_eq!((seen.of("dtmf").len(), ends(&seen)), (1, vec![("1", "done")]));
}

#[tokio::test]
async fn commands_that_come_together_are_carried_out_in_turn() {
    let fake = Fake::start(vec![claimed(1, "+12025550007")], |_, _| EventsFault::None).await;
    let engine = attach(&fake, Pacing { speed: 100.0, ..pace() }, 1);
    fake.until(|state| state.calls.get(&1).is_some_and(|seen| seen.status == "in-progress")).await;
    fake.with(|state| {
        let seen = state.calls.get_mut(&1).expect("it was claimed");
        for (id, kind) in [("1", "say"), ("2", "hold"), ("3", "resume"), ("4", "dtmf")] {
            seen.commands.push(json!({ "call_id": 1, "id": id, "type": kind, "text": "Wait.", "digits": "1" }));
        }
    });
    fake.until(|state| state.calls[&1].of("command").len() == 4).await;
    // A line that is being said is cut off by a hang-up, and its command has an end too.
    fake.with(|state| {
        let seen = state.calls.get_mut(&1).expect("it was claimed");
        let text = "A line that takes long. ".repeat(20);
        seen.commands.push(json!({ "call_id": 1, "id": "5", "type": "say", "text": text }));
        seen.commands.push(json!({ "call_id": 1, "id": "hangup", "type": "hangup" }));
    });
    fake.until(|state| state.calls[&1].is_settled()).await;
    engine.stop().await;
    let seen = fake.faultless().remove(&1).expect("it was claimed");
    let expected = [("1", "done"), ("2", "done"), ("3", "done"), ("4", "done")];
    assert_eq!(&ends(&seen)[..4], expected);
    assert!(
        ends(&seen)[4..].iter().all(|end| [("5", "refused"), ("hangup", "done")].contains(end)),
        "{:?}",
        ends(&seen)
    );
    assert_eq!(ends(&seen).len(), 6);
}

/// Starts a call that talks on at a pace at which it never ends by itself.
async fn slow_call() -> (Fake, Running) {
    let fake = Fake::start(vec![claimed(1, "+12025550007")], |_, _| EventsFault::None).await;
    let engine = attach(&fake, Pacing { speed: 0.1, renew: Duration::from_millis(3), ..pace() }, 1);
    fake.until(|state| state.calls.get(&1).is_some_and(|seen| seen.status == "dialing")).await;
    (fake, engine)
}

#[tokio::test]
async fn heartbeats_renew_leases_and_bring_commands() {
    let (fake, engine) = slow_call().await;
    fake.until(|state| state.calls[&1].heartbeats >= 5).await;
    let beat = fake.with(|state| state.heartbeats.last().cloned()).expect("it was sent");
    assert_eq!((&beat["calls"], &beat["capacity"], &beat["running"]), (&json!([1]), &json!(1), &json!(1)));
    assert_eq!((&beat["load"], &beat["legs"]), (&json!(1.0), &json!(["simulated"])));
    assert!(beat["version"].is_string());
    assert_eq!(fake.with(|state| state.calls[&1].renewals), 0, "a call that is renewed sends no empty reports");
    fake.with(|state| {
        let seen = state.calls.get_mut(&1).expect("it was claimed");
        seen.commands.push(json!({ "call_id": 1, "id": "hangup", "type": "hangup" }));
    });
    fake.until(|state| state.calls[&1].is_settled()).await;
    engine.stop().await;
    let seen = fake.faultless().remove(&1).expect("it was claimed");
    assert_eq!(kinds(&seen), ["dialing", "command", "failed"]);
}

#[tokio::test]
async fn a_call_that_a_heartbeat_names_as_lost_is_left() {
    let (fake, engine) = slow_call().await;
    fake.with(|state| {
        state.lost.insert(1);
        state.queue.push_back(claimed(2, "+12025550013"));
    });
    fake.until(|state| state.calls.get(&2).is_some_and(|seen| seen.status == "released")).await;
    engine.stop().await;
    assert_eq!(kinds(&fake.faultless()[&1]), ["dialing"], "nothing more is said of it");
}

#[tokio::test]
async fn a_claim_without_room_brings_commands() {
    let (fake, engine) = slow_call().await;
    fake.with(|state| {
        state.has_heartbeats = false;
        let seen = state.calls.get_mut(&1).expect("it was claimed");
        seen.commands.push(json!({ "call_id": 1, "id": "hangup", "type": "hangup" }));
    });
    fake.until(|state| state.calls[&1].is_settled()).await;
    engine.stop().await;
    fake.faultless();
}

#[tokio::test]
async fn a_tool_whose_answer_gets_lost_is_asked_once() {
    let fake = Fake::start(vec![claimed(1, "+12025550008")], |_, _| EventsFault::None).await;
    fake.with(|state| state.lost_tools = 2);
    let engine = attach(&fake, Pacing { batch: Duration::from_hours(1), silence: Duration::from_mins(1), ..pace() }, 1);
    fake.until(|state| state.calls.get(&1).is_some_and(SeenCall::is_settled)).await;
    engine.stop().await;
    let seen = fake.faultless().remove(&1).expect("it was claimed");
    assert_eq!(seen.tools.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["look_up", "unreachable"]);
    assert!(seen.bot_lines().join("\n").contains("The system answered with status 207."));
    assert!(seen.requests <= 2, "events travel with the tools: {} requests of their own", seen.requests);
}

#[tokio::test]
async fn a_drain_lets_calls_end_and_gives_new_ones_back() {
    let fake = Fake::start(vec![claimed(1, "+12025550007")], |_, _| EventsFault::None).await;
    let engine = attach(&fake, Pacing { speed: 400.0, ..pace() }, 2);
    fake.until(|state| state.calls.get(&1).is_some_and(|seen| seen.status == "in-progress")).await;
    let Running { stop: _stop, drain, task } = engine;
    drain.send_replace(true);
    assert_eq!(task.await.expect("the engine does not panic"), Ok(()), "it ends by itself");
    let calls = fake.faultless();
    assert_eq!(calls[&1].status, "ended", "the call came to its end");
    assert!(calls.len() == 1 || calls[&2].status == "released");
}

#[tokio::test]
async fn an_engine_that_the_operator_drains_takes_calls_once_that_is_over() {
    let (fake, engine) = slow_call().await;
    fake.with(|state| state.drains = true);
    fake.until(|state| state.heartbeats.len() > 3).await;
    fake.with(|state| {
        let seen = state.calls.get_mut(&1).expect("it was claimed");
        seen.commands.push(json!({ "call_id": 1, "id": "hangup", "type": "hangup" }));
        state.queue.push_back(claimed(2, "+12025550013"));
    });
    fake.until(|state| state.calls[&1].is_settled()).await;
    let (claims, beats) = fake.with(|state| (state.empty_claims, state.heartbeats.len()));
    fake.until(|state| state.empty_claims > claims + 2 && state.heartbeats.len() > beats + 2).await;
    assert_eq!(fake.with(|state| state.calls.len()), 1, "it claims nothing");
    fake.with(|state| state.drains = false);
    fake.until(|state| state.calls.get(&2).is_some_and(|seen| seen.status == "released")).await;
    engine.stop().await;
    fake.faultless();
}

#[tokio::test]
async fn a_call_that_comes_to_an_engine_that_drains_is_given_back() {
    let fake = Fake::start(vec![], |_, _| EventsFault::None).await;
    fake.with(|state| state.parks = true);
    let Running { stop: _stop, drain, task } = attach(&fake, pace(), 2);
    fake.until(|state| state.parked > 0).await;
    drain.send_replace(true);
    fake.with(|state| state.queue.push_back(claimed(1, "+12025550001")));
    assert_eq!(task.await.expect("the engine does not panic"), Ok(()));
    assert_eq!(fake.faultless()[&1].status, "released");
}
