//! KeksDB's HTTP: `/api1/{command}`, with parameters behind the question mark, whose names are in large letters and whose values nobody
//! encodes: they are cut at `&`, then at the first `=`.

use std::sync::Arc;

use axum::{
    extract::{Path, Request, State},
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use super::{Commands, Done, Properties, Query, Wrong, records};
use crate::http::{App, blocking, body, problem::Problem, sessions};

/// What is asked for.
struct Asked(Properties);

impl Asked {
    fn of(query: &str) -> Self {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        // Clients of HTTP encode what a line has no place for, whatever KeksDB's own does; a sign that is not encoded stays.
        let plain = |text: &str| match body::decoded(text, false)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok())
        {
            Some(plain) => plain,
            None => text.to_owned(),
        };
        Self(pairs.map(|(name, value)| (name.to_uppercase(), plain(value))).collect())
    }

    fn get(&self, name: &str) -> Done<&str> {
        let value = self.0.get(name).filter(|value| !value.is_empty());
        value.map(String::as_str).ok_or_else(|| Wrong::new(format!("the parameter {name} is missing")))
    }

    fn database(&self) -> Done<&str> {
        self.get("DATABASE_NAME")
    }

    fn table(&self) -> Done<(&str, &str)> {
        Ok((self.database()?, self.get("TABLE_NAME")?))
    }
}

/// `/api1/{command}`.
pub(crate) async fn command(
    State(app): State<Arc<App>>,
    Path(command): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let client = sessions::client(&request)?;
    let asked = Asked::of(request.uri().query().unwrap_or_default());
    let has_body = ["put_entity", "put_batch_of_entities", "get_records", "get_records_cnt"];
    // A page of another place may send the others, but not with a body that is no form; those are refused by their origin.
    if request.method() != Method::GET && request.method() != Method::POST {
        return Err(Problem::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method",
            "commands are sent with GET or POST",
        ));
    }
    let is_known = has_body.contains(&command.to_lowercase().as_str());
    let most = if is_known { app.shared.options.limits.message_bytes } else { 1 << 20 };
    let bytes = body::whole(request.into_body(), most).await?;
    let shared = app.shared.clone();
    blocking(move || {
        let commands = Commands::new(&shared, &client.visitor);
        Ok(match run(&commands, &command.to_lowercase(), &asked, &bytes) {
            Ok(response) => response,
            Err(wrong) => failed(&wrong),
        })
    })
    .await
}

fn failed(wrong: &Wrong) -> Response {
    let said = json!({ "message": wrong.message, "errorClass": wrong.class, "error": wrong.message });
    (StatusCode::INTERNAL_SERVER_ERROR, json_response(said.to_string())).into_response()
}

fn json_response(text: String) -> Response {
    let mut response = text.into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn run(commands: &Commands<'_>, command: &str, asked: &Asked, body: &[u8]) -> Done<Response> {
    let json = |value: serde_json::Value| json_response(value.to_string());
    let nothing = |()| StatusCode::OK.into_response();
    Ok(match command {
        "create_db" => nothing(commands.create_db(asked.database()?)?),
        "drop_db" => nothing(commands.drop_db(asked.database()?)?),
        "get_databases" => json(json!(commands.databases())),
        "get_tables" => json(json!(commands.tables(asked.database()?)?)),
        "make_checkpoint" => nothing(commands.checkpoint()?),
        _ => {
            let (database, table) = asked.table()?;
            let key = || asked.get("KEY_NAME").map(str::as_bytes);
            match command {
                "create_table" => {
                    let named = ["DATABASE_NAME", "TABLE_NAME", "ENGINE_NAME"];
                    let others = asked.0.iter().filter(|(name, _)| !named.contains(&name.as_str()));
                    let properties = others.map(|(name, value)| (name.clone(), value.clone())).collect();
                    let engine = asked.get("ENGINE_NAME")?;
                    nothing(commands.create_table(database, table, engine, properties)?)
                }
                "drop_table" => nothing(commands.drop_table(database, table)?),
                "get_table_parameters" => {
                    let (table, engine): (Properties, Properties) = commands
                        .parameters(database, table)?
                        .into_iter()
                        .partition(|(name, _)| name.to_uppercase().starts_with("KV_TABLE_"));
                    json(json!({ "engine": engine, "table": table }))
                }
                "put_entity" => {
                    // A text stands behind the question mark, bytes in the body.
                    let value = if body.is_empty() { asked.get("VALUE_DATA")?.as_bytes() } else { body };
                    nothing(commands.put(database, table, key()?, value)?)
                }
                "put_batch_of_entities" => {
                    nothing(commands.put_all(database, table, &records::read(body)?)?)
                }
                "get_entity" => commands.get(database, table, key()?)?.into_response(),
                "remove_entity" => nothing(commands.remove(database, table, key()?)?),
                "get_records" => {
                    let mut out = Vec::new();
                    for (key, value) in commands.records(database, table, &Query::of_json(body)?)? {
                        records::write(&key, &value, &mut out)?;
                    }
                    out.into_response()
                }
                "get_records_cnt" => {
                    commands.count(database, table, &Query::of_json(body)?)?.to_string().into_response()
                }
                "optimize_table" | "optimise_table" => nothing(commands.optimize(database, table)?),
                "flush_table" => nothing(commands.flush(database, table)?),
                other => return Err(Wrong::new(format!("there is no command {other}"))),
            }
        }
    })
}
