//! `/kv`: tables of keys and values, whose bytes go as they are.
//!
//! 1. A key stands in the path, with `%2F` and the like for what a path has no place for; keys may be any bytes.
//! 2. The ETag of a value is a hash of it. `If-Match` and `If-None-Match` make a change depend on what is there: compare and set.
//! 3. Without a session each change is a transaction of its own, on disk when it is answered; with one that has an open transaction it
//!    is part of it.

mod record;
mod store;

use std::sync::Arc;

use ambo::{Read, Table};
use ambo_sql::{Access, Database};
use axum::{
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures::stream;
use serde_json::json;
use tokio::sync::OwnedMutexGuard;

use super::{
    App, blocking,
    body::{self, Asked, decoded},
    catalog::Json as Answer,
    guard::Client,
    problem::Problem,
    sessions,
};
use crate::session::Session;
use record::{Change, Condition, Form};
pub(crate) use record::{fuzz_batch, fuzz_range};
pub(crate) use store::etag;

/// The table of a name, if its keys and values are bytes.
pub(crate) fn table(db: &Database, name: &str) -> Result<Table, Problem> {
    let table = db.table(name)?;
    match table.definition().is_raw() {
        true => Ok(table),
        false => Err(Problem::request(format!(
            "table \"{name}\" has columns; its rows are read and written with SQL"
        ))),
    }
}

/// The table and the key in the path of a request; the key is bytes, which need not be a text.
fn place_of(request: &Request) -> Result<(String, Vec<u8>), Problem> {
    let place = request.uri().path().strip_prefix("/kv/").and_then(|rest| rest.split_once('/'));
    let (name, key) = place.ok_or_else(|| Problem::not_found("a key is /kv/{table}/{key}"))?;
    let name = String::from_utf8(decoded(name, false)?)
        .map_err(|_| Problem::request("the table's name is no UTF-8"))?;
    Ok((name, decoded(key, false)?))
}

fn may_write(client: &Client) -> Result<(), Problem> {
    match client.is_read_only {
        false => Ok(()),
        true => Err(Problem::forbidden("this role may only read")),
    }
}

/// Checks a right of who asks to a table.
fn require(db: &Database, client: &Client, name: &str, access: Access) -> Result<(), Problem> {
    Ok(db.require(&client.visitor.role, name, access)?)
}

/// Makes a table, which is of who asks.
fn make(db: &Database, client: &Client, name: &str) -> Result<Table, Problem> {
    require(db, client, name, Access::Create)?;
    let table = db.key_value(name)?;
    db.own(&client.visitor.role, name)?;
    Ok(table)
}

/// Checks that who asks may make changes.
fn may_change(db: &Database, client: &Client, name: &str, changes: &[Change]) -> Result<(), Problem> {
    for access in [Access::Write, Access::Delete] {
        if changes.iter().any(|change| change.value.is_some() == (access == Access::Write)) {
            require(db, client, name, access)?;
        }
    }
    // Whether it holds tells what is there.
    match changes.iter().any(|change| !matches!(change.condition, Condition::None)) {
        true => require(db, client, name, Access::Read),
        false => Ok(()),
    }
}

/// The session that a request names, if a transaction is open in it.
fn transaction(
    app: &App,
    client: &Client,
    headers: &HeaderMap,
) -> Result<Option<OwnedMutexGuard<Session>>, Problem> {
    let Some(id) = sessions::named(headers)? else { return Ok(None) };
    let session = app.sessions.lock(id, client)?;
    match session.connection.in_transaction() {
        true => Ok(Some(session)),
        false => Ok(None),
    }
}

fn value_response(headers: &HeaderMap, value: Option<Vec<u8>>) -> Result<Response, Problem> {
    let value = value.ok_or_else(|| Problem::not_found("there is no such key"))?;
    let tag = etag(&value);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let mut response = match known.is_some_and(|known| store::names(known, &tag)) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Bytes::from(value).into_response(),
    };
    let tag = HeaderValue::try_from(tag).map_err(|error| Problem::server(error.to_string()))?;
    response.headers_mut().insert(header::ETAG, tag);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(response)
}

/// `GET /kv/{table}/{key}`.
pub(crate) async fn get(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let client = sessions::client(&request)?;
    let (name, key) = place_of(&request)?;
    require(&app.shared.database, &client, &name, Access::Read)?;
    let headers = request.headers();
    let value = match transaction(&app, &client, headers)? {
        None => {
            // A look that finds its page in memory, which is most, takes less than handing it to another thread.
            let table = table(&app.shared.database, &name)?;
            table.get_with(&key, <[u8]>::to_vec)?
        }
        Some(mut session) => {
            let table = table(&app.shared.database, &name)?;
            store::read(&mut session.connection, &table, &key)?
        }
    };
    value_response(headers, value)
}

