//! Long lists: sent in pieces where the host supports it, else whole; the bytes are the same.

use serde_json::{Value, json};
use switchboard_core::http::reply::Content;
use switchboard_core::http::request::Method;
use switchboard_core::limits::{PIECE_BYTES, TAGGED_BYTES_MAX};
use switchboard_core::outside::Answer;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome};

use switchboard_tests::house::{House, assistant, with};

/// Length of the prompt of each row, bytes.
const ROW: usize = 200_000;

fn house(lists_in_pieces: bool, rows: usize) -> House {
    let mut house = House::with(Config { lists_in_pieces, ..Config::default() });
    for number in 0..rows {
        let prompt = format!("{number} {}", "x".repeat(ROW));
        house.make("/user/assistant", &with(assistant(), &json!({ "system_prompt": prompt })));
    }
    house
}

/// Returns the pieces of a response; `between` runs after each but the last.
fn pieces(house: &mut House, target: &str, mut between: impl FnMut(&mut House)) -> Vec<Vec<u8>> {
    let request = house.call(Method::Get, target).request();
    let (mut answers, mut pieces) = (Vec::new(), Vec::new());
    loop {
        let seed = house.seed();
        let output = house.step(&Input::Http(&request, &answers), seed);
        let Outcome::Reply(reply) = output.outcome else { panic!("{target}: {:?}", output.outcome) };
        assert!(reply.headers.iter().all(|(name, _)| *name != "etag"), "{target} has an entity tag");
        let Content::Piece(piece) = reply.content else { panic!("{target}: {reply:?}") };
        pieces.push(piece.bytes);
        let Some(rest) = piece.rest else { return pieces };
        answers = vec![Answer::Rest(rest)];
        between(house);
    }
}

#[test]
fn the_pieces_of_a_list_are_the_list() {
    let (mut whole, mut parts) = (house(false, 12), house(true, 12));
    for target in [
        "/user/assistants",
        "/user/assistants/outbound",
        "/user/assistants/get?per_page=100",
        "/user/assistants/get?per_page=9",
    ] {
        let got = pieces(&mut parts, target, |_| {});
        let expected = whole.get(target).expect(200);
        assert!(expected.header("etag").is_none(), "{target} is longer than what is tagged");
        assert!(got.concat() == expected.bytes, "{target} differs");
        assert!(got.len() > 1);
        for (at, piece) in got.iter().enumerate() {
            let most = if at == 0 { TAGGED_BYTES_MAX } else { PIECE_BYTES };
            assert!(piece.len() < most + 2 * ROW, "{target}: piece {at} has {} bytes", piece.len());
        }
    }
}

#[test]
fn a_list_that_fits_comes_whole_and_is_tagged() {
    let mut house = house(true, 4);
    for target in ["/user/assistants", "/user/assistants/get", "/user/tools", "/user/campaigns"] {
        assert!(house.get(target).expect(200).header("etag").is_some(), "{target}");
    }
}

#[test]
fn a_row_that_goes_while_its_list_is_written_is_left_out() {
    let mut house = house(true, 12);
    let mut gone = false;
    let got = pieces(&mut house, "/user/assistants", |house| {
        if !std::mem::replace(&mut gone, true) {
            [8, 9, 12].iter().for_each(|id| drop(house.delete(&format!("/user/assistant/{id}")).expect(200)));
        }
    });
    let rows: Vec<Value> = serde_json::from_slice(&got.concat()).expect("one array");
    let ids: Vec<u64> = rows.iter().filter_map(|row| row["id"].as_u64()).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6, 7, 10, 11]);
}

#[test]
fn a_list_ends_where_its_key_does() {
    let mut house = house(true, 12);
    let request = house.call(Method::Get, "/user/assistants").request();
    let seed = house.seed();
    let Outcome::Reply(reply) = house.step(&Input::Http(&request, &[]), seed).outcome else { panic!("no reply") };
    let Content::Piece(piece) = reply.content else { panic!("{reply:?}") };
    let rest = Answer::Rest(piece.rest.expect("more rows"));
    house.delete("/user/api-keys/1").expect(200);
    let seed = house.seed();
    let Outcome::Reply(reply) = house.step(&Input::Http(&request, &[rest]), seed).outcome else { panic!("no reply") };
    assert_eq!(reply.status, 401);
}
