//! Stores that are copied between PostgreSQL, data folders and backups: the same rows wherever they stand, or none.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use switchboard::seal::{Seal, new_key};
use switchboard::store::{DatabaseFill, Store};
use switchboard_core::key::{self, Key, Kind, Space};
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Bytes, Order, View};
use switchboard_nodes::{Agency, Load, Site};
use switchboard_postgres::{Proxy, SqlSession, wait_until};
use switchboard_proof::scene;
use switchboard_proof::subject::Native;
use switchboard_tests::server::{Folder, Server, binary, refusal, run};

/// What a refused copy says of its target.
const UNTOUCHED: &str = "nothing was copied, and the target is as it was: ";

fn path(folder: &Folder, name: &str) -> String {
    folder.path(name).to_str().expect("a path").to_owned()
}

/// Copies a store; returns the digest of its rows, which both sides have.
fn copy(from: &str, to: &str) -> Value {
    let output = run(&["copy", from, to, "--json"]);
    assert!(output.status.success(), "{from} {to}: {}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&told["from"]["rows"], &told["from"]["sha256"]), (&told["to"]["rows"], &told["to"]["sha256"]));
    told["to"]["sha256"].clone()
}

/// Makes a database with the tables of a store; returns its URL.
fn database(site: &Site, name: &str) -> String {
    let login = site.instance.create_database(name).expect("a database");
    let url = login.url(site.instance.address());
    assert!(Store::init(&url).expect("its tables"), "they were missing");
    url
}

fn site_url(site: &Site) -> String {
    site.login.url(site.instance.address())
}

fn rows_in(site: &Site, name: &str) -> u64 {
    site.instance.count_rows(name, "switchboard.kv").expect("a count")
}

/// Plays the script over all operations on a new data folder, sealed with these keys.
fn play(folder: &Path, keys: Option<&str>) {
    let (script, _) = scene::record();
    let mut store = Store::open(folder).expect("a store");
    if let Some(keys) = keys {
        store = store.sealed(Seal::parse(keys).expect("a key")).expect("it is empty").0;
    }
    let native = Native::over(&script.settings, store);
    let url = native.url();
    native.play(&script, &url);
    wait_until("the host lets go of its store", || Store::existing(folder).is_ok()).expect("it does");
}

/// Copies a store all ways there are; `seal` are the arguments that name its key.
fn copy_all_ways(data: &str, folder: &Folder, seal: &[&str]) {
    let site = Site::new();
    let (one, two, three) = (site_url(&site), database(&site, "two"), database(&site, "three"));
    let [first, second, third, fourth] = ["1.swbk", "2.swbk", "3.swbk", "4.swbk"].map(|name| path(folder, name));
    let [back, beside] = ["back/", "beside/"].map(|name| path(folder, name));
    let digest = copy(data, &first);
    for (from, to) in [
        (data, &one),
        (&first, &two),
        (&one, &three),
        (&one, &second),
        (&three, &third),
        (&two, &back),
        (&first, &beside),
        (&back, &fourth),
    ] {
        assert_eq!(copy(from, to), digest, "{from} {to}");
    }
    let bytes = |file: &str| std::fs::read(file).expect("a backup");
    for file in [&second, &third, &fourth] {
        assert!(bytes(file) == bytes(&first), "{file}");
    }
    for store in [&one, &two, &three, &back, &beside] {
        let verified = run(&[&["verify", store, "--json"], seal].concat());
        assert!(verified.status.success(), "{store}: {}", String::from_utf8_lossy(&verified.stdout));
        if !seal.is_empty() {
            assert!(refusal(&["verify", store]).contains("it is sealed with key "), "{store}");
        }
    }
    if !seal.is_empty() {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--data", &path(folder, "node")];
        for store in [&one, &two, &three] {
            let said = refusal(&[&serve[..], &["--store", store]].concat());
            assert!(said.contains("it is sealed with key ") && said.contains(", which was not given"), "{said}");
        }
    }
    for (at, store) in [&one, &two, &three].into_iter().enumerate() {
        let options = [&["--engine", "none", "--store", store], seal].concat();
        let node = Server::start(&folder.path(&format!("node{at}")), &options);
        assert!(node.ready.get("api_key").is_none(), "it is the store that was copied, not a new one");
        assert_eq!(node.stop(), Some(0));
    }
}

#[test]
fn a_store_goes_everywhere_and_comes_back() {
    let folder = Folder::new();
    play(&folder.path("data"), None);
    copy_all_ways(&path(&folder, "data"), &folder, &[]);
}

#[test]
fn a_sealed_store_goes_everywhere_and_comes_back() {
    let (folder, key) = (Folder::new(), new_key().expect("a key"));
    play(&folder.path("data"), Some(&key));
    std::fs::write(folder.path("seal.key"), &key).expect("a file");
    copy_all_ways(&path(&folder, "data"), &folder, &["--seal-key-file", &path(&folder, "seal.key")]);
}

#[test]
fn a_store_is_not_copied_while_a_node_lives_but_checked() {
    let (site, folder) = (Site::new(), Folder::new());
    let (url, other) = (site_url(&site), database(&site, "other"));
    let (file, new) = (path(&folder, "a.swbk"), path(&folder, "new/"));
    let node = site.node("first");
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(200);
    for (from, to) in [(&url, &file), (&url, &new), (&url, &other), (&other, &url)] {
        assert!(refusal(&["copy", from, to]).contains("another switchboard runs on it"), "{from} {to}");
    }
    for _ in 0..3 {
        load.more(100);
        let verified = run(&["verify", &url]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    }
    assert_eq!(
        (rows_in(&site, "other"), folder.path("a.swbk").exists(), folder.path("new").exists()),
        (0, false, false)
    );
    load.more(100);
    let loaded = load.end();
    loaded.is_stored(&agency, &node);
    assert_eq!(node.stop(), Some(0));
    let digest = copy(&url, &other);
    assert_eq!(copy(&other, &file), digest);
    // Whoever serves next does so at once, from either.
    loaded.is_stored(&agency, &site.node("second"));
    let data = folder.path("node");
    loaded.is_stored(&agency, &Server::start(&data, &["--rate-limit", "0", "--engine", "none", "--store", &other]));
}

#[test]
fn what_cannot_be_copied_or_checked_is_said() {
    let (site, folder) = (Site::new(), Folder::new());
    let (url, other) = (site_url(&site), database(&site, "other"));
    let bare = site.instance.create_database("bare").expect("a database").url(site.instance.address());
    let [data, file] = ["data", "a.swbk"].map(|name| path(&folder, name));
    assert_eq!(Server::start(Path::new(&data), &["--engine", "none"]).stop(), Some(0));
    copy(&data, &url);
    for (from, to, says) in [
        (&data, &url, "calls at localhost holds rows already: only a store without any is filled"),
        (&data, &bare, "it has no tables yet: `switchboard store init URL` makes them"),
        (&bare, &file, "it has no tables yet"),
    ] {
        let said = refusal(&["copy", from, to]);
        assert!(said.contains(says) && !said.contains(&site.login.password), "{from} {to}: {said}");
    }
    site.instance.run_in("other", "REVOKE INSERT ON switchboard.kv FROM other").expect("it is done");
    let said = refusal(&["copy", &data, &other]);
    assert!(
        said.contains(&format!("{UNTOUCHED}the database cannot be filled: permission denied for table kv")),
        "{said}"
    );
    assert!(refusal(&["verify", &bare]).contains("it has no tables yet"));
    assert!(run(&["verify", &url]).status.success());
    // The heads and chunks of all sets.
    site.instance.run_in("calls", "DELETE FROM switchboard.kv WHERE get_byte(k, 7) = 3").expect("it is done");
    let damaged = run(&["verify", &url, "--json"]);
    let report: Value = serde_json::from_slice(&damaged.stdout).expect("JSON");
    assert!(
        !damaged.status.success() && report["faults"].as_array().is_some_and(|faults| !faults.is_empty()),
        "{report}"
    );
}

/// Returns rows of many accounts and of the root, with its queues, and some of several megabytes: 24 MB in all.
fn drawn_rows(random: &mut fastrand::Rng) -> Vec<(Key, Bytes)> {
    let mut rows = std::collections::BTreeMap::new();
    let bytes = |random: &mut fastrand::Rng, most: usize| {
        let length = random.usize(..most);
        std::iter::repeat_with(|| random.u8(..)).take(length).collect::<Bytes>()
    };
    for account in (0..40_u32).chain([u32::MAX - 1, u32::MAX]) {
        for count in 1..random.u32(2..400) {
            rows.insert(key::row(Space::Account(account), Kind::Lead, count), bytes(random, 1_000));
        }
        for count in 0..random.u32(..20) {
            let at = Timestamp::from_micros(random.u64(..));
            rows.insert(key::due_account(at, account, random.u8(..3)), Bytes::new());
            rows.insert(key::waiting(account, random.u8(..3), count), bytes(random, 10));
            rows.insert(key::commanded(random.u32(..4), account, count), Bytes::new());
        }
        rows.insert(key::row(Space::Root, Kind::Account, account), bytes(random, 100));
    }
    for count in 1..8 {
        rows.insert(key::row(Space::Account(3), Kind::Document, count), vec![random.u8(..); 3 << 20]);
    }
    for key in [key::job_faults(), key::ledger(Space::Root)] {
        rows.insert(key, bytes(random, 20));
    }
    rows.into_iter().collect()
}

fn filled(folder: &Path, rows: &[(Key, Bytes)]) {
    Store::open(folder).expect("a store").put_back(rows.to_vec()).expect("a commit");
}

#[test]
fn scans_of_all_rows_are_those_of_a_file() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (site, folder) = (Site::new(), Folder::new());
    let rows = drawn_rows(&mut random);
    filled(&folder.path("data"), &rows);
    copy(&path(&folder, "data"), &site_url(&site));
    let store = Store::existing(&folder.path("data")).expect("a store");
    let file = store.whole().expect("a snapshot");
    let database = Store::look(&site_url(&site), Seal::default()).expect("a snapshot");
    let mut bound = || match random.u8(..10) {
        0 => key::everything().start,
        1 => key::everything().end,
        _ => {
            let mut bound = rows[random.usize(..rows.len())].0.clone();
            bound.truncate(random.usize(6..=bound.len().max(6)));
            bound
        }
    };
    let ranges: Vec<_> = (0..150).map(|_| bound()..bound()).collect();
    for range in ranges {
        let limit = [1, 3, 1_000, 2_500, usize::MAX][random.usize(..5)];
        for order in [Order::Ascending, Order::Descending] {
            let [one, two] = [&file, &database].map(|store| store.view(None).scan(range.clone(), order, limit));
            let [one, two] = [one.expect("rows"), two.expect("rows")];
            assert!(one == two, "{range:02x?} {order:?} {limit}: {} and {} rows", one.len(), two.len());
        }
    }
    for (key, value) in rows.iter().step_by(97) {
        assert_eq!(database.view(None).get(std::slice::from_ref(key)), Ok(vec![Some(value.clone())]));
    }
}

#[test]
fn a_connection_that_breaks_leaves_no_row() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (site, folder) = (Site::new(), Folder::new());
    filled(&folder.path("data"), &drawn_rows(&mut random));
    let data = path(&folder, "data");
    let proxy = Proxy::open(site.instance.address(), seed).expect("a proxy");
    let url = site.login.url(proxy.address());
    let digest = copy(&data, &path(&folder, "all.swbk"));
    let whole = std::fs::metadata(folder.path("all.swbk")).expect("a backup").len();
    for round in 0..6 {
        // Half of them while rows go there, half while they are read back.
        let (to_server, bound) = (round % 2 == 0, random.u64(whole / 50..whole * 9 / 10));
        let before = proxy.traffic();
        let mut child = Command::new(binary());
        let child = child.args(["copy", &data, &url]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = child.spawn().expect("the binary runs");
        loop {
            let now = proxy.traffic();
            let (sent, received) =
                (now.bytes_to_server - before.bytes_to_server, now.bytes_to_client - before.bytes_to_client);
            if (if to_server { sent } else { received }) >= bound {
                break;
            }
            assert!(child.try_wait().expect("a child").is_none(), "it ended before {bound} bytes: {sent}, {received}");
            std::thread::sleep(Duration::from_millis(1));
        }
        proxy.cut();
        let output = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(UNTOUCHED), "{round}: {said}");
        assert_eq!(rows_in(&site, "calls"), 0, "{round}");
    }
    assert_eq!(copy(&data, &url), digest, "the next one is whole");
    let file = path(&folder, "cut.swbk");
    let before = proxy.traffic().bytes_to_client;
    let mut child = Command::new(binary());
    let mut child = child.args(["copy", &url, &file]).stderr(Stdio::null()).spawn().expect("the binary runs");
    while proxy.traffic().bytes_to_client - before < whole / 2 {
        assert!(child.try_wait().expect("a child").is_none(), "it ended early");
        std::thread::sleep(Duration::from_millis(1));
    }
    proxy.cut();
    assert!(!child.wait().expect("it ends").success() && !folder.path("cut.swbk").exists());
    assert_eq!(copy(&url, &file), digest);
}

