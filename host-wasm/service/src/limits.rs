//! Timeouts and size limits of the shells.

use std::time::Duration;

/// Timeout for the region to accept a connection.
pub const CONNECT: Duration = Duration::from_secs(5);
/// Timeout for the first byte of the region's answer to the edge's own requests.
pub const ASK_FIRST_BYTE: Duration = Duration::from_secs(30);
/// Timeout for the first byte of the region's answer to a forwarded request, counted from the request's last byte: a
/// long poll waits for half a minute.
pub const PASS_FIRST_BYTE: Duration = Duration::from_secs(70);
/// Longest pause within an answer of the region; a live stream sends a heartbeat every 15 seconds.
pub const BETWEEN_BYTES: Duration = Duration::from_mins(1);

/// Largest answer to the edge's own requests, bytes.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Largest body that the service accepts anywhere, bytes.
pub const BODY_BYTES_MAX: u64 = 64 << 20;
/// Bytes read from a stream at once.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Time for a small body to arrive.
const BODY: Duration = Duration::from_secs(15);
/// Slowest accepted rate of a larger body, bytes per second.
const BODY_RATE: u64 = 32 << 10;
/// How much of a refused body is read, bytes, so that its sender sees the answer; [`DRAIN`] bounds the time.
pub const DRAIN_BYTES_MAX: u64 = 64 << 20;
/// How long a refused body is read; see [`DRAIN_BYTES_MAX`].
pub const DRAIN: Duration = Duration::from_secs(10);

/// Returns how long a body of this length may take to arrive; one of unknown length counts as the largest.
pub fn body_time(length: Option<u64>) -> Duration {
    let length = length.unwrap_or(BODY_BYTES_MAX).min(BODY_BYTES_MAX);
    BODY + Duration::from_secs(length / BODY_RATE)
}

/// Returns [`PASS_FIRST_BYTE`] as hosts count it: from the first byte of the request to the region.
pub fn pass_first_byte(body: Option<u64>) -> Duration {
    match body {
        Some(0) => PASS_FIRST_BYTE,
        length => PASS_FIRST_BYTE + body_time(length),
    }
}

/// Converts a duration for `wasi:clocks`.
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_grows_with_length_up_to_the_largest_body() {
        assert_eq!(body_time(Some(0)).as_secs(), 15);
        assert_eq!(body_time(Some(1 << 20)).as_secs(), 15 + 32);
        assert_eq!(body_time(Some(64 << 20)).as_secs(), 15 + 2_048);
        assert_eq!(body_time(None), body_time(Some(64 << 20)));
        assert_eq!(body_time(Some(u64::MAX)), body_time(None));
        assert_eq!(pass_first_byte(Some(0)).as_secs(), 70);
        assert_eq!(pass_first_byte(Some(1)).as_secs(), 70 + 15);
        assert_eq!(nanoseconds(CONNECT), 5_000_000_000);
    }
}
