//! Counters and gauges in the text format of Prometheus, in a registry of their own instead of a global one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use switchboard_core::job::Figures;
use switchboard_core::service::figures::StoreFigures;
use uuid::Uuid;

use crate::room::{Room, UsedUp};
use crate::rooms::Rooms;
use crate::store::{LaneFigures, LaneId};

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    operation: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StatusLabel {
    status: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct EngineLabel {
    engine: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabels {
    kind: &'static str,
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LaneLabel {
    lane: String,
}

/// Operations that wait for news, whose time says nothing of the service's.
const LONG_POLLS: [&str; 1] = ["claimCalls"];

type Level = Gauge<u64, AtomicU64>;

/// Gauges of what the store holds, set before they are shown.
#[derive(Default)]
struct StoreGauges {
    calls: Family<StatusLabel, Level>,
    engine_calls: Family<EngineLabel, Level>,
    campaigns_running: Level,
    deliveries_waiting: Level,
    jobs: Family<QueueLabels, Level>,
}

impl StoreGauges {
    fn of(registry: &mut Registry) -> Self {
        let own = Self::default();
        registry.register("calls", "Stored calls by status", own.calls.clone());
        let help = "Calls that engines have, by the id of the engine's token; 0 is the built-in engine";
        registry.register("engine_calls", help, own.engine_calls.clone());
        registry.register("campaigns_running", "Campaigns that call", own.campaigns_running.clone());
        let help = "Webhook deliveries that will be tried, or tried again";
        registry.register("webhook_deliveries_waiting", help, own.deliveries_waiting.clone());
        registry.register("jobs", "Jobs that wait or run, by kind", own.jobs.clone());
        own
    }

    fn set(&self, figures: &StoreFigures) {
        // What is not among the figures is not shown: an engine without a call, all of a node that serves nothing more.
        self.calls.clear();
        for (status, calls) in &figures.calls {
            self.calls.get_or_create(&StatusLabel { status }).set(*calls);
        }
        self.engine_calls.clear();
        for (engine, calls) in &figures.engine_calls {
            self.engine_calls.get_or_create(&EngineLabel { engine: *engine }).set(*calls);
        }
        self.campaigns_running.set(figures.campaigns_running);
        self.deliveries_waiting.set(figures.deliveries_waiting);
        self.jobs.clear();
        for queue in &figures.queues {
            for (state, jobs) in [("waiting", queue.waiting), ("running", queue.running)] {
                self.jobs.get_or_create(&QueueLabels { kind: queue.name.word(), state }).set(jobs.into());
            }
        }
    }
}

/// Metrics of the lanes that this node has, set before they are shown.
#[derive(Default)]
struct LaneMetrics {
    slots: Family<LaneLabel, Level>,
    commits: Family<LaneLabel, Counter>,
    row_bytes: Family<LaneLabel, Level>,
    lease_seconds: Family<LaneLabel, Gauge<f64, AtomicU64>>,
}

impl LaneMetrics {
    fn of(registry: &mut Registry) -> Self {
        let own = Self::default();
        registry.register("lane_slots", "Slots of accounts of a lane of this node", own.slots.clone());
        registry.register("lane_commits", "Commits of a lane of this node", own.commits.clone());
        registry.register("lane_row_bytes", "Bytes of rows that a lane has at hand", own.row_bytes.clone());
        let help = "How long a lane may go on to answer if the database is not heard of";
        registry.register("lane_lease_seconds", help, own.lease_seconds.clone());
        own
    }

    fn set(&self, lanes: impl Iterator<Item = (LaneId, LaneFigures)>) {
        // Those that this node no longer has are not shown.
        self.slots.clear();
        self.commits.clear();
        self.row_bytes.clear();
        self.lease_seconds.clear();
        for (id, figures) in lanes {
            let label = LaneLabel { lane: Uuid::from_bytes(id).to_string() };
            self.slots.get_or_create(&label).set(figures.slots as u64);
            self.commits.get_or_create(&label).inner().store(figures.commits, Ordering::Relaxed);
            self.row_bytes.get_or_create(&label).set(figures.row_bytes as u64);
            self.lease_seconds.get_or_create(&label).set(figures.lease.as_secs_f64());
        }
    }
}

/// All metrics of a running service.
pub struct Metrics {
    rooms: Arc<Rooms>,
    step_bytes: AtomicU64,
    registry: Registry,
    requests: Family<Labels, Counter>,
    seconds: Histogram,
    poll_seconds: Histogram,
    stored: StoreGauges,
    lanes: LaneMetrics,
    connections: Gauge,
    turned_away: Counter,
    group: Histogram,
    panics: Counter,
    sends: Counter,
    store_bytes: Gauge<u64, AtomicU64>,
    disk_full: Gauge,
    serves: Gauge,
    jobs_set_aside: Family<KindLabel, Gauge<u64, AtomicU64>>,
    job_faults: Counter,
}

impl Metrics {
    /// Registers the metrics, and gauges of how full `rooms` are.
    pub fn of(rooms: &Arc<Rooms>) -> Self {
        let mut registry = Registry::with_prefix("switchboard");
        registry.register_collector(Box::new(Budgets(Arc::clone(rooms))));
        let requests = Family::<Labels, Counter>::default();
        let seconds = Histogram::new([0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0]);
        let poll_seconds = Histogram::new([0.01, 0.1, 1.0, 5.0, 10.0, 20.0, 30.0, 60.0]);
        let connections = Gauge::default();
        let turned_away = Counter::default();
        let group = Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]);
        let panics = Counter::default();
        let sends = Counter::default();
        let store_bytes = Gauge::<u64, AtomicU64>::default();
        let disk_full = Gauge::default();
        registry.register("requests", "Requests answered", requests.clone());
        registry.register("request_seconds", "From head to answer, without those that wait for news", seconds.clone());
        registry.register("long_poll_seconds", "The same of engines that wait for calls", poll_seconds.clone());
        let (stored, lanes) = (StoreGauges::of(&mut registry), LaneMetrics::of(&mut registry));
        registry.register("connections", "Open connections", connections.clone());
        registry.register("turned_away", "Connections for which there was no room", turned_away.clone());
        registry.register("commit_inputs", "Inputs of one commit", group.clone());
        registry.register("panics", "Steps that panicked: each is a bug", panics.clone());
        registry.register("sends", "Requests sent to the outside", sends.clone());
        registry.register("store_bytes", "Size of the store's file", store_bytes.clone());
        registry.register("disk_full", "1 while only deletes and the ends of calls are carried out", disk_full.clone());
        let serves = Gauge::default();
        registry.register("serves", "1 while this node serves, 0 while it passes requests on", serves.clone());
        let jobs_set_aside = Family::<KindLabel, Gauge<u64, AtomicU64>>::default();
        let job_faults = Counter::default();
        registry.register("jobs_set_aside", "Jobs that came to nothing too often", jobs_set_aside.clone());
        registry.register(
            "job_faults",
            "Runs of jobs that came to nothing and were retried or set aside",
            job_faults.clone(),
        );
        Self {
            rooms: Arc::clone(rooms),
            step_bytes: AtomicU64::new(0),
            registry,
            requests,
            seconds,
            poll_seconds,
            stored,
            lanes,
            connections,
            turned_away,
            group,
            panics,
            sends,
            store_bytes,
            disk_full,
            serves,
            jobs_set_aside,
            job_faults,
        }
    }

    /// Counts an answered request and observes its duration.
    pub fn answered(&self, operation: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&Labels { operation, status }).inc();
        let seconds = if LONG_POLLS.contains(&operation) { &self.poll_seconds } else { &self.seconds };
        seconds.observe(took.as_secs_f64());
    }

    /// Notes whether this node serves.
    pub fn serves(&self, serves: bool) {
        self.serves.set(serves.into());
    }

    /// Counts an opened connection.
    pub fn opened(&self) {
        self.connections.inc();
    }

    /// Counts a closed connection.
    pub fn closed(&self) {
        self.connections.dec();
    }

    /// Counts a connection for which there was no room.
    pub fn turned_away(&self) {
        self.turned_away.inc();
    }

    /// Observes the number of inputs of one commit.
    #[expect(clippy::cast_precision_loss, reason = "a group is small")]
    pub fn group(&self, inputs: usize) {
        self.group.observe(inputs as f64);
    }

    /// Counts a step that panicked.
    pub fn panicked(&self) {
        self.panics.inc();
    }

    /// Notes the bytes that a step read or changed, for the maximum so far.
    pub fn stepped(&self, bytes: u64) {
        // A new maximum is rare: mostly this is one relaxed load, without contention.
        if bytes > self.step_bytes.load(Ordering::Relaxed) {
            self.step_bytes.fetch_max(bytes, Ordering::Relaxed);
        }
    }

    /// Counts a step that went over its budget.
    pub fn over_budget(&self) {
        self.rooms.steps.tell_refused(UsedUp::All);
    }

    /// Counts a request refused because its account may not store more.
    pub fn over_storage(&self) {
        self.rooms.stored.tell_refused(UsedUp::Account);
    }

    /// Counts a request sent to the outside.
    pub fn sent(&self) {
        self.sends.inc();
    }

    /// Updates the job metrics: jobs set aside by kind, and faults ever.
    pub fn jobs(&self, figures: &Figures) {
        for (kind, count) in &figures.set_aside {
            self.jobs_set_aside.get_or_create(&KindLabel { kind }).set(*count);
        }
        self.job_faults.inner().store(figures.faults, Ordering::Relaxed);
    }

    /// Updates what is shown of the store.
    pub fn stored(&self, figures: &StoreFigures) {
        self.stored.set(figures);
    }

    /// Updates what is shown of the lanes of this node.
    pub fn lanes(&self, lanes: impl Iterator<Item = (LaneId, LaneFigures)>) {
        self.lanes.set(lanes);
    }

    /// Encodes all metrics as text, with the store's size in bytes and whether its disk is full.
    pub fn text(&self, store_bytes: u64, disk_full: bool) -> String {
        self.store_bytes.set(store_bytes);
        self.rooms.stored.tell(store_bytes);
        self.rooms.steps.tell(self.step_bytes.load(Ordering::Relaxed));
        self.disk_full.set(disk_full.into());
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = text::encode(&mut out, &self.registry);
        out
    }
}

