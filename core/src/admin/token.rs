//! The operator's own token.

use super::tables::OperatorToken;
use crate::account::token::{Token, TokenKind};
use crate::http::ctx::Ctx;
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::key;
use crate::record::Secret;

/// `POST /admin/operator-token/rotate`: replaces the token of the request, which fails from the next request on.
pub fn rotate(ctx: &Ctx<'_>) -> Handled {
    ctx.unread()?;
    let token = Token::new(TokenKind::Operator, 0, 0, &ctx.seed.derive("operator"));
    ctx.root().put(key::operator(), token.digest().to_vec())?;
    Ok(Reply::created(&OperatorToken { token: Secret(token.text().into()) }))
}
