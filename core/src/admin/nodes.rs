//! Nodes of the service: who they are, and what becomes of them, only the host knows.

use uuid::Uuid;

use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{HostPage, Reply, message};
use crate::http::route::Handled;

const MISSING: &str = "Node not found";
const BEGUN: &str = "The node gives its accounts to the others.";
const ONLY_ONE: &str = "No other node takes its accounts: start one first.";

/// What became of the order that a node be drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainOrder {
    /// It gives its accounts to the others from now on.
    Begun,
    /// No such node is there.
    Missing,
    /// No other node takes accounts.
    OnlyOne,
}

impl DrainOrder {
    /// Returns the answer to whoever gave the order at a target.
    pub fn reply_to(self, target: &str) -> Reply {
        match self {
            Self::Begun => Reply::accepted(&message(BEGUN)),
            Self::Missing => Refusal::NotFound(MISSING).reply_to(target),
            Self::OnlyOne => Refusal::Conflict(ONLY_ONE.into()).reply_to(target),
        }
    }
}

/// `GET /admin/nodes`
pub fn all(_: &Ctx<'_>) -> Handled {
    Ok(Reply::host(HostPage::Nodes))
}

/// `POST /admin/nodes/{id}/drain`
pub fn drain(ctx: &Ctx<'_>) -> Handled {
    let id = ctx.params.first().and_then(|text| Uuid::try_parse(text).ok()).ok_or(Refusal::NotFound(MISSING))?;
    Ok(Reply { status: 202, ..Reply::host(HostPage::DrainNode(id.into_bytes())) })
}
