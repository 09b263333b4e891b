//! [`Rooms`]: a room for each row of the table of budgets.

use std::sync::Arc;

use switchboard_core::budget::{self, Budget};

use crate::room::Room;

/// The rooms of a running host: one for each row that it enforces.
pub struct Rooms {
    /// See [`budget::CONNECTIONS`].
    pub connections: Arc<Room>,
    /// See [`budget::ADMIN_CONNECTIONS`].
    pub admin_connections: Arc<Room>,
    /// See [`budget::BODIES`].
    pub bodies: Arc<Room>,
    /// See [`budget::UPLOADS`].
    pub uploads: Arc<Room>,
    /// See [`budget::ANSWERS`].
    pub answers: Arc<Room>,
    /// See [`budget::LISTS`].
    pub lists: Arc<Room>,
    /// See [`budget::LARGE_READS`].
    pub large_reads: Arc<Room>,
    /// See [`budget::STREAMS`].
    pub streams: Arc<Room>,
    /// See [`budget::WRITES`].
    pub writes: Arc<Room>,
    /// See [`budget::ASKING`].
    pub asking: Arc<Room>,
    /// See [`budget::USER_REQUESTS`].
    pub user_requests: Arc<Room>,
    /// See [`budget::OPERATOR_REQUESTS`].
    pub operator_requests: Arc<Room>,
    /// See [`budget::LOOKUPS`].
    pub lookups: Arc<Room>,
    /// See [`budget::OPERATOR_LOOKUPS`].
    pub operator_lookups: Arc<Room>,
    /// See [`budget::HASHES`].
    pub hashes: Arc<Room>,
    /// See [`budget::READERS`].
    pub readers: Arc<Room>,
    /// See [`budget::STEPS`]; told, not asked.
    pub steps: Arc<Room>,
    /// See [`budget::STORED`]; told, not asked.
    pub stored: Arc<Room>,
}

impl Default for Rooms {
    fn default() -> Self {
        Self::with_connections(budget::CONNECTIONS.all)
    }
}

impl Rooms {
    /// Rooms for so many connections.
    pub fn with_connections(connections: u64) -> Self {
        let address = (connections / 16).max(64).min(connections);
        let connections = Budget { all: connections, nobody: connections, address, ..budget::CONNECTIONS };
        Self {
            connections: Room::new(&connections),
            admin_connections: Room::new(&budget::ADMIN_CONNECTIONS),
            bodies: Room::new(&budget::BODIES),
            uploads: Room::new(&budget::UPLOADS),
            answers: Room::new(&budget::ANSWERS),
            lists: Room::new(&budget::LISTS),
            large_reads: Room::new(&budget::LARGE_READS),
            streams: Room::new(&budget::STREAMS),
            writes: Room::new(&budget::WRITES),
            asking: Room::new(&budget::ASKING),
            user_requests: Room::new(&budget::USER_REQUESTS),
            operator_requests: Room::new(&budget::OPERATOR_REQUESTS),
            lookups: Room::new(&budget::LOOKUPS),
            operator_lookups: Room::new(&budget::OPERATOR_LOOKUPS),
            hashes: Room::new(&budget::HASHES),
            readers: Room::new(&budget::READERS),
            steps: Room::new(&budget::STEPS),
            stored: Room::new(&budget::STORED),
        }
    }

    /// All of them, in the order of the table.
    pub fn all(&self) -> [&Arc<Room>; 18] {
        [
            &self.connections,
            &self.admin_connections,
            &self.bodies,
            &self.uploads,
            &self.answers,
            &self.lists,
            &self.large_reads,
            &self.streams,
            &self.writes,
            &self.asking,
            &self.user_requests,
            &self.operator_requests,
            &self.lookups,
            &self.operator_lookups,
            &self.hashes,
            &self.readers,
            &self.steps,
            &self.stored,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::budget::BUDGETS;

    #[test]
    fn every_row_of_the_table_has_a_room() {
        let rooms = Rooms::default();
        let names: Vec<_> = rooms.all().iter().map(|room| room.budget().name).collect();
        assert_eq!(names, BUDGETS.iter().map(|budget| budget.name).collect::<Vec<_>>());
        assert!(rooms.all().iter().zip(BUDGETS).all(|(room, budget)| room.budget() == *budget));
    }
}
