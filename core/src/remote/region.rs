//! The side of the store: executes reads, and checks whether earlier reads still hold.

use alloc::vec::Vec;
use core::slice;

use super::version::{self, Seen};
use crate::account::caller::PresentedToken;
use crate::http::caller::Credential;
use crate::http::refusal::Halt;
use crate::limits::remote::MESSAGE_BYTES_MAX;
use crate::limits::step::READS_MAX;
use crate::rate::Rate;
use crate::store::Tx;
use crate::time::Timestamp;
use crate::view::{Found, Read, Stop, View};

/// Executes reads, all from this view, in their order; [`Stop::OverBudget`] if the results exceed what a step may read
/// ([`READS_MAX`]) or a message may hold ([`MESSAGE_BYTES_MAX`]).
pub fn carry_out(view: &dyn View, reads: &[Read]) -> Result<Vec<Found>, Stop> {
    let (mut rows, mut bytes) = (0, 0);
    reads
        .iter()
        .map(|read| {
            let found = one(view, read)?;
            let (more_rows, more_bytes) = size(&found);
            (rows, bytes) = (rows + more_rows, bytes + more_bytes);
            if rows > READS_MAX || bytes > MESSAGE_BYTES_MAX { Err(Stop::OverBudget) } else { Ok(found) }
        })
        .collect()
}

/// Authenticates a token and takes one request from its rate limit; `None` if the token is not valid.
pub fn admit(
    view: &dyn View,
    shown: &PresentedToken,
    now: Timestamp,
) -> Result<Option<(Credential, Option<Rate>)>, Stop> {
    match shown.session(&Tx::new(view), now) {
        Ok(session) => Ok(Some((session.credential(), view.admit(session.credential().bucket())?))),
        Err(Halt::Stop(stop)) => Err(stop),
        Err(_) => Ok(None),
    }
}

/// Returns whether every read still has the version seen before.
pub fn holds(view: &dyn View, seen: &[Seen]) -> Result<bool, Stop> {
    for Seen { read, version } in seen {
        if version::of(&one(view, read)?) != Some(*version) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn one(view: &dyn View, read: &Read) -> Result<Found, Stop> {
    match read {
        Read::Get(key) => Ok(Found::Value(view.get(slice::from_ref(key))?.into_iter().next().flatten())),
        // One row over the limit of a step is enough to detect that it reads too much.
        Read::Scan(scan) => {
            let limit = scan.limit.min(READS_MAX + 1);
            Ok(Found::Rows(view.scan(scan.from.clone()..scan.to.clone(), scan.order, limit)?))
        }
        Read::Admit(caller) => Ok(Found::Rate(view.admit(*caller)?)),
    }
}

fn size(found: &Found) -> (usize, usize) {
    match found {
        Found::Value(value) => (1, value.as_ref().map_or(0, Vec::len)),
        Found::Rows(rows) => (1 + rows.len(), rows.iter().map(|(key, value)| key.len() + value.len()).sum()),
        Found::Rate(_) => (1, 0),
    }
}
