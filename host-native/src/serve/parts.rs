//! [`BodyParts`]: the received bytes of a body, in buffers no larger than what the budget counts.

/// Size of a part, bytes: about one read of a connection.
const PART_BYTES: usize = 32 << 10;

/// The received bytes of a body.
///
/// A buffer for the whole body would be reserved at its first byte, and the allocator hands out pages that were in use
/// before: thousands of unfinished bodies would occupy their full lengths. So each part is allocated when it is needed,
/// and counted then.
#[derive(Debug, Default)]
pub struct BodyParts {
    parts: Vec<Vec<u8>>,
    bytes: usize,
}

impl BodyParts {
    /// Returns the number of bytes received.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Returns the size of the new buffer needed for `more` bytes, 0 if the last one has room; `declared` is the length
    /// of the whole body as announced by its sender.
    pub fn wanted(&self, more: usize, declared: usize) -> usize {
        let spare = self.parts.last().map_or(0, |part| part.capacity() - part.len());
        let beyond = more.saturating_sub(spare);
        let coming = declared.saturating_sub(self.bytes + spare);
        let part = if coming == 0 { PART_BYTES } else { coming.min(PART_BYTES) };
        if beyond == 0 { 0 } else { beyond.max(part) }
    }

    /// Appends bytes; those that do not fit the last buffer go into a new one of `buffer` bytes.
    pub fn push(&mut self, data: &[u8], buffer: usize) {
        self.bytes += data.len();
        let spare = self.parts.last().map_or(0, |part| part.capacity() - part.len());
        let (front, back) = data.split_at(data.len().min(spare));
        if let Some(last) = self.parts.last_mut() {
            last.extend_from_slice(front);
        }
        if !back.is_empty() {
            let mut part = Vec::with_capacity(buffer.max(back.len()));
            part.extend_from_slice(back);
            self.parts.push(part);
        }
    }

    /// Joins all parts in one buffer with a capacity of at least `bytes`.
    pub fn into_whole(mut self, bytes: usize) -> Vec<u8> {
        if self.parts.len() == 1 && bytes <= self.bytes {
            return self.parts.remove(0);
        }
        let mut whole = Vec::with_capacity(bytes.max(self.bytes));
        for part in self.parts {
            whole.extend_from_slice(&part);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_reserved_than_was_asked_for_and_all_comes_back() {
        for (length, declared, frame) in [
            (0, 0, 1),
            (200, 200, 200),
            (200, 1 << 20, 7),
            (100_000, 100_000, 16_384),
            (100_000, 0, 1_000),
            (1 << 20, 1 << 20, 65_536),
            (70_000, 10, 33_000),
        ] {
            let body: Vec<u8> = (0..=250).cycle().take(length).collect();
            let (mut parts, mut counted) = (BodyParts::default(), 0);
            for data in body.chunks(frame) {
                let buffer = parts.wanted(data.len(), declared);
                counted += buffer;
                parts.push(data, buffer);
                let reserved: usize = parts.parts.iter().map(Vec::capacity).sum();
                assert!(reserved <= counted, "{reserved} of {counted} bytes");
            }
            assert!(counted <= length + PART_BYTES, "{counted} for {length} bytes");
            assert_eq!(parts.len(), length);
            assert!(parts.into_whole(0) == body, "{length} bytes in frames of {frame}");
        }
    }
}
