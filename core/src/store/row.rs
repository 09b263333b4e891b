//! [`Row`]: the stored form of a resource.

use alloc::vec::Vec;
use core::fmt;

use crate::key::Facet;
use crate::view::Stop;

/// First byte of every stored row, by which readers of a later format recognize this one.
const FORMAT: u8 = 1;

/// Stored resource: the facets under which it is filed, the JSON that the API shows, and what the API never shows.
///
/// Bytes: format · facet count · facets · length of `public` (u32 LE) · `public` · `private`. `Debug` shows lengths
/// only, except for the facets.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// Facets that lists filter by; the sets are edited from these, never from a request.
    pub facets: Vec<Facet>,
    /// JSON as the API returns it, or the part of it that does not depend on other rows.
    pub public: Vec<u8>,
    /// Data that is stored but never returned: digests, secrets, internal state.
    pub private: Vec<u8>,
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { facets, public, private } = self;
        write!(f, "Row({facets:?}, {} + {} bytes)", public.len(), private.len())
    }
}

impl Row {
    /// Creates a row without a private part.
    pub fn open(facets: Vec<Facet>, public: Vec<u8>) -> Self {
        Self { facets, public, private: Vec::new() }
    }

    /// Returns the length of [`Self::to_bytes`].
    pub fn stored_bytes(&self) -> usize {
        let facets: usize = self.facets.iter().map(|f| f.value().len() + 2).sum();
        6 + facets + self.public.len() + self.private.len()
    }

    /// Encodes the row.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.stored_bytes());
        out.extend_from_slice(&[FORMAT, length(self.facets.len())]);
        for facet in &self.facets {
            out.extend_from_slice(&[facet.tag(), length(facet.value().len())]);
            out.extend_from_slice(facet.value());
        }
        let public = u32::try_from(self.public.len()).unwrap_or(u32::MAX);
        out.extend_from_slice(&public.to_le_bytes());
        out.extend_from_slice(&self.public);
        out.extend_from_slice(&self.private);
        out
    }

    /// Decodes a row; [`Stop::Corrupt`] for an unknown format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Stop> {
        read(bytes).ok_or(Stop::Corrupt("a row has an unknown form"))
    }

    /// Returns the public part of an encoded row, without decoding the rest.
    pub fn public_of(bytes: &[u8]) -> Result<&[u8], Stop> {
        skip_facets(bytes).and_then(public).map(|(public, _)| public).ok_or(Stop::Corrupt("a row has an unknown form"))
    }

    /// Returns the private part of an encoded row, without decoding the rest.
    pub fn private_of(bytes: &[u8]) -> Result<&[u8], Stop> {
        skip_facets(bytes)
            .and_then(public)
            .map(|(_, private)| private)
            .ok_or(Stop::Corrupt("a row has an unknown form"))
    }
}

fn length(n: usize) -> u8 {
    u8::try_from(n).expect("facets are few and their values short")
}

fn read(bytes: &[u8]) -> Option<Row> {
    let mut facets = Vec::new();
    let mut rest = bytes.strip_prefix(&[FORMAT])?;
    let (count, tail) = rest.split_first()?;
    rest = tail;
    for _ in 0..*count {
        let (tag, value, tail) = facet(rest)?;
        facets.push(Facet::new(tag, value));
        rest = tail;
    }
    let (public, private) = public(rest)?;
    Some(Row { facets, public: public.to_vec(), private: private.to_vec() })
}

fn skip_facets(bytes: &[u8]) -> Option<&[u8]> {
    let (count, mut rest) = bytes.strip_prefix(&[FORMAT])?.split_first()?;
    for _ in 0..*count {
        rest = facet(rest)?.2;
    }
    Some(rest)
}

fn facet(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(2)?;
    let (value, rest) = rest.split_at_checked(usize::from(head[1]))?;
    Some((head[0], value, rest))
}

fn public(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?);
    rest.split_at_checked(usize::try_from(length).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_reads_back() {
        let row = Row {
            facets: [Facet::new(1, b"x"), Facet::new(9, b"")].into(),
            public: b"{}".to_vec(),
            private: b"secret".to_vec(),
        };
        let bytes = row.to_bytes();
        assert_eq!(bytes.len(), row.stored_bytes());
        assert_eq!(Row::from_bytes(&bytes), Ok(row));
        assert_eq!(Row::public_of(&bytes), Ok(&b"{}"[..]));
        for cut in 0..bytes.len() - 6 {
            assert!(Row::from_bytes(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        assert!(Row::from_bytes(&[2, 0, 0, 0, 0, 0]).is_err());
    }
}
