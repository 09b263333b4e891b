//! National numbering plans of the countries whose numbers can be sold: data shipped with the program
//! (`core/data/numbering.json`), parsed on first use.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use once_cell::race::OnceBox;

use crate::json::{self, Value};
use crate::record;
use crate::record::{ColumnType, MemberSource, Record, boolean, check, int, list, text, texts};

static SHIPPED: &[u8] = include_bytes!("../../data/numbering.json");

/// Most prefixes in one list.
const PREFIXES_MAX: usize = 100;
/// Most entries in any other list.
const ENTRIES_MAX: usize = 16;

/// First digits of a national number.
static PREFIX: ColumnType = ColumnType::Text { min: 1, max: 5, format: None };
static FORM: ColumnType = ColumnType::Text { min: 1, max: 16, format: None };

record! {
    /// Numbers of a country: those with its calling code that begin with one of its prefixes, except foreign ones.
    pub struct NumberingPlan {
        /// Country as an ISO 3166-1 alpha-2 code.
        iso: String = text(2, 2).required(),
        /// Calling code in E.164, without `+`; countries may share one.
        calling_code: String = text(1, 3).required(),
        /// Prefixes of its national numbers; empty: any digits.
        prefixes: Vec<String> = texts(&PREFIX, PREFIXES_MAX),
        /// Prefixes among these that belong to another country.
        foreign: Vec<ForeignPrefixes> = list::<ForeignPrefixes>(ENTRIES_MAX),
        /// Layouts in which numbers are written; the first that matches is used.
        layouts: Vec<NumberLayout> = list::<NumberLayout>(ENTRIES_MAX),
        /// Kinds of numbers that the simulated carrier sells.
        kinds: Vec<NumberKind> = list::<NumberKind>(ENTRIES_MAX),
    }
}

record! {
    /// Prefixes under a country's calling code that belong to another country.
    pub struct ForeignPrefixes {
        /// Country that they belong to.
        whose: String = text(1, 64).required(),
        /// Prefixes of the national number.
        prefixes: Vec<String> = texts(&PREFIX, PREFIXES_MAX),
    }
}

record! {
    /// Written layout of numbers with certain prefixes.
    pub struct NumberLayout {
        /// Prefixes that it applies to; empty: any digits.
        prefixes: Vec<String> = texts(&PREFIX, PREFIXES_MAX),
        /// Patterns in which `x` is one digit and `*` all remaining ones; the first that matches the number's length is
        /// used.
        forms: Vec<String> = texts(&FORM, ENTRIES_MAX),
    }
}

record! {
    /// Numbers of one kind and price.
    pub struct NumberKind {
        /// Length of the national number, digits.
        digits: u32 = int(1, 14).required(),
        /// Monthly price in US cents.
        price_cents: u32 = int(0, 100_000).required(),
        /// Address that a buyer must provide: `none`, `local`, `foreign` or `inventory`.
        address_requirements: String = text(1, 16).required(),
        /// Whether they can send and receive SMS.
        sms_capable: bool = boolean().required(),
        /// Prefixes of the national numbers.
        prefixes: Vec<String> = texts(&PREFIX, PREFIXES_MAX),
    }
}

/// Returns the plans, in the order of [`super::COUNTRIES`].
pub fn plans() -> &'static [NumberingPlan] {
    static PLANS: OnceBox<Vec<NumberingPlan>> = OnceBox::new();
    PLANS.get_or_init(|| Box::new(shipped().expect("a test reads the shipped plans")))
}

fn shipped() -> Option<Vec<NumberingPlan>> {
    let parsed = json::parse(SHIPPED).ok()?;
    let plan = |entry: &Value| {
        let members = entry.as_object()?.clone();
        check(NumberingPlan::TABLE, members, MemberSource::Body).finish().ok()
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
