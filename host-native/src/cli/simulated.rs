//! The built-in simulated engine, beside whatever this process serves.

use std::net::SocketAddr;

use switchboard::send;
use switchboard::settings::{ServeSettings, Yields};
use switchboard_core::account::token::{Token, TokenKind};
use switchboard_core::seed::Seed;
use switchboard_core::setup::BuiltIn;
use switchboard_engine_sim as engine;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::Failed;
use super::login_link::near;

/// The built-in engine's token, and whether it leaves calls to others.
pub struct BuiltInEngine {
    token: Token,
    yields: bool,
}

/// A built-in engine that runs.
pub struct SimulatedEngine {
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), engine::UnfitSettings>>,
}

impl BuiltInEngine {
    /// Returns it if the settings want one; its token is valid at every host with this seed.
    pub fn of(settings: &ServeSettings, seed: &Seed) -> Option<Self> {
        let Yields(yields) = settings.simulated_engine()?;
        Some(Self { token: Token::new(TokenKind::Engine, 0, 0, &seed.derive("engine")), yields })
    }

    /// Returns what a host knows it by.
    pub fn known(&self) -> BuiltIn {
        BuiltIn { digest: self.token.digest(), yields: self.yields }
    }

    /// Starts it in this process; it connects over HTTP to the address that any engine uses.
    pub fn attach(&self, settings: &ServeSettings, address: SocketAddr) -> Result<SimulatedEngine, Failed> {
        let mut own = engine::EngineSettings::new(format!("http://{}", near(address)), self.token.text());
        own.speed = settings.engine_speed.unwrap_or(own.speed);
        own.seed = settings.engine_seed.unwrap_or(own.seed);
        let (stop, stopping) = watch::channel(false);
        let task = tokio::spawn(engine::run(own, send::client()?.build()?, stopping));
        Ok(SimulatedEngine { stop, task })
    }
}

impl SimulatedEngine {
    /// Has it take no more calls.
    pub fn stop(&self) {
        let _ = self.stop.send(true);
    }

    /// Waits for its end.
    pub async fn end(self) -> Result<(), Failed> {
        self.stop();
        Ok(self.task.await??)
    }
}
