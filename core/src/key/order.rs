//! [`Order`]: the direction of a scan.

/// Direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// Smallest key first: of rows, the oldest.
    Ascending,
    /// Largest key first: of rows, the newest.
    Descending,
}
