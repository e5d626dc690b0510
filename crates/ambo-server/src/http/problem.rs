//! What is wrong with a request, as HTTP says it: a status and `application/problem+json` (RFC 9457), with what SQL knows of it beside
//! that.

use ambo_sql::{Error, ErrorKind};
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value as Json, json};

/// The status of a statement that somebody ended; it has no name in the standard.
const ENDED: u16 = 499;

/// What is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub status: StatusCode,
    pub kind: &'static str,
    pub detail: String,
    pub code: Option<&'static str>,
    /// Line and column; statements are short enough for these numbers.
    pub place: Option<(u32, u32)>,
    pub hint: Option<String>,
    pub retryable: bool,
    /// Which statement of several it is about, counted from 0.
    pub statement: Option<usize>,
    /// What a client is to send to be let in.
    pub challenge: bool,
}

impl Problem {
    /// A problem of a kind.
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            status,
            kind,
            detail,
            code: None,
            place: None,
            hint: None,
            retryable: false,
            statement: None,
            challenge: false,
        }
    }

    /// The request is not understood.
    pub(crate) fn request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "request", detail)
    }

    /// What is asked for is not there.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    /// The client may not do that.
    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self { code: Some("42501"), ..Self::new(StatusCode::FORBIDDEN, "forbidden", detail) }
    }

    /// The client has not said who it is, or not truly.
    pub(crate) fn unauthorized(detail: impl Into<String>) -> Self {
        Self {
            code: Some("28P01"),
            challenge: true,
            ..Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
        }
    }

    /// A precondition of the request does not hold.
    pub(crate) fn precondition(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::PRECONDITION_FAILED, "precondition", detail)
    }

    /// The server cannot do that now.
    pub(crate) fn busy(detail: impl Into<String>) -> Self {
        Self { retryable: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail) }
    }

    /// Something went wrong that the client cannot help.
    pub(crate) fn server(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server", detail)
    }

    /// The same with what may help.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// As JSON.
    pub(crate) fn json(&self) -> Json {
        let mut said = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or("Statement Ended"),
            "status": self.status.as_u16(),
            "kind": self.kind,
            "detail": self.detail,
        });
        if let Some(code) = self.code {
            said["code"] = code.into();
        }
        if let Some((line, column)) = self.place {
            said["line"] = line.into();
            said["column"] = column.into();
        }
        if let Some(hint) = &self.hint {
            said["hint"] = hint.as_str().into();
        }
        if let Some(nth) = self.statement {
            said["statement"] = nth.into();
        }
        if self.retryable {
            said["retryable"] = true.into();
        }
        said
    }
}

fn status_of(error: &Error) -> (StatusCode, &'static str) {
    use ErrorKind as K;
    match error.sqlstate() {
        "42501" => return (StatusCode::FORBIDDEN, "forbidden"),
        "53100" => return (StatusCode::INSUFFICIENT_STORAGE, "disk_full"),
        "53200" | "53300" => return (StatusCode::SERVICE_UNAVAILABLE, "busy"),
        _ => {}
    }
    match error.kind() {
        K::Syntax => (StatusCode::BAD_REQUEST, "syntax"),
        K::NotFound => (StatusCode::NOT_FOUND, "not_found"),
        K::Constraint => (StatusCode::UNPROCESSABLE_ENTITY, "constraint"),
        K::Invalid => (StatusCode::BAD_REQUEST, "invalid"),
        K::Conflict => (StatusCode::CONFLICT, "conflict"),
        K::Cancelled if error.message().contains("timeout") => (StatusCode::REQUEST_TIMEOUT, "timeout"),
        K::Cancelled => (StatusCode::from_u16(ENDED).unwrap_or(StatusCode::CONFLICT), "cancelled"),
        K::Execution => (StatusCode::UNPROCESSABLE_ENTITY, "execution"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "storage"),
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let (status, kind) = status_of(&error);
        Self {
            status,
            kind,
            detail: error.message().to_owned(),
            code: Some(error.sqlstate()),
            place: error.place().map(|place| (narrow(place.line), narrow(place.column))),
            hint: error.hint().map(str::to_owned),
            retryable: error.is_retryable(),
            statement: None,
            challenge: false,
        }
    }
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl From<ambo::Error> for Problem {
    fn from(error: ambo::Error) -> Self {
        Error::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.json().to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.challenge {
            let realm =
                HeaderValue::from_static("Basic realm=\"ambo\", charset=\"UTF-8\", Bearer realm=\"ambo\"");
            headers.insert(header::WWW_AUTHENTICATE, realm);
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}
