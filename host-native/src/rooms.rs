//! [`Rooms`]: one [`Room`] for each row of the table of budgets.

use std::sync::Arc;

use switchboard_core::budget::{self, Budget};

use crate::room::Room;

/// The rooms of a running host, one for each budget.
pub struct Rooms {
    /// Open connections at the main address, see [`budget::CONNECTIONS`].
    pub connections: Arc<Room>,
    /// Open connections at the operator's own address, see [`budget::ADMIN_CONNECTIONS`].
    pub admin_connections: Arc<Room>,
    /// Open connections of other nodes, see [`budget::NODE_CONNECTIONS`].
    pub node_connections: Arc<Room>,
    /// Requests that are passed on to the node that serves, see [`budget::PASSED`].
    pub passed: Arc<Room>,
    /// Bytes of requests being received or answered, see [`budget::BODIES`].
    pub bodies: Arc<Room>,
    /// Bodies of more than a mebibyte being received, see [`budget::UPLOADS`].
    pub uploads: Arc<Room>,
    /// Places of recordings being uploaded, see [`budget::RECORDING_UPLOADS`].
    pub recording_uploads: Arc<Room>,
    /// Places of recordings being sent, see [`budget::RECORDING_DOWNLOADS`].
    pub recording_downloads: Arc<Room>,
    /// Bytes of large answers not yet taken, see [`budget::ANSWERS`].
    pub answers: Arc<Room>,
    /// Lists being written piece by piece, see [`budget::LISTS`].
    pub lists: Arc<Room>,
    /// Turns of accounts that read much, see [`budget::LARGE_READS`].
    pub large_reads: Arc<Room>,
    /// Live streams, see [`budget::STREAMS`].
    pub streams: Arc<Room>,
    /// Requests in the writer's queue, see [`budget::WRITES`].
    pub writes: Arc<Room>,
    /// Steps whose rows are read from a database, see [`budget::LOADS`].
    pub loads: Arc<Room>,
    /// Requests that wait for something outside, see [`budget::ASKING`].
    pub asking: Arc<Room>,
    /// HTTP requests to addresses that users chose, see [`budget::USER_REQUESTS`].
    pub user_requests: Arc<Room>,
    /// HTTP requests to services that the operator set up, see [`budget::OPERATOR_REQUESTS`].
    pub operator_requests: Arc<Room>,
    /// Questions to language models, see [`budget::MODEL_REQUESTS`].
    pub model_requests: Arc<Room>,
    /// Bytes of questions to language models and of their answers, see [`budget::MODEL_BYTES`].
    pub model_bytes: Arc<Room>,
    /// DNS look-ups for addresses that users chose, see [`budget::LOOKUPS`].
    pub lookups: Arc<Room>,
    /// DNS look-ups for services that the operator set up, see [`budget::OPERATOR_LOOKUPS`].
    pub operator_lookups: Arc<Room>,
    /// Password hashes being computed, see [`budget::HASHES`].
    pub hashes: Arc<Room>,
    /// Processes that read files, see [`budget::READERS`].
    pub readers: Arc<Room>,
    /// Bytes that one step reads or changes, see [`budget::STEPS`]; the core enforces it, the room only reports it.
    pub steps: Arc<Room>,
    /// Bytes stored, see [`budget::STORED`]; the core enforces it, the room only reports it.
    pub stored: Arc<Room>,
}

impl Default for Rooms {
    fn default() -> Self {
        Self::with_connections(budget::CONNECTIONS.all)
    }
}

impl Rooms {
    /// Builds rooms for at most `connections` connections; an address gets a sixteenth of them, but no fewer than 64.
    pub fn with_connections(connections: u64) -> Self {
        let address = (connections / 16).max(64).min(connections);
        let connections = Budget { all: connections, nobody: connections, address, ..budget::CONNECTIONS };
        Self {
            connections: Room::new(&connections),
            admin_connections: Room::new(&budget::ADMIN_CONNECTIONS),
            node_connections: Room::new(&budget::NODE_CONNECTIONS),
            passed: Room::new(&budget::PASSED),
            bodies: Room::new(&budget::BODIES),
            uploads: Room::new(&budget::UPLOADS),
            recording_uploads: Room::new(&budget::RECORDING_UPLOADS),
            recording_downloads: Room::new(&budget::RECORDING_DOWNLOADS),
            answers: Room::new(&budget::ANSWERS),
            lists: Room::new(&budget::LISTS),
            large_reads: Room::new(&budget::LARGE_READS),
            streams: Room::new(&budget::STREAMS),
            writes: Room::new(&budget::WRITES),
            loads: Room::new(&budget::LOADS),
            asking: Room::new(&budget::ASKING),
            user_requests: Room::new(&budget::USER_REQUESTS),
            operator_requests: Room::new(&budget::OPERATOR_REQUESTS),
            model_requests: Room::new(&budget::MODEL_REQUESTS),
            model_bytes: Room::new(&budget::MODEL_BYTES),
            lookups: Room::new(&budget::LOOKUPS),
            operator_lookups: Room::new(&budget::OPERATOR_LOOKUPS),
            hashes: Room::new(&budget::HASHES),
            readers: Room::new(&budget::READERS),
            steps: Room::new(&budget::STEPS),
            stored: Room::new(&budget::STORED),
        }
    }

    /// Returns all rooms in the order of [`budget::BUDGETS`].
    pub fn all(&self) -> [&Arc<Room>; 25] {
        [
            &self.connections,
            &self.admin_connections,
            &self.node_connections,
            &self.passed,
            &self.bodies,
            &self.uploads,
            &self.recording_uploads,
            &self.recording_downloads,
            &self.answers,
            &self.lists,
            &self.large_reads,
            &self.streams,
            &self.writes,
            &self.loads,
            &self.asking,
            &self.user_requests,
            &self.operator_requests,
            &self.model_requests,
            &self.model_bytes,
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
