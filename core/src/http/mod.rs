//! HTTP as data: requests, rows of the route table, replies and refusals. Nothing here depends on a particular
//! resource.

pub mod accept;
pub mod base;
pub mod caller;
pub mod cause;
pub mod csv;
pub mod ctx;
pub mod etag;
pub mod idempotency;
pub mod ignored;
pub mod list;
pub mod multipart;
pub mod notice;
pub mod own;
pub mod page;
pub mod query;
pub mod refs;
pub mod refusal;
pub mod reply;
pub mod request;
pub mod route;
pub mod router;
pub mod stream;
