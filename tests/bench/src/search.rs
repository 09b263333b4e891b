//! Search in a knowledgebase: the cost of adding, storing and finding passages, in memory and in redb.

use std::path::Path;
use std::time::{Duration, Instant};

use switchboard::store::Store;
use switchboard_claims::{Claim, tell};
use switchboard_core::key::Space;
use switchboard_core::knowledge::search::{Added, IndexLanguage, Passages, add, drop_slice, hide, search};
use switchboard_core::limits::search::SEGMENT_PASSAGES_MAX;
use switchboard_core::memory::Memory;
use switchboard_core::store::{Change, Scope, Tx};
use switchboard_core::view::{Stop, View};

use crate::Failed;

const BASE: u32 = 1;
const ACCOUNT: Space = Space::Account(0);
/// Passages of a document.
const DOCUMENT: u32 = 100;
/// Number of different words in the texts, as a power of two. A word's frequency falls with its rank, as in natural
/// texts (Zipf).
const VOCABULARY_BITS: u64 = 15;
const QUERIES: u64 = 2_000;

/// Sizes of the measured stores, in passages.
const SIZES: [u32; 2] = [10_000, 50_000];

/// Measures a small index and a large one.
pub fn print() -> Result<bool, Failed> {
    let mut claims = Vec::new();
    for passages in SIZES {
        claims.extend(measure(passages)?);
    }
    Ok(tell(&claims)?)
}

/// Measures stores with `passages` passages, and prints a line for each.
fn measure(passages: u32) -> Result<Vec<Claim>, Failed> {
    println!(
        "| {passages} passages in | rows a passage | bytes a passage | added /s | slowest step ms | search p50 µs | p99 µs | 16 commonest words µs | dropped /s |\n|---|---|---|---|---|---|---|---|---|"
    );
    let mut memory = Memory::default();
    let filled = fill(passages, &mut |run| {
        let changes = step(&memory, run)?;
        memory.apply(&changes);
        Ok(())
    })?;
    let bytes: usize = memory.rows().iter().map(|(key, value)| key.len() + value.len()).sum();
    let rows = memory.rows().len();
    show("memory", passages, rows, bytes as u64, &filled, &find(&memory)?, None);
    let folder = std::env::temp_dir().join(format!("switchboard-search-{}", std::process::id()));
    let done = durable(&folder, passages, rows);
    std::fs::remove_dir_all(&folder)?;
    let (filled, found) = done?;
    let each = |all: usize| (all / passages as usize).to_string();
    Ok(vec![
        Claim::stated(format!("A search among {passages} passages, p50"), format!("{} µs", found.p50.as_micros())),
        Claim::stated(format!("A search among {passages} passages, p99"), format!("{} µs", found.p99.as_micros())),
        Claim::stated(
            format!("A step that adds passages to {passages}, with its commit: the longest"),
            format!("{:.1} ms", filled.slowest.as_secs_f64() * 1e3),
        ),
        Claim::stated(format!("Rows a passage, of {passages}"), each(rows)),
        Claim::stated(format!("Bytes a passage, of {passages}"), each(bytes)),
    ])
}

fn durable(folder: &Path, passages: u32, rows: usize) -> Result<(Filled, Found), Failed> {
    let store = Store::open(folder)?;
    let mut carry_out = |run: &mut Run<'_>| Ok(store.commit(&step(&store.whole()?.view(None), run)?)?);
    let filled = fill(passages, &mut carry_out)?;
    let found = find(&store.whole()?.view(None))?;
    let bytes = store.file_bytes();
    let began = Instant::now();
    for document in 0..passages.div_ceil(DOCUMENT) {
        let mut done = false;
        carry_out(&mut |account| hide(account, BASE, document))?;
        while !done {
            carry_out(&mut |account| {
                done = drop_slice(account, BASE, document)?;
                Ok(())
            })?;
        }
    }
    show("redb (a commit a step)", passages, rows, bytes, &filled, &found, Some(began.elapsed()));
    Ok((filled, found))
}

type Run<'r> = dyn FnMut(Scope<'_>) -> Result<(), Stop> + 'r;

fn step(view: &dyn View, run: &mut Run<'_>) -> Result<Vec<Change>, Failed> {
    let tx = Tx::new(view);
    run(tx.scope(ACCOUNT)).map_err(|stop| format!("{stop:?}"))?;
    Ok(tx.changes())
}

