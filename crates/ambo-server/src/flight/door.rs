//! What answers at the port of Flight: gRPC and nothing else, in whose words refusals are said, too.

use std::{panic::AssertUnwindSafe, sync::Arc};

use arrow_flight::flight_service_server::FlightServiceServer;
use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use futures::FutureExt;
use tonic::Status;

use super::{Flight, status};
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
    let service = FlightServiceServer::new(Flight { app: app.clone() })
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

/// Looks at a request before it is answered.
async fn admit(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let asked = request.uri().path().rsplit('/').next().unwrap_or_default();
    // Names that somebody makes up would be as many lines.
    let method = METHODS.into_iter().find(|method| *method == asked).unwrap_or("other");
    let answered = match guard::check(&app, &mut request).await {
        Ok(()) => safely(next.run(request)).await,
        Err(problem) => refused(status(problem)),
    };
    let code = Status::from_header_map(answered.headers()).map_or(0, |status| status.code() as i32);
    app.figures.called(method, code);
    answered
}
