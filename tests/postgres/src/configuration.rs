//! A server's configuration files: its settings, and who may connect.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, OpenOptions, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::authority::Identity;
use crate::launch::Account;

/// Settings by name, with their values as PostgreSQL writes them.
pub type Settings = BTreeMap<String, String>;

/// Setting that nobody else knows: a connection shows by it which version of the file its server has read.
pub const REVISION: &str = "harness.revision";

/// What a test can change but need not. Shared memory is mapped from files below the data, so that none is left in the
/// system when the server is killed; times are of a zone that needs no data.
const DEFAULTS: [(&str, &str); 7] = [
    ("dynamic_shared_memory_type", "mmap"),
    ("log_line_prefix", "%m [%p] %a "),
    ("log_timezone", "GMT"),
    ("max_connections", "40"),
    ("password_encryption", "scram-sha-256"),
    ("shared_buffers", "16MB"),
    ("timezone", "GMT"),
];

/// Superusers and standbys may come without TLS, so that the harness need not speak it.
const PLAIN: &str = "host all all 127.0.0.1/32 scram-sha-256\nhost replication all 127.0.0.1/32 scram-sha-256\n";
const ENCRYPTED: &str = "host all postgres 127.0.0.1/32 scram-sha-256\n\
    host replication postgres 127.0.0.1/32 scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n";

/// Returns the settings that a test has not given.
pub fn defaults() -> Settings {
    DEFAULTS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// The folder of one server's files beside its data; only the server's user may enter.
pub struct Configuration {
    folder: PathBuf,
    account: Account,
}

impl Configuration {
    pub fn new(folder: &Path, account: Account) -> Result<Self, String> {
        let own = Self { folder: folder.to_owned(), account };
        fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(|error| own.failure("", &error))?;
        chown(folder, Some(account.uid), Some(account.gid)).map_err(|error| own.failure("", &error))?;
        Ok(own)
    }

    /// Returns the path of a file, which the server's arguments name.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes a file that only the server's user may read.
    pub fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(self.path(name));
        let mut file = file.map_err(|error| self.failure(name, &error))?;
        file.write_all(text.as_bytes()).map_err(|error| self.failure(name, &error))?;
        let Account { uid, gid } = self.account;
        chown(self.path(name), Some(uid), Some(gid)).map_err(|error| self.failure(name, &error))
    }

    /// Writes the settings. Those of the harness come last: where it listens, and the revision.
    pub fn write_settings(&self, settings: &Settings, port: u16, revision: u64) -> Result<(), String> {
        let mut text = String::new();
        let own = [
            ("listen_addresses", "127.0.0.1".to_owned()),
            ("port", port.to_string()),
            ("unix_socket_directories", String::new()),
            (REVISION, revision.to_string()),
        ];
        let settings = settings.iter().map(|(name, value)| (name.as_str(), value));
        for (name, value) in settings.chain(own.iter().map(|(name, value)| (*name, value))) {
            let value = value.replace('\'', "''").replace('\\', r"\\");
            writeln!(text, "{name} = '{value}'").expect("a text has room");
        }
        self.write("postgresql.conf", &text)
    }

    /// Writes who may connect, and the server's certificate with its key.
    pub fn write_access(&self, identity: Option<&Identity>) -> Result<(), String> {
        self.write("pg_hba.conf", if identity.is_some() { ENCRYPTED } else { PLAIN })?;
        let Some(identity) = identity else { return Ok(()) };
        self.write("server.crt", &identity.certificate)?;
        self.write("server.key", &identity.key)
    }

    /// Returns the settings by which the server presents its certificate.
    pub fn encryption(&self) -> [(String, String); 3] {
        let path = |name| self.path(name).display().to_string();
        [("ssl", "on".into()), ("ssl_cert_file", path("server.crt")), ("ssl_key_file", path("server.key"))]
            .map(|(name, value)| (name.to_owned(), value))
    }

    fn failure(&self, name: &str, error: &std::io::Error) -> String {
        format!("{}: {error}", self.path(name).display())
    }
}
