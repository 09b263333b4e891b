//! [`News`]: parked requests and streams are woken by commits that concern them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use switchboard_core::key::Topic;
use tokio::sync::watch;

/// Number of topics at which those without subscribers are dropped.
const TOPICS: usize = 1_024;

/// Publishes news of topics to subscribers.
pub struct News {
    topics: Mutex<HashMap<Topic, watch::Sender<u64>>>,
    closing: watch::Sender<bool>,
}

impl Default for News {
    fn default() -> Self {
        Self { topics: Mutex::default(), closing: watch::Sender::new(false) }
    }
}

/// Subscription to one topic.
pub struct Waiting {
    news: watch::Receiver<u64>,
    closing: watch::Receiver<bool>,
}

impl News {
    /// Subscribes to a topic: commits from now on are news.
    pub fn subscribe(&self, topic: Topic) -> Waiting {
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if topics.len() >= TOPICS {
            topics.retain(|_, sender| sender.receiver_count() > 0);
        }
        let news = topics.entry(topic).or_insert_with(|| watch::Sender::new(0)).subscribe();
        Waiting { news, closing: self.closing.subscribe() }
    }

    /// Wakes the subscribers of a topic after a commit.
    pub fn publish(&self, topic: Topic) {
        let topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = topics.get(&topic) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Ends all waiting, because the service stops.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }
}

impl Waiting {
    /// Waits for news of the topic; returns false when the service stops instead.
    pub async fn news(&mut self) -> bool {
        if *self.closing.borrow() {
            return false;
        }
        tokio::select! {
            changed = self.news.changed() => changed.is_ok(),
            _ = self.closing.changed() => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_topic_wakes_whoever_waits_for_it_and_nobody_else() {
        let news = News::default();
        let (mut feed, mut other) = (news.subscribe(Topic::Feed(1)), news.subscribe(Topic::Feed(2)));
        news.publish(Topic::Feed(1));
        assert!(feed.news().await);
        let nothing = tokio::time::timeout(std::time::Duration::from_millis(20), other.news()).await;
        assert!(nothing.is_err());
        news.close();
        assert!(!other.news().await && !feed.news().await);
    }
}
