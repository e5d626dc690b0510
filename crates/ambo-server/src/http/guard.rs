//! Who may ask: before a request is looked at, its Host, its origin and its credentials are.
//!
//! 1. **Host**: at loopback only names of loopback are taken, and those of [`crate::Options::host`]. A page that has its name lead to
//!    127.0.0.1 (DNS rebinding) has another.
//! 2. **Origin**: a browser says where a request comes from. What comes from another place than the server itself is refused, whatever
//!    credentials it brings. The server sends and takes no cookies.
//! 3. **Credentials**: `Basic` or `Bearer`, if there are roles. Who fails waits, each time longer.

use std::{
    collections::HashMap,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use ring::digest::{SHA256, digest};

use super::{App, problem::Problem};
use crate::{roles::Visitor, server::Protocol, session::audit::Who};

/// The socket of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Socket {
    pub peer: SocketAddr,
    pub is_loopback: bool,
    /// Whether it is the socket of the same user's programs.
    pub is_own: bool,
    /// The number of the connection.
    pub connection: u64,
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub role: String,
    pub visitor: Visitor,
    pub is_read_only: bool,
    pub peer: SocketAddr,
    pub protocol: Protocol,
    /// The number of the connection.
    #[cfg(feature = "flight")]
    pub connection: u64,
}

impl Client {
    fn as_who(&self) -> Who<'_> {
        Who { session: None, role: &self.role, protocol: self.protocol, peer: Some(self.peer) }
    }

    fn new(visitor: Visitor, socket: &Socket, protocol: Protocol) -> Self {
        Self {
            role: visitor.name().to_owned(),
            is_read_only: visitor.is_read_only,
            visitor,
            peer: socket.peer,
            protocol,
            #[cfg(feature = "flight")]
            connection: socket.connection,
        }
    }
}

/// Whose a header is, and what is kept of the password that was in it: another password is another header's.
pub(super) type Known = (Visitor, Option<String>);

/// Credentials that were checked, and who failed.
#[derive(Default)]
pub(crate) struct Logins {
    /// Who has shown which header: its hash, for hashing passwords is slow.
    known: Mutex<HashMap<[u8; 32], Known>>,
    failed: Mutex<HashMap<IpAddr, u32>>,
    #[cfg(feature = "flight")]
    issued: super::issued::Issued,
}

/// How names and passwords come; some clients (Go's of Flight) leave the padding out.
const BASIC: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// How many of either are kept.
const KEPT_MAX: usize = 1024;

pub(super) fn hashed(header: &str) -> [u8; 32] {
    digest(&SHA256, header.as_bytes()).as_ref().try_into().unwrap_or_default()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logins {
    fn known(&self, header: &[u8; 32]) -> Option<Known> {
        let known = locked(&self.known).get(header).cloned();
        known.or_else(|| self.issued(header))
    }

    #[cfg(feature = "flight")]
    fn issued(&self, header: &[u8; 32]) -> Option<Known> {
        self.issued.get(header)
    }

    #[cfg(not(feature = "flight"))]
    fn issued(&self, _: &[u8; 32]) -> Option<Known> {
        None
    }

    fn keep(&self, header: [u8; 32], who: Known) {
        let mut known = locked(&self.known);
        if known.len() >= KEPT_MAX {
            known.clear();
        }
        known.insert(header, who);
    }

    /// A token for whoever has come in with a header; `None` where there are as many as there may be.
    #[cfg(feature = "flight")]
    pub(crate) fn issue(
        &self,
        shared: &crate::server::Shared,
        header: Option<&str>,
        client: &Client,
    ) -> Option<String> {
        // What was shown has to hold as long as the token is used.
        let known = header.and_then(|header| self.known(&hashed(header)));
        self.issued.add(known.unwrap_or_else(|| {
            let kept = shared.with_secret(client.visitor.name()).map(|(_, secret)| secret.to_string());
            (client.visitor.clone(), kept)
        }))
    }

    /// Counts a failure, and says how long its answer is to wait: nothing for the first two, then twice as long each time.
    fn fail(&self, peer: IpAddr) -> Duration {
        let mut failed = locked(&self.failed);
        if failed.len() >= KEPT_MAX {
            failed.clear();
        }
        let count = failed.entry(peer).or_default();
        *count = count.saturating_add(1);
        match *count {
            0..=2 => Duration::ZERO,
            count => Duration::from_millis(100 << (count - 3).min(6)).min(Duration::from_secs(5)),
        }
    }

    fn succeed(&self, peer: IpAddr) {
        locked(&self.failed).remove(&peer);
    }
}

/// Looks at a request before it is answered.
pub(crate) async fn admit(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let mut asked = None;
    let answered = match check(&app, &mut request).await {
        Ok(()) => {
            // Statements are logged by their sessions.
            let path = request.uri().path();
            let client = request.extensions().get::<Client>();
            if path.starts_with("/kv/") || path.starts_with("/api1/") {
                asked = client.map(|client| (client.clone(), path.to_owned()));
            }
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    app.figures.answered(&method, answered.status());
    if let (Some(audit), Some((who, path))) = (&app.shared.audit, asked) {
        audit.request(&who.as_who(), method.as_str(), &path, answered.status().as_u16());
    }
    with_headers(answered)
}

/// What each answer says to browsers.
fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    let fixed = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fixed {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers
        .entry(header::HeaderName::from_static("cross-origin-resource-policy"))
        .or_insert(HeaderValue::from_static("same-origin"));
    response
}

/// Looks who asks, and takes note of it for what answers.
pub(crate) async fn check(app: &Arc<App>, request: &mut Request) -> Result<(), Problem> {
    let socket =
        *request.extensions().get::<Socket>().ok_or_else(|| Problem::server("the request has no socket"))?;
    let authority = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let host = authority.or_else(|| text(request.headers(), header::HOST).map(str::to_owned));
    let host = host.ok_or_else(|| Problem::request("the request has no Host"))?;
    if socket.is_loopback && !is_own_name(&host, &app.shared.options.hosts) {
        let detail = format!("this server is not called \"{host}\"");
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "host", detail)
            .with_hint("call it localhost or 127.0.0.1, or start it with the names that it has"));
    }
    check_origin(request, &host)?;
    let path = request.uri().path();
    let is_open = path == "/health" || path == "/" || path.starts_with("/console/");
    let client = match app.shared.is_open() {
        _ if socket.is_own => Client::new(Visitor::own(), &socket, app.protocol),
        true => Client::new(Visitor::anybody("ambo"), &socket, app.protocol),
        false if is_open => return Ok(()),
        false => log_in(app, request.headers(), &socket).await?,
    };
    request.extensions_mut().insert(client);
    Ok(())
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether a Host is one of loopback, or one that the server was told.
fn is_own_name(host: &str, told: &[String]) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_loopback = name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    is_loopback
        || name.eq_ignore_ascii_case("localhost")
        || told.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Refuses what a browser sends for a page of another place.
fn check_origin(request: &Request, host: &str) -> Result<(), Problem> {
    let headers = request.headers();
    let refused =
        || Problem::new(StatusCode::FORBIDDEN, "origin", "requests of pages from elsewhere are refused");
    if let Some(origin) = headers.get(header::ORIGIN) {
        let own = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, own)| own);
        if own != Some(host) {
            return Err(refused());
        }
    }
    // A link to the console from elsewhere is fine.
    let is_page = request.method() == axum::http::Method::GET && request.uri().path() == "/";
    match headers.get("sec-fetch-site").map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) if is_page => Ok(()),
        Some(_) => Err(refused()),
    }
}

