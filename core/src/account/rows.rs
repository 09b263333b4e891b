//! Rows of an account: its profile, its keys and sessions.

use alloc::string::String;

use crate::record;
use crate::record::{Iso, iso, text};

record! {
    /// What is stored of an account; what changes often and its password stand behind it.
    pub struct ProfileRow stored as "an account" {
        /// Its name.
        name: String = text(0, 255).required(),
        /// The address that logs in, in lower case.
        email: String = text(0, 255).required(),
        /// Its time zone.
        timezone: String = text(0, 64).required(),
        /// The name of its plan.
        plan: String = text(0, 64).required(),
        /// When it was made.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// What is stored of an API key or a session; its token's digest stands behind it.
    pub struct CredentialRow stored as "a key" {
        /// A label; of a session only where it was given.
        name: Option<String> = text(0, 255),
        /// When it was made.
        created_at: Iso = iso().required(),
    }
}
