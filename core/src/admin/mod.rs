//! The operator's API (docs/api.md, Operator): accounts, plans, engine tokens, jobs.

mod accounts;
pub mod engine_tokens;
mod engines;
mod jobs;
mod nodes;
mod plans;
mod prices;
pub mod tables;
mod token;

use crate::http::ctx::Ctx;
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;

pub use accounts::{create, create_key, delete, delete_key, list, list_keys, read, update, verify_caller_id};
pub use engine_tokens::{all as engine_tokens, create as create_engine_token, delete as delete_engine_token};
pub use engines::{all as engines, drain as drain_engine};
pub use jobs::{list as jobs, queues, remove as drop_job, retry as retry_job};
pub use nodes::{DrainOrder, all as nodes, drain as drain_node};
pub use plans::{all as plans, create as create_plan, update as update_plan};
pub use prices::{read as prices, replace as replace_prices};
pub use token::rotate as rotate_token;

/// `GET /admin/settings`
pub fn settings(ctx: &Ctx<'_>) -> Handled {
    Ok(Reply::ok(&data(&ctx.setup.config.settings)))
}