/// `PUT /kv/{table}/{key}`.
pub(crate) async fn put(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let (name, key) = place_of(&request)?;
    let client = sessions::client(&request)?;
    may_write(&client)?;
    let asked = Asked::of(request.uri())?.only(&["create"])?;
    let makes = asked.truth("create")?;
    let headers = request.headers().clone();
    let condition = Condition::of_headers(&headers)?;
    let value = body::whole(request.into_body(), app.shared.options.limits.message_bytes).await?;
    let tag = etag(&value);
    let change = Change { key, value: Some(value), condition };
    let was_there = write(&app, &client, &headers, name, makes, vec![change]).await?;
    let status = if was_there == [true] { StatusCode::NO_CONTENT } else { StatusCode::CREATED };
    Ok((status, [(header::ETAG, tag)]).into_response())
}

/// `DELETE /kv/{table}/{key}`.
pub(crate) async fn delete(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let (name, key) = place_of(&request)?;
    let client = sessions::client(&request)?;
    may_write(&client)?;
    let condition = Condition::of_headers(request.headers())?;
    let change = Change { key, value: None, condition };
    let was_there = write(&app, &client, request.headers(), name, false, vec![change]).await?;
    match was_there == [true] {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(Problem::not_found("there is no such key")),
    }
}

/// Makes changes, all or none. Returns which keys were there before.
async fn write(
    app: &Arc<App>,
    client: &Client,
    headers: &HeaderMap,
    name: String,
    makes: bool,
    changes: Vec<Change>,
) -> Result<Vec<bool>, Problem> {
    let session = transaction(app, client, headers)?;
    let (db, client) = (app.shared.database.clone(), client.clone());
    blocking(move || {
        let table = match table(&db, &name) {
            Err(problem) if makes && problem.status == StatusCode::NOT_FOUND => make(&db, &client, &name)?,
            other => other?,
        };
        may_change(&db, &client, &name, &changes)?;
        match session {
            Some(mut session) => store::write_in(&mut session.connection, &table, &changes),
            None => store::write(&db, &table, &changes),
        }
    })
    .await
}

/// `PUT /kv/{table}`: makes a table, if it is not there.
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let client = sessions::client(&request)?;
    may_write(&client)?;
    let db = app.shared.database.clone();
    blocking(move || match table(&db, &name) {
        Ok(_) => Ok(StatusCode::NO_CONTENT),
        Err(problem) if problem.status == StatusCode::NOT_FOUND => {
            make(&db, &client, &name)?;
            Ok(StatusCode::CREATED)
        }
        Err(problem) => Err(problem),
    })
    .await
}

/// `POST /kv/{table}`: puts and deletes, all or none.
pub(crate) async fn batch(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let client = sessions::client(&request)?;
    may_write(&client)?;
    let asked = Asked::of(request.uri())?.only(&["create"])?;
    let makes = asked.truth("create")?;
    let headers = request.headers().clone();
    let media = body::media_type(&headers);
    let body = body::whole(request.into_body(), app.shared.options.limits.message_bytes).await?;
    let changes = record::changes(&media, &body)?;
    let was_there = write(&app, &client, &headers, name, makes, changes).await?;
    let there = was_there.iter().filter(|there| **there).count();
    Ok(Answer(json!({ "changes": was_there.len(), "were_there": there })).into_response())
}

/// Rows that a request waits for may be so many parts.
const AHEAD: usize = 4;
/// Bytes of a part.
const PART: usize = 64 << 10;

/// `GET /kv/{table}`: the rows of a range, or how many there are.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let client = sessions::client(&request)?;
    require(&app.shared.database, &client, &name, Access::Read)?;
    let known = ["prefix", "from", "to", "after", "limit", "reverse", "keys", "count"];
    let asked = Asked::of(request.uri())?.only(&known)?;
    let form = Form::accepted(request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok()))?;
    let table = table(&app.shared.database, &name)?;
    let range = record::range(&asked)?;
    let view = app.shared.database.snapshot();
    if asked.truth("count")? {
        let count = blocking(move || Ok(view.count(&table, range)?)).await?;
        return Ok(Answer(json!({ "count": count })).into_response());
    }
    let scan = view.scan(&table, range)?;
    let scan = if asked.truth("reverse")? { scan.rev() } else { scan };
    let (limit, keys_only) = (asked.number("limit")?.unwrap_or(u64::MAX), asked.truth("keys")?);
    let (send, parts) = tokio::sync::mpsc::channel::<Result<Bytes, std::io::Error>>(AHEAD);
    tokio::task::spawn_blocking(move || {
        let mut part = Vec::new();
        for row in scan.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            match row {
                Ok((key, value)) => form.row(&key, (!keys_only).then_some(&value[..]), &mut part),
                Err(error) => {
                    form.broken(&Problem::from(error).json(), &mut part);
                    let last = send.blocking_send(Ok(std::mem::take(&mut part).into()));
                    return drop(
                        last.and_then(|()| send.blocking_send(Err(std::io::Error::other("the scan failed")))),
                    );
                }
            }
            if part.len() >= PART && send.blocking_send(Ok(std::mem::take(&mut part).into())).is_err() {
                // Nobody takes them any more.
                return;
            }
        }
        if !part.is_empty() {
            // As above.
            let _unless_gone = send.blocking_send(Ok(part.into()));
        }
    });
    let parts =
        stream::unfold(parts, |mut parts| async move { parts.recv().await.map(|part| (part, parts)) });
    Ok(([(header::CONTENT_TYPE, form.content_type())], Body::from_stream(parts)).into_response())
}
