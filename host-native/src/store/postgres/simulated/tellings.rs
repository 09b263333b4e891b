//! [`Tellings`]: what was asked for and told, and what must therefore be true.

use std::collections::{BTreeMap, BTreeSet};

/// What clients know.
#[derive(Default)]
pub struct Tellings {
    counts: BTreeMap<u32, Count>,
    /// Who has which number, as somebody was told.
    owners: BTreeMap<u32, u64>,
    /// What was told.
    pub told: u64,
    /// What was asked for and not told.
    pub untold: u64,
}

#[derive(Default)]
struct Count {
    /// How often one was to be added.
    asked: u64,
    /// Counts that somebody was told to have made.
    made: BTreeSet<u64>,
    /// The highest count that anybody was told of.
    seen: u64,
}

impl Tellings {
    /// Notes that one is to be added to the count of an account.
    pub fn ask_to_add(&mut self, account: u32) {
        self.counts.entry(account).or_default().asked += 1;
    }

    /// Returns the count that whoever asks from now on must be told at least.
    pub fn least(&self, account: u32) -> u64 {
        self.counts.get(&account).map_or(0, |count| count.seen)
    }

    /// Notes which count somebody made, who asked when it was at least so much.
    pub fn added(&mut self, account: u32, least: u64, told: u64) -> Result<(), String> {
        self.told += 1;
        let count = self.counts.entry(account).or_default();
        count.seen = count.seen.max(told);
        let is_new = count.made.insert(told);
        if is_new && told > least && told <= count.asked {
            return Ok(());
        }
        Err(format!("account {account} was counted to {told} from at least {least}, twice: {}", !is_new))
    }

    /// Notes which count somebody read, who asked when it was at least so much.
    pub fn looked(&mut self, account: u32, least: u64, told: u64) -> Result<(), String> {
        self.told += 1;
        let count = self.counts.entry(account).or_default();
        count.seen = count.seen.max(told);
        if told >= least && told <= count.asked {
            return Ok(());
        }
        Err(format!("account {account} has {told}, and had {least}; {} were asked for", count.asked))
    }

    /// Notes who was said to have a number.
    pub fn claimed(&mut self, number: u32, told: u64) -> Result<(), String> {
        self.told += 1;
        let owner = *self.owners.entry(number).or_insert(told);
        if owner == told { Ok(()) } else { Err(format!("number {number} is of {owner}, and of {told}")) }
    }

    /// Compares all of it with what is stored in the end.
    pub fn compare(&self, count: impl Fn(u32) -> u64, owner: impl Fn(u32) -> u64) -> Result<(), String> {
        for (account, Count { asked, made, seen }) in &self.counts {
            let stored = count(*account);
            let least = (*seen).max(made.len() as u64);
            if stored < least || stored > *asked {
                return Err(format!("account {account} has {stored} in the end: {least} were told, {asked} asked for"));
            }
        }
        for (number, told) in &self.owners {
            let stored = owner(*number);
            if stored != *told {
                return Err(format!("number {number} is of {stored} in the end, and was said to be of {told}"));
            }
        }
        Ok(())
    }
}
