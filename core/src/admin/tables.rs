//! Tables of the operator's API.

use alloc::string::String;
use alloc::vec::Vec;

use crate::account::attached::LEG;
use crate::account::profile::AccountStatus;
use crate::job::{JobKind, JobState};
use crate::limits::{ENGINE_LEGS_MAX, ENTRIES_MAX};
use crate::record::{
    Iso, Secret, boolean, bytes, choice, count, format, id, ids, iso, list, number, object, per_page, text, texts,
};
use crate::{choice, record};

record! {
    /// Body of `POST /admin/accounts`.
    pub struct NewAccount {
        /// E-mail address that logs in; unique, case does not matter.
        email: String = text(1, 255).form(&format::EMAIL).required(),
        /// Display name; the e-mail address when not given.
        name: Option<String> = text(1, 255),
        /// Password of the login; generated when not given.
        password: Option<Secret> = text(8, 1_024),
        /// IANA time zone of the account, Region/City.
        timezone: String = text(1, 64).form(&format::ZONE).or_text("Etc/UTC"),
        /// Name of an existing plan.
        plan: String = text(1, 64).form(&format::PLAN_NAME).or_text("standard"),
    }
}

record! {
    /// A new account. Token and password are shown here and never again.
    pub struct MadeAccount {
        /// Id of the account; `user_id` elsewhere.
        id: u64 = id().required(),
        /// E-mail address that logs in.
        email: String = text(0, 255).required(),
        /// Display name of the account.
        name: String = text(0, 255).required(),
        /// Name of its plan.
        plan: String = text(0, 64).required(),
        /// Token of its first API key, which never expires and may write.
        api_key: Secret = text(0, 64).required(),
        /// The password that was generated; null when one was given.
        password: Option<Secret> = text(0, 64),
    }
}

record! {
    /// Body of `PUT /admin/accounts/{id}`.
    pub struct ChangedAccount {
        /// Display name of the account.
        name: String = text(1, 255).required(),
        /// IANA time zone of the account, Region/City.
        timezone: String = text(1, 64).form(&format::ZONE).required(),
        /// Name of an existing plan.
        plan: String = text(1, 64).form(&format::PLAN_NAME).required(),
        /// Remaining balance, USD; null makes the account unmetered.
        balance: Option<f64> = number(-1_000_000.0, 1_000_000_000.0).clears(),
        /// Whether the account is suspended: its tokens are then answered with 403.
        suspended: bool = boolean().or_bool(false),
        /// New password; setting it ends all sessions.
        password: Option<Secret> = text(8, 1_024),
    }
}

record! {
    /// An account that is being deleted.
    pub struct GoingAccount {
        /// Id of the account.
        id: u64 = id().required(),
        /// Always `deleting`.
        status: AccountStatus = choice::<AccountStatus>().required(),
    }
}

record! {
    /// A new token of the operator's. It is shown here and never again.
    pub struct OperatorToken {
        /// The token: the value of `Authorization: Bearer`.
        token: Secret = text(0, 64).required(),
    }
}

record! {
    /// Query of the operator's lists.
    pub struct AdminQuery {
        /// Number of rows per page.
        per_page: u32 = per_page(15),
        /// Page number, from 1.
        page: u64 = id().or_int(1),
    }
}

record! {
    /// Query of `GET /admin/jobs`.
    pub struct JobQuery {
        /// Only jobs in this state.
        state: Option<JobState> = choice::<JobState>(),
        /// Only jobs of this kind.
        kind: Option<JobKind> = choice::<JobKind>(),
        /// Only jobs of the account with this id.
        account_id: Option<u64> = id(),
        /// Number of rows per page.
        per_page: u32 = per_page(15),
        /// Page number, from 1.
        page: u64 = id().or_int(1),
    }
}

record! {
    /// Body of `POST /admin/engine-tokens`.
    pub struct NewEngineToken {
        /// Label of the token, shown in lists.
        name: String = text(1, 255).required(),
        /// Accounts whose calls the engine may take; empty: all.
        account_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// Whether the engine gets the credentials of SIP trunks and of the carrier, to place calls itself.
        telephony: bool = boolean().or_bool(false),
    }
}

