//! [`Coalescer`]: callers at the same moment share one question to the database.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

/// Asks one question at a time: its answer is for all who came before it was asked.
#[derive(Default)]
pub(super) struct Coalescer {
    /// Questions that were asked so far.
    asked: AtomicU64,
    /// The number of the last one that had an answer.
    answered: Mutex<u64>,
}

impl Coalescer {
    /// Returns once a question was answered that was asked after this call; asks it if nobody else does.
    pub async fn run<E>(&self, ask: impl AsyncFnOnce() -> Result<(), E>) -> Result<(), E> {
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
        let (coalescer, asked) = (Arc::new(Coalescer::default()), Arc::new(AtomicU64::new(0)));
        let gate = Arc::new(Semaphore::new(0));
        let ask = || {
            let (coalescer, asked, gate) = (Arc::clone(&coalescer), Arc::clone(&asked), Arc::clone(&gate));
            tokio::spawn(async move {
                let question = async || {
                    asked.fetch_add(1, Ordering::Relaxed);
                    gate.acquire().await.map(tokio::sync::SemaphorePermit::forget).map_err(|_| "closed")
                };
                coalescer.run(question).await
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
        let coalescer = Coalescer::default();
        assert!(coalescer.run(async || Err("down")).await.is_err());
        assert!(coalescer.run(async || Err("down")).await.is_err());
        assert!(coalescer.run(async || Ok::<_, &str>(())).await.is_ok());
    }
}
