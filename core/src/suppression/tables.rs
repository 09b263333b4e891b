//! Tables of the numbers that must not be called.

use alloc::string::String;

use crate::record;
use crate::record::{Iso, format, id, iso, per_page, text};

record! {
    /// Body of `POST /user/do-not-call`.
    pub struct NewSuppressed {
        /// Number that must not be called, E.164; blanks, dots, dashes and brackets are dropped.
        phone_number: String = text(1, 16).form(&format::WRITTEN_E164).required(),
        /// Why it must not be called, for people.
        reason: Option<String> = text(1, 255),
    }
}

record! {
    /// A number that must not be called.
    pub struct Suppressed stored as "a number not to be called" {
        /// Id of the entry.
        id: u64 = id().required(),
        /// Number that must not be called, E.164.
        phone_number: String = text(0, 16).required(),
        /// Why it must not be called; null when not given.
        reason: Option<String> = text(0, 255),
        /// Time at which it was added.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// Query of `GET /user/do-not-call`.
    pub struct SuppressedQuery {
        /// Only this number, given whole; its `+` may be missing or a space.
        phone_number: Option<String> = text(1, 32),
        /// Number of rows per page.
        per_page: u32 = per_page(15),
        /// Page number, from 1.
        page: u64 = id().or_int(1),
    }
}
