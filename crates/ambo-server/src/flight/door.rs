//! What answers at the port of Flight: gRPC and nothing else, in whose words refusals are said, too.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use arrow_flight::flight_service_server::FlightServiceServer;
use axum::{
    Router,
    extract::{Request, State},
    http::HeaderMap,
    middleware::{self, Next},
    response::Response,
};
use futures::FutureExt;
use tonic::Status;

use super::{Flight, served::Served, status};
use crate::http::{App, guard};

/// Where gRPC finds it.
const PATH: &str = "/arrow.flight.protocol.FlightService/{*method}";

/// What may be asked for.
const METHODS: [&str; 10] = [
    "Handshake",
    "ListFlights",
    "GetFlightInfo",
    "PollFlightInfo",
    "GetSchema",
    "DoGet",
    "DoPut",
    "DoExchange",
    "DoAction",
    "ListActions",
];

/// What clients are answered by.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let most = app.shared.options.limits.message_bytes;
    let service = FlightServiceServer::new(Served(Flight { app: app.clone() }))
        .max_decoding_message_size(most)
        .max_encoding_message_size(usize::MAX);
    Router::new()
        .route_service(PATH, service)
        .fallback(|| async {
            refused(Status::unimplemented("there is Arrow Flight SQL here and nothing else"))
        })
        .layer(middleware::from_fn_with_state(app.clone(), admit))
}

fn refused(status: Status) -> Response {
    status.into_http()
}

/// An answer, also if what makes it panics: what clients send is decoded by libraries, too.
async fn safely(answer: impl Future<Output = Response>) -> Response {
    let lost = |_| refused(Status::internal("the request was lost: what it sent could not be read"));
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(lost)
}

/// How long a client waits for an answer, if it says so: up to eight digits and a unit, as gRPC has it.
fn patience(headers: &HeaderMap) -> Option<Duration> {
    let said = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = said.split_at_checked(said.len().checked_sub(1)?)?;
    let is_number = digits.len() <= 8 && digits.bytes().all(|byte| byte.is_ascii_digit());
    let count: u64 = is_number.then(|| digits.parse().ok())??;
    Some(match unit {
        "H" => Duration::from_secs(count * 60 * 60),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

/// The answer, or a refusal when the client has given up. The clock is asked first: rows whose end comes too late are not put in.
async fn within(patience: Option<Duration>, answer: impl Future<Output = Response>) -> Response {
    let Some(patience) = patience else { return answer.await };
    tokio::select! {
        biased;
        () = tokio::time::sleep(patience) => refused(Status::deadline_exceeded("the client's deadline has passed")),
        answered = answer => answered,
    }
}

/// Looks at a request before it is answered.
async fn admit(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let asked = request.uri().path().rsplit('/').next().unwrap_or_default();
    // Names that somebody makes up would be as many lines.
    let method = METHODS.into_iter().find(|method| *method == asked).unwrap_or("other");
    let patience = patience(request.headers());
    let answered = match guard::check(&app, &mut request).await {
        Ok(()) => within(patience, safely(next.run(request))).await,
        Err(problem) => refused(status(problem)),
    };
    let code = Status::from_header_map(answered.headers()).map_or(0, |status| status.code() as i32);
    app.figures.called(method, code);
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(said: &str) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-timeout", axum::http::HeaderValue::from_bytes(said.as_bytes()).unwrap());
        patience(&headers)
    }

    /// Keeps away: a deadline that is taken for a shorter one, and a panic at what is none.
    #[test]
    fn patience_is_read_as_it_is_said() {
        assert_eq!(of("99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        assert_eq!(of("2M"), Some(Duration::from_secs(120)));
        assert_eq!(of("10S"), Some(Duration::from_secs(10)));
        assert_eq!([of("1500m"), of("1500000u")], [Some(Duration::from_millis(1500)); 2]);
        assert_eq!(of("7n"), Some(Duration::from_nanos(7)));
        for none in ["", "S", "1", "123456789S", "+1S", "-1S", "1.5S", "1s", "1é"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(patience(&HeaderMap::new()), None);
    }
}
