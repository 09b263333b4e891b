//! The tables of a tool's requests.

use alloc::string::String;

use crate::record;
use crate::record::{Json, Variables, any, id, int, text, variables};

record! {
    /// Body of `POST /engine/calls/{id}/tools/{name}` and of a tool's test.
    pub struct Arguments {
        /// The arguments, by parameter.
        arguments: Variables = variables(),
    }
}

record! {
    /// What a tool's endpoint answered a test.
    pub struct ToolTest {
        /// Its status.
        status: u32 = int(100, 599).required(),
        /// From the request to the end of the answer, milliseconds.
        duration_ms: u64 = id().required(),
        /// Its headers, by name.
        headers: Option<Json> = any(),
        /// Its body, cut at 1 MiB.
        body: String = text(0, 0).required(),
    }
}
