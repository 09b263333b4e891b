//! Several writers over one PostgreSQL: each has the rows of its accounts, and all see the rows that they share.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use switchboard::clock::Clock;
use switchboard::store::{Cluster, ClusterEvent, ClusterEvents, Commit, Store, StoreError};
use switchboard_core::key::{self, Key, Kind, Space};
use switchboard_core::store::Change;
use switchboard_core::view::{Bytes, Order, Read, Scan, Stop, View};
use switchboard_nodes::Site;
use switchboard_postgres::SqlSession;
use tokio::runtime::Runtime;

const PLAN: u32 = 7;
/// How long a member is listened to before the next one.
const LOOK: Duration = Duration::from_millis(50);

/// A node that holds stores, and serves nobody.
struct Member {
    cluster: Cluster,
    events: ClusterEvents,
    stores: Vec<Store>,
}

impl Member {
    /// Joins, and takes its share of the slots.
    fn of(site: &Site, address: &str) -> Self {
        let cluster = Cluster::join(&site.url(), address, Arc::new(Clock::at(None))).expect("a node");
        let events = cluster.watch(|_| {}).expect("it looks");
        Self { cluster, events, stores: Vec::new() }
    }

    /// Takes and gives slots until each of the members has so many lanes.
    fn settle(members: &mut [Self], lanes: usize) {
        while members.iter().any(|member| member.stores.len() != lanes) {
            members.iter_mut().for_each(Self::look);
        }
    }

    /// Does what there is to do, if there is anything.
    fn look(&mut self) {
        let next = self.events.next();
        match wait(async { tokio::time::timeout(LOOK, next).await }) {
            Ok(Some(ClusterEvent::Taken(store))) => self.stores.push(store),
            Ok(Some(ClusterEvent::Excess(lane, keep))) => {
                let given = self.remove(lane);
                self.stores.extend(wait(given.hand_over(keep, Vec::new())));
            }
            Ok(Some(ClusterEvent::Small([one, other]))) => {
                let [one, retired] = [one, other].map(|lane| self.remove(lane));
                wait(retired.retire());
                self.stores.extend(wait(one.hand_over(usize::MAX, vec![other])));
            }
            Ok(None) | Err(_) => {}
        }
    }

    fn remove(&mut self, lane: [u8; 16]) -> Store {
        let at = self.stores.iter().position(|store| store.lane() == Some(lane)).expect("its lane");
        self.stores.remove(at)
    }

    /// Leaves in order.
    fn leave(self) {
        wait(self.cluster.leave());
        for store in &self.stores {
            assert!(wait(store.hand_over(0, Vec::new())).is_none());
        }
    }

    /// Returns the store that has the rows of an account.
    fn store_of(&self, account: u32) -> Option<&Store> {
        self.stores.iter().find(|store| store.snapshot().is_ok_and(|snapshot| snapshot.view(None).owns(account)))
    }
}

fn row(account: u32) -> Key {
    key::row(Space::Account(account), Kind::Assistant, 1)
}

fn plan() -> Key {
    key::row(Space::Root, Kind::Plan, PLAN)
}

/// Reads a key, loading what is not at hand.
fn value(store: &Store, key: &Key) -> Result<Option<Bytes>, Stop> {
    loop {
        let got = store.snapshot().expect("a snapshot").view(None).get(std::slice::from_ref(key));
        match got {
            Err(Stop::Missing(reads)) => wait(store.load(reads)).expect("they are read"),
            got => return got.map(|mut values| values.remove(0)),
        }
    }
}

fn put(store: &Store, key: Key, value: &[u8]) -> Result<(), StoreError> {
    store.commit(&[Change::Put(key, value.to_vec())])
}

/// Waits for what a store does meanwhile; the store itself blocks as the writer's thread may.
fn wait<T>(work: impl Future<Output = T>) -> T {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"));
    RUNTIME.block_on(work)
}

/// The same beside another wait.
fn wait_beside<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

/// Returns an account of each of the stores.
fn owned(stores: [&Store; 2]) -> [u32; 2] {
    stores.map(|store| {
        let snapshot = store.snapshot().expect("a snapshot");
        (0..1_000).find(|account| snapshot.view(None).owns(*account)).expect("an account")
    })
}

