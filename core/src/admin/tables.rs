//! The tables of the operator's API.

use alloc::string::String;
use alloc::vec::Vec;

use crate::job::{JobKind, JobState};
use crate::limits::ENTRIES_MAX;
use crate::record;
use crate::record::{Iso, Secret, boolean, choice, format, id, ids, int, iso, number, text};

record! {
    /// Body of `POST /admin/accounts`.
    pub struct NewAccount {
        /// The address that logs in.
        email: String = text(1, 255).form(&format::EMAIL).required(),
        /// Its name; the address when not given.
        name: Option<String> = text(1, 255),
        /// Its password; one is made when not given.
        password: Option<Secret> = text(8, 1_024),
        /// Its time zone.
        timezone: String = text(1, 64).form(&format::ZONE).or_text("Etc/UTC"),
        /// Its plan.
        plan: String = text(1, 64).form(&format::PLAN_NAME).or_text("standard"),
    }
}

record! {
    /// A new account. Token and password are shown here and never again.
    pub struct MadeAccount {
        /// Its id.
        id: u64 = id().required(),
        /// The address that logs in.
        email: String = text(0, 255).required(),
        /// Its name.
        name: String = text(0, 255).required(),
        /// Its plan.
        plan: String = text(0, 64).required(),
        /// The token of its first key.
        api_key: Secret = text(0, 64).required(),
        /// Its password, where it was made here.
        password: Option<Secret> = text(0, 64),
    }
}

record! {
    /// Body of `PUT /admin/accounts/{id}`.
    pub struct ChangedAccount {
        /// Its name.
        name: String = text(1, 255).required(),
        /// Its time zone.
        timezone: String = text(1, 64).form(&format::ZONE).required(),
        /// Its plan.
        plan: String = text(1, 64).form(&format::PLAN_NAME).required(),
        /// What is left, USD; null: unmetered.
        balance: Option<f64> = number(-1_000_000.0, 1_000_000_000.0).clears(),
        /// Whether it is shut out.
        suspended: bool = boolean().or_bool(false),
        /// A new password; it ends all sessions.
        password: Option<Secret> = text(8, 1_024),
    }
}

record! {
    /// Query of the operator's lists.
    pub struct AdminQuery {
        /// Rows a page.
        per_page: u32 = int(1, 100).or_int(15),
        /// The page, from 1.
        page: u64 = id().or_int(1),
    }
}

record! {
    /// Query of `GET /admin/jobs`.
    pub struct JobQuery {
        /// Only those that stand there.
        state: Option<JobState> = choice::<JobState>(),
        /// Only those of this kind.
        kind: Option<JobKind> = choice::<JobKind>(),
        /// Only those of this account.
        account_id: Option<u64> = id(),
        /// Rows a page.
        per_page: u32 = int(1, 100).or_int(15),
        /// The page, from 1.
        page: u64 = id().or_int(1),
    }
}

record! {
    /// Body of `POST /admin/engine-tokens`.
    pub struct NewEngineToken {
        /// A label.
        name: String = text(1, 255).required(),
        /// The accounts whose calls it may take; none: all.
        account_ids: Vec<u64> = ids(ENTRIES_MAX),
    }
}

record! {
    /// A new engine token. It is shown here and never again.
    pub struct ShownEngineToken {
        /// Its id.
        id: u64 = id().required(),
        /// Its label.
        name: String = text(0, 255).required(),
        /// The token: the value of `Authorization: Bearer`.
        token: Secret = text(0, 64).required(),
        /// When it was made.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// An engine token.
    pub struct EngineToken stored as "an engine token" {
        /// Its id.
        id: u64 = id().required(),
        /// Its label.
        name: String = text(0, 255).required(),
        /// The accounts whose calls it may take; none: all.
        account_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// When it was made.
        created_at: Iso = iso().required(),
    }
}
