//! What a node does not start over, and what it says then; and that its role needs no more than it is told to have.

use std::process::Command;

use switchboard::store::Store;
use switchboard_nodes::{Agency, Load, Site, spawn};
use switchboard_postgres::{Authority, Instance};
use switchboard_tests::server::{Folder, binary, refusal};

/// Leads that are made by a node that starts.
const LEADS: usize = 20;

/// Returns what a node that does not start says.
fn refused(url: &str) -> String {
    refused_with(&Folder::new(), url)
}

fn refused_with(folder: &Folder, url: &str) -> String {
    let data = folder.path("data").display().to_string();
    let said = refusal(&["serve", "--listen", "127.0.0.1:0", "--engine", "none", "--data", &data, "--store", url]);
    assert!(!said.contains("panicked"), "{said}");
    said
}

fn expect(said: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(said.contains(part), "not \"{part}\": {said}"));
}

#[test]
fn a_database_that_loses_what_it_was_given_is_refused() {
    let site = Site::new();
    for (name, value) in
        [("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "off"), ("synchronous_commit", "local")]
    {
        site.instance.set(name, value).expect("a setting");
        expect(&refused(&site.url()), &[&format!("{name} = {value}"), "set it to on"]);
        site.instance.set(name, "on").expect("a setting");
    }
    site.node("first");
}

/// By itself a node would be reached on its own machine alone: others would pass requests, and a secret, to theirs.
#[test]
fn a_node_that_others_cannot_reach_is_refused_unless_it_was_asked_for() {
    let far = "postgres://calls:secret@db.invalid/calls";
    expect(&refused(far), &["nodes on other machines cannot reach 127.0.0.1:", "--node-listen ADDR", "127.0.0.1:0"]);
    let (folder, listen) = (Folder::new(), ["--listen", "127.0.0.1:0", "--node-listen", "127.0.0.1:0"]);
    let data = folder.path("data").display().to_string();
    let said = refusal(&[&["serve", "--engine", "none", "--data", &data, "--store", far][..], &listen].concat());
    expect(&said, &["calls at db.invalid"]);
    assert!(!said.contains("--node-listen"), "{said}");
}

/// The secrets of a first start are written there, and could not be told again.
#[test]
fn a_data_folder_that_is_none_is_refused_before_there_is_an_owner() {
    let (site, folder) = (Site::new(), Folder::new());
    std::fs::write(folder.path("data"), "a file").expect("a file");
    expect(&refused_with(&folder, &site.url()), &["the data folder", "cannot be used"]);
    assert_eq!(site.value("SELECT count(*) FROM switchboard.kv"), "0");
}

#[test]
fn a_url_that_is_wrong_is_told_by_what_is_wrong_with_it() {
    let site = Site::new();
    let (right, password) = (site.url(), &*site.login.password);
    expect(&refused(&right.replace(password, "wrong")), &["password authentication failed", "check the user and the"]);
    let (server, _) = right.rsplit_once('/').expect("a database");
    expect(&refused(&format!("{server}/other")), &["\"other\" does not exist", "CREATE DATABASE"]);
    let nobody = right.replace(&site.instance.address().port().to_string(), "1");
    expect(&refused(&nobody), &["calls at localhost", "refused"]);
    let bare = site.instance.create_database("bare").expect("a database").url(site.instance.address());
    expect(&refused(&bare), &["it has no tables yet", "switchboard store init"]);
}

#[test]
fn tables_of_another_program_or_release_are_left_alone() {
    let instance = Instance::options().in_memory().start().expect("a server");
    for (name, columns) in
        [("texts", "name text, value text"), ("bytes", "name bytea, value bytea"), ("others", "id int, note text")]
    {
        let url = instance.create_database(name).expect("a database").url(instance.address());
        let foreign = format!(
            "CREATE SCHEMA switchboard CREATE TABLE meta ({columns}) CREATE TABLE kv (k bytea);
             GRANT ALL ON SCHEMA switchboard TO PUBLIC; GRANT ALL ON ALL TABLES IN SCHEMA switchboard TO PUBLIC"
        );
        instance.run_in(name, &foreign).expect("its tables");
        if name != "others" {
            instance.run_in(name, "INSERT INTO switchboard.meta VALUES ('program', 'another')").expect("a row");
        }
        expect(&refused(&url), &["is of another program", "give it another database"]);
        let why = Store::init(&url).expect_err("it is no store").to_string();
        expect(&why, &["is of another program"]);
    }
    let site = Site::new();
    site.value("UPDATE switchboard.meta SET value = '99' WHERE name = 'format'");
    expect(&refused(&site.url()), &["its format is 99", "use the release that made it"]);
}

#[test]
fn a_role_needs_to_read_and_write_rows_and_no_more() {
    let site = Site::new();
    let port = site.instance.address().port();
    let url = format!("postgres://serving:secret@localhost:{port}/calls");
    let grant = |sql: &str| site.instance.run_in("calls", sql).expect("it is granted");
    grant("CREATE ROLE serving LOGIN PASSWORD 'secret'");
    let bare = format!("postgres://serving:secret@localhost:{port}/postgres");
    expect(&Store::init(&bare).expect_err("it may not").to_string(), &["permission denied", "CREATE on the database"]);
    expect(&refused(&url), &["permission denied", "USAGE on the schema switchboard"]);
    grant("GRANT USAGE ON SCHEMA switchboard TO serving");
    expect(&refused(&url), &["permission denied", "SELECT, INSERT, UPDATE and DELETE"]);
    grant("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA switchboard TO serving");
    works(&url);
}

#[test]
fn a_certificate_is_checked_by_its_authority_and_its_name() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let identity = authority.issue(&["localhost"]).expect("a certificate");
    let instance = Instance::options().in_memory().tls(&identity).start().expect("a server");
    let login = instance.create_database("calls").expect("a database");
    let folder = Folder::new();
    let trusting = |authority: &Authority, name: &str| {
        let file = folder.path(name);
        std::fs::write(&file, authority.pem()).expect("a file");
        format!("{}?sslmode=verify-full&sslrootcert={}", login.url(instance.address()), file.display())
    };
    let right = trusting(&authority, "authority.pem");
    assert!(Store::init(&right).expect("its tables"));
    works(&right);
    let what = "sslrootcert=FILE names";
    expect(&refused(&trusting(&stranger, "stranger.pem")), &["certificate", "UnknownIssuer", what]);
    let elsewhere = authority.issue(&["elsewhere.example"]).expect("a certificate");
    instance.present(&elsewhere).expect("another certificate");
    expect(&refused(&right), &["certificate", "for the host of the URL"]);
}

/// Serves over a store: an account fills it, and everything that was acknowledged is there.
fn works(url: &str) {
    let folder = Folder::new();
    let node = spawn(Command::new(binary()), &folder, "node", url, &[]).wait();
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(LEADS);
    let loaded = load.end();
    loaded.is_stored(&agency, &node);
    assert_eq!(loaded.refused, 0);
    assert_eq!(node.stop(), Some(0));
}
