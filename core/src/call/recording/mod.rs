//! Recordings of calls (docs/api.md, Recordings): taken from engines as objects, played by signed links, deleted with
//! their call. Which objects there may be is in rows, written before an object is begun and deleted after it is gone: so
//! nothing is left that no row names, whenever a host dies.

mod link;
mod operations;
mod range;
mod rows;
mod shown;
mod sweep;
mod upload;

pub use link::{is_own, reported_url};
pub use operations::{delete, read};
pub use rows::UploadedRecording;
pub(super) use shown::ShownLinks;
pub(super) use sweep::plan;
pub use sweep::{drop, drop_next};
pub use upload::{MEDIA, take};
