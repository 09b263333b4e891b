//! A packed column of the leads' numbers, for the one list filter that is no facet: a part of a number.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::collection::{Ids, Page, Query};
use crate::key::{self, Kind};
use crate::store::Scope;
use crate::view::Stop;

/// Leads in one row of the column.
const BLOCK: u32 = 1_024;
const WIDTH: usize = 8;

/// Packs a number into 8 bytes: the count of digits above their value. E.164 has at most 15 digits.
fn pack(phone: &str) -> [u8; WIDTH] {
    let digits = phone.trim_start_matches('+');
    let value: u64 = digits.parse().unwrap_or(0);
    ((digits.len() as u64) << 56 | value).to_le_bytes()
}

fn unpack(bytes: [u8; WIDTH]) -> String {
    let packed = u64::from_le_bytes(bytes);
    let (length, value) = (packed >> 56, packed & ((1 << 56) - 1));
    if length == 0 { String::new() } else { value.to_string() }
}

/// Stores the number of a lead, or clears it with `None`.
pub fn set(account: Scope<'_>, count: u32, phone: Option<&str>) -> Result<(), Stop> {
    let key = key::phones(account.space(), Kind::Lead, count / BLOCK);
    let mut column = account.get(key.clone())?.unwrap_or_default();
    let at = (count % BLOCK) as usize * WIDTH;
    if column.len() < at + WIDTH {
        column.resize(at + WIDTH, 0);
    }
    column[at..at + WIDTH].copy_from_slice(&phone.map_or([0; WIDTH], pack));
    account.put(key, column)
}

/// Returns a page of the query's leads whose number contains `part`.
pub fn page(account: Scope<'_>, query: &Query, part: &str) -> Result<Page, Stop> {
    let mut page = Page { ids: Vec::new(), total: 0 };
    let (mut ids, mut column) = (Ids::of(account, Kind::Lead, query)?, PhoneColumn::of(account));
    while let Some(some) = ids.more()? {
        for count in some {
            if !column.contains(count, part)? {
                continue;
            }
            if page.total >= query.offset && page.ids.len() < query.limit {
                page.ids.push(count);
            }
            page.total += 1;
        }
    }
    Ok(page)
}

/// The column as it is read, a row of it at a time.
pub struct PhoneColumn<'s> {
    account: Scope<'s>,
    block: Option<(u32, Vec<u8>)>,
}

impl<'s> PhoneColumn<'s> {
    /// Starts with nothing read.
    pub const fn of(account: Scope<'s>) -> Self {
        Self { account, block: None }
    }

    /// Returns whether the number of a lead contains `part`; quick for leads in the order of their ids.
    pub fn contains(&mut self, count: u32, part: &str) -> Result<bool, Stop> {
        let wanted = count / BLOCK;
        if self.block.as_ref().is_none_or(|(block, _)| *block != wanted) {
            let key = key::phones(self.account.space(), Kind::Lead, wanted);
            self.block = Some((wanted, self.account.get(key)?.unwrap_or_default()));
        }
        let at = (count % BLOCK) as usize * WIDTH;
        let packed = self.block.as_ref().and_then(|(_, bytes)| bytes.get(at..at + WIDTH)?.try_into().ok());
        Ok(unpack(packed.unwrap_or([0; WIDTH])).contains(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_length_pack() {
        for phone in ["+12", "+40700000001", "+999999999999999"] {
            assert_eq!(unpack(pack(phone)), phone[1..]);
        }
        assert_eq!(unpack([0; WIDTH]), "");
    }
}
