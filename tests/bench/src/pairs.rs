//! Two binaries in alternating pairs: the server's processor time for some operations, and whether one binary needs
//! more of it than the other.
//!
//! Each binary fills a store of its own, since an older one may not be able to read what a newer one writes. Every
//! measurement starts on a copy of that store, so that rows created in one turn are absent from the next.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use switchboard_claims::{Claim, tell};

use crate::Failed;
use crate::fill::{Folder, assistant};
use crate::load::{Load, each, get, run, sent};
use crate::server::{Server, beside};
use crate::turns::sorted;
use crate::writes::BODY;

/// Measured duration of each operation in one turn.
const SPAN: Duration = Duration::from_secs(2);
/// Concurrent connections of a read.
const CONNECTIONS: u32 = 64;
/// Rows in each store.
const ASSISTANTS: u32 = 1_000;
const CALLS: u32 = 5_000;
/// Assistants that the calls are spread over: a filter by one of them leaves a twentieth.
const CALLED: u32 = 20;
/// Limit for the lower bound of the ratio.
const RATIO_MAX: f64 = 1.03;
/// Probability of each of the two tails outside a 95% interval.
const TAIL: f64 = 0.025;

/// An operation that is measured: its name, concurrent connections, and its request for an API key.
struct Operation {
    name: &'static str,
    connections: u32,
    request: fn(&str) -> Vec<u8>,
}

const OPERATIONS: [Operation; 6] = [
    Operation { name: "GET /user/me", connections: CONNECTIONS, request: |key| get(key, "/user/me") },
    Operation {
        name: "first page of 10 of a thousand assistants",
        connections: CONNECTIONS,
        request: |key| get(key, "/user/assistants/get?per_page=10"),
    },
    Operation {
        name: "first page of 100 of a thousand assistants",
        connections: CONNECTIONS,
        request: |key| get(key, "/user/assistants/get?per_page=100"),
    },
    Operation {
        name: "page of calls, two filters",
        connections: CONNECTIONS,
        request: |key| get(key, "/user/calls?assistant_id=1&type=outbound&per_page=15&page=3"),
    },
    Operation {
        name: "make_call by 1 connection",
        connections: 1,
        request: |key| sent("POST", key, "/user/make_call", BODY),
    },
    Operation {
        name: "make_call by 64 connections",
        connections: 64,
        request: |key| sent("POST", key, "/user/make_call", BODY),
    },
];

/// A binary with the store that it filled.
struct Side {
    binary: PathBuf,
    stock: PathBuf,
    key: String,
}

/// Measures `pairs` pairs of the base binary and the one built here.
pub fn print(base: &Path, pairs: usize) -> Result<bool, Failed> {
    let folder = Folder::new("pairs")?;
    let sides = [Side::fill(base, &folder.0, "base")?, Side::fill(&beside("switchboard")?, &folder.0, "own")?];
    let mut seen: Vec<Vec<[f64; 2]>> = OPERATIONS.iter().map(|_| Vec::new()).collect();
    for pair in 0..pairs {
        for (seen, operation) in seen.iter_mut().zip(&OPERATIONS) {
            // The two run one after the other, in alternating order: the machine's speed varies over the day.
            let (first, second, mut micros) = (pair % 2, 1 - pair % 2, [0.0; 2]);
            micros[first] = sides[first].measure(&folder.0, operation)?;
            micros[second] = sides[second].measure(&folder.0, operation)?;
            seen.push(micros);
        }
        eprintln!("pair {} of {pairs}", pair + 1);
    }
    println!("Processor time of the server per operation, over that of {}; {pairs} pairs.\n", base.display());
    println!(
        "| operation | base, middle µs | own, middle µs | middle ratio | 95% interval | |\n|---|---|---|---|---|---|"
    );
    let mut claims = Vec::new();
    for (operation, seen) in OPERATIONS.iter().zip(&seen) {
        let sorted = |of: fn(&[f64; 2]) -> f64| sorted(seen, of);
        let (base, own, ratios) = (sorted(|pair| pair[0]), sorted(|pair| pair[1]), sorted(|pair| pair[1] / pair[0]));
        let [base, own, middle] = [base, own, ratios.clone()].map(|all| all[all.len() / 2]);
        let (low, high) = interval(&ratios);
        let verdict = if low > RATIO_MAX { "worse than 3%" } else { "not worse than 3%" };
        println!("| {} | {base:.1} | {own:.1} | {middle:.3} | {low:.3} to {high:.3} | {verdict} |", operation.name);
        let text = format!("Processor time over that of the base, lower bound: {}", operation.name);
        claims.push(Claim::at_most(text, RATIO_MAX, low, ""));
    }
    Ok(tell(&claims)?)
}

