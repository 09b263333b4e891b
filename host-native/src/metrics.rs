//! Counters and gauges, in the Prometheus text format. An own registry, no global one.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    operation: &'static str,
    status: u16,
}

/// What is counted.
pub struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    seconds: Histogram,
    connections: Gauge,
    turned_away: Counter,
    group: Histogram,
    panics: Counter,
    sends: Counter,
    store_bytes: Gauge<u64, AtomicU64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("switchboard");
        let requests = Family::<Labels, Counter>::default();
        let seconds = Histogram::new([0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0]);
        let connections = Gauge::default();
        let turned_away = Counter::default();
        let group = Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0]);
        let panics = Counter::default();
        let sends = Counter::default();
        let store_bytes = Gauge::<u64, AtomicU64>::default();
        registry.register("requests", "Requests answered", requests.clone());
        registry.register("request_seconds", "From head to answer", seconds.clone());
        registry.register("connections", "Open connections", connections.clone());
        registry.register("turned_away", "Connections for which there was no room", turned_away.clone());
        registry.register("commit_inputs", "Inputs of one commit", group.clone());
        registry.register("panics", "Steps that panicked: each is a bug", panics.clone());
        registry.register("sends", "Requests sent to the outside", sends.clone());
        registry.register("store_bytes", "Size of the store's file", store_bytes.clone());
        Self { registry, requests, seconds, connections, turned_away, group, panics, sends, store_bytes }
    }
}

impl Metrics {
    /// A request was answered.
    pub fn answered(&self, operation: &'static str, status: u16, took: Duration) {
        self.requests.get_or_create(&Labels { operation, status }).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// A connection opened.
    pub fn opened(&self) {
        self.connections.inc();
    }

    /// A connection closed.
    pub fn closed(&self) {
        self.connections.dec();
    }

    /// There was no room for a connection.
    pub fn turned_away(&self) {
        self.turned_away.inc();
    }

    /// A group of inputs was committed.
    #[expect(clippy::cast_precision_loss, reason = "a group is small")]
    pub fn group(&self, inputs: usize) {
        self.group.observe(inputs as f64);
    }

    /// A step panicked.
    pub fn panicked(&self) {
        self.panics.inc();
    }

    /// A request was sent to the outside.
    pub fn sent(&self) {
        self.sends.inc();
    }

    /// Everything, as text.
    pub fn text(&self, store_bytes: u64) -> String {
        self.store_bytes.set(store_bytes);
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = text::encode(&mut out, &self.registry);
        out
    }
}
