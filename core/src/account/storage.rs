//! The storage limit of an account: its plan's `storage_bytes` (docs/api.md, Budgets).

use super::plan;
use crate::key::Space;
use crate::store::{Ledger, StoredBytes, Tx};
use crate::view::Stop;

/// Growth after which the plan is read again, bytes: reading it at every step would cost a row each time.
const LOOK_BYTES: u64 = 64 << 10;

/// Returns whether the changes of a step make an account store more than its plan allows.
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
