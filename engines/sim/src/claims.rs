//! The parked claim: one long poll that brings calls while there is room, and commands always.
//!
//! An engine that is full or drains claims nothing and waits for commands alone. A claim that offered room is waited for,
//! though the engine drains meanwhile: the calls that it brings are given back, where a closed connection could leave
//! them to their leases.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};

use super::Engine;
use super::call::CallInfo;
use super::desk::CallPlace;
use super::player::{self, LeftCall};
use super::script::script;
use super::script::step::{ScriptAct, ScriptStep};
use super::wire::{ClaimReply, Unanswered};

/// Least time between two claims: a service that answers at once is not polled in a tight loop.
const IDLE: Duration = Duration::from_millis(100);

/// Claims calls, each played in a task of its own, until the engine has drained.
pub async fn claim(engine: &Arc<Engine>, capacity: usize, drain: &watch::Receiver<bool>, calls: &mut JoinSet<()>) {
    let mut failures = 0;
    loop {
        while let Some(done) = calls.try_join_next() {
            ended(done);
        }
        if drains(drain) && calls.is_empty() {
            return;
        }
        let room = if drains(drain) || engine.desk.is_drained() { 0 } else { capacity.saturating_sub(calls.len()) };
        let answer = tokio::select! {
            answer = engine.wire.claim(room) => answer,
            // There is room again, or the last call has ended.
            done = next(calls), if room == 0 => {
                ended(done);
                continue;
            }
        };
        match answer {
            Ok(ClaimReply { calls: claimed, commands }) => {
                if failures > 0 {
                    tracing::info!("the service is back");
                }
                failures = 0;
                if claimed.is_empty() {
                    tokio::time::sleep(IDLE).await;
                }
                claimed.iter().for_each(|entry| start(engine, entry, drains(drain), calls));
                engine.desk.command(commands);
            }
            Err(Unanswered { status, retry_after }) => {
                if failures == 0 {
                    tracing::warn!(status, "the simulated engine cannot claim calls; it tries again");
                }
                tokio::time::sleep(engine.pace.pause(0, failures).max(retry_after)).await;
                failures = failures.saturating_add(1);
            }
        }
    }
}

fn drains(drain: &watch::Receiver<bool>) -> bool {
    *drain.borrow()
}

/// Waits for a call to end; for ever if there is none.
async fn next(calls: &mut JoinSet<()>) -> Result<(), JoinError> {
    match calls.join_next().await {
        Some(done) => done,
        None => pending().await,
    }
}

fn ended(done: Result<(), JoinError>) {
    if let Err(error) = done {
        tracing::error!(%error, "a simulated call panicked");
    }
}

fn start(engine: &Arc<Engine>, entry: &Value, drains: bool, calls: &mut JoinSet<()>) {
    let Some(call) = CallInfo::read(entry) else {
        return tracing::warn!("a claimed call has no id");
    };
    let Some(place) = engine.desk.open(call.id) else {
        return tracing::warn!(call = call.id, "a claimed call is running already");
    };
    let given_back = ScriptStep { after_ms: 0, act: ScriptAct::Release("the engine drains") };
    let steps = if drains { vec![given_back] } else { script(&call, engine.seed) };
    calls.spawn(play(Arc::clone(engine), call, steps, place));
}

async fn play(engine: Arc<Engine>, call: CallInfo, steps: Vec<ScriptStep>, place: CallPlace) {
    let (played, call) = (player::play(&engine, &call, steps, place).await, call.id);
    match played {
        Ok(()) => tracing::debug!(call, "a simulated call was played"),
        Err(left @ (LeftCall::Over | LeftCall::Gone)) => tracing::debug!(call, ?left, "a simulated call was left"),
        Err(left) => tracing::warn!(call, ?left, "a simulated call was left"),
    }
}
