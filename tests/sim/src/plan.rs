//! [`Plan`]: what a seed decides at the start of a world.

use switchboard_core::time::Timestamp;

use crate::faults::Faults;
use crate::random::Random;

/// How large worlds are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A few leads and a day or two: many worlds in little time.
    Small,
    /// Some hundred leads and a week.
    Large,
}

impl Scale {
    /// The scale of this name.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Small, Self::Large].into_iter().find(|scale| scale.word() == word)
    }

    /// Its name on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Large => "large",
        }
    }
}

/// What a world is made of.
#[derive(Clone, Debug)]
pub struct Plan {
    /// When it begins.
    pub start: Timestamp,
    /// How long people act and things go wrong, seconds.
    pub busy_seconds: u64,
    /// Accounts.
    pub accounts: usize,
    /// Campaigns of an account.
    pub campaigns: usize,
    /// Leads of an account.
    pub leads: u64,
    /// What the people of an account do after its start.
    pub acts: u64,
    /// Engines.
    pub engines: usize,
    /// Receivers of webhooks.
    pub receivers: usize,
    /// Hosts over the one store.
    pub nodes: usize,
    /// Whether the operator configured a language model.
    pub model: bool,
    /// What goes wrong.
    pub faults: Faults,
}

/// Days around which clocks leap in some of the zones, and two plain ones.
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
    /// The plan of a world.
    pub fn draw(random: &mut Random, scale: Scale) -> Self {
        let start = Timestamp::parse_iso(random.one(&STARTS)).expect("the dates above are dates");
        let leads = match scale {
            Scale::Small => random.weighed(&[(560, 2), (360, 4), (74, 12), (6, 40)]),
            Scale::Large => random.weighed(&[(40, 100), (40, 300), (20, 600)]),
        };
        let (days, acts) = match scale {
            Scale::Small => (random.within(1..=2), random.within(4..=14)),
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
            model: random.chance(250),
            faults: Faults::draw(random),
        }
    }

    /// When people have acted, and nothing goes wrong any more.
    pub fn calm_at(&self) -> Timestamp {
        self.start.plus_seconds(self.busy_seconds)
    }
}
