//! `POST /tables/{table}/load`: the rows of a body into a table, all or none.
//!
//! The body goes to a file first: then the types of all of its columns are known before a row is written, and a client that is slow
//! holds no transaction open.

use std::{fs::File, io::BufReader, sync::Arc, time::Instant};

use ambo_sql::IngestMode;
use arrow_ipc::reader::StreamReader;
use axum::{
    extract::{Path, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{
    App, OnDrop, blocking,
    body::{self, Asked},
    catalog::{Json, quoted},
    problem::Problem,
    sessions,
};
use crate::session::Session;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Csv,
    Lines,
    Parquet,
    Arrow,
}

impl Form {
    fn of(name: Option<&str>, media: &str) -> Result<Self, Problem> {
        Ok(match name.unwrap_or(media) {
            "csv" | "text/csv" | "application/csv" => Self::Csv,
            "ndjson" | "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Self::Lines,
            "parquet" | "application/vnd.apache.parquet" => Self::Parquet,
            "arrow" | "application/vnd.apache.arrow.stream" => Self::Arrow,
            other => {
                let detail = format!("rows are not loaded from \"{other}\"");
                return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", detail)
                    .with_hint(
                        "send text/csv, application/x-ndjson, Parquet or an Arrow stream, or say ?format=",
                    ));
            }
        })
    }

    fn ending(self) -> &'static str {
        match self {
            Self::Csv => ".csv",
            Self::Lines => ".jsonl",
            Self::Parquet => ".parquet",
            Self::Arrow => ".arrow",
        }
    }
}

/// How the rows come, and where they go.
struct Load {
    table: String,
    form: Form,
    mode: IngestMode,
    /// Options behind CREATE TABLE.
    storage: String,
    /// Options of COPY.
    copy: String,
}

impl Load {
    fn of(table: String, asked: &Asked, media: &str) -> Result<Self, Problem> {
        let form = Form::of(asked.text("format")?, media)?;
        let mode = match asked.text("mode")?.unwrap_or("append") {
            "append" => IngestMode::Append,
            "create" => IngestMode::Create,
            "replace" => IngestMode::Replace,
            other => {
                return Err(Problem::request(format!(
                    "\"mode\" is append, create or replace, not \"{other}\""
                )));
            }
        };
        let storage = match asked.text("storage")? {
            None => String::new(),
            Some(_) if mode == IngestMode::Append => {
                return Err(Problem::request("\"storage\" is for tables that are made"));
            }
            Some(name @ ("btree" | "lsm" | "column" | "memory")) => format!("STORAGE = {name}"),
            Some(other) => {
                return Err(Problem::request(format!(
                    "there is no storage \"{other}\"; there are btree, lsm, column, memory"
                )));
            }
        };
        let mut copy = Vec::new();
        for (name, option) in [("delimiter", "DELIMITER"), ("null", "NULL")] {
            if let Some(value) = asked.text(name)? {
                copy.push(format!("{option} {}", literal(value)));
            }
        }
        if asked.text("header")?.is_some() {
            copy.push(format!("HEADER {}", asked.truth("header")?));
        }
        if !copy.is_empty() && (form != Form::Csv || mode != IngestMode::Append) {
            return Err(Problem::request("delimiter, null and header are for CSV that is appended"));
        }
        Ok(Self { table, form, mode, storage, copy: copy.join(", ") })
    }

    fn run(&self, session: &mut Session, path: &str) -> Result<u64, Problem> {
        let name = quoted(&self.table);
        if self.form == Form::Arrow {
            let wrong = |error: arrow_schema::ArrowError| {
                Problem::request(format!("the body is no Arrow stream: {error}"))
            };
            let file = File::open(path).map_err(|error| Problem::server(error.to_string()))?;
            let rows = StreamReader::try_new(BufReader::new(file), None).map_err(wrong)?;
            return Ok(session.connection.ingest(&self.table, Box::new(rows), self.mode, &self.storage)?);
        }
        let (file, path, storage) = (path, literal(path), &self.storage);
        let format = match self.form {
            Form::Csv => "csv",
            Form::Lines => "json",
            _ => "parquet",
        };
        let more = if self.copy.is_empty() { String::new() } else { format!(", {}", self.copy) };
        let statement = match self.mode {
            IngestMode::Append => format!("COPY {name} FROM {path} WITH (FORMAT {format}{more})"),
            IngestMode::Replace => {
                format!("CREATE OR REPLACE TABLE {name} {storage} AS SELECT * FROM {path}")
            }
            _ => format!("CREATE TABLE {name} {storage} AS SELECT * FROM {path}"),
        };
        // Reading this file is no right to read others.
        session.connection.set_own_file(Some(file));
        let done =
            session.prepare(&statement).and_then(|mut statement| session.run(&mut statement, Vec::new()));
        let loaded = done.map(|rows| rows.affected().unwrap_or(0));
        session.connection.set_own_file(None);
        Ok(loaded?)
    }
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// `POST /tables/{table}/load`.
pub(crate) async fn post(
    State(app): State<Arc<App>>,
    Path(table): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let (client, headers) = (sessions::client(&request)?, request.headers().clone());
    if client.is_read_only {
        return Err(Problem::forbidden("this role may only read"));
    }
    let known = ["format", "mode", "storage", "delimiter", "null", "header"];
    let asked = Asked::of(request.uri())?.only(&known)?;
    let load = Load::of(table, &asked, &body::media_type(&headers))?;
    let failed = |error: std::io::Error| Problem::server(format!("the body cannot be kept: {error}"));
    let file = tempfile::Builder::new()
        .prefix("ambo-load-")
        .suffix(load.form.ending())
        .tempfile()
        .map_err(failed)?;
    let bytes =
        body::into_file(request.into_body(), file.as_file(), app.shared.options.limits.load_bytes).await?;
    let mut session = sessions::of(&app, &client, &headers)?;
    let waiting = OnDrop::new(session.connection.interrupter());
    let began = Instant::now();
    let done = blocking(move || {
        session.begin(&format!("load of {bytes} bytes into {}", load.table));
        let path = file.path().to_string_lossy().into_owned();
        let done = load.run(&mut session, &path);
        session.end();
        // What the file is called means nothing to the client.
        done.map_err(|problem| Problem { detail: problem.detail.replace(&path, "the body"), ..problem })
    })
    .await;
    app.figures.ran(began.elapsed(), done.as_ref().err());
    let rows = done?;
    waiting.done();
    let millis = began.elapsed().as_secs_f64() * 1000.0;
    Ok(Json(json!({ "rows": rows, "bytes": bytes, "ms": millis })).into_response())
}
