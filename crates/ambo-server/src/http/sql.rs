//! `/sql`: a statement, and its rows in the form that is asked for.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::Response,
};
use serde_json::{Map, Value as Json};

use super::{
    App,
    body::{self, Asked},
    guard::Client,
    problem::Problem,
    result::Form,
    sessions,
    stream::{self, Wanted},
    values,
};
use crate::session::answer;

/// What is to be run.
#[derive(Default, Debug)]
pub(crate) struct Order {
    pub sql: String,
    pub params: Json,
    pub format: Option<Form>,
    pub limit: Option<u64>,
    pub timeout: Option<Duration>,
    pub read_only: bool,
}

/// What an order may have, in JSON and behind the question mark.
const FIELDS: [&str; 6] = ["sql", "params", "format", "limit", "timeout_ms", "read_only"];

impl Order {
    /// From a JSON object.
    pub(crate) fn of_json(fields: &Map<String, Json>) -> Result<Self, Problem> {
        if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            let known = FIELDS.join(", ");
            return Err(Problem::request(format!("there is no field \"{unknown}\" here; there are {known}")));
        }
        let Some(Json::String(sql)) = fields.get("sql") else {
            return Err(Problem::request("\"sql\" is to be the text of a statement"));
        };
        let number = |name: &str| match fields.get(name) {
            None | Some(Json::Null) => Ok(None),
            Some(value) => match value.as_u64() {
                Some(number) => Ok(Some(number)),
                None => Err(Problem::request(format!("\"{name}\" is to be a whole number"))),
            },
        };
        let format = match fields.get("format") {
            None | Some(Json::Null) => None,
            Some(Json::String(name)) => Some(Form::named(name).map_err(Problem::request)?),
            Some(_) => return Err(Problem::request("\"format\" is to be a text")),
        };
        let read_only = match fields.get("read_only") {
            None | Some(Json::Null) => false,
            Some(Json::Bool(value)) => *value,
            Some(_) => return Err(Problem::request("\"read_only\" is true or false")),
        };
        Ok(Self {
            sql: sql.clone(),
            params: fields.get("params").cloned().unwrap_or_default(),
            format,
            limit: number("limit")?,
            timeout: number("timeout_ms")?.map(Duration::from_millis),
            read_only,
        })
    }

    /// What the parameters behind the question mark say besides.
    fn with(mut self, asked: &Asked) -> Result<Self, Problem> {
        if let Some(name) = asked.text("format")? {
            self.format = Some(Form::named(name).map_err(Problem::request)?);
        }
        if let Some(limit) = asked.number("limit")? {
            self.limit = Some(limit);
        }
        if let Some(millis) = asked.number("timeout_ms")? {
            self.timeout = Some(Duration::from_millis(millis));
        }
        self.read_only |= asked.truth("read_only")?;
        Ok(self)
    }
}

/// An order from the body of a request: JSON, or the text of a statement.
pub(crate) async fn order(app: &App, request: Request, known: &[&str]) -> Result<Order, Problem> {
    let asked = Asked::of(request.uri())?.only(known)?;
    let media = body::media_type(request.headers());
    let most = app.shared.options.limits.message_bytes;
    let order = match media.as_str() {
        "application/json" => match body::whole_json(request.into_body(), most).await? {
            Json::Object(fields) => Order::of_json(&fields)?,
            _ => return Err(Problem::request("the body is to be a JSON object with \"sql\"")),
        },
        "" | "text/plain" | "application/sql" | "application/x-www-form-urlencoded" => {
            // What curl sends with -d and nothing else has the type of a form.
            Order { sql: body::whole_text(request.into_body(), most).await?, ..Order::default() }
        }
        other => {
            let detail = format!("a body of the type {other} is no statement");
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", detail)
                .with_hint("send application/json with \"sql\", or the statement as text/plain"));
        }
    };
    order.with(&asked)
}

/// `POST /sql`.
pub(crate) async fn post(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let (client, headers) = (sessions::client(&request)?, request.headers().clone());
    let order = order(&app, request, &["format", "limit", "timeout_ms", "read_only"]).await?;
    run(&app, &client, &headers, order).await
}

/// `GET /sql?query=…`: for links, and programs that only get. It only reads.
pub(crate) async fn get(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let client = sessions::client(&request)?;
    let asked = Asked::of(request.uri())?.only(&["query", "format", "limit", "timeout_ms"])?;
    let sql = asked.text("query")?.ok_or_else(|| Problem::request("the parameter \"query\" is missing"))?;
    let order = Order { sql: sql.to_owned(), read_only: true, ..Order::default() }.with(&asked)?;
    run(&app, &client, request.headers(), order).await
}

fn form(order: &Order, headers: &HeaderMap) -> Result<Form, Problem> {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    match (order.format, accept) {
        (Some(form), _) => Ok(form),
        (None, None) => Ok(Form::Json),
        (None, Some(accept)) => Form::accepted(accept).ok_or_else(|| {
            let detail = format!("nothing of \"{accept}\" is a form of results");
            Problem::new(StatusCode::NOT_ACCEPTABLE, "media_type", detail)
        }),
    }
}

async fn run(
    app: &Arc<App>,
    client: &Client,
    headers: &HeaderMap,
    order: Order,
) -> Result<Response, Problem> {
    let form = form(&order, headers)?;
    let began = Instant::now();
    let answered = begin(app, client, headers, order).await;
    app.figures.ran(began.elapsed(), answered.as_ref().err());
    let (answer, zone, wanted) = answered?;
    stream::response(answer, Wanted { form, ..wanted }, &zone, began, app.figures.clone()).await
}

/// Begins a statement.
pub(crate) async fn begin(
    app: &Arc<App>,
    client: &Client,
    headers: &HeaderMap,
    order: Order,
) -> Result<(crate::session::Answer, String, Wanted), Problem> {
    let session = sessions::of(app, client, headers)?;
    let statement = session.prepare(&order.sql)?;
    if order.read_only && (statement.writes() || statement.is_maintenance()) {
        let detail = "the statement would change something, and was sent as one that only reads";
        return Err(Problem {
            code: Some("25006"),
            ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, "read_only", detail)
        });
    }
    let params = values::of(&order.params, &statement)?;
    let zone = session.connection.time_zone();
    let deadline = order.timeout.map(|patience| (Instant::now() + patience, patience));
    let answer = stream::until(deadline, answer(session, order.sql, params)).await??;
    Ok((answer, zone, Wanted { form: Form::Json, limit: order.limit, deadline }))
}
