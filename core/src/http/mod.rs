//! HTTP as data: requests, the route table, the order of checks, replies and refusals.

pub mod base;
pub mod cause;
pub mod ctx;
pub mod etag;
pub mod idempotency;
pub mod list;
pub mod page;
pub mod pipeline;
pub mod query;
pub mod refs;
pub mod refusal;
pub mod reply;
pub mod request;
pub mod route;
pub mod router;
pub mod routes;
pub mod shown;
pub mod stream;
