//! [`Head`]: what is known about a set without reading its chunks.

use alloc::vec::Vec;

use crate::view::Stop;

const DAMAGED: Stop = Stop::Corrupt("the head of a set has an unknown form");

/// Head of a set: the ids themselves while they are few, else how many each chunk holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// All ids of the set, ascending; there are no chunks.
    Few(Vec<u32>),
    /// `(chunk, ids in it)`, ascending, none empty.
    Many(Vec<(u32, u32)>),
}

impl Head {
    /// Head of the empty set, which is not stored.
    pub const EMPTY: Self = Self::Few(Vec::new());

    /// Returns how many ids the set holds.
    pub fn total(&self) -> u64 {
        match self {
            Self::Few(ids) => ids.len() as u64,
            Self::Many(chunks) => chunks.iter().map(|(_, count)| u64::from(*count)).sum(),
        }
    }

    /// Returns the stretches of `size` ids in which the set has any, ascending.
    pub fn stretches(&self, size: u32) -> Vec<u32> {
        let mut stretches: Vec<u32> = match self {
            Self::Few(ids) => ids.iter().map(|id| id / size).collect(),
            Self::Many(counts) => counts.iter().map(|(at, _)| *at).collect(),
        };
        stretches.dedup();
        stretches
    }

    /// Decodes the stored form; no row is the empty set.
    pub fn from_bytes(bytes: Option<&[u8]>) -> Result<Self, Stop> {
        let Some(bytes) = bytes else { return Ok(Self::EMPTY) };
        let (form, mut rest) = bytes.split_first().ok_or(DAMAGED)?;
        let mut numbers = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            numbers.push(varint(&mut rest)?);
        }
        match form {
            0 => Ok(Self::Few(
                ascending(numbers.into_iter().map(|gap| (gap, ())))?.into_iter().map(|(id, ())| id).collect(),
            )),
            1 => {
                let (pairs, []) = numbers.as_chunks::<2>() else { return Err(DAMAGED) };
                Ok(Self::Many(ascending(pairs.iter().map(|[gap, count]| (*gap, *count)))?))
            }
            _ => Err(DAMAGED),
        }
    }

    /// Encodes the head: `0` and the gaps between ids, or `1` and (gap, count) pairs, as varints.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut next = 0;
        match self {
            Self::Few(ids) => {
                bytes.push(0);
                for id in ids {
                    push_varint(&mut bytes, id - next);
                    next = id.wrapping_add(1);
                }
            }
            Self::Many(chunks) => {
                bytes.push(1);
                for (chunk, count) in chunks {
                    push_varint(&mut bytes, chunk - next);
                    push_varint(&mut bytes, *count);
                    next = chunk.wrapping_add(1);
                }
            }
        }
        bytes
    }
}

/// Converts gaps back to ascending numbers.
fn ascending<T>(gaps: impl Iterator<Item = (u32, T)>) -> Result<Vec<(u32, T)>, Stop> {
    let mut next = Some(0_u32);
    gaps.map(|(gap, with)| {
        let at = next.and_then(|n| n.checked_add(gap)).ok_or(DAMAGED)?;
        next = at.checked_add(1);
        Ok((at, with))
    })
    .collect()
}

fn push_varint(out: &mut Vec<u8>, mut n: u32) {
    while n >= 0x80 {
        out.push(n.to_le_bytes()[0] | 0x80);
        n >>= 7;
    }
    out.push(n.to_le_bytes()[0]);
}

fn varint(bytes: &mut &[u8]) -> Result<u32, Stop> {
    let mut n = 0_u64;
    for shift in [0, 7, 14, 21, 28] {
        let (byte, rest) = bytes.split_first().ok_or(DAMAGED)?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(n).map_err(|_| DAMAGED);
        }
    }
    Err(DAMAGED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_read_back() {
        for head in [
            Head::EMPTY,
            Head::Few([1, 2, 500, u32::MAX].into()),
            Head::Many([(0, 65), (3, 1), (524_287, 8_192)].into()),
        ] {
            let bytes = head.to_bytes();
            assert_eq!(Head::from_bytes(Some(&bytes)), Ok(head));
        }
        assert_eq!(Head::from_bytes(None), Ok(Head::EMPTY));
    }

    #[test]
    fn damaged_heads_are_refused() {
        for bytes in [
            &[][..],
            &[2],
            &[0, 0x80],
            &[1, 1],
            &[0, 0xff, 0xff, 0xff, 0xff, 0x7f],
            &[0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0],
        ] {
            assert!(Head::from_bytes(Some(bytes)).is_err(), "{bytes:?}");
        }
    }
}
