//! What is noted of keys that values are sealed with: rows of the table `meta`.

use tokio_postgres::{Client, Error};

use super::link;
use crate::seal::KeyId;
use crate::store::StoreError;
use crate::store::backend::SealState;

const WHAT: &str = "the store cannot be opened";

/// Returns the ids of the keys that values are sealed with; true once every value is sealed with that key.
pub(super) async fn read(client: &Client) -> Result<Vec<(KeyId, bool)>, StoreError> {
    let read = "SELECT substr(name, 6), value FROM meta WHERE name LIKE 'seal:%' ORDER BY name";
    let rows = client.query(read, &[]).await.map_err(|error| refused(&error))?;
    let one = |row: &tokio_postgres::Row| {
        let id = u32::from_str_radix(row.get(0), 16).map_err(|error| StoreError::of(WHAT, &error))?;
        Ok((id.to_be_bytes(), row.get::<_, &str>(1) == "every"))
    };
    rows.iter().map(one).collect()
}

/// Notes what is known of keys that values are sealed with.
pub(super) async fn note(client: &Client, seals: Vec<(KeyId, SealState)>) -> Result<(), StoreError> {
    for (id, state) in seals {
        let name = format!("seal:{:08x}", u32::from_be_bytes(id));
        let put = "INSERT INTO meta VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
        let done = match state {
            SealState::Some => client.execute(put, &[&name, &"some"]).await,
            SealState::Every => client.execute(put, &[&name, &"every"]).await,
            SealState::None => client.execute("DELETE FROM meta WHERE name = $1", &[&name]).await,
        };
        done.map_err(|error| refused(&error))?;
    }
    Ok(())
}

fn refused(error: &Error) -> StoreError {
    link::refused(WHAT, error)
}
