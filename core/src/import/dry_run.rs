//! A dry run: what an import would make of the first records of a file. Nothing is stored.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::columns::Columns;
use super::records::{Dialect, ImportFormat, ImportRecord, NextRecord, Position, Records};
use super::rows::Target;
use super::slice::{members, of_line};
use super::tables::{DryRun, LineErrors};
use super::taken::{check_lead, check_number};
use crate::http::ctx::Ctx;
use crate::json::Members;
use crate::limits::{DRY_RUN_RECORDS, DRY_RUN_ROWS};
use crate::numbering::dialing::DialingCountry;
use crate::record::{Errors, Json};

/// Looks at the first records of a file from a position on.
pub fn look(
    ctx: &Ctx<'_>,
    file: &[u8],
    (format, dialect): (ImportFormat, Dialect),
    position: Position,
    (columns, target, home): (&Columns, Target, Option<DialingCountry>),
) -> DryRun {
    let mut records = Records::new(format, dialect, position, &file[position.offset as usize..], true);
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for _ in 0..DRY_RUN_RECORDS {
        let (line, wrong) = match records.next() {
            NextRecord::Record(line, record) => {
                if rows.len() < DRY_RUN_ROWS {
                    rows.push(texts(&record));
                }
                (
                    line,
                    members(&record, columns, target)
                        .map_or_else(|says| Some(of_line(says)), |members| wrong(ctx, (target, home), members)),
                )
            }
            NextRecord::Malformed(line, malformed) => (line, Some(of_line(malformed.text().to_string()))),
            NextRecord::Pause | NextRecord::End => break,
        };
        errors.extend(wrong.map(|wrong| LineErrors { line, errors: Some(Json::of(&wrong)) }));
    }
    let is_csv = format == ImportFormat::Csv;
    DryRun {
        columns: columns.names().to_vec(),
        separator: is_csv.then_some(dialect.separator),
        encoding: dialect.encoding,
        rows,
        errors,
    }
}

fn texts(record: &ImportRecord<'_>) -> Vec<String> {
    match record {
        ImportRecord::Cells(cells) => cells.iter().cloned().map(Cow::into_owned).collect(),
        ImportRecord::Line(text) => Vec::from([text.trim_end_matches('\r').to_string()]),
    }
}

/// Returns what is wrong with a record; a number that is there already is no error.
fn wrong(ctx: &Ctx<'_>, (target, home): (Target, Option<DialingCountry>), members: Members) -> Option<Errors> {
    match target {
        Target::Leads { campaign, allow_dupplicate } => {
            check_lead(ctx.account(), (campaign, allow_dupplicate), home, members).err()
        }
        Target::Numbers => check_number(home, members).err(),
    }
}
