//! A node whose connections to PostgreSQL break again and again: how long the longest create waits for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use switchboard_claims::Claim;

use super::{SPAN, Site};
use crate::Failed;
use crate::load::{Load, run, sent};
use crate::writes::BODY;

/// Pause between two breaks.
const APART: Duration = Duration::from_millis(150);

/// Has one client create calls meanwhile; each of them is answered with success.
pub fn breaks(site: &Site) -> Result<Claim, Failed> {
    let (over, key) = (AtomicBool::new(false), site.first.key.clone());
    let (figures, broken) = std::thread::scope(|scope| {
        let breaking = scope.spawn(|| {
            let mut times = 0;
            while !over.load(Ordering::Acquire) {
                std::thread::sleep(APART);
                times += u32::from(site.instance.disconnect("switchboard")? > 0);
            }
            Ok::<_, String>(times)
        });
        let figures = run(&site.first, Load::full(1, SPAN), move |_| sent("POST", &key, "/user/make_call", BODY));
        over.store(true, Ordering::Release);
        (figures, breaking.join())
    });
    let times = broken.map_err(|_| "who breaks connections panicked")??;
    let text = format!("Longest of the creates by one while all connections break {times} times");
    Ok(Claim::at_most(text, 0.2, figures?.most_us / 1e6, "s"))
}
