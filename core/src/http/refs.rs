//! Ids inside a body: each must name something of the catalogue or of the caller's account, and anything
//! else is "invalid", whether it exists elsewhere or not.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::ctx::Ctx;
use crate::json::Members;
use crate::key::{self, Kind};
use crate::record::{Cell, Checked, Ref};
use crate::view::Stop;

/// Judges every id of a body, or of an update's supplied members, and adds what is wrong.
pub fn judge(ctx: &Ctx<'_>, checked: &mut Checked, supplied: Option<&Members>) -> Result<(), Stop> {
    let mut asked: Vec<(Ref, alloc::string::String, u64)> = Vec::new();
    for (column, cell) in checked.columns() {
        let Some(what) = column.exists else { continue };
        // Whether catalogue entries still exist is asked of supplied members alone: the rest was judged before.
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

/// Which of the ids name rows of the caller's account.
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
