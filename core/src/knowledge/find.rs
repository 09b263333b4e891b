//! Search in a knowledgebase (docs/api.md, Searching a knowledgebase).

use alloc::string::String;
use alloc::vec::Vec;

use super::bases;
use super::search;
use super::tables::{Document, Question};
use crate::http::ctx::Ctx;
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;
use crate::id;
use crate::key::Kind;
use crate::record;
use crate::record::{id as id_column, number, text};
use crate::store::Scope;
use crate::view::Stop;

record! {
    /// A passage that matches a search.
    pub struct Passage {
        /// Id of the document that the passage is from.
        document_id: u64 = id_column().required(),
        /// Name of that document.
        document_name: String = text(0, 255).required(),
        /// Relevance by BM25; higher is better, and the list is sorted by it.
        score: f64 = number(0.0, 1_000_000.0).required(),
        /// Text of the passage.
        text: String = text(0, 4_096).required(),
    }
}

/// `POST /user/knowledgebases/{id}/search`
pub fn find(ctx: &Ctx<'_>) -> Handled {
    let base = bases::above(ctx)?;
    let question: Question = ctx.body()?;
    Ok(Reply::ok(&data(&found(ctx.account(), Some(base), &question)?)))
}

/// Runs a search; without a knowledgebase it finds nothing.
pub fn found(account: Scope<'_>, base: Option<u32>, question: &Question) -> Result<Vec<Passage>, Stop> {
    const DAMAGED: Stop = Stop::Corrupt("a passage's document is not there");
    let mut shown = Vec::new();
    let search = |base| search::search(account, base, &question.query, question.limit as usize);
    for hit in base.map_or_else(|| Ok(Vec::new()), search)? {
        let row = account.find(Kind::Document, hit.document)?.ok_or(DAMAGED)?;
        shown.push(Passage {
            document_id: id::of(account.space(), hit.document),
            document_name: Document::MEMBERS.name.read(&row.public)?,
            score: f64::from(hit.score) / 10_000.0,
            text: hit.text,
        });
    }
    Ok(shown)
}