#[test]
fn two_nodes_have_the_rows_of_all_accounts_between_them() {
    let site = Site::new();
    let mut members = vec![Member::of(&site, "127.0.0.1:1")];
    Member::settle(&mut members, 1);
    put(&members[0].stores[0], row(3), b"three").expect("a commit");
    members.push(Member::of(&site, "127.0.0.1:2"));
    Member::settle(&mut members, 1);
    let [one, other] = [&members[0].stores[0], &members[1].stores[0]];
    for account in 0..200 {
        let owns = |store: &Store| store.snapshot().expect("a snapshot").view(None).owns(account);
        assert_ne!(owns(one), owns(other), "account {account}");
        let key = row(account);
        let (here, there) = if owns(one) { (one, other) } else { (other, one) };
        assert_eq!(value(there, &key), Err(Stop::Elsewhere(account)));
        assert_eq!(value(here, &key), Ok((account == 3).then(|| b"three".to_vec())));
        put(here, key.clone(), &account.to_be_bytes()).expect("a commit");
        assert_eq!(value(here, &key), Ok(Some(account.to_be_bytes().to_vec())));
    }
    // Who leaves gives its rows to the others.
    members.remove(0).leave();
    Member::settle(&mut members, 2);
    for account in 0..200 {
        let store = members[0].store_of(account).expect("its lane");
        assert_eq!(value(store, &row(account)), Ok(Some(account.to_be_bytes().to_vec())));
    }
}

/// Each member that leaves would have its lane stay as another small one.
#[test]
fn small_lanes_that_others_left_become_one() {
    let site = Site::new();
    let mut members: Vec<_> = (1..=5).map(|number| Member::of(&site, &format!("127.0.0.1:{number}"))).collect();
    while members.iter().any(|member| member.stores.is_empty()) || !(0..200).all(|account| is_owned(&members, account))
    {
        members.iter_mut().for_each(Member::look);
    }
    for account in 0..200 {
        let store = members.iter().find_map(|member| member.store_of(account)).expect("its lane");
        until_current(store, || put(store, row(account), &account.to_be_bytes()));
    }
    members.drain(1..).for_each(Member::leave);
    while members[0].stores.len() > 2 || !(0..200).all(|account| is_owned(&members, account)) {
        members[0].look();
    }
    for account in 0..200 {
        let store = members[0].store_of(account).expect("its lane");
        assert_eq!(value(store, &row(account)), Ok(Some(account.to_be_bytes().to_vec())));
    }
}

fn is_owned(members: &[Member], account: u32) -> bool {
    members.iter().any(|member| member.store_of(account).is_some())
}

/// Rows are added behind the last one: whoever found none there knows of all that are to come.
#[test]
fn a_row_that_is_not_there_tells_of_its_neighbours() {
    let site = Site::new();
    let mut members = vec![Member::of(&site, "127.0.0.1:1")];
    Member::settle(&mut members, 1);
    let of = |kind, count| key::row(Space::Account(3), kind, count);
    for (kind, count) in [(Kind::Assistant, 4), (Kind::Assistant, 9), (Kind::Campaign, 1)] {
        put(&members[0].stores[0], of(kind, count), b"there").expect("a commit");
    }
    // Another node knows nothing yet.
    members.remove(0).leave();
    members.push(Member::of(&site, "127.0.0.1:2"));
    Member::settle(&mut members, 1);
    let store = &members[0].stores[0];
    let known = |kind, count| store.snapshot().expect("a snapshot").view(None).get(&[of(kind, count)]).ok();
    assert_eq!(known(Kind::Assistant, 6), None);
    assert_eq!(value(store, &of(Kind::Assistant, 6)), Ok(None));
    for count in [5, 7, 8] {
        assert_eq!(known(Kind::Assistant, count), Some(vec![None]), "{count} is not there either");
    }
    for count in [3, 4, 9, 10] {
        assert_eq!(known(Kind::Assistant, count), None, "{count} was not asked for");
    }
    // What is added there is known, and what lies behind it.
    assert_eq!(value(store, &of(Kind::Assistant, 10)), Ok(None));
    put(store, of(Kind::Assistant, 10), b"new").expect("a commit");
    assert_eq!(known(Kind::Assistant, 10), Some(vec![Some(b"new".to_vec())]));
    assert_eq!(known(Kind::Assistant, 11), Some(vec![None]));
    // Another kind, and another account, are not of that gap.
    assert_eq!(known(Kind::Campaign, 1), None);
    assert_eq!(value(store, &of(Kind::Campaign, 1)), Ok(Some(b"there".to_vec())));
}

