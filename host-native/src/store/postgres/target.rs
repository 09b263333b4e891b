//! [`DatabaseTarget`]: which database a URL names, and how it is reached.

use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;
use url::form_urlencoded;

use super::link::told;
use crate::store::StoreError;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(2);
/// After this long without an answer of the far system a connection is broken: a machine that went away says nothing.
const UNANSWERED: Duration = Duration::from_secs(5);
const WHAT: &str = "the store's URL cannot be used";
/// How a URL begins.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// A database, and how it is reached.
#[derive(Clone)]
pub(super) struct DatabaseTarget {
    pub config: Config,
    pub way: DatabaseWay,
}

/// How it is reached.
#[derive(Clone)]
pub(super) enum DatabaseWay {
    Plain,
    Encrypted(MakeRustlsConnect),
    /// It stands in memory.
    #[cfg(test)]
    Simulated(Arc<super::simulated::Database>),
}

/// What `sslmode` in the URL asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verification {
    /// TLS with a certificate that names the host.
    Full,
    /// No TLS.
    Off,
}

impl DatabaseTarget {
    /// Reads a URL `postgres://USER:PASSWORD@HOST:PORT,…/DATABASE?sslmode=…&sslrootcert=FILE`. Of several hosts the one is
    /// taken that takes writes.
    pub fn of(url: &str) -> Result<Self, StoreError> {
        let (whole, query) = url.split_once('?').unwrap_or((url, ""));
        if !SCHEMES.iter().any(|scheme| whole.starts_with(scheme)) {
            return Err(StoreError::of(WHAT, &format!("it begins with {}", SCHEMES[0])));
        }
        let (mut mode, mut file, mut others) = (None, None, Vec::new());
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        for (pair, (name, value)) in pairs.zip(form_urlencoded::parse(query.as_bytes())) {
            match &*name {
                "sslmode" => mode = Some(verification(&value)?),
                "sslrootcert" => file = Some(value.into_owned()),
                _ => others.push(pair),
            }
        }
        // The driver names the member that it does not know.
        let url = format!("{whole}?{}", others.join("&"));
        let mut config = Config::from_str(&url).map_err(|error| StoreError::of(WHAT, &told(&error)))?;
        let default = if is_near(&config) { Verification::Off } else { Verification::Full };
        let is_sure = mode.unwrap_or(default) == Verification::Full;
        config
            .application_name("switchboard")
            .connect_timeout(CONNECT)
            .tcp_user_timeout(UNANSWERED)
            .keepalives(true)
            .keepalives_idle(UNANSWERED)
            .keepalives_interval(Duration::from_secs(1))
            .keepalives_retries(4)
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .ssl_mode(if is_sure { SslMode::Require } else { SslMode::Disable });
        if config.get_user().is_none() || config.get_dbname().is_none() {
            let why = "it needs a user and a database: postgres://USER:PASSWORD@HOST/DATABASE";
            return Err(StoreError::of(WHAT, &why));
        }
        let way = if is_sure { DatabaseWay::Encrypted(tls(file.as_deref())?) } else { DatabaseWay::Plain };
        Ok(Self { config, way })
    }

    /// Returns whether the database is on this machine.
    pub fn is_near(&self) -> bool {
        is_near(&self.config)
    }

    /// Returns the hosts, for people; a password is never shown.
    pub fn shown(&self) -> String {
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().map(host).collect();
        format!("{} at {}", self.config.get_dbname().unwrap_or_default(), hosts.join(", "))
    }
}

fn verification(mode: &str) -> Result<Verification, StoreError> {
    match mode {
        "verify-full" => Ok(Verification::Full),
        "disable" => Ok(Verification::Off),
        _ => Err(StoreError::of(WHAT, &format!("sslmode is verify-full or disable, not {mode}"))),
    }
}

/// Returns whether all hosts are this machine: what goes to them passes no network.
fn is_near(config: &Config) -> bool {
    let mut hosts = config.get_hosts().iter();
    let are_near = hosts.all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()),
    });
    // Where the URL has these, it is they that are asked.
    are_near && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// Trusts the certificates of a file, or those that browsers trust.
fn tls(file: Option<&str>) -> Result<MakeRustlsConnect, StoreError> {
    let mut roots = RootCertStore::empty();
    if let Some(file) = file {
        let unread = |error: &dyn std::fmt::Display| StoreError::of(WHAT, &format!("sslrootcert={file}: {error}"));
        for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unread(&error))? {
            let certificate = certificate.map_err(|error| unread(&error))?;
            roots.add(certificate).map_err(|error| unread(&error))?;
        }
    } else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::of(WHAT, &error))?;
    Ok(MakeRustlsConnect::new(config.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(url: &str) -> String {
        DatabaseTarget::of(url).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_passes_a_network_is_encrypted() {
        for (url, is_encrypted) in [
            ("postgres://sb@localhost/sb", false),
            ("postgres://sb@127.0.0.1:5433/sb", false),
            ("postgres://sb:secret@db.example/sb", true),
            ("postgres://sb@localhost,db.example/sb", true),
            ("postgres://sb@localhost/sb?sslmode=verify-full", true),
            ("postgres://sb@db.example/sb?sslmode=disable", false),
            ("postgres://sb@localhost/sb?hostaddr=127.0.0.1", false),
            ("postgres://sb@localhost/sb?hostaddr=192.0.2.1", true),
            ("postgresql://sb@localhost:5433,[::1]:5434/sb?connect_timeout=3", false),
            ("postgres://sb@a.example:5433,b.example:5434/sb?sslmode=verify-full&keepalives=1", true),
        ] {
            let target = DatabaseTarget::of(url).expect("a good URL");
            assert_eq!(matches!(target.way, DatabaseWay::Encrypted(_)), is_encrypted, "{url}");
            assert!(!target.shown().contains("secret"));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        assert!(error("postgres://sb@db.example/sb?sslmode=prefer").contains("verify-full or disable, not prefer"));
        assert!(error("postgres://db.example").contains("needs a user and a database"));
        assert!(error("postgres://sb@db.example/sb?sslrootcert=/nowhere.pem").contains("sslrootcert=/nowhere.pem"));
        assert!(error("postgres://sb@db.example/sb?colour=red").contains("colour"));
        assert!(error("no url").contains("URL"));
    }
}
