//! The edge of Switchboard as a component: any host of `wasi:http` can run it in front of a region.
//!
//! The core's `EdgeRequest` decides, without I/O; a shell executes. There are two shells, `p2` for `wasi:http` 0.2 and `p3`
//! for 0.3, each behind the feature of its name, around one loop ([`visit`]). A component is built with one of them:
//!
//! ```text
//! cargo rustc --profile wasm -p switchboard-service --features p3 --target wasm32-unknown-unknown \
//!     --crate-type cdylib -- -Clinker=wasm-component-ld -Clink-arg=--wasi-adapter=none
//! wasmtime serve -Scli --env SWITCHBOARD_REGION=https://region.example --env SWITCHBOARD_STORE_TOKEN=… \
//!     target/wasm32-unknown-unknown/wasm/switchboard_service.wasm
//! ```
//!
//! Without the last link argument the linker requires a later 0.2 instead of the 0.2.0 that `p2` asks for.
//!
//! With neither feature the crate is the shared part of both shells, on any target. With both, a component exports both
//! versions of the interface and needs a host that has both: useful for checking the code, not for serving.

pub mod headers;
pub mod incoming;
pub mod limits;
pub mod settings;
pub mod visit;

#[cfg(any(feature = "p2", feature = "p3"))]
mod alike;
#[cfg(feature = "p2")]
mod p2;
#[cfg(feature = "p3")]
mod p3;