/// A node that made a lane and lost its answer takes the slots again, as it would of any other node.
#[test]
fn a_lane_that_never_began_is_taken_over_by_its_own_node() {
    let site = Site::new();
    let cluster = Cluster::join(&site.url(), "127.0.0.1:1", Arc::new(Clock::at(None))).expect("a node");
    let lane = "decode(repeat('01', 16), 'hex')";
    site.value(&format!(
        "INSERT INTO switchboard.lane (id, token, node) SELECT {lane}, {lane}, id FROM switchboard.node"
    ));
    site.value(&format!("UPDATE switchboard.slot SET lane = {lane}"));
    let events = cluster.watch(|_| {}).expect("it looks");
    let mut members = [Member { cluster, events, stores: Vec::new() }];
    Member::settle(&mut members, 1);
    put(&members[0].stores[0], row(3), b"three").expect("a commit");
}

#[test]
fn what_one_changes_of_shared_rows_the_others_decide_over() {
    let site = Site::new();
    let mut members = vec![Member::of(&site, "127.0.0.1:1"), Member::of(&site, "127.0.0.1:2")];
    Member::settle(&mut members, 1);
    let [one, other] = [&members[0].stores[0], &members[1].stores[0]];
    let [_, account] = owned([one, other]);
    assert_eq!(value(other, &plan()), Ok(None));
    // A read says which change of shared rows it relied on, and can be confirmed.
    let snapshot = other.snapshot().expect("a snapshot");
    assert_eq!(snapshot.shared(), None, "nothing shared was read");
    snapshot.view(None).get(&[plan()]).expect("it is at hand");
    let relied = snapshot.shared().expect("a shared row was read");
    drop(snapshot);
    assert!(wait(other.is_current(relied)).expect("it is asked"));
    let deciding = other.begin().expect("a write");
    // The lane that was made last is a change as well.
    put_again(one, &plan(), b"new");
    assert!(!wait(other.is_current(relied)).expect("it is asked"));
    assert_eq!(value(other, &plan()), Ok(Some(b"new".to_vec())), "it is at hand");
    // What was begun before is decided anew, also if it changes nothing shared.
    let mut deciding = deciding;
    deciding.apply(vec![Change::Put(row(account), b"old".to_vec())]);
    assert!(matches!(deciding.commit(), Err(StoreError::Outdated)));
    assert_eq!(value(other, &row(account)), Ok(None), "nothing of it was committed");
    put(other, row(account), b"again").expect("a commit");
    // Both ways, and deleted as well.
    other.commit(&[Change::Delete(plan()), Change::Put(row(account), b"both".to_vec())]).expect("a commit");
    let late = one.commit(&[Change::Put(plan(), b"late".to_vec())]);
    assert!(matches!(late, Err(StoreError::Outdated)), "{late:?}");
    wait(one.load(Vec::new())).expect("it learns");
    assert_eq!(value(one, &plan()), Ok(None));
    put(one, plan(), b"last").expect("a commit");
    // One that looked at shared rows and changes nothing is not told what they were.
    let looking = other.begin().expect("a write");
    let looked = looking.view(None).expect("a view").get(&[plan()]);
    assert_eq!(looked, Ok(vec![None]), "as far as it knows");
    assert!(matches!(looking.abort(), Err(StoreError::Outdated)));
    assert_eq!(value(other, &plan()), Ok(Some(b"last".to_vec())));
}

#[test]
fn who_missed_too_many_changes_reads_shared_rows_anew() {
    let site = Site::new();
    let mut members = vec![Member::of(&site, "127.0.0.1:1"), Member::of(&site, "127.0.0.1:2")];
    Member::settle(&mut members, 1);
    let [one, other] = [&members[0].stores[0], &members[1].stores[0]];
    let of = |count| key::row(Space::Root, Kind::Plan, count);
    put_again(one, &plan(), b"first");
    let all = Scan { from: of(0), to: of(u32::MAX), order: Order::Ascending, limit: 100 };
    wait(other.load(vec![Read::Scan(all)])).expect("they are read");
    assert_eq!(value(other, &plan()), Ok(Some(b"first".to_vec())));
    // As if a thousand changes had come between two looks.
    let session = SqlSession::open(&site.login.config(site.instance.address())).expect("a session");
    session.run("UPDATE switchboard.shared SET seq = seq + 2000").expect("a change");
    put_again(one, &plan(), b"second");
    wait(other.load(Vec::new())).expect("it learns");
    assert_eq!(value(other, &plan()), Ok(Some(b"second".to_vec())));
    assert_eq!(value(other, &of(PLAN + 1)), Ok(None));
}

