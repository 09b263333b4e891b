//! Stores in a PostgreSQL of their own.

use std::sync::atomic::{AtomicU64, Ordering};

use switchboard::store::Store;
use switchboard_postgres::Instance;

/// A PostgreSQL in which stores are made, played on, and dropped.
pub struct Databases {
    instance: Instance,
    made: AtomicU64,
}

impl Databases {
    /// Starts one; the error says what is missing on this machine.
    pub fn start() -> Result<Self, String> {
        Ok(Self { instance: Instance::options().in_memory().start()?, made: AtomicU64::new(0) })
    }

    /// Plays on an empty store.
    pub fn with_store<T>(&self, play: impl FnOnce(Store) -> T) -> Result<T, String> {
        let name = format!("store{}", self.made.fetch_add(1, Ordering::Relaxed));
        let url = self.instance.create_database(&name)?.url(self.instance.address());
        Store::init(&url).map_err(|error| error.to_string())?;
        let played = play(Store::of_url(&url).map_err(|error| error.to_string())?);
        self.instance.run(&format!("DROP DATABASE {name} WITH (FORCE)"))?;
        Ok(played)
    }
}
