//! Ids inside a body: each must name an entry of the catalogue or a row of the caller's account. Anything else is
//! "invalid", so that nobody learns whether it exists elsewhere.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::ctx::Ctx;
use crate::json::Members;
use crate::key::{self, Kind};
use crate::record::{Cell, Checked, ColumnType, Ref};
use crate::view::Stop;

/// What an id must name, its path in the body, and the id.
type Asked = (Ref, String, u64);

/// Checks every id in a body, or in the supplied members of an update, and adds an error for each unknown one.
pub fn check(ctx: &Ctx<'_>, checked: &mut Checked, supplied: Option<&Members>) -> Result<(), Stop> {
    let mut asked: Vec<Asked> = Vec::new();
    for (column, cell) in checked.columns() {
        let Some(what) = column.spec.exists else { continue };
        // An update checks only the members it supplies: the stored ones were checked when they were set.
        if supplied.is_some_and(|members| members.get(column.name).is_none()) {
            continue;
        }
        ids(what, cell, column.name, &mut asked);
    }
    refuse_missing(ctx, checked, asked)
}

/// Checks the ids inside the objects of these members, except those `kept`.
pub fn check_inside(ctx: &Ctx<'_>, checked: &mut Checked, members: &[&str], kept: &BTreeSet<u64>) -> Result<(), Stop> {
    let mut asked: Vec<Asked> = Vec::new();
    for (column, cell) in checked.columns().filter(|(column, _)| members.contains(&column.name)) {
        inside(&column.spec.kind, cell, column.name, &mut asked);
    }
    asked.retain(|(_, _, id)| !kept.contains(id));
    refuse_missing(ctx, checked, asked)
}

/// Collects the ids in the members of an object, or of the objects in a list.
fn inside(kind: &ColumnType, cell: &Cell, path: &str, asked: &mut Vec<Asked>) {
    let (table, cells) = match (kind, cell) {
        (ColumnType::List { of, .. }, Cell::List(cells)) => {
            for (at, cell) in cells.iter().enumerate() {
                inside(of, cell, &format!("{path}.{at}"), asked);
            }
            return;
        }
        (ColumnType::Record(table), Cell::Record(cells)) => (*table, cells),
        (ColumnType::Tagged(variants), Cell::Tagged(word, cells)) => {
            let Some((_, table)) = variants.iter().find(|(name, _)| name == word) else { return };
            (*table, cells)
        }
        _ => return,
    };
    for (column, cell) in table.columns.iter().zip(cells) {
        let path = format!("{path}.{}", column.name);
        match column.spec.exists {
            Some(what) => ids(what, cell, &path, asked),
            None => inside(&column.spec.kind, cell, &path, asked),
        }
    }
}

/// Collects an id, or the ids of a list.
fn ids(what: Ref, cell: &Cell, path: &str, asked: &mut Vec<Asked>) {
    match cell {
        Cell::Int(id) => asked.push((what, path.into(), id.unsigned_abs())),
        Cell::List(cells) => {
            cells.iter().enumerate().for_each(|(at, cell)| ids(what, cell, &format!("{path}.{at}"), asked));
        }
        _ => {}
    }
}

/// Adds an error for each id that names nothing.
fn refuse_missing(ctx: &Ctx<'_>, checked: &mut Checked, asked: Vec<Asked>) -> Result<(), Stop> {
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
fn rows(ctx: &Ctx<'_>, asked: &[Asked]) -> Result<BTreeSet<(Kind, u64)>, Stop> {
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
