//! WhatsApp, which the service does not have: its list of senders is empty and its other paths say so in the form that
//! clients of the API family read (docs/api.md, WhatsApp).

use alloc::string::String;

use crate::http::ctx::Ctx;
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;
use crate::record;
use crate::record::{id, text};

/// Start of the paths that the clients of WhatsApp use.
pub const PATHS: &str = "/user/whatsapp/";

record! {
    /// A WhatsApp sender; there is none.
    pub struct WhatsAppSender {
        /// Id of the sender.
        id: u64 = id().required(),
        /// Number of the sender, E.164.
        phone_number: String = text(0, 16).required(),
    }
}

/// `GET /user/whatsapp/senders`
pub fn senders(_: &Ctx<'_>) -> Handled {
    let none: [WhatsAppSender; 0] = [];
    Ok(Reply::ok(&data(&none[..])))
}