impl Side {
    /// Fills a store through the binary itself.
    fn fill(binary: &Path, folder: &Path, name: &str) -> Result<Self, Failed> {
        let stock = folder.join(name);
        std::fs::create_dir_all(&stock)?;
        let server = Server::of_binary(binary, &stock.join("data"), &["--engine", "none"])?;
        let plan = json!({ "name": "standard", "assistants": 10_000 }).to_string();
        let plan = ["-H", "Content-Type: application/json", "-d", &plan];
        server.curl_as(&server.admin, "PUT", "/admin/plans/standard", &plan)?;
        let key = server.key.clone();
        eprintln!("filling {name}: {ASSISTANTS} assistants, {CALLS} calls");
        let assistants = (0..ASSISTANTS).map(|number| {
            let body = assistant(&format!("Assistant {number}")).to_string();
            sent("POST", &key, "/user/assistant", &body)
        });
        each(&server, assistants.collect())?;
        let calls = (0..CALLS).map(|number| {
            let call = json!({ "phone_number": format!("+407{number:08}"), "assistant_id": 1 + number % CALLED });
            sent("POST", &key, "/user/make_call", &call.to_string())
        });
        each(&server, calls.collect())?;
        // No call is left pending: nothing is due while a copy of the store is measured.
        let ends = (1..=CALLS).map(|id| sent("POST", &key, &format!("/user/calls/{id}/hangup"), "{}"));
        each(&server, ends.collect())?;
        server.stop()?;
        Ok(Self { binary: binary.to_owned(), stock, key })
    }

    /// Measures an operation on a copy of the store; returns its processor time, microseconds.
    fn measure(&self, folder: &Path, operation: &Operation) -> Result<f64, Failed> {
        let copy = folder.join("copy");
        let _ = std::fs::remove_dir_all(&copy);
        copy_of(&self.stock.join("data"), &copy.join("data"))?;
        let server = Server::of_binary(&self.binary, &copy.join("data"), &["--engine", "none"])?;
        let request = Arc::new((operation.request)(&self.key));
        let figures = run(&server, Load::full(operation.connections, SPAN), move |_| request.to_vec())?;
        Ok(figures.cpu_us)
    }
}

/// Copies a folder recursively.
pub fn copy_of(from: &Path, to: &Path) -> Result<(), Failed> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            copy_of(&entry.path(), &to.join(entry.file_name()))?;
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Returns the 95% confidence interval of the median of sorted figures, by order statistics. The number of figures
/// below the true median is binomial, so the k-th smallest and the k-th largest enclose it except with twice the
/// probability of fewer than k. With fewer than six figures, even their whole range encloses it less often than that.
fn interval(sorted: &[f64]) -> (f64, f64) {
    let count = sorted.len();
    let (mut chance, mut below) = (0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX)), 0.0);
    let mut rank = 0;
    for number in 0..count / 2 {
        below += chance;
        if below > TAIL {
            break;
        }
        rank = number;
        let (left, taken) = (count - number, number + 1);
        chance *= f64::from(u32::try_from(left).unwrap_or(0)) / f64::from(u32::try_from(taken).unwrap_or(1));
    }
    (sorted[rank], sorted[count - 1 - rank])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_median_is_that_of_the_tables() {
        let of = |count: u32| interval(&(1..=count).map(f64::from).collect::<Vec<_>>());
        // Ranks of nonparametric intervals from tables of order statistics (95%, two-sided).
        assert_eq!(of(6), (1.0, 6.0));
        assert_eq!(of(9), (2.0, 8.0));
        assert_eq!(of(15), (4.0, 12.0));
        assert_eq!(of(20), (6.0, 15.0));
        assert_eq!(of(25), (8.0, 18.0));
        assert_eq!(of(2), (1.0, 2.0), "too few");
    }
}
