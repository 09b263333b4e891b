//! A node whose PostgreSQL is far away: what a round trip costs its creates, and that its reads make none.

use std::path::Path;
use std::time::Duration;

use switchboard::store::Store;
use switchboard_claims::Claim;
use switchboard_core::store::Change;
use switchboard_postgres::{Flow, Instance, Proxy};

use super::bare::Bare;
use super::{SPAN, TURNS, create, read, stocked};
use crate::Failed;
use crate::load::{Load, run, sent};
use crate::server::Server;
use crate::turns::{Turns, middle};
use crate::writes::{BODY, GROUP};

/// Delay of what comes back.
const DELAY: Duration = Duration::from_millis(1);
/// The link draws nothing.
const SEED: u64 = 0;
/// How often one thing after the other is done.
const REPEATED: Turns = Turns { span: SPAN, bounds: (100, usize::MAX) };

/// Figures of one turn: rates a second, times in milliseconds.
struct Turn {
    near: f64,
    far: f64,
    round_trip: f64,
    bare: f64,
    alone: f64,
    read: f64,
}

/// Measures creates by many near and far, and alone beside bare commits over the same link.
pub fn far(folder: &Path, instance: &Instance, commits: &[Vec<Change>]) -> Result<Vec<Claim>, Failed> {
    let link = Proxy::open(instance.address(), SEED)?;
    let login = instance.create_database("far")?;
    let url = login.url(link.address());
    Store::init(&url)?;
    let node = stocked(folder, "far", &url)?;
    let bare = Bare::new(&login.config(link.address()))?;
    let turns = (0..TURNS).map(|_| turn(&link, &node, &bare, commits)).collect::<Result<Vec<_>, Failed>>()?;
    let of = |figure: fn(&Turn) -> f64| middle(&turns, figure);
    Ok(vec![
        Claim::stated("A round trip to a PostgreSQL far away", format!("{:.1} ms", of(|turn| turn.round_trip))),
        Claim::stated("A bare commit over that link, alone", format!("{:.1} ms", of(|turn| turn.bare))),
        Claim::at_most(
            "A create alone over HTTP beyond that, middle time",
            0.5,
            of(|turn| turn.alone - turn.bare),
            "ms",
        ),
        Claim::at_most("A read alone, middle time over a round trip", 0.5, of(|turn| turn.read / turn.round_trip), ""),
        Claim::at_least(
            format!("Creates by {GROUP} over that link over the same without a delay"),
            0.5,
            of(|turn| turn.far / turn.near),
            "",
        ),
    ])
}

fn turn(link: &Proxy, node: &Server, bare: &Bare, commits: &[Vec<Change>]) -> Result<Turn, Failed> {
    link.delay(Flow::ToClient, Duration::ZERO);
    let near = create(node, &node.key, GROUP)?;
    link.delay(Flow::ToClient, DELAY);
    let far = create(node, &node.key, GROUP)?;
    let key = node.key.clone();
    let alone = run(node, Load::full(1, SPAN), move |_| sent("POST", &key, "/user/make_call", BODY))?.p50_us;
    bare.clear()?;
    let every = commits.len() as u64;
    let bare_us = REPEATED.middle(|turn| bare.put(&commits[usize::try_from(turn % every).unwrap_or_default()]))?;
    Ok(Turn {
        near,
        far,
        round_trip: REPEATED.middle(|_| bare.round_trip())? / 1e3,
        bare: bare_us / 1e3,
        alone: alone / 1e3,
        read: read(node, &node.key, "/user/assistant/1", 1)?.p50_us / 1e3,
    })
}
