//! TLS, verified as `verify-full` does: by its authority and its name.

use std::sync::Arc;

use rustls::RootCertStore;
use switchboard_postgres::{Authority, Instance, Login, SqlSession};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres_rustls::MakeRustlsConnect;

fn connect(instance: &Instance, login: &Login, authority: &Authority) -> Result<SqlSession, String> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().into()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let tls = versions.expect("ring knows them").with_root_certificates(roots).with_no_client_auth();
    let mut config = login.config(instance.address());
    config.ssl_mode(SslMode::Require);
    SqlSession::open_with(&config, MakeRustlsConnect::new(tls)).map_err(|error| format!("{error:?}"))
}

#[test]
fn only_the_right_certificate_is_taken() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let identity = authority.issue(&["localhost"]).expect("a certificate");
    let instance = Instance::options().tls(&identity).start().expect("a server");
    let login = instance.create_database("app").expect("a database");
    let session = connect(&instance, &login, &authority).expect("all is right");
    let encrypted = session.run("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").expect("a row");
    assert_eq!(encrypted, [[Some("t".to_owned())]]);
    let plain = SqlSession::open(login.config(instance.address()).ssl_mode(SslMode::Disable)).err().expect("refused");
    assert_eq!(plain.code(), Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION));
    let why = connect(&instance, &login, &stranger).err().expect("another authority");
    assert!(why.contains("UnknownIssuer"), "{why}");
    let wrong = [
        (authority.issue(&["elsewhere.example"]), "NotValidForName"),
        (authority.issue_expired(&["localhost"]), "Expired"),
        (stranger.issue(&["localhost"]), "UnknownIssuer"),
    ];
    for (identity, fault) in wrong {
        instance.present(&identity.expect("a certificate")).expect("another certificate");
        let why = connect(&instance, &login, &authority).err().expect("a wrong certificate");
        assert!(why.contains(fault), "{why}");
    }
    let standby = instance.standby("b").expect("a standby");
    connect(&standby, &login, &authority).expect("a standby presents what its primary started with");
}
