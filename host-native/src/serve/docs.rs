//! `/docs`: a list of all operations, and Swagger UI for the one that is chosen; and the page at `/`. Both are embedded in
//! the binary and load nothing from elsewhere; their content security policy enforces that.

use hyper::Response;
use hyper::header::HeaderValue;
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::reply::Reply;
use switchboard_core::service::Service;

use super::response::{ResponseBody, full, response as plain};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The page at `/` has styles of its own and nothing else.
const HOME_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'";

/// Returns the page that tells a browser at `/` where it is.
pub fn home(reply: Reply) -> Response<ResponseBody> {
    let page = include_str!("../../docs-ui/home.html").replace("{release}", &Service::version());
    let mut response = plain(reply, Some(("text/html; charset=utf-8", full(page))));
    response.headers_mut().insert("content-security-policy", HeaderValue::from_static(HOME_POLICY));
    response
}

/// Returns a file of the API explorer; unknown names are 404.
pub fn response(reply: Reply, target: &str) -> Response<ResponseBody> {
    let file =
        target.split('?').next().unwrap_or_default().strip_prefix("/docs").unwrap_or_default().trim_start_matches('/');
    let (media, body, packed): (_, &'static [u8], _) = match file {
        "" | "index.html" => ("text/html; charset=utf-8", include_bytes!("../../docs-ui/index.html"), false),
        "start.js" => ("text/javascript; charset=utf-8", include_bytes!("../../docs-ui/start.js"), false),
        "start.css" => ("text/css; charset=utf-8", include_bytes!("../../docs-ui/start.css"), false),
        "swagger-ui.css" => ("text/css; charset=utf-8", include_bytes!("../../docs-ui/swagger-ui.css.gz"), true),
        "swagger-ui-bundle.js" => {
            ("text/javascript; charset=utf-8", include_bytes!("../../docs-ui/swagger-ui-bundle.js.gz"), true)
        }
        _ => return plain(Refusal::NoRoute.reply_to(""), None),
    };
    let mut response = plain(reply, Some((media, full(body))));
    let headers = response.headers_mut();
    headers.insert("content-security-policy", HeaderValue::from_static(POLICY));
    if packed {
        // Sent as stored, without content negotiation: every browser accepts gzip, and nothing else reads these files.
        headers.insert("content-encoding", HeaderValue::from_static("gzip"));
    }
    response
}