/// Puts a few rows into the store of a URL, and reads them back.
fn begun(url: &str) -> DatabaseFill {
    let mut fill = DatabaseFill::begin(url).expect("no row stands there");
    fill.put(drawn_rows(&mut fastrand::Rng::with_seed(1)).split_off(400)).expect("they are put");
    let mut count = 0;
    let mut counted = |_: &[u8], _: &[u8]| {
        count += 1;
        Ok(())
    };
    fill.read_back(&mut counted).expect("they are read");
    assert!(count > 1_000, "{count}");
    fill
}

/// Has commits of seal keys wait as long as the session is held.
fn hold_commits(site: &Site) -> SqlSession {
    let held = "CREATE FUNCTION switchboard.held() RETURNS trigger LANGUAGE plpgsql
                AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER held AFTER INSERT ON switchboard.meta
                DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION switchboard.held()";
    site.instance.run_in("calls", held).expect("a trigger");
    let mut config = site.instance.config();
    config.dbname("calls");
    let session = SqlSession::open(&config).expect("a session");
    session.run("SELECT pg_advisory_lock(7)").expect("a lock");
    session
}

/// Breaks the connection of a copy while the database commits it, which then goes on or is undone; returns what the copy
/// says, and the number of rows.
fn lose_answer(then: &str) -> (Result<(), String>, u64) {
    let site = Site::new();
    let proxy = Proxy::open(site.instance.address(), 1).expect("a proxy");
    let mut fill = begun(&site.login.url(proxy.address()));
    let session = hold_commits(&site);
    let kept = std::thread::spawn(move || {
        let kept = fill.keep(&[(*b"abcd", true)]).map_err(|error| error.to_string());
        kept.inspect_err(|_| fill.undo().expect("it is known not to stand there"))
    });
    let waits = "FROM pg_stat_activity WHERE query = 'COMMIT' AND wait_event = 'advisory'";
    site.instance.wait_for(&format!("SELECT count(*) > 0 {waits}"), "t").expect("it waits");
    proxy.cut();
    session.run(&then.replace("{waits}", waits)).expect("it is done");
    drop(session);
    let kept = kept.join().expect("no panic");
    let keys = Store::of_url(&site_url(&site)).expect("it was given up").noted_keys().expect("keys");
    assert_eq!(keys, if kept.is_ok() { vec![(*b"abcd", true)] } else { vec![] });
    (kept, rows_in(&site, "calls"))
}

#[test]
fn a_commit_whose_answer_is_lost_is_asked_for() {
    let (kept, rows) = lose_answer("SELECT pg_advisory_unlock(7)");
    assert_eq!(kept, Ok(()));
    assert!(rows > 1_000, "{rows}");
    let (kept, rows) = lose_answer("SELECT pg_terminate_backend(pid) {waits}");
    assert!(kept.is_err_and(|error| error.starts_with("the database cannot be filled: ")));
    assert_eq!(rows, 0);
}

#[test]
fn whoever_was_replaced_keeps_nothing() {
    let site = Site::new();
    let mut fill = begun(&site_url(&site));
    site.instance.run_in("calls", "UPDATE switchboard.lane SET dead = true").expect("it is done");
    let said = fill.keep(&[]).expect_err("it is another's").to_string();
    assert!(said.contains("another node has taken over its rows"), "{said}");
    fill.undo().expect("nothing was committed");
    drop(fill);
    assert_eq!(rows_in(&site, "calls"), 0);
    begun(&site_url(&site)).keep(&[]).expect("the next one is kept");
    assert!(rows_in(&site, "calls") > 1_000);
}
