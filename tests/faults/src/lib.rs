//! Fault injection, one module per fault, against the real store and the real binary: kills, power cuts, full, broken
//! and damaged disks, and clients that are slow or too many.
//!
//! Everything is drawn from a seed. The function of a fault tests its claim as often as wanted, and returns a row of
//! the table.

pub mod command;
pub mod creation;
pub mod cuts;
pub mod damage;
pub mod disk;
pub mod disks;
pub mod flood;
pub mod full;
pub mod history;
pub mod kills;
pub mod report;
pub mod slow;
pub mod upgrade;
pub mod wire;
pub mod writing;

use report::Row;

/// A fault: its name, its test, and how often the test runs.
pub struct Fault {
    /// Name on the command line.
    pub name: &'static str,
    /// Tests the claim this many times, from a seed.
    pub run: fn(u64, u64) -> Row,
    /// Tests before each commit.
    pub share: u64,
    /// Tests in a long run.
    pub long: u64,
}

/// All faults, with the numbers of their tests.
pub const FAULTS: [Fault; 12] = [
    Fault { name: "kills", run: kills::kills, share: 200, long: 10_000 },
    Fault { name: "cuts", run: cuts::cuts, share: 5_000, long: 500_000 },
    Fault { name: "recuts", run: cuts::recuts, share: 500, long: 50_000 },
    Fault { name: "creation", run: |_, seed| creation::creation(seed), share: 1, long: 1 },
    Fault { name: "upgrade", run: |_, seed| upgrade::upgrade(seed), share: 1, long: 1 },
    Fault { name: "full", run: full::full, share: 200, long: 20_000 },
    Fault { name: "broken", run: full::broken, share: 200, long: 20_000 },
    Fault { name: "damage", run: damage::damage, share: 200, long: 20_000 },
    Fault { name: "disks", run: |_, seed| disks::full(seed), share: 1, long: 1 },
    Fault { name: "readonly", run: |_, seed| disks::read_only(seed), share: 1, long: 1 },
    Fault { name: "slow", run: slow::slow, share: 1_000, long: 10_000 },
    Fault { name: "flood", run: |_, seed| flood::flood(seed), share: 1, long: 1 },
];

/// Returns the fault of a name.
///
/// # Panics
/// If there is no such fault.
pub fn fault(name: &str) -> &'static Fault {
    FAULTS.iter().find(|fault| fault.name == name).unwrap_or_else(|| panic!("there is no fault {name}"))
}

/// Returns the seed of a test, and prints it: `SEED` in the environment repeats a run.
pub fn seed_of(name: &str) -> u64 {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("{name}: SEED={seed}");
    seed
}
