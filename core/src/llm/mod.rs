//! Language models behind OpenAI-compatible chat endpoints: what they are asked after a call and in a conversation, and
//! what of their answers counts.

mod analysis;
mod chat;
mod events;
mod pieces;
mod simulated;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use analysis::{ExtractionField, ModelAnswer, Wish};
pub use chat::{ChatAnswer, ChatFault, ChatMessage, ChatQuestion, FunctionCall};
pub use pieces::ChatPieces;
pub use simulated::{Simulated, simulated};

use crate::outside::{Egress, HttpOut, Redirects, Work};
use crate::record::Secret;

/// Endpoint and name of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Llm {
    /// URL before `/chat/completions`.
    pub url: String,
    /// Key sent as a bearer token; `None`: none is sent.
    pub key: Option<Secret>,
    /// Name of the model, as the endpoint knows it.
    pub model: String,
}

impl Llm {
    /// Builds a request to the endpoint with a JSON body.
    fn post(&self, body: Vec<u8>, more: &[(&str, &str)], timeout_ms: u64, reply_bytes_max: usize) -> Work {
        let mut headers = Vec::from([("content-type".to_string(), Secret("application/json".into()))]);
        headers.extend(more.iter().map(|(name, value)| (name.to_string(), Secret((*value).into()))));
        headers.extend(self.key.as_ref().map(|key| ("authorization".to_string(), Secret(format!("Bearer {}", key.0)))));
        Work::Http(HttpOut {
            method: "POST",
            url: format!("{}/chat/completions", self.url.trim_end_matches('/')),
            headers,
            body,
            timeout_ms,
            reply_bytes_max,
            egress: Egress::Model,
            redirects: Redirects::None,
        })
    }
}
