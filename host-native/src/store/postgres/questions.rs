//! [`Questions`]: one question to the database answers all who came before it was asked.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// Questions that are asked one after the other, each for all who wait.
#[derive(Default)]
pub(super) struct Questions {
    /// Those that were asked so far.
    asked: AtomicU64,
    /// The last one that had an answer.
    answered: Mutex<u64>,
}

impl Questions {
    /// Asks, unless somebody else does after this moment and has an answer.
    pub async fn ask<E>(&self, ask: impl AsyncFnOnce() -> Result<(), E>) -> Result<(), E> {
        // One that is under way may have had its answer before.
        let before = self.asked.load(Ordering::Acquire);
        let mut answered = self.answered.lock().await;
        if *answered > before {
            return Ok(());
        }
        let number = self.asked.fetch_add(1, Ordering::AcqRel) + 1;
        ask().await?;
        *answered = number;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn one_question_answers_all_who_came_before_it() {
        let (questions, asked) = (Arc::new(Questions::default()), Arc::new(AtomicU64::new(0)));
        let gate = Arc::new(Semaphore::new(0));
        let ask = || {
            let (questions, asked, gate) = (Arc::clone(&questions), Arc::clone(&asked), Arc::clone(&gate));
            tokio::spawn(async move {
                let question = async || {
                    asked.fetch_add(1, Ordering::Relaxed);
                    gate.acquire().await.map(tokio::sync::SemaphorePermit::forget).map_err(|_| "closed")
                };
                questions.ask(question).await
            })
        };
        let first = ask();
        tokio::task::yield_now().await;
        let later: Vec<_> = (0..5).map(|_| ask()).collect();
        tokio::task::yield_now().await;
        gate.add_permits(1);
        first.await.expect("a task").expect("an answer");
        tokio::task::yield_now().await;
        assert_eq!(asked.load(Ordering::Relaxed), 2, "the first was asked before the others came");
        gate.add_permits(1);
        for one in later {
            one.await.expect("a task").expect("an answer");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 2, "one question is enough for all of them");
    }

    #[tokio::test]
    async fn a_question_without_an_answer_answers_nobody() {
        let questions = Questions::default();
        assert!(questions.ask(async || Err("down")).await.is_err());
        assert!(questions.ask(async || Err("down")).await.is_err());
        assert!(questions.ask(async || Ok::<_, &str>(())).await.is_ok());
    }
}
