//! How much an account may store: its plan's `storage_bytes` (docs/api.md, Budgets).

use super::plan;
use crate::key::Space;
use crate::store::{Ledger, StoredBytes, Tx};
use crate::view::Stop;

/// How much further an account may grow until its plan is looked at again, bytes: a look costs as much as a row.
const LOOK_BYTES: u64 = 64 << 10;

/// Whether the changes of a step let an account store more than its plan allows.
pub fn is_over(tx: &Tx<'_>, account: u32) -> Result<bool, Stop> {
    let growth = tx.growth()?.get(&account).copied().unwrap_or(0);
    if growth <= 0 {
        return Ok(false);
    }
    let scope = tx.scope(Space::Account(account));
    let mut ledger = Ledger::load(scope)?;
    let Some(stored) = ledger.stored() else { return Ok(false) };
    let after = stored.bytes.saturating_add_signed(growth);
    if after <= stored.allowed {
        return Ok(false);
    }
    let most = plan::of(scope)?.storage_bytes;
    if after > most {
        return Ok(true);
    }
    ledger.set_stored(StoredBytes { allowed: most.min(after + LOOK_BYTES), ..stored });
    ledger.save(scope)?;
    Ok(false)
}
