//! Known rows against the whole map that they are a part of.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use switchboard_core::view::copies;

use super::*;

type Model = BTreeMap<Key, Bytes>;

/// What happens to known rows.
#[derive(Clone, Debug)]
enum Event {
    Changed(Vec<Change>),
    /// A read whose answer is of an earlier moment: so many changes ago.
    Read(Read, usize),
    Looked(Read),
    Shrunk(usize),
    /// What nobody tells of: the keys of a range, of which these change.
    Lost(Range<Key>, Vec<Change>),
}

fn key() -> impl Strategy<Value = Key> {
    prop::collection::vec(0..4_u8, 1..4)
}

fn read() -> impl Strategy<Value = Read> {
    let scan = (key(), key(), any::<bool>(), 0..5_usize).prop_map(|(one, other, down, limit)| {
        let order = if down { Order::Descending } else { Order::Ascending };
        Read::Scan(Scan { from: one.clone().min(other.clone()), to: one.max(other), order, limit })
    });
    prop_oneof![key().prop_map(Read::Get), scan]
}

fn event() -> impl Strategy<Value = Event> {
    let change = prop_oneof![
        (key(), any::<u8>()).prop_map(|(key, value)| Change::Put(key, vec![value; 8])),
        key().prop_map(Change::Delete),
    ];
    let range = (key(), key()).prop_map(|(one, other)| one.clone().min(other.clone())..one.max(other));
    prop_oneof![
        (range, prop::collection::vec(change.clone(), 1..9)).prop_map(|(range, mut changes)| {
            changes.retain(|change| range.contains(change.key()));
            Event::Lost(range, changes)
        }),
        prop::collection::vec(change, 1..4).prop_map(Event::Changed),
        (read(), 0..4_usize).prop_map(|(read, ago)| Event::Read(read, ago)),
        read().prop_map(Event::Looked),
        (0..3_000_usize).prop_map(Event::Shrunk),
    ]
}

fn apply(model: &mut Model, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Put(key, value) => drop(model.insert(key.clone(), value.clone())),
            Change::Delete(key) => drop(model.remove(key)),
        }
    }
}

fn of_model(model: &Model, read: &Read) -> Found {
    match read {
        Read::Get(key) => Found::Value(model.get(key).cloned()),
        Read::Scan(scan) => {
            let rows = model.range(scan.from.clone()..scan.to.clone());
            let rows = rows.map(|(key, value)| (key.clone(), value.clone()));
            Found::Rows(match scan.order {
                Order::Ascending => rows.take(scan.limit).collect(),
                Order::Descending => rows.rev().take(scan.limit).collect(),
            })
        }
        Read::Admit(_) => unreachable!("it is not drawn"),
    }
}

fn of_known(known: &KnownRows, read: &Read) -> Result<Found, Stop> {
    match read {
        Read::Get(key) => known.get(key).map(|value| Found::Value(value.map(<[u8]>::to_vec))),
        Read::Scan(scan) => copies(|visit| known.scan(scan.clone(), visit)).map(Found::Rows),
        Read::Admit(_) => unreachable!("it is not drawn"),
    }
}

/// Forgets down to so many bytes, in two rounds with their turns at the end: the first may find everything used.
fn shrink(known: &mut KnownRows, most: usize) -> bool {
    let looks = 2 * (known.entries.len() + 1);
    known.shrink(most, looks)
}

fn weight(known: &KnownRows) -> usize {
    known.entries.iter().map(|(key, entry)| entry.bytes(key)).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_known_is_what_the_database_holds(events in prop::collection::vec(event(), 1..60)) {
        let (mut known, mut model) = (KnownRows::default(), Model::new());
        // Earlier moments, as long as nothing was forgotten since.
        let mut earlier = VecDeque::from([model.clone()]);
        for event in events {
            match event {
                Event::Changed(changes) => {
                    apply(&mut model, &changes);
                    known.apply(changes);
                    earlier.push_front(model.clone());
                }
                Event::Read(read, ago) => known.add(&read, of_model(&earlier[ago.min(earlier.len() - 1)], &read)),
                Event::Looked(read) => match of_known(&known, &read) {
                    Ok(found) => prop_assert_eq!(found, of_model(&model, &read)),
                    Err(stop) => {
                        prop_assert_eq!(stop, Stop::Missing(vec![read.clone()]));
                        prop_assert!(!known.answers(&read));
                        known.add(&read, of_model(&model, &read));
                        prop_assert_eq!(of_known(&known, &read), Ok(of_model(&model, &read)), "it was read");
                        prop_assert!(known.answers(&read));
                    }
                },
                Event::Lost(range, changes) => {
                    apply(&mut model, &changes);
                    known.forget_in(&range);
                    earlier = VecDeque::from([model.clone()]);
                }
                Event::Shrunk(most) => {
                    if shrink(&mut known, most) {
                        earlier.truncate(1);
                    }
                    prop_assert!(known.bytes <= most);
                }
            }
            prop_assert_eq!(known.bytes, weight(&known));
        }
        shrink(&mut known, 0);
        prop_assert_eq!(known.entries.len(), 0, "nothing is left behind");
    }
}

/// Rows that are used stay, and so does what is known to be absent between them.
#[test]
fn what_is_used_stays_longer() {
    let mut known = KnownRows::default();
    let scan = |table: u8| Scan { from: vec![table], to: vec![table + 1], order: Order::Ascending, limit: 100 };
    for table in 0..50 {
        let rows = (0..20).map(|row| (vec![table, row], vec![row; 100])).collect();
        known.add(&Read::Scan(scan(table)), Found::Rows(rows));
    }
    for most in (1..known.bytes).rev().step_by(known.bytes / 20).take(15) {
        assert_eq!(copies(|visit| known.scan(scan(7), visit)).map(|rows| rows.len()), Ok(20), "at {most} bytes");
        shrink(&mut known, most);
    }
}

#[test]
fn what_is_pinned_stays() {
    let mut known = KnownRows::default();
    let of = |table: u8| Read::Scan(Scan { from: vec![table], to: vec![table + 1], order: Order::Ascending, limit: 9 });
    known.pin(vec![1]..vec![2]);
    for table in 0..3 {
        known.add(&of(table), Found::Rows(vec![(vec![table, 1], vec![table])]));
    }
    shrink(&mut known, 0);
    assert_eq!(of_known(&known, &of(1)), Ok(Found::Rows(vec![(vec![1, 1], vec![1])])));
    assert!(of_known(&known, &of(0)).is_err() && of_known(&known, &of(2)).is_err());
}
