//! The simulator: the pure core over a store in memory, with simulated hosts that die, receivers that fail, engines
//! and a language model that lie, and people who act and talk, in virtual time. A seed reproduces a run on every machine.
//!
//! [`run`] runs one world from its seed: one or two accounts with assistants, campaigns and leads; some days in which
//! people act and faults occur; then calm, in which all work must complete. After every commit, and at the end, the
//! claims of [`checks`] are checked. [`tamper`] puts defects into the service, each of which a claim must notice.

pub mod acts;
pub mod agenda;
pub mod base;
pub mod calm;
pub mod checks;
pub mod client;
pub mod draw;
pub mod engine;
pub mod exchange;
pub mod facts;
pub mod faults;
pub mod flaw;
pub mod handing;
pub mod mirror;
pub mod model;
pub mod node;
pub mod person;
pub mod plan;
pub mod random;
pub mod receiver;
pub mod report;
pub mod scenario;
pub mod script;
pub mod session;
pub mod setup;
pub mod steps;
pub mod talk;
pub mod tamper;
pub mod world;

use std::panic::catch_unwind;

use plan::{Plan, Scale};
use random::Random;
use report::Tally;
use world::World;

/// Events between two checks of whether a calm world has come to rest.
const LOOK_TURNS: u64 = 64;

/// The result of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Counts of what happened.
    pub tally: Tally,
    /// The first claim that did not hold; `None` if all did.
    pub fault: Option<String>,
}

/// Runs the world of a seed to its end; a panic counts as a fault.
pub fn run(seed: u64, scale: Scale) -> Outcome {
    catch_unwind(|| live(world(seed, scale)))
        .unwrap_or_else(|_| Outcome { tally: Tally::default(), fault: Some("the simulator itself panicked".into()) })
}

/// Creates the world of a seed without running it.
pub fn world(seed: u64, scale: Scale) -> World {
    let mut random = Random::new(seed);
    let plan = Plan::draw(&mut random, scale);
    let mut world = World::new(plan, random);
    world.set_up();
    world
}

/// Runs a world to its end.
pub fn live(mut world: World) -> Outcome {
    while world.fault.is_none() {
        let late = world.next_at().is_none_or(|next| next > world.deadline);
        let look = world.calm && world.tally.turns.is_multiple_of(LOOK_TURNS);
        if !look && !late {
            world.turn();
            continue;
        }
        match checks::settled(&world.mirror) {
            Ok(()) => {
                let held = checks::sound(&mut world);
                world.note(held);
                break;
            }
            Err(claim) if late => world.note(Err(claim)),
            Err(_) => drop(world.turn()),
        }
    }
    world.tally.seconds = world.now.seconds_since(world.plan.start);
    world.tally.webhooks = world.receivers.webhooks;
    let model = &world.model;
    (world.tally.questions, world.tally.model_lies, world.tally.model_silences) =
        (model.questions, model.lies, model.silences);
    Outcome { tally: world.tally, fault: world.fault }
}
