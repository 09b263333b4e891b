//! Ids inside a body: each must name an entry of the catalogue or a row of the caller's account. Anything else is
//! "invalid", so that nobody learns whether it exists elsewhere.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::ctx::Ctx;
use crate::json::Members;
use crate::key::{self, Kind};
use crate::record::{Cell, Checked, Ref};
use crate::view::Stop;

/// Checks every id in a body, or in the supplied members of an update, and adds an error for each unknown one.
pub fn check(ctx: &Ctx<'_>, checked: &mut Checked, supplied: Option<&Members>) -> Result<(), Stop> {
    let mut asked: Vec<(Ref, alloc::string::String, u64)> = Vec::new();
    for (column, cell) in checked.columns() {
        let Some(what) = column.spec.exists else { continue };
        // An update checks only the members it supplies: the stored ones were checked when they were set.
        if supplied.is_some_and(|members| members.get(column.name).is_none()) {
            continue;
        }
        match cell {
            Cell::Int(id) => asked.push((what, column.name.into(), id.unsigned_abs())),
            Cell::List(cells) => asked.extend(cells.iter().enumerate().filter_map(|(at, cell)| match cell {
                Cell::Int(id) => Some((what, format!("{}.{at}", column.name), id.unsigned_abs())),
                _ => None,
            })),
            _ => {}
        }
    }
    let there = rows(ctx, &asked)?;
    for (what, field, id) in asked {
        let good = match what {
            Ref::Row(kind) => there.contains(&(kind, id)),
            what => ctx.setup.catalogue().has(what, id),
        };
        if !good {
            checked.errors.invalid(&field);
        }
    }
    Ok(())
}

/// Returns those of the ids that name existing rows of the caller's account.
fn rows(ctx: &Ctx<'_>, asked: &[(Ref, alloc::string::String, u64)]) -> Result<BTreeSet<(Kind, u64)>, Stop> {
    let own: Vec<(Kind, u64, u32)> = asked
        .iter()
        .filter_map(|(what, _, id)| match what {
            Ref::Row(kind) => Some((*kind, *id, ctx.own(*id)?)),
            _ => None,
        })
        .collect();
    if own.is_empty() {
        return Ok(BTreeSet::new());
    }
    let account = ctx.account();
    let keys: Vec<_> = own.iter().map(|(kind, _, count)| key::row(account.space(), *kind, *count)).collect();
    let found = account.get_many(&keys)?;
    Ok(own.into_iter().zip(found).filter(|(_, row)| row.is_some()).map(|((kind, id, _), _)| (kind, id)).collect())
}
