//! The console: its files are part of the program, and nothing of it comes from elsewhere.

use axum::{
    extract::{Path, Request},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use ring::digest::{SHA256, digest};

use super::problem::Problem;

/// What the page may do: run its own scripts, use its own styles, and talk to this server.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      font-src 'none'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/// The files, with their types.
const FILES: [(&str, &str, &str); 12] = [
    ("index.html", "text/html; charset=utf-8", include_str!("../console/index.html")),
    ("console.css", "text/css; charset=utf-8", include_str!("../console/console.css")),
    ("main.js", JAVASCRIPT, include_str!("../console/main.js")),
    ("server.js", JAVASCRIPT, include_str!("../console/server.js")),
    ("page.js", JAVASCRIPT, include_str!("../console/page.js")),
    ("words.js", JAVASCRIPT, include_str!("../console/words.js")),
    ("editor.js", JAVASCRIPT, include_str!("../console/editor.js")),
    ("grid.js", JAVASCRIPT, include_str!("../console/grid.js")),
    ("chart.js", JAVASCRIPT, include_str!("../console/chart.js")),
    ("plan.js", JAVASCRIPT, include_str!("../console/plan.js")),
    ("tables.js", JAVASCRIPT, include_str!("../console/tables.js")),
    ("live.js", JAVASCRIPT, include_str!("../console/live.js")),
];

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// `GET /`.
pub(crate) async fn index(request: Request) -> Response {
    answer("index.html", &request)
}

/// `GET /console/{file}`.
pub(crate) async fn file(Path(name): Path<String>, request: Request) -> Response {
    answer(&name, &request)
}

fn answer(name: &str, request: &Request) -> Response {
    let Some((_, media, text)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return Problem::not_found("there is no such file").into_response();
    };
    let hash = digest(&SHA256, text.as_bytes());
    let tag: String = hash.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let is_known =
        request.headers().get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => (*text).into_response(),
    };
    let headers = response.headers_mut();
    let fixed = [
        (header::CONTENT_TYPE, *media),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}
