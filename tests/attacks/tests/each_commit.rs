//! Each attack's share of every commit: one after the other, on a server of its own.

use std::sync::{Mutex, PoisonError};

use switchboard_attacks::{Spans, attack, trial};

/// Figures count only where nothing else is measured.
static ALONE: Mutex<()> = Mutex::new(());

fn share(name: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let row = trial::run(&[attack(name)], Spans::SHARE);
    if let Some(why) = &row.skipped {
        println!("{name}: not run: {why}");
        return;
    }
    row.expect();
}

#[test]
fn connections_reset() {
    share("resets");
}
