//! The runtime in which connections and proxies live, and waiting.

use std::future::Future;
use std::sync::LazyLock;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

/// How long anything that must happen may take, before it counts as a failure.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// Interval at which a condition is tested.
const LOOK: Duration = Duration::from_millis(20);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let built = Builder::new_multi_thread().worker_threads(2).thread_name("postgres-harness").enable_all().build();
    built.expect("a runtime of two threads")
});

/// Starts a task in the harness's runtime.
pub fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> tokio::task::JoinHandle<T> {
    RUNTIME.spawn(task)
}

/// Runs a task in the harness's runtime to its end. Unlike `block_on` it may be called from within a runtime.
///
/// # Panics
/// If the task does.
pub fn finish<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> T {
    let (sender, receiver) = sync_channel(1);
    spawn(async move { sender.send(task.await) });
    receiver.recv().expect("the task ends without a panic")
}

/// Waits until a condition holds; fails after [`PATIENCE`].
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !condition() {
        if began.elapsed() > PATIENCE {
            return Err(format!("{what}: not within {} seconds", PATIENCE.as_secs()));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
