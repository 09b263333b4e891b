//! Tables of the requests that run a tool.

use alloc::string::String;

use crate::record;
use crate::record::{Json, Variables, any, id, int, text, variables};

record! {
    /// Body of `POST /engine/calls/{id}/tools/{name}` and of a tool's test.
    pub struct Arguments {
        /// Arguments by parameter name; those not in the schema are not sent.
        arguments: Variables = variables(),
    }
}

record! {
    /// Answer of a tool's endpoint to a test.
    pub struct ToolTest {
        /// HTTP status of the answer.
        status: u32 = int(100, 599).required(),
        /// Time from the request to the end of the answer, milliseconds.
        duration_ms: u64 = id().required(),
        /// Headers of the answer, by name.
        headers: Option<Json> = any(),
        /// Body of the answer, cut at 1 MiB.
        body: String = text(0, 0).required(),
    }
}
