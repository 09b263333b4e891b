use super::*;
use proptest::prelude::*;
use switchboard_core::budget::Unit;

const SMALL: Budget = Budget {
    name: "small",
    unit: Unit::Places,
    all: 5,
    account: 2,
    address: 1,
    nobody: 2,
    waiting: 6,
    waiting_each: 3,
    shrinks: false,
    what: "",
};

fn address(last: u8) -> Holder {
    Holder::nobody(IpAddr::from([10, 0, 0, last]))
}

#[test]
fn each_holder_gets_its_share_and_no_more() {
    let room = Room::new(&SMALL);
    let take = |holder| room.try_take(holder, 1).map_err(UsedUp::word);
    let own = [take(Holder::Account(1)), take(Holder::Account(1))];
    assert!(own.iter().all(Result::is_ok));
    assert_eq!(take(Holder::Account(1)).err(), Some("account"));
    let strangers = [take(address(1)), take(address(2))];
    assert!(strangers.iter().all(Result::is_ok));
    assert_eq!(take(address(1)).err(), Some("address"));
    assert_eq!(take(address(3)).err(), Some("nobody"));
    let last = take(Holder::Service);
    assert!(last.is_ok());
    assert_eq!(take(Holder::Account(2)).err(), Some("all"));
    drop(own);
    assert!(take(Holder::Account(1)).is_ok(), "what is given back is there again");
    drop((strangers, last));
    assert_eq!(room.used(), 0);
    assert!(room.state().held.is_empty(), "who holds nothing is forgotten");
    assert_eq!(UsedUp::EVERY.map(|full| room.refused(full)), [1, 1, 1, 1]);
}

#[test]
fn however_many_hold_all_they_can_a_newcomer_finds_room() {
    let room =
        Room::new(&Budget { all: 256, account: 128, address: 32, nobody: 64, waiting: 0, shrinks: true, ..SMALL });
    let mut all: Vec<Held> = Vec::new();
    let mut fill = |holder: Holder| {
        let before = all.len();
        while let Ok(held) = room.try_take(holder, 1) {
            all.push(held);
        }
        all.len() - before
    };
    assert_eq!([1, 2].map(|last| fill(address(last))), [32, 16]);
    // 208 are left: half of them, then half of the rest.
    assert_eq!([1, 2, 3, 4].map(|number| fill(Holder::Account(number))), [104, 52, 26, 13]);
    assert_eq!(fill(Holder::Account(1)), 0, "who holds most gets no more");
    assert!(room.try_take(Holder::Account(5), 13).is_ok());
    assert_eq!((room.refused(UsedUp::All), room.refused(UsedUp::Nobody)), (0, 0), "each was told of its own share");
}

#[test]
fn networks_count_as_one_address() {
    let of = |text: &str| Holder::nobody(text.parse().expect("an address"));
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:9"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
}

#[test]
fn what_is_held_grows_shrinks_and_changes_hands() {
    let room = Room::new(&Budget { all: 160, account: 80, address: 20, nobody: 40, ..SMALL });
    let mut held = room.try_take(address(1), 10).expect("room");
    assert_eq!(held.grow(11), Err(UsedUp::Address));
    assert_eq!(held.grow(10), Ok(()));
    assert_eq!(held.hand_to(Holder::Account(4)), Ok(()));
    assert_eq!(held.grow(60), Ok(()));
    assert_eq!((held.grow(1), room.used(), room.state().nobody), (Err(UsedUp::Account), 80, 0));
    held.shrink_to(5);
    assert_eq!((held.amount(), room.used()), (5, 5));
    drop(held);
    assert_eq!(room.used(), 0);
}

#[tokio::test]
async fn holders_take_turns() {
    let room = Room::new(&Budget { all: 1, account: 1, ..SMALL });
    let first = room.take(Holder::Account(0)).await.expect("room");
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for account in [1, 1, 1, 2, 3] {
        let (room, order) = (Arc::clone(&room), Arc::clone(&order));
        tasks.push(tokio::spawn(async move {
            let held = room.take(Holder::Account(account)).await.expect("a turn");
            order.lock().expect("nobody panicked").push(account);
            drop(held);
        }));
        tokio::task::yield_now().await;
    }
    assert_eq!(room.waiting(), 5);
    assert_eq!(room.take(Holder::Account(1)).await.err(), Some(UsedUp::Account), "a queue of its own is bounded");
    drop(first);
    for task in tasks {
        task.await.expect("no panic");
    }
    assert_eq!(*order.lock().expect("nobody panicked"), [1, 2, 3, 1, 1]);
    assert_eq!((room.used(), room.waiting()), (0, 0));
}

#[tokio::test]
async fn whoever_goes_away_leaves_the_queue() {
    let room = Room::new(&Budget { all: 1, account: 1, ..SMALL });
    let first = room.take(Holder::Account(0)).await.expect("room");
    let waits = tokio::spawn({
        let room = Arc::clone(&room);
        async move { room.take(Holder::Account(1)).await.map(drop) }
    });
    tokio::task::yield_now().await;
    assert_eq!(room.waiting(), 1);
    waits.abort();
    assert!(waits.await.is_err());
    assert_eq!(room.waiting(), 0);
    drop(first);
    assert!(room.try_take(Holder::Account(2), 1).is_ok());
}

proptest! {
    /// For any sequence of takes and returns, no share is exceeded, and in the end nothing is held.
    #[test]
    fn shares_hold(acts in prop::collection::vec((0_u8..6, 1_u64..4, any::<bool>()), 1..60)) {
        let budget = Budget { all: 12, account: 5, address: 3, nobody: 6, ..SMALL };
        let room = Room::new(&budget);
        let mut all: Vec<Held> = Vec::new();
        for (who, amount, gives) in acts {
            let holder = match who {
                0 | 1 => Holder::Account(who.into()),
                2..=4 => address(who),
                _ => Holder::Service,
            };
            if gives && !all.is_empty() {
                all.swap_remove(usize::from(who) % all.len());
            } else if let Ok(held) = room.try_take(holder, amount) {
                all.push(held);
            }
            let sum = |wanted: &dyn Fn(Holder) -> bool| {
                all.iter().filter(|held| wanted(held.holder)).map(Held::amount).sum::<u64>()
            };
            prop_assert_eq!(sum(&|_| true), room.used());
            prop_assert!(room.used() <= 12);
            prop_assert!(sum(&|holder| matches!(holder, Holder::Address(_))) <= 6);
            for one in [Holder::Account(0), Holder::Account(1)] {
                prop_assert!(sum(&|holder| holder == one) <= 5);
            }
            prop_assert!((2..=4).all(|last| sum(&|holder| holder == address(last)) <= 3));
        }
        drop(all);
        prop_assert_eq!(room.used(), 0);
    }
}
