//! `GET /`: says to whoever finds an address what answers there; browsers get the console.

use alloc::format;
use alloc::string::String;

use super::{Service, console};
use crate::http::accept;
use crate::http::base::BaseUrl;
use crate::http::ctx::Ctx;
use crate::http::reply::{HostPage, Reply};
use crate::http::route::Handled;
use crate::record;
use crate::record::text;

record! {
    /// What answers at an address.
    pub struct Home {
        /// Name of the service: `Switchboard`.
        name: String = text(0, 64).required(),
        /// Version of the release.
        release: String = text(0, 64).required(),
        /// URL of the API explorer.
        docs: String = text(0, 2_048).required(),
    }
}

/// `GET /`: a page for browsers, JSON for all others.
pub fn read(ctx: &Ctx<'_>) -> Handled {
    if accept::prefers(ctx.request, "text/html") {
        return Ok(console::page(ctx, HostPage::Home)?.header("vary", "Accept"));
    }
    let BaseUrl(base) = ctx.base();
    let home = Home { name: "Switchboard".into(), release: Service::version(), docs: format!("{base}/docs") };
    Ok(Reply::ok(&home).header("vary", "Accept"))
}
