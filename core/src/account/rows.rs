//! Stored rows of an account: its profile, its keys and sessions.

use alloc::string::String;

use crate::record;
use crate::record::{Iso, iso, text};

record! {
    /// Public part of an account's row; its state and password are in the private part.
    pub struct ProfileRow stored as "an account" {
        /// Display name of the account.
        name: String = text(0, 255).required(),
        /// E-mail address that logs in, in lower case.
        email: String = text(0, 255).required(),
        /// IANA time zone, Region/City.
        timezone: String = text(0, 64).required(),
        /// Name of its plan in the root space.
        plan: String = text(0, 64).required(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// Public part of the row of an API key or session; the token's digest is in the private part.
    pub struct CredentialRow stored as "a key" {
        /// Label; `None` for a session that was given none.
        name: Option<String> = text(0, 255),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
    }
}
