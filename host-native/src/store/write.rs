//! [`Write`]: an open write of a store. There is one at a time.

use std::sync::Arc;

use redb::WriteTransaction;

use super::{Latest, Rows, Store, StoreError, refused};
use crate::seal::Seal;

/// An open write: nobody sees it until it is committed, and whoever reads from then on does.
pub struct Write {
    pub(super) transaction: WriteTransaction,
    latest: Arc<Latest>,
    seal: Arc<Seal>,
}

impl Store {
    /// Begins a write.
    pub fn begin(&self) -> Result<Write, StoreError> {
        let transaction = self.with_database(super::begin)?;
        Ok(Write { transaction, latest: Arc::clone(&self.latest), seal: Arc::clone(&self.seal) })
    }
}

impl Write {
    /// The rows, as this write leaves them.
    pub fn rows(&self) -> Result<Rows<'_>, StoreError> {
        Rows::of(&self.transaction, Arc::clone(&self.seal))
    }

    /// Makes it durable.
    pub fn commit(self) -> Result<(), StoreError> {
        let committed = self.transaction.commit().map_err(refused("a commit failed"));
        // One that failed may be there all the same.
        self.latest.forget();
        committed
    }

    /// Drops what it changed.
    pub fn abort(self) -> Result<(), StoreError> {
        self.transaction.abort().map_err(refused("an empty write could not be dropped"))
    }
}
