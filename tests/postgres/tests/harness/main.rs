//! The harness itself: what it starts runs, what it hurts is hurt in the way it says, and nothing is left behind.

mod disk;
mod encryption;
mod life;
mod limits;
mod links;
mod repeat;
mod replicas;

use switchboard_postgres::{Instance, Login, SqlSession};

/// Starts a server with a database `app`, and a table in it.
fn with_table(instance: &Instance) -> (Login, SqlSession) {
    let login = instance.create_database("app").expect("a database");
    let session = SqlSession::open(&login.config(instance.address())).expect("a session");
    session.run("CREATE TABLE note (id int PRIMARY KEY)").expect("a table");
    (login, session)
}

/// Connects as the owner of `app`, under its name.
fn session(instance: &Instance, login: &Login) -> SqlSession {
    let mut config = login.config(instance.address());
    SqlSession::open(config.application_name("app")).expect("a session")
}
