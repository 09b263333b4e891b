//! Catches panics as values: message and place, instead of output on the terminal.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
    static QUIET: RefCell<bool> = const { RefCell::new(false) };
}

static HOOK: Once = Once::new();

/// Runs `act`; the error has the message and place of its panic.
pub fn quietly<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if QUIET.with_borrow(|quiet| *quiet) {
                SAID.set(Some(info.to_string().replace('\n', " ")));
            } else {
                before(info);
            }
        }));
    });
    QUIET.set(true);
    let done = catch_unwind(AssertUnwindSafe(act));
    QUIET.set(false);
    done.map_err(|_| SAID.take().unwrap_or_else(|| "it panicked without a word".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place() {
        assert_eq!(quietly(|| 7), Ok(7));
        let said = quietly(|| assert_eq!(1, 2, "one is not two")).expect_err("a panic");
        assert!(said.contains("one is not two") && said.contains("catch.rs"), "{said}");
    }
}
