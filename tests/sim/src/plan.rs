//! [`Plan`]: what the seed decides at the start of a world.

use switchboard_core::time::Timestamp;

use crate::faults::Faults;
use crate::random::Random;

/// Size of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A few leads and a day or two: many worlds in a short time.
    Small,
    /// Several hundred leads and a week.
    Large,
}

impl Scale {
    /// Parses the name of a scale.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Small, Self::Large].into_iter().find(|scale| scale.word() == word)
    }

    /// Returns its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// The parameters of a world.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Virtual time at the start.
    pub start: Timestamp,
    /// How long people act and faults occur, seconds.
    pub busy_seconds: u64,
    /// Number of accounts, one or two.
    pub accounts: usize,
    /// Campaigns of each account, one to three.
    pub campaigns: usize,
    /// Leads of each account at the start.
    pub leads: u64,
    /// Acts per account after the setup.
    pub acts: u64,
    /// Number of engines, one to four.
    pub engines: usize,
    /// Number of webhook receivers.
    pub receivers: usize,
    /// Number of hosts over the one store.
    pub nodes: usize,
    /// Whether a language model is configured.
    pub model: bool,
    /// Probabilities of faults until the world is calm.
    pub faults: Faults,
}

/// Start times: days around clock changes in some of the zones, and two without one.
const STARTS: [&str; 8] = [
    "2026-03-06T12:00:00Z",
    "2026-03-27T12:00:00Z",
    "2026-04-03T12:00:00Z",
    "2026-09-25T12:00:00Z",
    "2026-10-23T12:00:00Z",
    "2026-10-30T12:00:00Z",
    "2026-06-14T22:00:00Z",
    "2026-12-30T06:00:00Z",
];

impl Plan {
    /// Draws the plan of a world.
    pub fn draw(random: &mut Random, scale: Scale) -> Self {
        let start = Timestamp::parse_iso(random.one(&STARTS)).expect("the dates above are dates");
        let leads = match scale {
            Scale::Small => random.weighed(&[(560, 2), (360, 4), (74, 12), (6, 40)]),
            Scale::Large => random.weighed(&[(40, 100), (40, 300), (20, 600)]),
        };
        let (days, acts) = match scale {
            Scale::Small => (random.within(1..=2), random.within(5..=18)),
            Scale::Large => (random.within(3..=9), random.within(60..=200)),
        };
        Self {
            start: start.plus_seconds(random.below(86_400)),
            busy_seconds: days * 86_400,
            accounts: random.weighed(&[(5, 1), (1, 2)]),
            campaigns: random.weighed(&[(6, 1), (3, 2), (1, 3)]),
            leads: random.within(leads / 2..=leads),
            acts,
            engines: random.weighed(&[(4, 1), (3, 2), (1, 4)]),
            receivers: 3,
            nodes: random.weighed(&[(7, 1), (3, 2)]),
            model: random.chance(500),
            faults: Faults::draw(random),
        }
    }

    /// Returns when people have acted and faults end.
    pub fn calm_at(&self) -> Timestamp {
        self.start.plus_seconds(self.busy_seconds)
    }
}