async fn log_in(app: &Arc<App>, headers: &HeaderMap, socket: &Socket) -> Result<Client, Problem> {
    let (peer, protocol) = (socket.peer, app.protocol);
    let Some(header) = text(headers, header::AUTHORIZATION) else {
        return Err(Problem::unauthorized("a role and its password, or a token, is needed"));
    };
    let hash = hashed(header);
    if let Some((visitor, kept)) = app.logins.known(&hash) {
        // The role may be another by now, or have another password.
        match kept {
            None => return Ok(Client::new(visitor, socket, protocol)),
            Some(kept) => {
                let now = app.shared.with_secret(visitor.name());
                if let Some((now, _)) = now.filter(|(_, secret)| secret.to_string() == kept) {
                    return Ok(Client::new(now, socket, protocol));
                }
            }
        }
    }
    let (header, shared) = (header.to_owned(), app.shared.clone());
    let found = tokio::task::spawn_blocking(move || {
        let (scheme, given) = header.split_once(' ')?;
        match scheme.to_ascii_lowercase().as_str() {
            "bearer" => Some((shared.with_token(given.trim())?, None)),
            "basic" => {
                let pair = String::from_utf8(BASIC.decode(given.trim()).ok()?).ok()?;
                let (name, password) = pair.split_once(':')?;
                let kept = shared.with_secret(name).map(|(_, secret)| secret.to_string());
                Some((shared.with_password(name, password)?, kept))
            }
            _ => None,
        }
    });
    let found = found.await;
    if let Some(audit) = &app.shared.audit {
        // What a header that is no role's says of itself is not trusted.
        let (role, is_let_in) = match &found {
            Ok(Some((visitor, _))) => (visitor.name(), true),
            _ => ("", false),
        };
        audit.login(&Who { session: None, role, protocol, peer: Some(peer) }, is_let_in);
    }
    match found {
        Ok(Some(who)) => {
            app.logins.succeed(peer.ip());
            app.logins.keep(hash, who.clone());
            Ok(Client::new(who.0, socket, protocol))
        }
        _ => {
            tokio::time::sleep(app.logins.fail(peer.ip())).await;
            Err(Problem::unauthorized("no role has this password or token"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Keeps away: names of other machines that lead to this one.
    #[test]
    fn names_of_loopback_are_known() {
        let told = ["ambo.example".to_owned()];
        for own in
            ["localhost", "LOCALHOST:80", "127.0.0.1:8765", "127.1.2.3", "[::1]:8765", "ambo.example:1"]
        {
            assert!(is_own_name(own, &told), "{own}");
        }
        for other in ["", "example.com", "localhost.example.com", "10.0.0.1", "[::2]", "127.0.0.1.nip.io:80"]
        {
            assert!(!is_own_name(other, &told), "{other}");
        }
    }

    #[test]
    fn who_fails_waits_longer() {
        let logins = Logins::default();
        let peer = IpAddr::from([127, 0, 0, 1]);
        let waits: Vec<_> = (0..12).map(|_| logins.fail(peer).as_millis()).collect();
        assert_eq!(waits[..5], [0, 0, 100, 200, 400]);
        assert_eq!(waits[11], 5000);
        logins.succeed(peer);
        assert_eq!(logins.fail(peer).as_millis(), 0);
    }
}
