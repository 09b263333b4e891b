//! Names of the headers beside the messages between an edge node and the region, in lower case.

/// Request header in which the edge node names its release: both sides have the same.
pub const RELEASE: &str = "switchboard-release";

/// Response header by which the region refuses the message itself, rather than the request that it passed on.
pub const REFUSED: &str = "switchboard-store";

/// Response header for the length of the body that the answer to a passed `HEAD` stands for: the answer to the message
/// itself has none.
pub const LENGTH: &str = "switchboard-length";
