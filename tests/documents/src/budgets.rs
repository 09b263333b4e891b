//! The table of budgets, for `docs/budgets.md`.

use switchboard_core::budget::{BUDGETS, Budget, DISK, Unit};

const HEAD: &str = "\
| Budget | Unit | All | An account | An address | Strangers | May wait (each) | Shares shrink | What gathers |
|---|---|---|---|---|---|---|---|---|
";

/// Returns the table, with a row for each budget.
pub fn table() -> String {
    BUDGETS.iter().fold(HEAD.to_owned(), |table, budget| table + &row(budget))
}

fn row(budget: &Budget) -> String {
    let Budget { name, unit, all, account, address, nobody, waiting, waiting_each, shrinks, what } = *budget;
    let shrink = if shrinks { "yes" } else { "–" };
    let unit_name = if unit == Unit::Bytes { "bytes" } else { "places" };
    let wait = if waiting == 0 { "–".into() } else { format!("{waiting} ({waiting_each})") };
    let [all, account, address, nobody] = [all, account, address, nobody].map(|share| amount(unit, share));
    format!("| `{name}` | {unit_name} | {all} | {account} | {address} | {nobody} | {wait} | {shrink} | {what} |\n")
}

fn amount(unit: Unit, amount: u64) -> String {
    match (unit, amount) {
        (_, 0) => "–".to_owned(),
        (_, DISK) => "the disk".to_owned(),
        (Unit::Bytes, bytes) if bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        (Unit::Bytes, bytes) if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        (Unit::Bytes, bytes) => format!("{} KiB", bytes >> 10),
        (Unit::Places, places) => places.to_string(),
    }
}