/// Function that reads one figure of a room.
type Reading = fn(&Room) -> u64;

/// Collector that reads the rooms whenever metrics are encoded.
struct Budgets(Arc<Rooms>);

impl std::fmt::Debug for Budgets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Budgets")
    }
}

impl Collector for Budgets {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let gauges: [(&str, &str, Reading); 3] = [
            ("budget_used", "How much of a budget is held", Room::used),
            ("budget_limit", "How much of a budget there is", |room| room.budget().all),
            ("budget_waiting", "How many wait for a place of a budget", Room::waiting),
        ];
        for (name, help, value) in gauges {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for room in self.0.all() {
                let gauge = ConstGauge::new(i64::try_from(value(room)).unwrap_or(i64::MAX));
                gauge.encode(family.encode_family(&[("budget", room.budget().name)])?)?;
            }
        }
        let help = "How often somebody had to wait for a place of a budget";
        let mut family = encoder.encode_descriptor("budget_waited", help, None, MetricType::Counter)?;
        for room in self.0.all() {
            let counter = ConstCounter::new(room.waited());
            counter.encode(family.encode_family(&[("budget", room.budget().name)])?)?;
        }
        let help = "How often a share of a budget, or all of it, was used up when somebody asked for more";
        let mut family = encoder.encode_descriptor("budget_refused", help, None, MetricType::Counter)?;
        for room in self.0.all() {
            for full in UsedUp::EVERY {
                let labels = [("budget", room.budget().name), ("share", full.word())];
                ConstCounter::new(room.refused(full)).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::Holder;

    #[test]
    fn budgets_are_shown() {
        let rooms = Arc::new(Rooms::with_connections(7));
        let metrics = Metrics::of(&rooms);
        let held = rooms.streams.try_take(Holder::Account(1), 3).expect("room");
        assert!(rooms.lists.try_take(Holder::Account(1), 1_000).is_err());
        metrics.stepped(5);
        metrics.stepped(4);
        metrics.over_budget();
        metrics.over_storage();
        metrics.answered("claimCalls", 200, Duration::from_secs(20));
        let calls = vec![("ringing", 2)];
        metrics.stored(&StoreFigures { calls, engine_calls: [(3, 1)].into(), ..StoreFigures::default() });
        let calls = vec![("ringing", 2)];
        metrics.stored(&StoreFigures { calls, campaigns_running: 4, deliveries_waiting: 5, ..StoreFigures::default() });
        let figures = LaneFigures { slots: 512, commits: 7, row_bytes: 100, lease: Duration::from_millis(3_500) };
        metrics.lanes([([1; 16], figures)].into_iter());
        metrics.lanes([([2; 16], figures)].into_iter());
        let text = metrics.text(9, true);
        assert!(!text.contains("01010101"), "a lane that this node no longer has: {text}");
        assert!(!text.contains("switchboard_engine_calls{"), "an engine that has no call any more: {text}");
        for line in [
            "switchboard_long_poll_seconds_count 1",
            "switchboard_request_seconds_count 0",
            r#"switchboard_calls{status="ringing"} 2"#,
            "switchboard_campaigns_running 4",
            "switchboard_webhook_deliveries_waiting 5",
            r#"switchboard_budget_used{budget="streams"} 3"#,
            r#"switchboard_budget_limit{budget="connections"} 7"#,
            "switchboard_disk_full 1",
            r#"switchboard_lane_slots{lane="02020202-0202-0202-0202-020202020202"} 512"#,
            r#"switchboard_lane_commits_total{lane="02020202-0202-0202-0202-020202020202"} 7"#,
            r#"switchboard_lane_row_bytes{lane="02020202-0202-0202-0202-020202020202"} 100"#,
            r#"switchboard_lane_lease_seconds{lane="02020202-0202-0202-0202-020202020202"} 3.5"#,
            r#"switchboard_budget_waiting{budget="hashes"} 0"#,
            r#"switchboard_budget_refused_total{budget="lists",share="account"} 1"#,
            r#"switchboard_budget_waited_total{budget="hashes"} 0"#,
            r#"switchboard_budget_used{budget="steps"} 5"#,
            r#"switchboard_budget_refused_total{budget="steps",share="all"} 1"#,
            r#"switchboard_budget_used{budget="stored"} 9"#,
            r#"switchboard_budget_refused_total{budget="stored",share="account"} 1"#,
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} in {text}");
        }
        drop(held);
        assert!(metrics.text(0, true).contains(r#"budget_used{budget="streams"} 0"#));
    }
}
