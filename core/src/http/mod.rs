//! HTTP as data: requests, what a row of the route table says, replies and refusals. It names no resource.

pub mod base;
pub mod caller;
pub mod cause;
pub mod ctx;
pub mod etag;
pub mod idempotency;
pub mod list;
pub mod notice;
pub mod page;
pub mod query;
pub mod refs;
pub mod refusal;
pub mod reply;
pub mod request;
pub mod route;
pub mod router;
pub mod stream;
