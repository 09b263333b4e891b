//! The pure component in wasmtime: rows outside, every read requested across the boundary.

use std::path::{Path, PathBuf};

use serde_json::Value;
use switchboard_core::memory::Memory;
use switchboard_core::remote::region;
use switchboard_core::seed::Seed;
use switchboard_core::step::{Output, OwnedInput};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::Stop;
use wasmtime::component::{Component as Compiled, Linker, ResourceAny};
use wasmtime::{Config, Engine, Store};

use super::convert::{self, wit};
use crate::said::Row;
use crate::stage::{Limited, Limits, Steps};

/// Bindings generated from `wit/`.
pub mod bindings {
    #![allow(missing_docs, clippy::pedantic)]
    wasmtime::component::bindgen!({ path: "../../wit", world: "pure" });
}

/// The component, compiled for this machine once, for any number of instances.
#[derive(Clone)]
pub struct Program {
    engine: Engine,
    compiled: Compiled,
}

/// An instance, and the rows that it reads.
pub struct Component {
    store: Store<()>,
    pure: bindings::Pure,
    service: ResourceAny,
    rows: Memory,
}

/// Returns the path of the built pure component.
///
/// # Panics
/// If it is not built.
pub fn built() -> PathBuf {
    beside("switchboard_pure.wasm").expect("build the component first: cargo xtask component")
}

/// Returns the path of a component of this name, built beside this program.
pub fn beside(name: &str) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut files = own.ancestors().map(|folder| folder.join("wasm32-unknown-unknown/wasm").join(name));
    files.find(|file| file.is_file()).ok_or_else(|| format!("{name} is not built"))
}

impl Program {
    /// Compiles the component in a file.
    ///
    /// # Panics
    /// If it is not one, or imports anything: nothing is linked to it.
    pub fn load(file: &Path) -> Self {
        Self::load_with(file, &Config::new())
    }

    /// Compiles the component for an engine of this configuration.
    ///
    /// # Panics
    /// As [`Program::load`].
    pub fn load_with(file: &Path, config: &Config) -> Self {
        let engine = Engine::new(config).expect("an engine");
        let compiled = Compiled::from_file(&engine, file).expect("a component");
        assert_eq!(compiled.component_type().imports(&engine).count(), 0, "the component imports nothing");
        Self { engine, compiled }
    }

    /// Starts an instance without rows.
    pub fn start(&self, settings: &Value) -> Component {
        self.start_over(settings, Memory::default(), None)
    }

    /// Starts an instance over rows; `fuel` limits it if the engine counts fuel.
    ///
    /// # Panics
    /// If it cannot be created, or its settings are invalid.
    pub fn start_over(&self, settings: &Value, rows: Memory, fuel: Option<u64>) -> Component {
        let mut store = Store::new(&self.engine, ());
        if let Some(fuel) = fuel {
            store.set_fuel(fuel).expect("an engine that counts fuel");
        }
        let linker = Linker::new(&self.engine);
        let pure = bindings::Pure::instantiate(&mut store, &self.compiled, &linker).expect("an instance");
        let opened = pure.switchboard_core_engine().service().call_open(&mut store, &settings.to_string());
        let service = opened.expect("no trap").expect("valid settings");
        Component { store, pure, service, rows }
    }
}

impl Component {
    /// Opens a step without running it.
    pub fn open(&mut self, input: &OwnedInput, now: Timestamp, seed: Seed) -> wasmtime::Result<ResourceAny> {
        let (input, seed) = (convert::input(input), convert::seed(seed));
        let engine = self.pure.switchboard_core_engine();
        engine.session().call_constructor(&mut self.store, self.service, &input, now.micros(), seed)
    }

    /// Continues a step with the results of its reads, right or wrong.
    pub fn advance(
        &mut self,
        session: ResourceAny,
        found: &[wit::Found],
    ) -> wasmtime::Result<Result<wit::Progress, wit::Stop>> {
        self.pure.switchboard_core_engine().session().call_advance(&mut self.store, session, found)
    }

    /// Returns the rows outside the instance.
    pub fn held(&self) -> &Memory {
        &self.rows
    }

    /// Sets the remaining fuel.
    ///
    /// # Panics
    /// If the engine does not count fuel.
    pub fn refuel(&mut self, fuel: u64) {
        self.store.set_fuel(fuel).expect("an engine that counts fuel");
    }
}

impl Steps for Component {
    fn step(&mut self, input: &OwnedInput, now: Timestamp, seed: Seed, limits: &Limits) -> Result<Output, Stop> {
        let session = self.open(input, now, seed).expect("no trap");
        let mut found = Vec::new();
        let done = loop {
            match self.advance(session, &found).expect("no trap") {
                Ok(wit::Progress::Done(output)) => break Ok(convert::output(output)),
                Ok(wit::Progress::Need(reads)) => {
                    let reads: Vec<_> = reads.into_iter().map(convert::read).collect();
                    let view = Limited { rows: &self.rows, limits };
                    found = region::carry_out(&view, &reads)?.into_iter().map(convert::found).collect();
                }
                Err(stop) => break Err(convert::stop(&stop)),
            }
        };
        session.resource_drop(&mut self.store).expect("no trap");
        done
    }

    fn apply(&mut self, changes: &[Change]) {
        self.rows.apply(changes);
    }

    fn rows(&mut self) -> Vec<Row> {
        super::all(&self.rows)
    }
}
