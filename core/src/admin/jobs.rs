//! The operator's view of durable jobs: which wait, run or were set aside, and retrying or dropping the last.

use alloc::vec::Vec;

use super::tables::JobQuery;
use crate::collection::{Page, Query, page};
use crate::http::ctx::Ctx;
use crate::http::page as envelope;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data, message};
use crate::http::route::Handled;
use crate::job::{self, JobState, Named, ShownJob, Task, TaskContext, Wanted};
use crate::json::ToJson;
use crate::key::Kind;
use crate::outside::AskedWork;
use crate::store::{Row, Scope};
use crate::view::{Order, Stop};

const MISSING: &str = "Job not found.";
const GOING: &str = "The job is not set aside.";
const UNKNOWN: &str = "No release that runs knows this job: it can only be dropped.";

/// `GET /admin/jobs`: jobs set aside, then running, then waiting ones. The count of the first is exact; of the others
/// at most [`JOBS_LISTED_MAX`](crate::limits::JOBS_LISTED_MAX) are looked at.
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let asked: JobQuery = ctx.asks()?;
    let root = ctx.root();
    // An id beyond any account's maps to an account number that has no jobs.
    let account = asked.account_id.map(|id| u32::try_from(id.saturating_sub(1)).unwrap_or(u32::MAX));
    let wants = |state| asked.state.is_none_or(|wanted| wanted == state);
    let mut facets = Vec::new();
    facets.extend(asked.kind.map(job::facet_of_kind));
    facets.extend(account.map(job::facet_of_account));
    let query = Query::page(facets, 0..u32::MAX, Order::Descending, asked.per_page, asked.page);
    let aside =
        if wants(JobState::SetAside) { page(root, Kind::Job, &query)? } else { Page { ids: [].into(), total: 0 } };
    let mut entries = Vec::new();
    root.each_row(Kind::Job, &aside.ids, |_, row| {
        entries.push(Row::public_of(row)?.to_vec());
        Ok(())
    })?;
    let mut going: Vec<ShownJob> = Vec::new();
    for state in [JobState::Running, JobState::Waiting].into_iter().filter(|state| wants(*state)) {
        going.extend(job::going(root, &Wanted { state, kind: asked.kind, account })?);
    }
    let total = aside.total + going.len() as u64;
    let skipped = usize::try_from(query.offset.saturating_sub(aside.total)).unwrap_or(usize::MAX);
    let room = query.limit - entries.len();
    entries.extend(going.iter().skip(skipped).take(room).map(ToJson::to_json));
    Ok(envelope::entries(ctx, &query, total, &entries))
}

/// `GET /admin/queues`
pub fn queues(ctx: &Ctx<'_>) -> Handled {
    Ok(Reply::ok(&data(&job::queues(ctx.root())?)))
}

/// Returns the job in the path, which must be set aside: its account, and its task, or the stored bytes of a task that
/// this release does not know.
fn aside<'c>(ctx: &'c Ctx<'_>) -> Result<(Scope<'c>, Result<Task, Vec<u8>>), Halt> {
    let text = ctx.params.first().copied().unwrap_or_default();
    let id = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let found = job::named(ctx.root(), id.unwrap_or_default())?.ok_or(Refusal::NotFound(MISSING))?;
    ctx.unread()?;
    match found {
        (account, Named::Aside(task)) => Ok((account, Ok(task))),
        (account, Named::Unknown(bytes)) => Ok((account, Err(bytes))),
        (_, Named::Going) => Err(Refusal::Conflict(GOING.into()).into()),
    }
}

/// `POST /admin/jobs/{id}/retry`
pub fn retry(ctx: &Ctx<'_>) -> Handled {
    let (account, task) = aside(ctx)?;
    let task = task.map_err(|_| Refusal::Conflict(UNKNOWN.into()))?;
    job::retry(account, &task)?;
    Ok(Reply::accepted(&message("The job is tried again.")))
}

/// `DELETE /admin/jobs/{id}`: `give_up` ends what the job was for as failed.
pub fn remove(ctx: &Ctx<'_>, give_up: fn(&TaskContext<'_>, &Task) -> Result<(), Stop>) -> Handled {
    let (account, task) = aside(ctx)?;
    match task {
        Ok(task) => {
            let asks = AskedWork::of(&[]);
            let (seed, now) = (ctx.seed.child("give-up"), ctx.now);
            let work = TaskContext { setup: ctx.setup, account, now, seed, asks: &asks, attempt: 0 };
            give_up(&work, &task)?;
        }
        Err(bytes) => job::drop_unknown(account, &bytes)?,
    }
    Ok(Reply::ok(&message("The job was dropped.")))
}
