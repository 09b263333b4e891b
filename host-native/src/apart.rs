//! Slow work on a thread of its own: what a runtime's blocking threads, which all share, cannot hold up.

use std::thread;

use tokio::sync::oneshot;

use crate::room::Held;

/// Stack of such a thread, bytes: a look-up by the C library takes the most, with buffers of 64 KiB.
const STACK_BYTES: usize = 512 << 10;

/// How much a thread that computes gives way to those that answer requests.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Lets the calling thread give way to those that answer requests: with as many of it as there are processors, these
/// would wait for a processor. Elsewhere than on Linux that is the process's, and left alone.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(NICE);
}

/// Does work on a thread of its own and waits for it; nothing if the system has no thread for it, or it panicked.
///
/// The thread holds its place until the work has ended, whether or not somebody still waits for it.
pub async fn apart<T: Send + 'static>(name: &str, place: Held, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (give, done) = oneshot::channel();
    let thread = thread::Builder::new().name(name.into()).stack_size(STACK_BYTES);
    let started = thread.spawn(move || {
        let done = work();
        drop(place);
        // Whoever asked may have gone.
        let _ = give.send(done);
    });
    if let Err(error) = started {
        tracing::debug!(%error, "there is no thread for slow work");
        return None;
    }
    done.await.ok()
}