record! {
    /// A new engine token. It is shown here and never again.
    pub struct ShownEngineToken {
        /// Id of the token, to delete it by.
        id: u64 = id().required(),
        /// Label of the token, shown in lists.
        name: String = text(0, 255).required(),
        /// The token: the value of `Authorization: Bearer`.
        token: Secret = text(0, 64).required(),
        /// Whether the engine gets the credentials of trunks.
        telephony: bool = boolean().required(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// An engine token in the list, without the token itself.
    pub struct EngineToken stored as "an engine token" {
        /// Id of the token, to delete it by.
        id: u64 = id().required(),
        /// Label of the token, shown in lists.
        name: String = text(0, 255).required(),
        /// Accounts whose calls the engine may take; empty: all.
        account_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// Whether the engine gets the credentials of trunks.
        telephony: bool = boolean().or_bool(false),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// An engine that is attached, or was so lately. What it has not told is null.
    pub struct ShownEngine {
        /// Id of the engine, the same for its token and name.
        id: u64 = id().required(),
        /// Id of its token; 0 for the built-in engine.
        token_id: u64 = bytes(0, i64::MAX).required(),
        /// Name of the engine, from its claims and heartbeats.
        name: String = text(0, 64).required(),
        /// Version of the engine's program.
        version: Option<String> = text(0, 64),
        /// Name of the machine it runs on.
        host: Option<String> = text(0, 255),
        /// Edition of the interface that it speaks.
        protocol: u32 = count().required(),
        /// Ways to telephones and browsers that it has.
        legs: Vec<String> = texts(&LEG, ENGINE_LEGS_MAX),
        /// Most calls that it carries at once.
        capacity: Option<u32> = count(),
        /// Calls that it carried at its last heartbeat.
        running: Option<u32> = count(),
        /// How busy its machine was at its last heartbeat, from 0 to 1.
        load: Option<f64> = number(0.0, 1.0),
        /// Whether it is given no more calls.
        draining: bool = boolean().required(),
        /// Where browsers reach its web leg.
        web_url: Option<String> = text(0, 255),
        /// When it was heard of last, UTC.
        seen_at: Iso = iso().required(),
    }
}

record! {
    /// Body of `POST /admin/engines/{id}/drain`.
    pub struct Draining {
        /// Whether the engine is to get no more calls.
        drain: bool = boolean().required(),
    }
}

record! {
    /// A check of the store by `switchboard verify`.
    pub struct LastVerify {
        /// When it was done, UTC.
        at: Iso = iso().required(),
        /// Whether it found no fault.
        ok: bool = boolean().required(),
    }
}

record! {
    /// What the host knows of its store.
    pub struct StoreState {
        /// Size of the store's file, bytes.
        bytes: u64 = bytes(0, i64::MAX).required(),
        /// Bytes that its disk has left for this process.
        free_bytes: u64 = bytes(0, i64::MAX).required(),
        /// When the last backup was complete, UTC; null if there was none.
        last_backup_at: Option<Iso> = iso(),
        /// Last check of the store; null if there was none.
        last_verify: Option<LastVerify> = object::<LastVerify>(),
        /// Release of the service that has the store open.
        release: String = text(0, 64).required(),
    }
}

choice! {
    /// What a node does.
    pub enum NodeState {
        /// It serves its share of the accounts.
        Serving = "serving",
        /// It gives its accounts to the others, or has done so, and passes requests on to them.
        Draining = "draining",
        /// It is not heard of any more: others take its accounts.
        Gone = "gone",
    }
}

record! {
    /// Accounts that one writer of a node has.
    pub struct NodeLane {
        /// Id of the lane, for as long as it has these accounts.
        id: String = text(0, 36).required(),
        /// Number of its last commit; null where these are not counted.
        seq: Option<u64> = bytes(0, i64::MAX),
        /// Number of its accounts.
        accounts: u64 = bytes(0, i64::MAX).required(),
    }
}

record! {
    /// A process that serves the store, or did so lately.
    pub struct ShownNode {
        /// Id of the node, until it is stopped.
        id: String = text(0, 36).required(),
        /// Where other nodes reach it, HOST:PORT; null if none does.
        address: Option<String> = text(0, 255),
        /// Its release; null of a node that is about to stop.
        release: Option<String> = text(0, 64),
        /// What it does.
        state: NodeState = choice::<NodeState>().required(),
        /// What it serves.
        lanes: Vec<NodeLane> = list::<NodeLane>(ENTRIES_MAX),
        /// Part of the time, from 0 to 1, in which a lane of it had a commit under way, in the last seconds; null where
        /// that is not measured.
        load: Option<f64> = number(0.0, 1.0),
        /// When it was heard of last, UTC; null of a node that is about to stop.
        seen_at: Option<Iso> = iso(),
    }
}
