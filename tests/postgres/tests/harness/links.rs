//! Bad links.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use switchboard_postgres::{Flow, Instance, Login, Loss, PATIENCE, Proxy, SqlSession, wait_until};

use crate::with_table;

const SEED: u64 = 7;
const BRIEF: Duration = Duration::from_millis(300);

/// A server with a table, behind a link.
struct Scene {
    proxy: Proxy,
    instance: Instance,
    login: Login,
}

impl Scene {
    fn new() -> Self {
        let instance = Instance::options().start().expect("a server");
        let (login, _) = with_table(&instance);
        Self { proxy: Proxy::open(instance.address(), SEED).expect("a proxy"), instance, login }
    }

    fn open(&self) -> Result<SqlSession, String> {
        self.open_within(PATIENCE)
    }

    fn open_within(&self, bound: Duration) -> Result<SqlSession, String> {
        let mut config = self.login.config(self.proxy.address());
        config.application_name("app").connect_timeout(bound);
        SqlSession::open(&config).map_err(|error| format!("{error:?}"))
    }

    fn rows(&self) -> u64 {
        self.instance.count_rows("app", "note").expect("a count")
    }

    /// Waits until no backend of the clients is left: what they began has ended.
    fn settle(&self) {
        let left = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'app'";
        self.instance.wait_for(left, "0").expect("they end");
    }
}

#[test]
fn a_link_passes_and_delays_each_way() {
    let scene = Scene::new();
    let session = scene.open().expect("a session");
    let time = || {
        let began = Instant::now();
        session.run("SELECT 1").expect("an answer");
        began.elapsed()
    };
    time();
    let delay = Duration::from_millis(150);
    for flow in [Flow::ToServer, Flow::ToClient] {
        scene.proxy.delay(flow, delay);
        assert!(time() >= delay, "{flow:?}");
        scene.proxy.heal().expect("a healed link");
    }
    // So long that what the machine itself takes is little beside it.
    let delay = Duration::from_secs(1);
    scene.proxy.delay(Flow::ToServer, delay);
    scene.proxy.delay(Flow::ToClient, delay);
    assert!(time() >= 2 * delay);
    // Two that are under way together wait together.
    let (mut one, mut two) = (session.start("SELECT 1"), session.start("SELECT 2"));
    let began = Instant::now();
    assert!(one.within(PATIENCE).is_some_and(|result| result.is_ok()));
    assert!(two.within(PATIENCE).is_some_and(|result| result.is_ok()));
    assert!(began.elapsed() < 4 * delay, "{:?}", began.elapsed());
    let large = "x".repeat(3_000_000);
    scene.proxy.heal().expect("a healed link");
    let rows = session.run(&format!("SELECT length('{large}'), '{large}'")).expect("what is large passes");
    assert_eq!(rows[0], [Some("3000000".to_owned()), Some(large)]);
    let traffic = scene.proxy.traffic();
    assert!(traffic.bytes_to_server > 6_000_000 && traffic.bytes_to_client > 3_000_000, "{traffic:?}");
    assert_eq!((traffic.connections, traffic.cuts, traffic.bytes_swallowed), (1, 0, 0));
}

#[test]
fn a_link_cuts_and_refuses() {
    let scene = Scene::new();
    let (one, two) = (scene.open().expect("a session"), scene.open().expect("a session"));
    let mut bare = TcpStream::connect(scene.proxy.address()).expect("a connection");
    wait_until("it is taken", || scene.proxy.traffic().connections == 3).expect("a third connection");
    scene.proxy.cut();
    assert_eq!(bare.read(&mut [0]).expect_err("it is cut").kind(), ErrorKind::ConnectionReset);
    wait_until("both are cut", || one.is_closed() && two.is_closed()).expect("closed connections");
    scene.settle();
    let three = scene.open().expect("others may come");
    scene.proxy.refuse();
    // A process that another test starts holds the listener until it runs its program: one that comes meanwhile is cut.
    wait_until("refused", || scene.open().err().expect("refused").contains("ConnectionRefused")).expect("refused");
    three.run("SELECT 1").expect("who is there stays");
    scene.proxy.heal().expect("a healed link");
    scene.open().expect("healed").run("SELECT 1").expect("an answer");
    scene.proxy.cut_within(Duration::from_millis(100));
    wait_until("the open one is cut", || three.is_closed()).expect("a closed connection");
    assert!(scene.proxy.traffic().cuts >= 3);
}

#[test]
fn a_lost_request_is_not_carried_out_and_a_lost_answer_is() {
    let scene = Scene::new();
    for (number, loss, rows) in [(1, Loss::Request, 0), (2, Loss::Answer, 1)] {
        let session = scene.open().expect("a session");
        session.run("SELECT 1").expect("an answer");
        scene.proxy.lose_next(loss);
        session.run(&format!("INSERT INTO note VALUES ({number})")).expect_err(&format!("{loss:?}"));
        scene.settle();
        assert_eq!(scene.rows(), rows, "{loss:?}");
    }
    // Cut behind the request, it may be either, but the server has it whole: nothing is half done.
    let session = scene.open().expect("a session");
    scene.proxy.lose_next(Loss::Connection);
    session.run("INSERT INTO note SELECT generate_series(10, 19)").expect_err("no answer");
    scene.settle();
    assert!([1, 11].contains(&scene.rows()), "{}", scene.rows());
    assert_eq!((scene.proxy.traffic().losses, scene.proxy.traffic().cuts), (3, 3));
    session.run("SELECT 1").expect_err("it is cut");
}

#[test]
fn what_is_lost_at_random_is_drawn_from_the_seed() {
    let scene = Scene::new();
    let lost = |seed| {
        let proxy = Proxy::open(scene.instance.address(), seed).expect("a proxy");
        let survived = |_| {
            let session = SqlSession::open(&scene.login.config(proxy.address())).expect("a session");
            proxy.lose(Loss::Request, 200);
            let count = (0..50).take_while(|_| session.run("SELECT 1").is_ok()).count();
            proxy.heal().expect("a healed link");
            count
        };
        (0..5).map(survived).collect::<Vec<_>>()
    };
    let drawn = lost(SEED);
    assert_eq!(drawn, lost(SEED));
    assert_ne!(drawn, lost(SEED + 1));
}

#[test]
fn a_half_open_link_closes_nothing_until_it_is_healed() {
    let scene = Scene::new();
    for (number, flow, rows) in [(1, Flow::ToServer, 0), (2, Flow::ToClient, 1)] {
        let (session, idle) = (scene.open().expect("a session"), scene.open().expect("a session"));
        idle.run("SELECT 1").expect("an answer");
        let before = scene.proxy.traffic().bytes_swallowed;
        scene.proxy.swallow(flow);
        let mut statement = session.start(&format!("INSERT INTO note VALUES ({number})"));
        wait_until("something is swallowed", || scene.proxy.traffic().bytes_swallowed > before).expect("bytes");
        assert!(statement.within(BRIEF).is_none() && !session.is_closed());
        assert!(scene.open_within(BRIEF).is_err(), "nobody else gets an answer");
        scene.proxy.heal().expect("a healed link");
        assert!(statement.within(PATIENCE).expect("an end").is_err(), "a connection with a gap is cut");
        idle.run("SELECT 1").expect("one without a gap is as it was");
        drop(idle);
        scene.settle();
        assert_eq!(scene.rows(), rows, "{flow:?}");
    }
}
