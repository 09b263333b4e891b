//! National numbering plans of the countries whose numbers can be sold: data, shipped with the program
//! (`core/data/numbering.json`) and read when it is first asked for.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use once_cell::race::OnceBox;

use crate::json::{self, Value};
use crate::record;
use crate::record::{Kind, Record, Source, boolean, check, int, list, text, texts};

static SHIPPED: &[u8] = include_bytes!("../../data/numbering.json");

/// Prefixes of one list.
const PREFIXES_MAX: usize = 100;
/// Entries of any other list.
const ENTRIES_MAX: usize = 16;

/// First digits of national numbers.
static PREFIX: Kind = Kind::Text { min: 1, max: 5, format: None };
static FORM: Kind = Kind::Text { min: 1, max: 16, format: None };

record! {
    /// A country's numbers: those with its calling code that begin with one of its prefixes, and are nobody else's.
    pub struct NumberingPlan {
        /// ISO 3166-1 alpha-2.
        iso: String = text(2, 2).required(),
        /// The country's code in E.164, which it may share with others.
        calling_code: String = text(1, 3).required(),
        /// What its national numbers begin with; any digits if empty.
        prefixes: Vec<String> = texts(&PREFIX, PREFIXES_MAX),
        /// Prefixes within these that are not the country's.
        foreign: Vec<ForeignPrefixes> = list::<ForeignPrefixes>(ENTRIES_MAX),
        /// How its people write numbers; the first that fits counts.
        layouts: Vec<NumberLayout> = list::<NumberLayout>(ENTRIES_MAX),
        /// What the simulated carrier sells.
        kinds: Vec<NumberKind> = list::<NumberKind>(ENTRIES_MAX),
    }
}

record! {
    /// Prefixes on a country's calling code that are not its own.
    pub struct ForeignPrefixes {
        /// Whose they are.
        whose: String = text(1, 64).required(),
        /// The prefixes.
        prefixes: Vec<String> = texts(&PREFIX, PREFIXES_MAX),
    }
}

record! {
    /// How numbers with certain prefixes are written.
    pub struct NumberLayout {
        /// The prefixes; any digits if empty.
        prefixes: Vec<String> = texts(&PREFIX, PREFIXES_MAX),
        /// `x` is a digit, `*` all that are left; the first that takes the number's length counts.
        forms: Vec<String> = texts(&FORM, ENTRIES_MAX),
    }
}

record! {
    /// Numbers of one kind and price.
    pub struct NumberKind {
        /// Length of the national number.
        digits: u32 = int(1, 14).required(),
        /// Monthly price in US cents.
        price_cents: u32 = int(0, 100_000).required(),
        /// The address that a buyer must give: `none`, `local`, `foreign` or `inventory`.
        address_requirements: String = text(1, 16).required(),
        /// Whether they send and receive SMS.
        sms_capable: bool = boolean().required(),
        /// What they begin with.
        prefixes: Vec<String> = texts(&PREFIX, PREFIXES_MAX),
    }
}

/// The plans in the order in which the service lists their countries.
pub fn plans() -> &'static [NumberingPlan] {
    static PLANS: OnceBox<Vec<NumberingPlan>> = OnceBox::new();
    PLANS.get_or_init(|| Box::new(shipped().expect("a test reads the shipped plans")))
}

fn shipped() -> Option<Vec<NumberingPlan>> {
    let parsed = json::parse(SHIPPED).ok()?;
    let plan = |entry: &Value| {
        let members = entry.as_object()?.clone();
        check(NumberingPlan::TABLE, members, Source::Body).finish().ok()
    };
    parsed.as_list()?.iter().map(plan).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numbering::COUNTRIES;

    #[test]
    fn the_shipped_plans_are_whole() {
        let plans = plans();
        assert!(plans.iter().map(|plan| plan.iso.as_str()).eq(COUNTRIES));
        for plan in plans {
            assert!(!plan.layouts.is_empty() && !plan.kinds.is_empty(), "{}", plan.iso);
            assert!(plan.layouts.iter().all(|layout| !layout.forms.is_empty()), "{}", plan.iso);
            let requirements = ["none", "local", "foreign", "inventory"];
            for kind in &plan.kinds {
                assert!(requirements.contains(&kind.address_requirements.as_str()) && !kind.prefixes.is_empty());
            }
        }
    }
}