/// Total time of filling a store, and its slowest step.
struct Filled {
    all: Duration,
    slowest: Duration,
}

fn fill(passages: u32, carry_out: &mut dyn FnMut(&mut Run<'_>) -> Result<(), Failed>) -> Result<Filled, Failed> {
    let mut filled = Filled { all: Duration::ZERO, slowest: Duration::ZERO };
    for document in 0..passages.div_ceil(DOCUMENT) {
        let text = text(document);
        let cut: Vec<&str> = Passages::new(&text).take(DOCUMENT as usize).collect();
        for slice in cut.chunks(SEGMENT_PASSAGES_MAX) {
            let mut added = Added::Terms(0);
            while let Added::Terms(written) = added {
                let began = Instant::now();
                carry_out(&mut |account| {
                    added = add(account, BASE, document, IndexLanguage::English, slice, written)?;
                    Ok(())
                })?;
                filled.all += began.elapsed();
                filled.slowest = filled.slowest.max(began.elapsed());
            }
            assert_eq!(added, Added::Stored, "there is room");
        }
    }
    Ok(filled)
}

/// Returns a document's text: sentences of a dozen words, paragraphs of five sentences.
fn text(document: u32) -> String {
    let mut dice = Dice(u64::from(document) + 1);
    let mut text = String::new();
    for sentence in 0..DOCUMENT * 14 {
        for _ in 0..12 {
            text.push_str(&word(dice.place()));
            text.push(' ');
        }
        text.pop();
        text.push_str(if sentence % 5 == 4 { ".\n\n" } else { ". " });
    }
    text
}

/// Returns the word with this frequency rank; frequent words are short.
fn word(place: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "ve"];
    const ENDINGS: [&str; 8] = ["", "n", "s", "r", "ts", "ing", "ed", "l"];
    let (mut word, mut rest) = (String::new(), place / 8);
    loop {
        word.push_str(SYLLABLES[usize::try_from(rest % 16).unwrap_or(0)]);
        rest /= 16;
        if rest == 0 {
            return word + ENDINGS[usize::try_from(place % 8).unwrap_or(0)];
        }
    }
}

/// Pseudorandom numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns a rank in the vocabulary: each doubling of the ranks is as likely as the one before.
    fn place(&mut self) -> u64 {
        let reach = 4 << (self.next() % (VOCABULARY_BITS - 1));
        self.next() % reach
    }
}

/// Times of searches with a few words each, and of one with the commonest words of all.
struct Found {
    p50: Duration,
    p99: Duration,
    commonest: Duration,
}

fn find(view: &dyn View) -> Result<Found, Failed> {
    let mut dice = Dice(77);
    let mut times = Vec::new();
    for _ in 0..QUERIES {
        let words: Vec<String> = (0..3 + dice.next() % 6).map(|_| word(dice.place())).collect();
        times.push(timed(view, &words.join(" "))?);
    }
    times.sort();
    let common: Vec<String> = (0..24).map(word).collect();
    let mut commonest = (0..21).map(|_| timed(view, &common.join(" "))).collect::<Result<Vec<_>, _>>()?;
    commonest.sort();
    Ok(Found { p50: times[times.len() / 2], p99: times[times.len() * 99 / 100], commonest: commonest[10] })
}

/// Returns the fastest of three runs: anything slower is due to the rest of the machine.
fn timed(view: &dyn View, query: &str) -> Result<Duration, Failed> {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        let hits = search(Tx::new(view).scope(ACCOUNT), BASE, query, 5).map_err(|stop| format!("{stop:?}"))?;
        best = best.min(began.elapsed());
        if hits.is_empty() {
            return Err("nothing was found".into());
        }
    }
    Ok(best)
}

fn show(store: &str, passages: u32, rows: usize, bytes: u64, filled: &Filled, found: &Found, drop: Option<Duration>) {
    let each = f64::from(passages);
    println!(
        "| {store} | {} | {} | {:.0} | {:.1} | {} | {} | {} | {} |",
        rows / passages as usize,
        bytes / u64::from(passages),
        each / filled.all.as_secs_f64(),
        filled.slowest.as_secs_f64() * 1e3,
        found.p50.as_micros(),
        found.p99.as_micros(),
        found.commonest.as_micros(),
        drop.map_or("–".into(), |took| format!("{:.0}", each / took.as_secs_f64())),
    );
}
