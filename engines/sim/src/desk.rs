//! The calls that an engine carries, and the way to each: what claims and heartbeats bring for a call reaches its
//! player here.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::command::EngineCommand;

/// Most messages that wait for a player; more are dropped, for the service sends commands again.
const MESSAGES_MAX: usize = 64;

/// What a player is told from outside its call.
#[derive(Clone, Debug, PartialEq)]
pub enum CallMessage {
    /// The service has a command.
    Command(EngineCommand),
    /// A heartbeat has renewed the lease.
    Renewed,
    /// The call is not this engine's any more.
    Lost,
}

/// The running calls by id.
#[derive(Debug, Default)]
pub struct CallDesk {
    calls: Mutex<BTreeMap<u64, Sender<CallMessage>>>,
    is_drained: AtomicBool,
}

/// A call's place at the desk, which it leaves when this is dropped.
#[derive(Debug)]
pub struct CallPlace {
    desk: Arc<CallDesk>,
    call: u64,
    /// What the call is told.
    pub messages: Receiver<CallMessage>,
}

impl Drop for CallPlace {
    fn drop(&mut self) {
        self.desk.locked().remove(&self.call);
    }
}

impl CallDesk {
    /// Adds a call; `None` if it is running already.
    pub fn open(self: &Arc<Self>, call: u64) -> Option<CallPlace> {
        let mut calls = self.locked();
        if calls.contains_key(&call) {
            return None;
        }
        let (sender, messages) = channel(MESSAGES_MAX);
        calls.insert(call, sender);
        Some(CallPlace { desk: Arc::clone(self), call, messages })
    }

    /// Notes whether the operator drains the engine.
    pub fn drain(&self, is_drained: bool) {
        self.is_drained.store(is_drained, Ordering::Relaxed);
    }

    /// Returns whether the operator drains the engine: it takes no calls until that is over.
    pub fn is_drained(&self) -> bool {
        self.is_drained.load(Ordering::Relaxed)
    }

    /// Returns the ids of the running calls.
    pub fn calls(&self) -> Vec<u64> {
        self.locked().keys().copied().collect()
    }

    /// Tells a call something; one that is not here, or does not listen, is not told.
    pub fn tell(&self, call: u64, message: CallMessage) {
        if let Some(sender) = self.locked().get(&call) {
            let _ = sender.try_send(message);
        }
    }

    /// Hands commands to their calls.
    pub fn command(&self, commands: Vec<EngineCommand>) {
        for command in commands {
            self.tell(command.call, CallMessage::Command(command));
        }
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<u64, Sender<CallMessage>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_open_once_and_is_told_a_bounded_number_of_things() {
        let desk = Arc::new(CallDesk::default());
        let mut place = desk.open(4).expect("it is new");
        let other = desk.open(5).expect("it is new");
        assert!(desk.open(4).is_none());
        assert_eq!(desk.calls(), [4, 5]);
        for _ in 0..1_000 {
            desk.tell(4, CallMessage::Renewed);
        }
        desk.tell(99, CallMessage::Lost);
        let told = std::iter::from_fn(|| place.messages.try_recv().ok());
        assert!(told.take(2_000).eq(std::iter::repeat_n(CallMessage::Renewed, MESSAGES_MAX)));
        drop(place);
        assert_eq!(desk.calls(), [5]);
        drop(other);
        assert!(desk.calls().is_empty() && desk.open(4).is_some());
    }
}
