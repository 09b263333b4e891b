//! First start of an installation: creates the built-in plan, the owner's account and the operator's token.

use alloc::vec::Vec;

use crate::account::create::{self, AccountSpec};
use crate::account::plan::{self, Plan};
use crate::account::token::{Token, TokenKind};
use crate::http::reply::{ObjectFn, Reply};
use crate::json::Object;
use crate::key::{self, Kind, Space};
use crate::outside::{Answer, AskedWork, Work};
use crate::record::{Rest, Secret};
use crate::step::{Outcome, Output, Send};
use crate::store::{Ledger, Tx};
use crate::view::{Scene, Stop};

/// E-mail address of the owner's account.
pub const OWNER_EMAIL: &str = "owner@localhost";

/// Creates the owner's account and the operator's token and shows their secrets in the reply, once: on a store that has
/// accounts it does nothing.
pub fn run(scene: &Scene<'_>, answers: &[Answer]) -> Result<Output, Stop> {
    let tx = Tx::new(scene.view);
    let root = tx.scope(Space::Root);
    if Ledger::load(root)?.last(Kind::Account) > 0 {
        return Ok(Output::default());
    }
    let asks = AskedWork::of(answers);
    let password = Secret(scene.seed.word("owner-password", 20));
    let salt = scene.seed.uuid("owner-salt");
    let Some(answer) = asks.ask(|| Work::HashPassword { password: password.clone(), salt }) else {
        let sends = asks.unanswered().into_iter().map(Send::of_exchange).collect();
        return Ok(Output { outcome: Outcome::Wait, sends, ..Output::default() });
    };
    let Answer::Hashed(digest) = answer else { return Err(Stop::Failed) };
    plan::save(root, &standard(), scene.now)?;
    let new = AccountSpec {
        email: OWNER_EMAIL.into(),
        name: "Owner".into(),
        timezone: "Etc/UTC".into(),
        plan: plan::STANDARD.into(),
        password: digest,
    };
    let made = create::account(root, new, scene.now, &scene.seed)?;
    let operator = Token::new(TokenKind::Operator, 0, 0, &scene.seed.derive("operator"));
    root.put(key::operator(), Vec::from(operator.digest()))?;
    let reply = Reply::ok(&ObjectFn(|o: &mut Object<'_>| {
        o.member("email", OWNER_EMAIL)
            .member("password", &password.0)
            .member("api_key", made.token.text())
            .member("admin_token", operator.text());
    }));
    Ok(Output { outcome: Outcome::Reply(reply), changes: tx.finish()?, ..Output::default() })
}

/// Returns the built-in plan (docs/api.md, Plans).
fn standard() -> Plan {
    let (most, calls) = (1_000, 100);
    Plan {
        name: plan::STANDARD.into(),
        assistants: most,
        tools: most,
        knowledgebases: most,
        campaigns: most,
        numbers: most,
        folders: most,
        parallel_calls: calls,
        conversations_daily: plan::CONVERSATIONS_DAILY,
        storage_bytes: plan::STORAGE_BYTES.unsigned_abs(),
        rest: Rest::default(),
    }
}
