//! Edge nodes, each the edge component in a server of its own, in front of a native region.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::native::STORE_TOKEN;

/// A server that runs the edge component.
pub struct Served {
    child: Child,
    address: SocketAddr,
}

impl Served {
    /// Starts `wasmtime serve` with the component of a version, in front of a region.
    pub fn wasmtime(program: &Path, version: &str, settings: &Value, region: &str) -> Result<Self, String> {
        let component = super::component::beside(&format!("switchboard_service_{version}.wasm"))?;
        let address = free()?;
        let mut command = Command::new(program);
        command.args(["serve", "-Scli", "--addr", &address.to_string()]);
        for (name, value) in [
            ("SWITCHBOARD_REGION", region),
            ("SWITCHBOARD_STORE_TOKEN", STORE_TOKEN),
            ("SWITCHBOARD_SETTINGS", &settings.to_string()),
        ] {
            command.arg("--env").arg(format!("{name}={value}"));
        }
        Self::start(command.arg(component), address)
    }

    fn start(command: &mut Command, address: SocketAddr) -> Result<Self, String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut served = Self { child: child.map_err(|error| error.to_string())?, address };
        let patience = Instant::now() + Duration::from_mins(1);
        while TcpStream::connect(address).is_err() {
            if served.child.try_wait().map_err(|error| error.to_string())?.is_some() || Instant::now() > patience {
                return Err("the server of the edge does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(served)
    }

    /// Returns its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Finds an address on which no one listens.
fn free() -> Result<SocketAddr, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    listener.local_addr().map_err(|error| error.to_string())
}

/// Finds a program by its name in a list of directories like `PATH`.
pub fn program(name: &str, folders: &str) -> Option<PathBuf> {
    folders.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}