/// Both look before either has committed: one of them finds the row there, or gone.
#[test]
fn a_shared_row_that_two_make_or_drop_at_once_ends_neither() {
    let site = Site::new();
    let mut members = vec![Member::of(&site, "127.0.0.1:1"), Member::of(&site, "127.0.0.1:2")];
    Member::settle(&mut members, 1);
    let stores = [&members[0].stores[0], &members[1].stores[0]];
    stores.iter().for_each(|store| assert_eq!(value(store, &plan()), Ok(None)));
    for round in 0..100_u8 {
        let at_once = |change: &(dyn Fn(&Store) -> Result<(), StoreError> + Sync)| {
            std::thread::scope(|scope| {
                stores.iter().for_each(|store| drop(scope.spawn(move || until_current(store, || change(store)))));
            });
        };
        at_once(&|store| put(store, plan(), &[round]));
        at_once(&|store| store.commit(&[Change::Delete(plan())]));
    }
    for store in stores {
        wait(store.load(Vec::new())).expect("it learns");
        assert_eq!(value(store, &plan()), Ok(None));
    }
}

#[test]
fn a_write_is_decided_over_a_commit_that_is_under_way() {
    let site = Site::new();
    let mut members = vec![Member::of(&site, "127.0.0.1:1"), Member::of(&site, "127.0.0.1:2")];
    Member::settle(&mut members, 1);
    let [one, other] = [&members[0].stores[0], &members[1].stores[0]];
    let [account, _] = owned([one, other]);
    let own = row(account);
    let begun = |key: &Key, value: &[u8]| {
        wait(one.load(Vec::new())).expect("it learns");
        let mut write = one.begin().expect("a write");
        write.apply(vec![Change::Put(key.clone(), value.to_vec())]);
        write.into_commit().expect("a commit")
    };
    let over = |commit: &Commit, key: &Key, value: &[u8]| {
        let mut next = one.begin_over(commit);
        next.apply(vec![Change::Put(key.clone(), value.to_vec())]);
        next
    };
    for key in [&own, &plan()] {
        assert_eq!(value(one, key), Ok(None));
        let first = begun(key, b"first");
        let next = one.begin_over(&first);
        let seen = || next.view(None).expect("a view").get(std::slice::from_ref(key));
        assert_eq!(seen(), Ok(vec![Some(b"first".to_vec())]), "before it is made");
        assert_eq!(value(one, key), Ok(None), "nobody else sees it");
        first.make().expect("a commit");
        assert_eq!(seen(), Ok(vec![Some(b"first".to_vec())]));
        drop(next);
        let first = begun(key, b"again");
        let next = over(&first, key, b"second");
        first.make().expect("a commit");
        next.commit().expect("a commit");
        assert_eq!(value(one, key), Ok(Some(b"second".to_vec())));
    }
    // Another lane's change of shared rows comes before both, and between them.
    let first = begun(&own, b"outdated");
    let next = over(&first, &own, b"outdated");
    put_again(other, &plan(), b"theirs");
    assert!(matches!(first.make(), Err(StoreError::Outdated)));
    assert!(matches!(next.commit(), Err(StoreError::Outdated)));
    let first = begun(&own, b"third");
    let next = over(&first, &own, b"outdated");
    first.make().expect("a commit");
    put_again(other, &plan(), b"theirs");
    wait(one.load(Vec::new())).expect("it learns");
    assert!(matches!(next.commit(), Err(StoreError::Outdated)));
    assert_eq!(value(one, &own), Ok(Some(b"third".to_vec())));
    // Who gives the lane up waits for both, and nobody else may come between.
    let first = begun(&own, b"fourth");
    let next = over(&first, &own, b"fifth");
    std::thread::scope(|scope| {
        let given = scope.spawn(|| wait_beside(one.hand_over(0, Vec::new())).is_none());
        first.make().expect("a commit");
        next.commit().expect("a commit");
        assert!(given.join().expect("it is given up"));
    });
    while !members[1].store_of(account).is_some_and(|store| value(store, &own) == Ok(Some(b"fifth".to_vec()))) {
        members[1].look();
    }
}

/// Commits once the store has learned what others changed.
fn put_again(store: &Store, key: &Key, value: &[u8]) {
    until_current(store, || put(store, key.clone(), value));
}

fn until_current(store: &Store, mut commit: impl FnMut() -> Result<(), StoreError>) {
    while let Err(error) = commit() {
        assert!(matches!(error, StoreError::Outdated), "{error}");
        wait(store.load(Vec::new())).expect("it learns");
    }
}
