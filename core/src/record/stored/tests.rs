//! Stored records read back, whatever a newer release added to them.

use super::*;
use crate::json::{JsonNumber, Object, ToJson};
use crate::record::{
    DecimalText, Flag, Hundredths, Iso, Json, Secret, Sql, Variables, any, boolean, choice, counts, decimal, flag,
    hundredths, id, int, iso, list, micros, number, object, signed, sql, tagged, text, variables,
};
use crate::time::Timestamp;
use crate::{choice, record, tagged};
use alloc::string::String;
use proptest::prelude::*;

choice! {
    pub enum Paint { /// Red.
        Red = "red", /// Blue.
        Blue = "blue" }
}

record! {
    pub struct Piece stored as "a piece" {
        name: String = text(0, 9).required(),
        note: Option<String> = text(0, 9).sparse(),
    }
}

tagged! {
    pub enum Figure { /// A piece.
        Piece(Piece) = "piece" }
}

record! {
    /// A member of every type.
    pub struct Thing stored as "a thing" {
        /// A member whose name is a word of Rust.
        r#type: Paint = choice::<Paint>().required(),
        id: u64 = id().required(),
        /// A name that may be null.
        name: Option<String> = text(0, 9),
        /// A time that may be left out.
        due: Option<Timestamp> = micros().sparse(),
        /// A number with a default.
        tries: u32 = int(0, 9).or_int(3),
        owed: i64 = signed().required(),
        share: f64 = number(0.0, 1.0).required(),
        speed: Hundredths = hundredths(0.0, 9.0).required(),
        price: DecimalText = decimal().required(),
        on: bool = boolean().required(),
        open: Flag = flag().required(),
        at: Iso = iso().required(),
        /// A time to the second.
        day: Sql = sql().required(),
        key: Secret = text(0, 9).required(),
        answer: Option<Json> = any(),
        variables: Variables = variables(),
        numbers: Vec<u32> = counts(9),
        piece: Piece = object::<Piece>().required(),
        pieces: Vec<Piece> = list::<Piece>(9),
        figures: Vec<Figure> = tagged::<Figure>(9),
    }
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any_value::<bool>().prop_map(Value::Bool),
        any_value::<u64>().prop_map(|n| Value::Number(JsonNumber::Unsigned(n))),
        any_value::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(2, 9, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::List),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..3)
                .prop_map(|members| Value::Object(Members(members.into_iter().collect()))),
        ]
    })
}

fn any_value<T: Arbitrary>() -> impl Strategy<Value = T> {
    proptest::prelude::any::<T>()
}

/// Generates members with names that no column has.
fn unknown() -> impl Strategy<Value = Rest> {
    prop::collection::btree_map("x_[a-z]{1,3}", json(), 0..4)
        .prop_map(|members| Rest(Members(members.into_iter().collect())))
}

fn piece() -> impl Strategy<Value = Piece> {
    (any_value::<String>(), any_value::<Option<String>>(), unknown()).prop_map(|(name, note, rest)| Piece {
        name,
        note,
        rest,
    })
}

prop_compose! {
    fn thing()(
        (paint, id, name, due) in (0..2_usize, 1..1_u64 << 53, any_value::<Option<String>>(), prop::option::of(0..1_u64 << 53)),
        (tries, owed, share, hundredths) in (any_value::<u32>(), any_value::<i64>(), -1e9..1e9_f64, -99_999_i64..99_999),
        (on, seconds, key, answer) in (any_value::<bool>(), 0..1_u64 << 32, any_value::<String>(), json()),
        (numbers, piece, pieces, rest) in
            (prop::collection::vec(any_value::<u32>(), 0..4), piece(), prop::collection::vec(piece(), 0..3), unknown()),
        variables in prop::collection::btree_map("[a-z]{1,3}", json(), 0..4),
    ) -> Thing {
        let at = Timestamp::from_seconds(seconds);
        Thing {
            r#type: Paint::ALL[paint],
            id,
            name,
            due: due.map(Timestamp::from_micros),
            tries,
            owed,
            share,
            speed: Hundredths(hundredths),
            price: DecimalText(Hundredths(hundredths)),
            on,
            open: Flag(on),
            at: Iso(at),
            day: Sql(at),
            key: Secret(key),
            answer: (answer != Value::Null).then_some(Json(answer)),
            variables: Variables(Members(variables.into_iter().collect())),
            numbers,
            figures: pieces.iter().cloned().map(Figure::Piece).collect(),
            piece,
            pieces,
            rest,
        }
    }
}

use crate::record::Choice;

proptest! {
    #[test]
    fn what_is_stored_reads_back_with_what_a_newer_release_added(thing in thing()) {
        let stored = thing.to_json();
        let read = Thing::read(&stored).expect("it was written so");
        prop_assert_eq!(&read, &thing);
        prop_assert_eq!(read.to_json(), stored);
    }

    #[test]
    fn each_member_reads_by_itself_as_with_the_others(thing in thing()) {
        let (stored, members) = (thing.to_json(), Thing::MEMBERS);
        prop_assert_eq!(members.due.read(&stored), Ok(thing.due));
        let few = (members.r#type, members.name, members.pieces, members.tries).read(&stored);
        prop_assert_eq!(few, Ok((thing.r#type, thing.name, thing.pieces, thing.tries)));
    }

    #[test]
    fn damage_is_told(bytes: Vec<u8>, value in json()) {
        for stored in [bytes, value.to_json()] {
            prop_assert_eq!(Thing::read(&stored), Err(Stop::Corrupt("a thing has an unknown form")));
            prop_assert_eq!(Thing::MEMBERS.id.read(&stored), Err(Thing::DAMAGED));
        }
    }
}

#[test]
fn what_an_older_release_left_out_takes_its_default() {
    let members = Thing::MEMBERS;
    assert_eq!(members.tries.read(b"{}"), Ok(3));
    assert_eq!((members.name, members.due, members.pieces).read(b"{}"), Ok((None, None, Vec::new())));
    assert_eq!(members.id.read(b"{}"), Err(Thing::DAMAGED));
    for wrong in [r#"{"id":-1}"#, r#"{"id":"1"}"#, r#"{"id":null}"#] {
        assert_eq!(members.id.read(wrong.as_bytes()), Err(Thing::DAMAGED), "{wrong}");
    }
    for wrong in ["1", "1.5", "1.555", ".10", "a.10", "--1.10"] {
        let mut stored = Vec::new();
        let mut object = Object::open(&mut stored);
        object.member("price", wrong);
        object.close();
        assert_eq!(members.price.read(&stored), Err(Thing::DAMAGED), "{wrong}");
    }
}

#[test]
fn members_may_stand_in_any_order() {
    let (name, note) = (Some(String::from("n")), String::from("o"));
    let read = Piece::read(br#"{"x_a":1,"note":"o","x_b":2,"name":"n"}"#).expect("a piece");
    assert_eq!((Some(&read.name), read.note.as_ref()), (name.as_ref(), Some(&note)));
    assert_eq!(read.to_json(), br#"{"name":"n","note":"o","x_a":1,"x_b":2}"#);
}
