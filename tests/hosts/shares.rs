//! Logins and files of one account, or of strangers from many addresses, leave others their turn.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard::extract::child::Extractor;
use switchboard::extract::confined::Bounds;
use switchboard::room::{Holder, Room, UsedUp};
use switchboard::send::Outside;
use switchboard_core::budget::{HASHES, READERS, WRITES};
use switchboard_core::egress::Filter;
use switchboard_core::outside::{Answer, SendError, TextForm, Work};
use switchboard_core::record::Secret;
use switchboard_core::work::nobody;

use crate::outside::sender;
use crate::samples::slow_pdf;
use crate::server::binary;

/// Longest wait of an honest caller. It takes a second in this build, not counting the machine's other tests.
const PATIENCE: Duration = Duration::from_secs(10);

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

#[test]
fn three_thousand_logins_leave_an_honest_one_its_turn() {
    let networks = |at: u32| match at % 2 {
        0 => IpAddr::from([198, 51, 100, u8::try_from(at).expect("few")]),
        // Each is another address of the same network.
        _ => Ipv6Addr::from_bits(0x2001_0db8_u128 << 96 | u128::from(at) << 64 | u128::from(at)).into(),
    };
    runtime().block_on(async {
        let sender = Arc::new(sender(Outside::World(Filter::new(Vec::new()))));
        let login = |holder: Holder| {
            let (sender, password) = (Arc::clone(&sender), Secret("guess".into()));
            let work = Work::VerifyPassword { password, stored: nobody() };
            tokio::spawn(async move { sender.perform(work, holder).await })
        };
        let strangers: Vec<_> = (0..3_000).map(|at| login(Holder::nobody(networks(at % 150)))).collect();
        tokio::task::yield_now().await;
        let began = Instant::now();
        let honest = login(Holder::nobody([203, 0, 113, 1].into())).await.expect("an answer");
        let waited = began.elapsed();
        assert_eq!(honest, Answer::Verified(false));
        assert!(waited < PATIENCE, "{waited:?}");
        let mut said = [0_u64; 3];
        for stranger in strangers {
            match stranger.await.expect("an answer") {
                Answer::Verified(false) => said[0] += 1,
                Answer::Failed(SendError::ShareUsed) => said[1] += 1,
                Answer::Failed(SendError::Busy) => said[2] += 1,
                other => panic!("{other:?}"),
            }
        }
        // An address may have one login under way and a few waiting: the rest is refused at once.
        assert!(said[0] >= 150 && said[1] > 1_000, "{said:?}");
    });
}

#[test]
fn more_addresses_than_may_wait_hear_that_the_service_is_busy() {
    runtime().block_on(async {
        let sender = Arc::new(sender(Outside::World(Filter::new(Vec::new()))));
        let strangers = 2 * u32::try_from(HASHES.waiting).expect("few");
        let logins: Vec<_> = (0..strangers)
            .map(|at| {
                let (sender, password) = (Arc::clone(&sender), Secret("guess".into()));
                let holder = Holder::nobody(std::net::Ipv4Addr::from_bits(0x0a00_0000 + at).into());
                let work = Work::VerifyPassword { password, stored: nobody() };
                tokio::spawn(async move { sender.perform(work, holder).await })
            })
            .collect();
        let mut busy = 0;
        for login in logins {
            busy += u32::from(login.await.expect("an answer") == Answer::Failed(SendError::Busy));
        }
        assert!(busy > 0 && busy < strangers, "{busy} of {strangers}");
    });
}

#[test]
fn sixty_slow_files_of_one_account_leave_a_neighbour_its_turn() {
    runtime().block_on(async {
        let bounds = Bounds { cpu_seconds: 3, ..Bounds::default() };
        let extractor =
            Extractor::bounded(binary(), bounds, Duration::from_secs(30), Room::new(&READERS)).expect("a thread");
        let extractor = Arc::new(extractor);
        let file = slow_pdf();
        let read = |form, bytes, account| {
            let extractor = Arc::clone(&extractor);
            tokio::spawn(async move { extractor.extract(form, bytes, Holder::Account(account)).await })
        };
        let hostile: Vec<_> = (0..60).map(|_| read(TextForm::Pdf, file.clone(), 1)).collect();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let began = Instant::now();
        let neighbour = read(TextForm::Txt, b"sixteen bytes...".to_vec(), 2).await.expect("an answer");
        let waited = began.elapsed();
        assert!(
            matches!(&neighbour, Answer::Extracted(Ok(found)) if found.text == "sixteen bytes..."),
            "{neighbour:?}"
        );
        assert!(waited < PATIENCE, "{waited:?}");
        assert!(hostile.iter().filter(|one| !one.is_finished()).count() > 50, "they did not wait for that");
        hostile.iter().for_each(tokio::task::JoinHandle::abort);
    });
}

#[tokio::test]
async fn writes_of_an_account_and_of_strangers_leave_others_their_turn() {
    let room = Room::new(&WRITES);
    let stranger = |at: u64| Holder::nobody(IpAddr::from([192, 0, 2, u8::try_from(at).expect("few")]));
    let mut held = Vec::new();
    for holder in [Holder::Account(1)].into_iter().chain((0..8).map(stranger)) {
        let share = if matches!(holder, Holder::Account(_)) { WRITES.account } else { WRITES.address };
        for _ in 0..share {
            held.push(room.take(holder).await.expect("its share"));
        }
    }
    assert_eq!(room.used(), WRITES.account + WRITES.nobody);
    let wait = |holder| {
        let room = Arc::clone(&room);
        tokio::spawn(async move { room.take(holder).await.map(drop) })
    };
    let own: Vec<_> = (0..WRITES.waiting_each).map(|_| wait(Holder::Account(1))).collect();
    let strangers: Vec<_> = (0..20).map(|at| wait(stranger(at))).collect();
    while room.waiting() < WRITES.waiting_each + 20 {
        tokio::task::yield_now().await;
    }
    assert_eq!(room.take(Holder::Account(1)).await.err(), Some(UsedUp::Account), "no more of it may wait");
    assert!(room.take(Holder::Account(2)).await.is_ok(), "another account does not wait at all");
    let another = wait(Holder::nobody([203, 0, 113, 1].into()));
    while room.waiting() < WRITES.waiting_each + 21 {
        tokio::task::yield_now().await;
    }
    // Two places of strangers become free: one goes to the network that has waited, one to the other.
    held.truncate(held.len() - 2);
    assert_eq!(another.await.expect("it ends"), Ok(()));
    drop(held);
    for one in own.into_iter().chain(strangers) {
        assert_eq!(one.await.expect("it ends"), Ok(()));
    }
    assert_eq!((room.used(), room.waiting()), (0, 0));
}
