//! `/catalog`, `/tables`: what there is. It is asked for with SQL, as a client might.

use std::sync::Arc;

use ambo::Datum;
use ambo_sql::Connection;
use axum::{
    extract::{Path, Request, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    App, blocking,
    guard::Client,
    problem::Problem,
    result::{cells::Cells, unique_names},
    sessions,
};
use crate::session::Session;

/// An answer that is JSON.
pub(crate) struct Json(pub Value);

impl IntoResponse for Json {
    fn into_response(self) -> Response {
        let mut response = self.0.to_string().into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// The name of a table as it stands in a statement.
pub(crate) fn quoted(name: &str) -> String {
    let quote = |part: &str| format!("\"{}\"", part.replace('"', "\"\""));
    match name.split_once('.') {
        Some((schema, table)) => format!("{}.{}", quote(schema), quote(table)),
        None => quote(name),
    }
}

/// The rows of a query as objects.
pub(crate) fn objects(
    connection: &mut Connection,
    sql: &str,
    params: Vec<Datum>,
) -> Result<Vec<Value>, Problem> {
    let rows = connection.query(sql, params)?;
    let names = unique_names(rows.schema());
    let mut objects = Vec::new();
    for batch in rows.batches() {
        let batch = batch?;
        let cells = Cells::of_batch(&batch, "UTC").map_err(Problem::server)?;
        for row in 0..batch.num_rows() {
            let mut object = json!({});
            for (name, cells) in names.iter().zip(&cells) {
                let mut text = Vec::new();
                cells.write(row, &mut text).map_err(Problem::server)?;
                object[name] =
                    serde_json::from_slice(&text).map_err(|error| Problem::server(error.to_string()))?;
            }
            objects.push(object);
        }
    }
    Ok(objects)
}

/// Asks in a session of its own.
async fn ask<T: Send + 'static>(
    app: &Arc<App>,
    client: Client,
    act: impl FnOnce(&mut Session) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let mut session = sessions::open(app, &client)?;
    blocking(move || act(&mut session)).await
}

const TABLES: &str = "
    select t.table_schema as schema, t.table_name as name,
           case t.table_type when 'VIEW' then 'view' else 'table' end as kind,
           f.storage, f.rows, f.stored_bytes
      from information_schema.tables t
      left join ambo_catalog.tables f
        on f.table_catalog = t.table_catalog and f.table_schema = t.table_schema and f.table_name = t.table_name
     where t.table_schema not in ('information_schema', 'ambo_catalog', 'pg_catalog')
     order by 1, 2";

/// `GET /tables`.
pub(crate) async fn tables(State(app): State<Arc<App>>, request: Request) -> Result<Json, Problem> {
    let tables = ask(&app, sessions::client(&request)?, |session| {
        objects(&mut session.connection, TABLES, Vec::new())
    })
    .await?;
    Ok(Json(json!({ "tables": tables })))
}

/// `GET /catalog`: tables with their columns, and functions, for who completes what is typed.
pub(crate) async fn all(State(app): State<Arc<App>>, request: Request) -> Result<Json, Problem> {
    let functions = app.shared.database.clone();
    let (tables, columns) = ask(&app, sessions::client(&request)?, |session| {
        let columns = "
            select table_schema as schema, table_name as table, column_name as name, data_type as type
              from information_schema.columns
             where table_schema not in ('information_schema', 'ambo_catalog', 'pg_catalog')
             order by table_schema, table_name, ordinal_position";
        let tables = objects(&mut session.connection, TABLES, Vec::new())?;
        Ok((tables, objects(&mut session.connection, columns, Vec::new())?))
    })
    .await?;
    let functions = blocking(move || Ok(functions.functions()?)).await?;
    Ok(Json(json!({ "tables": tables, "columns": columns, "functions": functions })))
}

/// `GET /tables/{table}`: columns, indexes, figures, and the statement that makes it.
pub(crate) async fn table(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Json, Problem> {
    let described =
        ask(&app, sessions::client(&request)?, move |session| describe(&mut session.connection, &name))
            .await?;
    Ok(Json(described))
}

fn text_of(value: &Datum) -> Option<String> {
    match value {
        Datum::Utf8(text) => Some(text.clone()),
        _ => None,
    }
}

fn describe(connection: &mut Connection, name: &str) -> Result<Value, Problem> {
    let (schema, table) = name.split_once('.').unwrap_or((ambo::DEFAULT_SCHEMA, name));
    let params = || vec![Datum::from(schema), Datum::from(table)];
    let kind = "
        select case table_type when 'VIEW' then 'view' else 'table' end as kind
          from information_schema.tables where table_schema = $1 and table_name = $2";
    let found = objects(connection, kind, params())?;
    let kind =
        found.first().ok_or_else(|| Problem::not_found(format!("there is no table \"{name}\"")))?["kind"]
            .clone();
    let columns = "
        select column_name as name, data_type as type, is_nullable = 'YES' as nullable, column_default as \"default\"
          from information_schema.columns
         where table_schema = $1 and table_name = $2 order by ordinal_position";
    let columns = objects(connection, columns, params())?;
    let indexes = "
        select index_name as name, index_type as type, is_unique as is_unique, entries, stored_bytes
          from ambo_catalog.indexes where table_schema = $1 and table_name = $2 order by 1";
    let indexes = objects(connection, indexes, params())?;
    let figures = "
        select storage, rows, raw_bytes, stored_bytes, segments, pages, runs, memtable_rows, memtable_bytes
          from ambo_catalog.tables where table_schema = $1 and table_name = $2";
    let figures = objects(connection, figures, params())?.pop();
    let what = if kind == "view" { "VIEW" } else { "TABLE" };
    let create =
        connection.query(&format!("SHOW CREATE {what} {}", quoted(&format!("{schema}.{table}"))), ());
    let create = match create.and_then(|rows| rows.collect::<ambo_sql::Result<Vec<_>>>()) {
        Ok(rows) => {
            rows.iter().filter_map(|row| text_of(row.values().last()?)).collect::<Vec<_>>().join("\n")
        }
        Err(error) => error.to_string(),
    };
    Ok(json!({
        "schema": schema, "name": table, "kind": kind, "columns": columns, "indexes": indexes,
        "storage": figures, "create": create,
    }))
}
