//! What of an account somebody should look at (docs/api.md, The account at a glance): each kind from a few reads of what is kept anyway.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::account::{attached, plan};
use crate::admin::engine_tokens;
use crate::assistant::tables::Assistant;
use crate::call::tables::CallStatus;
use crate::call::{facet_of_engaged, facet_of_status};
use crate::collection::{Facet, count, counts, ids};
use crate::http::caller::Engine;
use crate::http::ctx::Ctx;
use crate::id;
use crate::key::Kind;
use crate::knowledge;
use crate::knowledge::tables::DocumentStatus;
use crate::limits::{ATTENTION_OF_CODE_MAX, PLAN_ROWS_MAX};
use crate::number::registration::{self, RegistrationState};
use crate::record::{choice, label, text};
use crate::store::{Ledger, Scope};
use crate::view::Stop;
use crate::webhook::{FailingAddress, failing};
use crate::{choice, record};

choice! {
    /// What is wrong.
    pub enum AttentionCode {
        /// Calls wait for an engine, and none is attached that serves the account.
        NoEngine = "no_engine",
        /// The balance is used up: nothing that costs money begins.
        BalanceUsedUp = "balance_used_up",
        /// The balance does not last another week, by what the calls of the last seven days cost.
        BalanceLow = "balance_low",
        /// More than nine tenths of the plan's storage are used.
        StorageLow = "storage_low",
        /// An engine cannot register with a SIP trunk, so that no calls come in.
        TrunkUnregistered = "trunk_unregistered",
        /// A webhook has failed since its last success; after five days it is switched off.
        WebhookFailing = "webhook_failing",
        /// Documents of a knowledgebase could not be read.
        DocumentsFailed = "documents_failed",
    }
}

record! {
    /// Something that somebody should look at.
    pub struct Attention {
        /// What is wrong.
        code: AttentionCode = choice::<AttentionCode>().required(),
        /// The same as a sentence for people, with what to do.
        message: String = text(0, 512).required(),
        /// What it is about, as kind and id, for example `assistant 4294967297`; `account` for the account itself.
        reference: String = text(0, 64).required(),
    }
}

/// Most of all kinds together.
pub const MOST: usize = 4 + 3 * ATTENTION_OF_CODE_MAX;
/// What is about no single resource.
const ACCOUNT: &str = "account";

impl Attention {
    fn of(code: AttentionCode, message: impl Into<String>, reference: impl Into<String>) -> Self {
        Self { code, message: message.into(), reference: reference.into() }
    }
}

/// Returns everything, in the order of the codes; `balance` and the cost of the last week are millionths of a dollar.
pub fn all(ctx: &Ctx<'_>, balance: Option<i64>, week: i64) -> Result<Vec<Attention>, Stop> {
    let account = ctx.account();
    let mut found = Vec::new();
    found.extend(engines(ctx)?);
    found.extend(balance.and_then(|balance| of_balance(balance, week)));
    found.extend(storage(account)?);
    found.extend(trunks(account)?);
    found.extend(webhooks(account)?);
    found.extend(documents(account)?);
    Ok(found)
}

fn engines(ctx: &Ctx<'_>) -> Result<Option<Attention>, Stop> {
    let account = ctx.account();
    let queued = count(account, Kind::Call, &facet_of_status(CallStatus::Initiated))?;
    if queued == 0 || count(account, Kind::Call, &facet_of_engaged())? >= queued {
        return Ok(None);
    }
    for (token, engine) in attached::all_heard_of(ctx.root())? {
        // The built-in engine has no token.
        let serves = |engine: &Engine| engine.serves(ctx.caller().account);
        let is_ours = token == 0 || engine_tokens::engine_of(ctx.root(), token)?.as_ref().is_some_and(serves);
        if is_ours && engine.is_attached(ctx.now) {
            return Ok(None);
        }
    }
    let message = "Calls wait, and no voice engine is attached: start one, or look why it has gone.";
    Ok(Some(Attention::of(AttentionCode::NoEngine, message, ACCOUNT)))
}

fn of_balance(balance: i64, week: i64) -> Option<Attention> {
    let (code, message) = if balance <= 0 {
        (AttentionCode::BalanceUsedUp, "The balance is used up: no call, message or number is paid from it.")
    } else if balance < week {
        (AttentionCode::BalanceLow, "The balance is less than the calls of the last seven days cost.")
    } else {
        return None;
    };
    Some(Attention::of(code, message, ACCOUNT))
}

fn storage(account: Scope<'_>) -> Result<Option<Attention>, Stop> {
    let stored = Ledger::load(account)?.stored().map_or(0, |stored| stored.bytes);
    let most = plan::of(account)?.storage_bytes;
    let tenths = stored.saturating_mul(10) / most.max(1);
    let message = "More than nine tenths of the plan's storage are used: delete what is not needed, or ask for more.";
    Ok((tenths >= 9).then(|| Attention::of(AttentionCode::StorageLow, message, ACCOUNT)))
}

fn trunks(account: Scope<'_>) -> Result<Vec<Attention>, Stop> {
    let known = registration::of_account(account)?.into_iter();
    let failed = known.filter(|(_, registration)| registration.state != RegistrationState::Registered);
    let attention = failed.take(ATTENTION_OF_CODE_MAX).map(|(trunk, registration)| {
        let detail = registration.detail.unwrap_or_else(|| "The trunk does not take its registration.".to_string());
        Attention::of(AttentionCode::TrunkUnregistered, detail, reference(account, "trunk", trunk))
    });
    Ok(attention.collect())
}

fn webhooks(account: Scope<'_>) -> Result<Vec<Attention>, Stop> {
    let mut found = Vec::new();
    for FailingAddress { assistant: (assistant, row), webhook, since } in failing(account, ATTENTION_OF_CODE_MAX)? {
        let name = Assistant::MEMBERS.name.read(&row.public)?;
        let message = format!("The {} of {name} fails since {}.", label(webhook), since.iso());
        found.push(Attention::of(AttentionCode::WebhookFailing, message, reference(account, "assistant", assistant)));
    }
    Ok(found)
}

fn documents(account: Scope<'_>) -> Result<Vec<Attention>, Stop> {
    let bases = ids(account, Kind::Knowledgebase, &Facet::ALL, PLAN_ROWS_MAX)?;
    let facets: Vec<_> = bases.iter().map(|base| knowledge::facet_of_status(*base, DocumentStatus::Failed)).collect();
    let failed = counts(account, Kind::Document, &facets)?;
    let with_some = bases.iter().zip(failed).filter(|(_, failed)| *failed > 0).take(ATTENTION_OF_CODE_MAX);
    let attention = with_some.map(|(base, failed)| {
        let name = knowledge::name_of(account, *base)?.unwrap_or_default();
        let message = format!("Of the documents of {name}, {failed} could not be read: each says why.");
        Ok(Attention::of(AttentionCode::DocumentsFailed, message, reference(account, "knowledgebase", *base)))
    });
    attention.collect()
}

/// Returns a resource as kind and id.
fn reference(account: Scope<'_>, kind: &str, count: u32) -> String {
    format!("{kind} {}", id::of(account.space(), count))
}
