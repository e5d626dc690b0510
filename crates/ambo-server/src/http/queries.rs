//! `/queries`: what sessions do, and how a statement is ended.

use std::sync::Arc;

use ambo_sql::Level;
use axum::{
    extract::{Path, Request, State},
    http::StatusCode,
};
use serde_json::json;

use super::{App, catalog::Json, problem::Problem, sessions};

/// `GET /queries`: all sessions. A role that may not do all sees its own.
pub(crate) async fn list(State(app): State<Arc<App>>, request: Request) -> Result<Json, Problem> {
    let client = sessions::client(&request)?;
    let all = app.shared.sessions.list().into_iter();
    let sees_all = client.visitor.role.level() == Level::Superuser;
    let seen = all.filter(|session| sees_all || session.role == client.role).map(|session| {
        json!({
            "id": session.id,
            "role": session.role,
            "protocol": session.protocol,
            "peer": session.peer.map(|peer| peer.to_string()),
            "state": session.state,
            "seconds": session.since.as_secs_f64(),
            "age_seconds": session.age.as_secs_f64(),
            "sql": session.text,
        })
    });
    Ok(Json(json!({ "queries": seen.collect::<Vec<_>>() })))
}

/// `DELETE /queries/{id}`: ends the statement that the session runs.
pub(crate) async fn cancel(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let client = sessions::client(&request)?;
    let id: i32 = id.parse().map_err(|_| Problem::not_found(format!("there is no session {id}")))?;
    let found = app.shared.sessions.list().into_iter().find(|session| session.id == id);
    let found = found.ok_or_else(|| Problem::not_found(format!("there is no session {id}")))?;
    if client.visitor.role.level() != Level::Superuser && found.role != client.role {
        return Err(Problem::forbidden("this role may end statements of its own only"));
    }
    match app.shared.sessions.interrupt(id) {
        true => Ok(StatusCode::ACCEPTED),
        false => Err(Problem::not_found(format!("there is no session {id}"))),
    }
}
