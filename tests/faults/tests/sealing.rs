//! Secrets are resealed while the power is cut: every value stays readable, and in the end all are sealed with the new
//! key.

use std::collections::BTreeMap;

use serde_json::json;
use switchboard::seal::{Seal, new_key, sealed_with};
use switchboard::store::{IntegrityCheck, Store};
use switchboard_core::key::{self, Key, holds_secrets};
use switchboard_core::store::Change;
use switchboard_core::view::{Bytes, Order, View};
use switchboard_faults::disk::{Cut, Disk, Image};
use switchboard_faults::history::log_half_bytes;
use switchboard_faults::seed_of;
use switchboard_sim::random::Random;
use switchboard_tests::house::{House, assistant, tool, trunk, with};
use switchboard_tests::places::Places;

/// More secrets of one kind than one commit reseals.
const TOOLS: u32 = 300;
/// One operation in this many is followed by a cut.
const SAMPLE: u64 = 4;

type Rows = BTreeMap<Key, Bytes>;

fn over(disk: &Disk) -> Store {
    disk.open(log_half_bytes(3), IntegrityCheck::Whole).expect("it opens")
}

/// Creates rows of every kind, with many that hold secrets.
fn rows() -> Rows {
    let mut house = House::default();
    let key = house.key.clone();
    Places::of(&mut house, &key);
    let letters = |at: u32| [at / 26, at % 26].map(|letter| char::from(b'a' + u8::try_from(letter).expect("a letter")));
    for at in 0..TOOLS {
        let name = String::from_iter(letters(at));
        let headers = json!({ "headers": [{ "name": "x-key", "value": format!("secret of {name}") }] });
        house.make("/user/tools", &with(tool(&name), &headers));
    }
    let calendar = json!([{ "type": "calendar_integration", "calendar_api_key": "k", "calendar_event_slug": "x" }]);
    house.make("/user/assistant", &with(assistant(), &json!({ "tools": calendar })));
    house.make("/user/phone-numbers/sip-trunks", &trunk("+40712345678"));
    house.post("/user/webhook-secrets/rotate", &json!({})).send().expect(201);
    // A store keeps memory's rows in memory: they stand on no disk.
    house.store.rows().iter().filter(|(at, _)| !key::is_memory(at)).map(|(at, row)| (at.clone(), row.clone())).collect()
}

/// Reads all rows, unsealed.
fn opened(store: &Store) -> Rows {
    let all = store.whole().expect("a snapshot").view(None).scan(key::everything(), Order::Ascending, usize::MAX);
    all.expect("every value opens").into_iter().collect()
}

/// Reads the values that hold secrets, as they are stored.
fn stored(store: &Store) -> Rows {
    let all = store.whole().expect("a snapshot").stored(key::everything(), usize::MAX).expect("a read");
    all.into_iter().filter(|(at, _)| holds_secrets(at)).collect()
}

/// Reseals a disk's secrets with the first of these keys, cutting the power all along; returns the disk without a cut.
fn seal_anew(disk: &Disk, keys: &str, rows: &Rows, random: &mut Random) -> Disk {
    let (before, seal) = (disk.image(), || Seal::parse(keys).expect("keys"));
    let current = seal().current().expect("a key");
    let is_done = |disk: &Disk| {
        let store = over(disk).sealed(seal()).expect("it has its keys").0;
        assert_eq!(&opened(&store), rows);
        let other = stored(&store).into_iter().find(|(at, value)| sealed_with(at, value) != Some(current));
        assert_eq!(other, None, "all are sealed with the current key");
    };
    let disk = Disk::of(before.clone());
    is_done(&disk);
    let (log, mut cuts) = (disk.log(), 0);
    let mut cut = Cut::before(&log, before);
    while cut.step() {
        if random.below(SAMPLE) == 0 {
            is_done(&Disk::of(cut.image(random)));
            cuts += 1;
        }
    }
    assert!(cuts >= 10, "{cuts} cuts of {} operations", log.len());
    disk
}

#[test]
fn power_cuts_leave_every_secret_readable_and_sealed_in_the_end() {
    let mut random = Random::new(seed_of("sealing"));
    let (rows, disk) = (rows(), Disk::of(Image::default()));
    let store = over(&disk);
    store
        .commit(&rows.iter().map(|(at, value)| Change::Put(at.clone(), value.clone())).collect::<Vec<_>>())
        .expect("room");
    assert!(stored(&store).len() > TOOLS as usize, "{} secrets", stored(&store).len());
    assert!(stored(&store).iter().all(|(at, value)| sealed_with(at, value).is_none()), "they stand there in clear");
    drop(store);
    let [first, second] = [(); 2].map(|()| new_key().expect("randomness"));
    let disk = seal_anew(&disk, &first, &rows, &mut random);
    let disk = seal_anew(&disk, &format!("{second} {first}"), &rows, &mut random);
    // The old key is no longer needed.
    assert_eq!(opened(&over(&disk).opened(Seal::parse(&second).expect("a key")).expect("it opens")), rows);
    assert!(over(&disk).opened(Seal::parse(&first).expect("a key")).is_err());
}
