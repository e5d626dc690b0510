//! `POST /batch`: several statements in one request, all or nothing.

use std::{sync::Arc, time::Instant};

use ambo_sql::Connection;
use axum::{
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use serde_json::{Value as Json, json};

use super::{
    App, OnDrop, blocking, body,
    catalog::Json as Answer,
    problem::Problem,
    result::{Form, Summary},
    sessions,
    sql::Order,
    stream::until,
    values,
};
use crate::session::Session;

/// Bytes of the rows of all statements together; a result that may be larger is asked for alone.
const ROWS_MAX: usize = 16 << 20;
/// How often a transaction is run that others are in the way of.
const ATTEMPTS: u32 = 8;

/// What is to be run together.
struct Orders {
    orders: Vec<Order>,
    is_atomic: bool,
}

impl Orders {
    fn of(body: Json) -> Result<Self, Problem> {
        let (statements, is_atomic) = match body {
            Json::Array(statements) => (statements, true),
            Json::Object(mut fields) => {
                let atomic = match fields.remove("transaction") {
                    None => true,
                    Some(Json::Bool(atomic)) => atomic,
                    Some(_) => return Err(Problem::request("\"transaction\" is true or false")),
                };
                let Some(Json::Array(statements)) = fields.remove("statements") else {
                    return Err(Problem::request("\"statements\" is to be an array"));
                };
                if let Some(unknown) = fields.keys().next() {
                    return Err(Problem::request(format!(
                        "there is no field \"{unknown}\" here; there are statements, transaction"
                    )));
                }
                (statements, atomic)
            }
            _ => return Err(Problem::request("the body is to be {\"statements\": […]}")),
        };
        let order = |(nth, statement)| match statement {
            Json::String(sql) => Ok(Order { sql, ..Order::default() }),
            Json::Object(fields) => Order::of_json(&fields).map_err(|problem| of_statement(problem, nth)),
            _ => Err(of_statement(Problem::request("a statement is a text, or an object with \"sql\""), nth)),
        };
        let orders = (0..).zip(statements).map(order).collect::<Result<_, _>>()?;
        Ok(Self { orders, is_atomic })
    }

    /// Runs all.
    fn run(&self, session: &mut Session) -> Result<Vec<Json>, Problem> {
        let mut left = ROWS_MAX;
        let run =
            |(nth, order)| run_one(session, order, &mut left).map_err(|problem| of_statement(problem, nth));
        (0..).zip(&self.orders).map(run).collect()
    }

    /// Runs all or none, in the transaction that is open, or in one of their own.
    fn run_atomic(&self, session: &mut Session) -> Result<Vec<Json>, Problem> {
        let (begin, end, back) = match session.connection.in_transaction() {
            true => {
                ("savepoint ambo_batch", "release savepoint ambo_batch", "rollback to savepoint ambo_batch")
            }
            false => ("begin", "commit", "rollback"),
        };
        let was_open = session.connection.in_transaction();
        let mut attempts = 0;
        loop {
            attempts += 1;
            session.connection.execute(begin, ())?;
            let done = self.run(session).and_then(|results| {
                session.connection.execute(end, ())?;
                Ok(results)
            });
            let Err(problem) = done else { return done };
            if session.connection.in_transaction() {
                session.connection.execute(back, ())?;
            }
            if !problem.retryable || was_open || attempts == ATTEMPTS {
                return Err(problem);
            }
        }
    }
}

fn of_statement(problem: Problem, nth: usize) -> Problem {
    Problem { statement: Some(nth), ..problem }
}

fn run_one(session: &mut Session, order: &Order, left: &mut usize) -> Result<Json, Problem> {
    let began = Instant::now();
    let mut statement = session.prepare(&order.sql)?;
    if order.read_only && statement.writes() {
        return Err(Problem::request(
            "the statement would change something, and was sent as one that only reads",
        ));
    }
    let params = values::of(&order.params, &statement)?;
    let zone = session.connection.time_zone();
    let rows = session.run(&mut statement, params)?;
    let mut summary = Summary { tag: rows.tag(), affected: rows.affected(), ..Summary::default() };
    let form = if order.format == Some(Form::Objects) { Form::Objects } else { Form::Json };
    let mut writer = form.writer(rows.schema(), &zone).map_err(Problem::server)?;
    let mut out = Vec::new();
    writer.head(&mut out).map_err(Problem::server)?;
    for batch in rows.batches() {
        let mut batch = batch?;
        if let Some(limit) = order.limit
            && summary.rows + batch.num_rows() as u64 > limit
        {
            batch = batch.slice(0, (limit - summary.rows) as usize);
            summary.is_cut = true;
        }
        summary.rows += batch.num_rows() as u64;
        writer.batch(&batch, &mut out).map_err(Problem::server)?;
        if out.len() > *left {
            return Err(Problem::request(format!("the rows of a batch have more than {ROWS_MAX} bytes"))
                .with_hint("ask for large results with POST /sql, which streams them"));
        }
        if summary.is_cut {
            break;
        }
    }
    *left -= out.len();
    summary.millis = began.elapsed().as_secs_f64() * 1000.0;
    writer.end(&summary, &mut out).map_err(Problem::server)?;
    serde_json::from_slice(&out).map_err(|error| Problem::server(error.to_string()))
}

/// Whether statements begin and end transactions by themselves, which those of a batch that is one must not.
fn ends_transactions(connection: &Connection, order: &Order) -> bool {
    let first = order.sql.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    let words = ["begin", "start", "commit", "end", "rollback", "abort"];
    words.iter().any(|word| first.eq_ignore_ascii_case(word))
        && !order.sql.to_ascii_lowercase().contains("savepoint")
        && connection.prepare(&order.sql).is_ok()
}

/// `POST /batch`.
pub(crate) async fn post(State(app): State<Arc<App>>, request: Request) -> Result<Response, Problem> {
    let (client, headers) = (sessions::client(&request)?, request.headers().clone());
    let asked = body::Asked::of(request.uri())?.only(&["timeout_ms"])?;
    let patience = asked.number("timeout_ms")?.map(std::time::Duration::from_millis);
    let body = body::whole_json(request.into_body(), app.shared.options.limits.message_bytes).await?;
    let orders = Orders::of(body)?;
    let mut session = sessions::of(&app, &client, &headers)?;
    if orders.is_atomic
        && let Some(nth) =
            orders.orders.iter().position(|order| ends_transactions(&session.connection, order))
    {
        let problem =
            Problem::request("a batch is a transaction of its own, which its statements do not begin or end");
        return Err(of_statement(
            problem.with_hint("leave the statement away, or send \"transaction\": false"),
            nth,
        ));
    }
    let waiting = OnDrop::new(session.connection.interrupter());
    let began = Instant::now();
    let deadline = patience.map(|patience| (began + patience, patience));
    let work = blocking(move || {
        session.begin(&orders.orders.iter().map(|order| order.sql.as_str()).collect::<Vec<_>>().join(";\n"));
        let done = match orders.is_atomic {
            true => orders.run_atomic(&mut session),
            false => orders.run(&mut session),
        };
        session.end();
        done
    });
    let done = until(deadline, work).await.flatten();
    app.figures.ran(began.elapsed(), done.as_ref().err());
    let results = done?;
    waiting.done();
    Ok(Answer(json!({ "results": results })).into_response())
}
