//! The limit of connections.

use switchboard_postgres::{HeldConnections, Instance, SqlSession, wait_until};
use tokio_postgres::error::SqlState;

#[test]
fn others_hold_all_connections_but_those_of_superusers() {
    let options = Instance::options().set("max_connections", "12").set("superuser_reserved_connections", "3");
    let instance = options.start().expect("a server");
    let login = instance.create_database("app").expect("a database");
    let config = login.config(instance.address());
    let some = HeldConnections::open(&config, 4).expect("there is room");
    let mut rest = HeldConnections::fill(&config).expect("it fills up");
    // The session that made the database may not be gone yet, but has no place among these.
    assert_eq!((some.count(), rest.count()), (4, 5));
    let refused = SqlSession::open(&config).err().expect("there is no room");
    assert_eq!(refused.code(), Some(&SqlState::TOO_MANY_CONNECTIONS));
    assert_eq!(instance.value("SELECT 1").as_deref(), Ok("1"));
    rest.close(4);
    wait_until("there is room", || SqlSession::open(&config).is_ok()).expect("a session");
}
