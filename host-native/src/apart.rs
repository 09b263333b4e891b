//! Slow work on threads of its own, so that it does not hold up the runtime's blocking threads, which all share.

use std::thread;

use tokio::sync::oneshot;

use crate::room::Held;

/// Stack of such a thread, bytes: look-ups by the C library need the most, with buffers of 64 KiB.
const STACK_BYTES: usize = 512 << 10;

/// Nice value of a computing thread, so that threads that answer requests go first.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Lowers the priority of the calling thread: with as many computing threads as processors, those that answer requests
/// would wait. Only on Linux is niceness per thread; elsewhere it is the process's and left alone.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}

/// Runs `work` on a thread of its own and waits for it; `None` if no thread could be started or it panicked.
///
/// The thread holds `place` until the work ends, even if the caller stops waiting.
pub async fn apart<T: Send + 'static>(name: &str, place: Held, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (give, done) = oneshot::channel();
    let thread = thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
    let started = thread.spawn(move || {
        let done = work();
        drop(place);
        // The caller may have stopped waiting.
        let _ = give.send(done);
    });
    if let Err(error) = started {
        tracing::debug!(%error, "there is no thread for slow work");
        return None;
    }
    done.await.ok()
}
