//! Commits of two builds in alternating turns: what a create writes to the disk, how many there are a second, what reads
//! beside them take, how far the file grows, and how long a start after a kill takes.
//!
//! The other build's bench fills the store, since a build may not read what a newer one wrote; each has a copy of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::Failed;
use crate::day::bytes;
use crate::fill::Folder;
use crate::growth::{creates, start_after_kill_ms};
use crate::load::{Load, get, run};
use crate::pairs::copy_of;
use crate::server::{Server, beside};
use crate::turns::{middle, sorted};
use crate::writes::GROUP;

/// Turns; the middle of each figure and of each ratio counts.
const TURNS: usize = 5;
/// How long each way of writing, and each read, is measured in one turn.
const SPAN: Duration = Duration::from_secs(5);
/// Connections of reads.
const READERS: u32 = 64;
const FIGURES: [&str; 9] = [
    "alone /s",
    "alone, written kB",
    "alone p99 ms",
    "of 64 /s",
    "of 64, written kB",
    "of 64 p99 ms",
    "a call read /s",
    "first page read /s",
    "start after a kill ms",
];

/// A build, with its copy of the store.
struct Side {
    binary: PathBuf,
    data: PathBuf,
}

/// Measures both builds on stores with these numbers of calls.
pub fn print(base: &Path, sizes: &[u32]) -> Result<bool, Failed> {
    println!("The middle of {TURNS} turns, the smallest and largest ratio behind it.\n");
    println!("| calls | | {} | files, MiB |", FIGURES.join(" | "));
    println!("|---|---{}|---|", "|---".repeat(FIGURES.len()));
    for calls in sizes {
        let folder = Folder::new("commits")?;
        let (key, sides) = fill(base, &folder.0, *calls)?;
        let filled = bytes(&sides[0].data)?;
        let mut turns = Vec::new();
        for turn in 0..TURNS {
            let (first, second, mut seen) = (turn % 2, 1 - turn % 2, [[0.0; FIGURES.len()]; 2]);
            seen[first] = sides[first].measure(&key)?;
            seen[second] = sides[second].measure(&key)?;
            eprintln!("{calls} calls, turn {}: {seen:?}", turn + 1);
            turns.push(seen);
        }
        for (at, name) in ["base", "own"].into_iter().enumerate() {
            let middles = of_each(|figure| format!("{:.1}", middle(&turns, |seen| seen[at][figure])));
            let grown = bytes(&sides[at].data)?.saturating_sub(filled) >> 20;
            println!("| {calls} | {name} | {middles} | {} + {grown} |", filled >> 20);
        }
        let ratios = of_each(|figure| {
            let all = sorted(&turns, |seen| seen[1][figure] / seen[0][figure]);
            format!("{:.3} ({:.3} to {:.3})", all[TURNS / 2], all[0], all[TURNS - 1])
        });
        println!("| {calls} | own over base | {ratios} | |");
    }
    Ok(true)
}

fn of_each(show: impl Fn(usize) -> String) -> String {
    (0..FIGURES.len()).map(show).collect::<Vec<_>>().join(" | ")
}

/// Returns the owner's key, and a copy of the same store for each build.
fn fill(base: &Path, folder: &Path, calls: u32) -> Result<(String, [Side; 2]), Failed> {
    let filler = base.with_file_name("switchboard-bench");
    let made = Command::new(&filler).arg("stock").arg(folder).arg(calls.to_string()).output();
    let made = made.map_err(|error| format!("{}, which fills the store: {error}", filler.display()))?;
    if !made.status.success() {
        return Err(format!("{}: {}", filler.display(), String::from_utf8_lossy(&made.stderr)).into());
    }
    let key = String::from_utf8(made.stdout)?.trim().to_owned();
    let (theirs, ours) = (folder.join("store"), folder.join("own"));
    copy_of(&theirs, &ours)?;
    Ok((key, [Side { binary: base.into(), data: theirs }, Side { binary: beside("switchboard")?, data: ours }]))
}

impl Side {
    /// Measures one turn.
    fn measure(&self, key: &str) -> Result<[f64; FIGURES.len()], Failed> {
        let server = Server::of_binary(&self.binary, &self.data, &["--engine", "none"])?;
        let read = |target: &'static str| {
            let key = key.to_owned();
            Ok::<_, Failed>(run(&server, Load::full(READERS, SPAN), move |_| get(&key, target))?.rate)
        };
        let reads = [read("/user/calls/1")?, read("/user/calls")?];
        let [alone, many] = [creates(&server, key, 1, SPAN)?, creates(&server, key, GROUP, SPAN)?];
        let killed_ms = start_after_kill_ms(server, &self.binary, &self.data)?;
        let [alone, many] = [alone, many].map(|seen| [seen.rate, seen.written / 1e3, seen.p99_us / 1e3]);
        let mut all = [0.0; FIGURES.len()];
        let seen = alone.into_iter().chain(many).chain(reads).chain([killed_ms]);
        all.iter_mut().zip(seen).for_each(|(figure, value)| *figure = value);
        Ok(all)
    }
}
