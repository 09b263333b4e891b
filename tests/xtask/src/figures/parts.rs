//! The parts of the page: what is measured and how, with notes on reading the figures.

use crate::chores::{BENCH, NODES};
use crate::schemathesis::{EACH_COMMIT_SECONDS, LONG_SECONDS};

/// One part of the page, under a heading of its own.
pub struct Part {
    /// Name on the command line, and key in `docs/figures.json`.
    pub name: &'static str,
    /// Heading on the page.
    pub title: &'static str,
    /// Notes on reading its figures, shown below the heading.
    pub about: &'static str,
    /// Program or tests that measure it.
    pub measure: Measure,
}

/// How a part is measured.
pub enum Measure {
    /// A program of the workspace: its package, and its arguments in a long and in a short run.
    Program(&'static str, &'static [&'static str], &'static [&'static str]),
    /// The bench, built with the `beside` feature, which is off by default: its argument.
    Beside(&'static str),
    /// The bench beside a peer's program, installed from a registry.
    Peer,
    /// The bench against nodes at the edge.
    Edge,
    /// The hosts' proof, on every host that can be installed.
    Hosts,
    /// The voice engine's long tests of latency, and in a long run two soaks of 45 minutes.
    Voice,
    /// The console in a browser, over a small store and a large one: minutes that a page is live in a long and a short run.
    Console(u32, u32),
    /// Compressed sizes of what is loaded over a network.
    Sizes,
    /// Schemathesis: seconds of a long and of a short run.
    Schemathesis(u32, u32),
    /// Tests of the test command; in a long run, drawn tests draw this many times as many cases.
    Tests(&'static [Test], u32),
}

/// Tests that prove a claim.
pub struct Test {
    /// The claim, as the page shows it.
    pub text: &'static str,
    /// Package of the tests.
    pub package: &'static str,
    /// Name of the test target.
    pub suite: &'static str,
    /// Prefix of the tests' names.
    pub name: &'static str,
    /// Number of drawn cases in a short run; 0 if the tests draw none.
    pub cases: u32,
}

/// All parts, in the order of the page.
pub const PARTS: [Part; 33] = [
    Part {
        name: "reads",
        title: "Reads and pages beside bare hyper",
        about: "Bare hyper is sent the same requests and sends the same bytes, head and body, and does nothing else. What a read takes beyond it, 4 µs of CPU, is the token, the rate limit, the route, rows and headers; a first page also copies its rows, writes a dozen links and makes an entity tag of it all. A page elsewhere reads its rows by key, or by one scan where they are close together, one that two filters share a bit array a filter for every 8,192 calls as well. Rows and first pages that were asked for since the last write stay at hand.",
        measure: Measure::Program(BENCH, &["reads"], &["reads"]),
    },
    Part {
        name: "load",
        title: "More connections",
        about: "p99 at half of the peak counts the time that a request waits for its turn.",
        measure: Measure::Program(BENCH, &["load"], &["load"]),
    },
    Part {
        name: "creates",
        title: "Durable creates beside bare redb",
        about: "Each is acknowledged after its record is on the disk, in the log: one sync. *Queue alone* is the server's writer in the bench's process, asked by so many at once; of 64 it decides some while others are committed. Bare puts are what was decided put into redb alone, with the two syncs of a durable commit: all that each create changes, one after the other, or, as the service does, each row once a commit; what they leave out is to decide, more than half of a create's time in the writer. By one connection HTTP adds four wakings of a thread, two more than a read takes.",
        measure: Measure::Program(BENCH, &["creates"], &["creates"]),
    },
    Part {
        name: "talks",
        title: "Conversations",
        about: "A turn is two commits with a question to the model between them, or one with the simulated model. An account has all the conversations; each is spoken to every four seconds.",
        measure: Measure::Program(BENCH, &["talks"], &["talks"]),
    },
    Part {
        name: "engines",
        title: "Engines",
        about: "Leases, and what engines say of themselves, stand in memory. A hang-up is timed from the request until a parked claim of its engine has been answered.",
        measure: Measure::Program(BENCH, &["engines"], &["engines"]),
    },
    Part {
        name: "voice",
        title: "Telephone calls of the voice engine",
        about: "One worker process as it is installed, over real SIP and RTP (PCMU) on loopback. Speech, recognition (espeak-ng, pocketsphinx) and model (a script) are of this machine; vendors' take longer. All times are of packets on the wire, from the last one of the customer's speech to the first in which the assistant is heard; 400 ms of it is the silence that these turns end with, half of what an assistant waits by default. Telephones, service and model run on the same cores, in a process of their own. Processor time includes what a call's beginning takes. While the calls that last were soaked, other programs were compiled on the same cores.",
        measure: Measure::Voice,
    },
    Part {
        name: "growth",
        title: "Growing data",
        about: "One account has all the calls. *Any* page is one anywhere in the list.",
        measure: Measure::Program(BENCH, &["growth"], &["growth", "10000", "1000000"]),
    },
    Part {
        name: "lists",
        title: "Pages beside SQLite",
        about: "SQLite has an index for each filter, and its pages in memory.",
        measure: Measure::Beside("lists"),
    },
    Part {
        name: "steps",
        title: "What a step consists of",
        about: "Steps on a store of 10,000 calls, in one process.",
        measure: Measure::Beside("steps"),
    },
    Part {
        name: "imports",
        title: "Imports",
        about: "A neighbour writes, one request after the other, while 50,000 leads are imported, and while a file of a million arrives. The middle of 5 turns counts, as everywhere, since now and then the machine itself stands still as long; the longest of all is stated, and beside it (`machine`) the longest that a thread which only sleeps was held up in that turn. A core that stands still is seen there only when that thread was on it.",
        measure: Measure::Program(BENCH, &["imports"], &["imports"]),
    },
    Part {
        name: "search",
        title: "Search in a knowledgebase",
        about: "Passages of at most 800 characters, in documents of a hundred; a search asks with some words of a text and gives the five best.",
        measure: Measure::Program(BENCH, &["search"], &["search"]),
    },
    Part {
        name: "day",
        title: "A mixed day",
        about: "Reads, updates and calls at half of the peak rate; each call is played by the simulated engine in the same process and told to a webhook.",
        measure: Measure::Program(BENCH, &["day"], &["day", "30"]),
    },
    Part {
        name: "peer",
        title: "Beside openvox-core",
        about: "An open voice-agent server from PyPI, as it installs: one process, SQLite.",
        measure: Measure::Peer,
    },
    Part {
        name: "edge",
        title: "Nodes at the edge",
        about: "wasmtime opens a connection for each request to the region, and makes an instance for each request of 0.2.",
        measure: Measure::Edge,
    },
    Part {
        name: "component",
        title: "Steps through the component",
        about: "The aim is 1.5 times the same step natively with its reads in rounds, and 20 µs.",
        measure: Measure::Program("switchboard-proof", &["measure"], &["measure"]),
    },
    Part {
        name: "console",
        title: "The console",
        about: "In a headless Chromium on the machine of the service. What is pressed is timed until it has been painted: the module of the page, the request, its answer, the elements. The page that lives shows the list of calls, read again every four seconds, while two calls a second are placed and played.",
        measure: Measure::Console(60, 2),
    },
    Part {
        name: "sizes",
        title: "Sizes",
        about: "Packed with `gzip -9`. Of the component, data take 201 kB: time zones 49, the catalogue 7, the rest tables, texts, numbering plans and words of the search. All else is code, of which no function has more than two hundredths. Optimising for size alone (`z`) gives 882 and costs half as much time again; `wasm-opt -Oz` makes the packed file larger.",
        measure: Measure::Sizes,
    },
    Part {
        name: "hosts",
        title: "Hosts agree",
        about: "One recorded script over every operation and drawn histories, compared byte for byte: replies, wake-ups, stored rows. Not run: Cloudflare itself, Deno Deploy, Spin, wasmCloud, Firefox, Safari.",
        measure: Measure::Hosts,
    },
    Part {
        name: "nodes",
        title: "Nodes over PostgreSQL",
        about: "Nodes, PostgreSQL and the load share the machine. Bare commits put the rows that the same creates change, each once and new ones, in one statement over one connection. Beside them a node's creates are those of its writer in the bench's process, of one lane, or of two over two connections where it says so; over HTTP they are those of the binary. PostgreSQL far away is a link on loopback whose answers are late.",
        measure: Measure::Program(BENCH, &["nodes"], &["nodes"]),
    },
    Part {
        name: "nodes-die",
        title: "Nodes that die",
        about: "Three nodes over one PostgreSQL, and clients of eight accounts that never rest; what they were told is compared with what is stored. A silence is the longest time in which nothing of an account was acknowledged: who does not answer is replaced after seven seconds.",
        measure: Measure::Program(NODES, &["--long", "kills", "all", "stops"], &["kills", "all", "stops"]),
    },
    Part {
        name: "nodes-stand-still",
        title: "Nodes that stand still",
        about: "They stop for longer than a lease, or for a moment between a step and its answer, and go on; a client that saw a change never sees what was before it. A clock that is an hour off is that of a node which takes over.",
        measure: Measure::Program(NODES, &["--long", "pauses", "reads", "clocks"], &["pauses", "reads", "clocks"]),
    },
    Part {
        name: "nodes-databases",
        title: "Databases that die",
        about: "Links that break, a PostgreSQL that is killed, a standby that becomes the primary, a disk without room, a limit of connections that is reached: what is not known to be stored is found out, never sent twice.",
        measure: Measure::Program(
            NODES,
            &["--long", "links", "databases", "standbys", "disks", "connections"],
            &["links", "databases", "standbys", "disks", "connections"],
        ),
    },
    Part {
        name: "nodes-waits",
        title: "Databases that are behind, or late",
        about: "A store that went back in time stops its nodes with an alarm; commits wait for a standby, and whoever cancels such a wait gets nothing acknowledged that the standby lacks.",
        measure: Measure::Program(NODES, &["--long", "past", "waits", "cancels"], &["past", "waits", "cancels"]),
    },
    Part {
        name: "nodes-failovers",
        title: "Failovers by Patroni",
        about: "Three PostgreSQL of which Patroni keeps one the primary, and two nodes. The primary gives over because it is asked to, or because its machine died: that takes Patroni the time after which it holds it for dead, and nodes nothing more.",
        measure: Measure::Program(NODES, &["--long", "failovers"], &["failovers"]),
    },
    Part {
        name: "nodes-soak",
        title: "Half an hour of eight nodes",
        about: "Eight nodes over one PostgreSQL live at 48 times the speed of time, a thousand accounts with calls, engines, webhooks and imports; each minute one of the eight is killed and another one started.",
        measure: Measure::Program(NODES, &["--long", "soak"], &["soak"]),
    },
    Part {
        name: "faults",
        title: "Faults",
        about: "The real binary and the real store.",
        measure: Measure::Program("switchboard-faults", &["--long"], &[]),
    },
    Part {
        name: "attacks",
        title: "Attacks",
        about: "All at once for ten minutes, by tenants and by strangers; each by itself is part of the test command. The neighbour's 99th percentile beside the attack is held against its own next to an honest load that has the processor and the disk do as much, the middle of three; 20 ms are always allowed.",
        measure: Measure::Program("switchboard-attacks", &["--long", "--mixed"], &["--mixed"]),
    },
    Part {
        name: "fuzz",
        title: "Any input",
        about: "Drawn and mutated inputs into everything that reads what others wrote.",
        measure: Measure::Program("switchboard-fuzz", &["--count", "100000000"], &["--count", "1000000"]),
    },
    Part {
        name: "tenancy",
        title: "Tenants",
        about: "Two accounts, drawn histories; a stranger is answered as if the row had never been.",
        measure: Measure::Program("switchboard-fuzz", &["--count", "50000", "tenancy"], &["--count", "500", "tenancy"]),
    },
    Part {
        name: "idempotency",
        title: "Idempotency keys",
        about: "Copies at once, and a crash between commit and answer.",
        measure: Measure::Program(
            "switchboard-fuzz",
            &["--count", "100000", "idempotency"],
            &["--count", "1000", "idempotency"],
        ),
    },
    Part {
        name: "sim",
        title: "Simulated worlds",
        about: "Campaigns, engines that lie, receivers that fail, hosts that die between any two steps.",
        measure: Measure::Program("switchboard-sim", &["--seeds", "100000"], &["--seeds", "1000"]),
    },
    Part {
        name: "schemathesis",
        title: "A third party's fuzzer",
        about: "Schemathesis against the served document, with all checks and phases and two accounts.",
        measure: Measure::Schemathesis(LONG_SECONDS, EACH_COMMIT_SECONDS),
    },
    Part {
        name: "tests",
        title: "What tests show",
        about: "These are part of the test command; a long run draws more cases.",
        measure: Measure::Tests(&TESTS, 100),
    },
];

const API: &str = "switchboard-tests";
const TESTS: [Test; 9] = [
    Test {
        text: "Every error of a body is named, no other, and checks agree with the published schema",
        package: API,
        suite: "api",
        name: "tables::",
        cases: 2_000,
    },
    Test {
        text: "Lists, totals and rows agree with a plain model over histories of two accounts",
        package: API,
        suite: "api",
        name: "histories::",
        cases: 60,
    },
    Test {
        text: "Signatures of webhooks are standard, and one flipped bit fails",
        package: API,
        suite: "api",
        name: "webhooks::the_published_library",
        cases: 0,
    },
    Test {
        text: "None of more than 200 spellings of a closed address opens a socket",
        package: API,
        suite: "hosts",
        name: "egress::",
        cases: 0,
    },
    Test {
        text: "Every route: 401, a stranger's 404, 405 with Allow, 413, 415, HEAD, OPTIONS",
        package: API,
        suite: "api",
        name: "routes::",
        cases: 0,
    },
    Test {
        text: "Secrets leave only where they must, and are sealed at rest",
        package: API,
        suite: "hosts",
        name: "secrets::",
        cases: 0,
    },
    Test {
        text: "A backup under load is one moment, and restores to the same store",
        package: API,
        suite: "hosts",
        name: "backup::",
        cases: 0,
    },
    Test { text: "A store of every format there was opens", package: API, suite: "hosts", name: "golden::", cases: 0 },
    Test {
        text: "The core is pure: its component imports nothing",
        package: "switchboard-proof",
        suite: "agree",
        name: "the_component_agrees",
        cases: 0,
    },
];
