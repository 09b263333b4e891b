//! [`Login`], by which a client connects, and [`HeldConnections`]: those that others hold, so that a server has none
//! left.

use std::net::SocketAddr;

use tokio_postgres::Config;
use tokio_postgres::error::SqlState;

use crate::runtime::PATIENCE;
use crate::session::SqlSession;

/// Most connections that are opened to fill a server.
const CONNECTIONS_MAX: usize = 1_000;

/// A role with its password and its database.
#[derive(Clone, Debug)]
pub struct Login {
    /// Name of the role, and of its database; a letter, then letters, digits and `_`.
    pub name: String,
    /// Letters and digits.
    pub password: String,
}

impl Login {
    /// Returns the login of a role with a drawn password.
    pub(crate) fn draw(name: &str) -> Self {
        let password = std::iter::repeat_with(fastrand::alphanumeric).take(24).collect();
        Self { name: name.to_owned(), password }
    }

    /// Returns how a client connects at an address: that of the server, or that of a proxy. The name that TLS verifies
    /// is `localhost`.
    pub fn config(&self, at: SocketAddr) -> Config {
        let mut config = Config::new();
        config.host("localhost").hostaddr(at.ip()).port(at.port()).connect_timeout(PATIENCE);
        config.user(&self.name).password(&self.password).dbname(&self.name);
        config
    }

    /// Returns the same as a URL, to which parameters can be added (`?sslmode=…`).
    pub fn url(&self, at: SocketAddr) -> String {
        self.url_of_any(&[at])
    }

    /// Returns the same for several servers, of which a client takes the one that it wants.
    pub fn url_of_any(&self, at: &[SocketAddr]) -> String {
        let hosts: Vec<String> = at.iter().map(|at| format!("localhost:{}", at.port())).collect();
        format!("postgres://{0}:{1}@{2}/{0}", self.name, self.password, hosts.join(","))
    }
}

/// Idle connections, held as long as this value lives.
pub struct HeldConnections(Vec<SqlSession>);

impl HeldConnections {
    /// Opens this many connections.
    pub fn open(config: &Config, count: usize) -> Result<Self, String> {
        let open = |_| SqlSession::open(config).map_err(|error| error.to_string());
        (0..count).map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Opens connections until the server refuses one for want of room. Unless the role is a superuser, those that the
    /// server reserves stay free: by them the checks of a test connect.
    pub fn fill(config: &Config) -> Result<Self, String> {
        let mut held = Vec::new();
        while held.len() < CONNECTIONS_MAX {
            match SqlSession::open(config) {
                Ok(session) => held.push(session),
                Err(error) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS) => return Ok(Self(held)),
                Err(error) => return Err(format!("after {} connections: {}", held.len(), error)),
            }
        }
        Err(format!("{CONNECTIONS_MAX} connections do not fill the server: lower its max_connections"))
    }

    /// Returns how many are held.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Closes the newest of them, down to `left`. The server notices that soon after, not at once.
    pub fn close(&mut self, left: usize) {
        self.0.truncate(left);
    }
}
