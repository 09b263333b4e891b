//! What the shells wait for, and how much they hold.

use std::time::Duration;

/// Until the region has accepted a connection.
pub const CONNECT: Duration = Duration::from_secs(5);
/// Until the region begins to answer what the edge itself asked.
pub const ASK_FIRST_BYTE: Duration = Duration::from_secs(30);
/// Until the region begins to answer a request that was handed on to it, counted from its last byte: a long poll
/// waits for half a minute.
pub const PASS_FIRST_BYTE: Duration = Duration::from_secs(70);
/// The longest pause within an answer of the region; a live stream says every 15 seconds that it lives.
pub const BETWEEN_BYTES: Duration = Duration::from_mins(1);

/// Bytes of an answer to what the edge asked.
pub const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Bytes of the largest body that the service takes anywhere.
pub const BODY_BYTES_MAX: u64 = 64 << 20;
/// Bytes that are read from a stream at once.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Until a small body must be there.
const BODY: Duration = Duration::from_secs(15);
/// The slowest a larger one may come, bytes a second.
const BODY_RATE: u64 = 32 << 10;
/// How much of a refused body is read, and for how long, so that its sender sees the answer.
pub const DRAIN_BYTES_MAX: u64 = 64 << 20;
/// See [`DRAIN_BYTES_MAX`].
pub const DRAIN: Duration = Duration::from_secs(10);

/// How long a body of so many bytes may take to arrive; one of unknown length is taken for the largest.
pub fn body_time(length: Option<u64>) -> Duration {
    let length = length.unwrap_or(BODY_BYTES_MAX).min(BODY_BYTES_MAX);
    BODY + Duration::from_secs(length / BODY_RATE)
}

/// [`PASS_FIRST_BYTE`] as hosts count it: from the first byte of the request on its way to the region.
pub fn pass_first_byte(body: Option<u64>) -> Duration {
    match body {
        Some(0) => PASS_FIRST_BYTE,
        length => PASS_FIRST_BYTE + body_time(length),
    }
}

/// A duration as `wasi:clocks` has it.
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
