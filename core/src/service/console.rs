//! `GET /console` and, for browsers, `GET /`: what the console may load, as the content security policy that goes with
//! it. The page itself is the host's; so is the script of `GET /widget.js`, which other pages load.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;

use url::Url;

use crate::account::attached;
use crate::http::ctx::Ctx;
use crate::http::reply::{HostPage, Reply};
use crate::http::route::Handled;
use crate::limits::PAGE_ORIGINS_MAX;
use crate::view::Stop;

/// What holds for every address. Nothing is inline, nothing is framed, and text becomes a script by no way.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// `GET /console`, and whatever is below it.
pub fn read(ctx: &Ctx<'_>) -> Handled {
    page(ctx, HostPage::Console)
}

/// `GET /widget.js`: for pages of any origin, also as a module and where a page isolates itself.
pub fn widget(_: &Ctx<'_>) -> Handled {
    let reply = Reply::host(HostPage::Widget).header("access-control-allow-origin", "*");
    Ok(reply.header("cross-origin-resource-policy", "cross-origin"))
}

/// Returns a page of the host with its policy.
pub fn page(ctx: &Ctx<'_>, page: HostPage) -> Handled {
    Ok(Reply::host(page).header("content-security-policy", policy(ctx)?).header("referrer-policy", "no-referrer"))
}

/// Returns the policy: besides the page's own origin it names where recordings are played from, the samples of voices
/// and the engines that browsers talk to.
fn policy(ctx: &Ctx<'_>) -> Result<String, Stop> {
    let samples = ctx.setup.catalogue().voices.iter().filter_map(|voice| voice.preview_url.as_deref());
    let media = sources(ctx.setup.config.public_url.as_deref().into_iter().chain(samples));
    let engines = attached::all_heard_of(ctx.root())?;
    let there = engines.iter().map(|(_, engine)| engine).filter(|engine| engine.is_attached(ctx.now));
    let doors = sources(there.filter_map(|engine| engine.about.as_ref()?.web_url.as_deref()));
    Ok(format!("{POLICY}; media-src 'self' blob:{media}; connect-src 'self'{doors}"))
}

/// Returns the origins of these URLs, each after a space, at most [`PAGE_ORIGINS_MAX`] of them.
fn sources<'u>(urls: impl Iterator<Item = &'u str>) -> String {
    let mut origins = BTreeSet::new();
    for url in urls.filter_map(|url| Url::parse(url).ok()).filter(|url| matches!(url.scheme(), "http" | "https")) {
        if origins.len() < PAGE_ORIGINS_MAX {
            origins.insert(format!(" {}", url.origin().ascii_serialization()));
        }
    }
    origins.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_origins_in_order_and_bounded() {
        let urls =
            ["https://b.example/x;y", "nowhere", "data:audio/wav,", "https://b.example:443", "http://a.example:8080/"];
        assert_eq!(sources(urls.into_iter()), " http://a.example:8080 https://b.example");
        let many: alloc::vec::Vec<_> = (0..100).map(|n| format!("https://{n}.example")).collect();
        assert_eq!(sources(many.iter().map(String::as_str)).matches("https").count(), PAGE_ORIGINS_MAX);
    }
}
