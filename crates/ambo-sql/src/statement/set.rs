//! SET and RESET: settings of the open database, for all its connections until it is closed; and those of the connection alone.

use ambo::Storage;
use datafusion::sql::sqlparser::ast::{self, Expr, Reset, ResetStatement, UnaryOperator, Value};

use super::{
    options,
    quantity::{size, time, time_text},
};
use crate::{
    Connection, Error, Result, Rows,
    databases::SearchPath,
    engine::SqlEngine,
    names::{ident, written},
    planner::{DefaultOrder, NullOrder},
    session::Session,
    times::Zone,
};

/// The settings, each with what it is.
pub(crate) const SETTINGS: [(&str, &str); 11] = [
    ("default_null_order", "where NULLs stand in an order that does not say; of this connection alone"),
    ("default_order", "whether an order that does not say is ASC or DESC; of this connection alone"),
    ("default_storage", "the storage of tables whose CREATE TABLE does not say"),
    (
        "keep_partials",
        "whether what aggregates of segments came to is kept for the next time that it is asked",
    ),
    ("lock_timeout", "how long a statement waits for what others have locked; of this connection alone"),
    ("memory_limit", "bytes that the operators of all statements may use together"),
    ("search_path", "the schemas in which names are sought; of this connection alone"),
    ("statement_memory", "bytes that the operators of a statement may use; of this connection alone"),
    ("statement_timeout", "how long a statement may take; of this connection alone"),
    ("timezone", "where clocks are that texts of times are of; of this connection alone"),
    ("threads", "parts that the work of a statement is split into"),
];

/// Other names of settings.
const ALIASES: [(&str, &str); 4] = [
    ("time_zone", "timezone"),
    ("null_order", "default_null_order"),
    ("max_memory", "memory_limit"),
    ("worker_threads", "threads"),
];

/// Settings and pragmas of DuckDB that say how something is computed, or how much is looked at on the way, and never what: they are taken
/// and do nothing.
const HINTS: [&str; 33] = [
    "allocator_background_threads",
    "allocator_bulk_deallocation_flush_threshold",
    "allocator_flush_threshold",
    "asof_loop_join_threshold",
    "checkpoint_threshold",
    "disable_checkpoint_on_shutdown",
    "disable_optimizer",
    "disable_print_progress_bar",
    "disable_profiling",
    "disable_progress_bar",
    "disable_verification",
    "disabled_optimizers",
    "enable_checkpoint_on_shutdown",
    "enable_object_cache",
    "enable_optimizer",
    "enable_print_progress_bar",
    "enable_progress_bar",
    "enable_progress_bar_print",
    "enable_verification",
    "external_threads",
    "force_checkpoint",
    "index_scan_max_count",
    "index_scan_percentage",
    "merge_join_threshold",
    "nested_loop_join_threshold",
    "partitioned_write_flush_threshold",
    "perfect_ht_threshold",
    "prefer_range_joins",
    "preserve_insertion_order",
    "progress_bar_time",
    "verify_external",
    "verify_parallelism",
    "wal_autocheckpoint",
];

/// Whether a setting only says how something is computed.
pub(crate) fn is_hint(name: &str) -> bool {
    HINTS.contains(&name)
}

/// Sets a setting as PRAGMA does.
pub(super) fn by_text(connection: &mut Connection, name: &str, to: &str) -> Result<Rows<'static>> {
    match meant(name) {
        "timezone" => connection.set_zone(zone(&Expr::value(Value::SingleQuotedString(to.to_owned())))?),
        name => put(connection, name, Some(to))?,
    }
    Ok(Rows::done("SET", None))
}

fn meant(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| *name)
}

/// Whether a setting is one of all connections.
pub(crate) fn is_of_all(name: &str) -> bool {
    matches!(meant(name), "threads" | "default_storage" | "keep_partials" | "memory_limit")
}

fn no_setting(name: &str) -> Error {
    Error::not_found("setting", name, SETTINGS.iter().map(|(name, _)| *name).chain(["schema"]))
}

/// The value of a setting for a session.
pub(crate) fn setting(engine: &SqlEngine, session: &Session, name: &str) -> Result<String> {
    Ok(match meant(name) {
        "threads" => engine.settings.threads().to_string(),
        "default_storage" => engine.settings.storage().name().to_owned(),
        "keep_partials" => (if engine.db.keeps_partials() { "on" } else { "off" }).to_owned(),
        "timezone" => session.zone.name(),
        "memory_limit" => engine.settings.memory_bytes().to_string(),
        "default_null_order" => session.order.nulls.name().to_owned(),
        "default_order" => (if session.order.is_descending { "DESC" } else { "ASC" }).to_owned(),
        "search_path" => session.path.text(),
        "schema" => session.path.first().schema.clone(),
        "statement_memory" => session.statement_memory.unwrap_or(0).to_string(),
        "statement_timeout" => time_text(session.statement_timeout),
        "lock_timeout" => match session.lock_timeout {
            Some(timeout) => time_text(timeout),
            None => time_text(Some(engine.db.lock_timeout())),
        },
        other => return Err(no_setting(other)),
    })
}

pub(super) fn run(connection: &mut Connection, set: &ast::Set) -> Result<Rows<'static>> {
    let (name, values) = match set {
        ast::Set::SetTimeZone { local: false, value } => ("timezone".to_owned(), std::slice::from_ref(value)),
        ast::Set::SingleAssignment {
            variable,
            values,
            scope: None | Some(ast::ContextModifier::Global | ast::ContextModifier::Session),
            ..
        } => (written(variable)?.to_lowercase(), &values[..]),
        other => {
            return Err(Error::invalid(format!("not supported: {other}"))
                .with_hint("a setting is for all connections to the open database: SET threads = 4"));
        }
    };
    let name = meant(&name);
    if name == "search_path" {
        let texts: Vec<_> = values.iter().map(text).collect();
        put(connection, name, Some(&texts.join(",")))?;
        return Ok(Rows::done("SET", None));
    }
    let [given] = values else {
        return Err(Error::invalid(format!("setting {name} has one value")));
    };
    match name {
        "timezone" => connection.set_zone(zone(given)?),
        _ => put(connection, name, Some(&text(given)))?,
    }
    Ok(Rows::done("SET", None))
}

/// A value as it is written, without quotes.
fn text(given: &Expr) -> String {
    match given {
        Expr::Identifier(name) => ident(name),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

pub(super) fn reset(connection: &mut Connection, reset: &ResetStatement) -> Result<Rows<'static>> {
    match &reset.reset {
        Reset::ALL => SETTINGS.iter().try_for_each(|(name, _)| put(connection, name, None))?,
        Reset::ConfigurationParameter(name) => {
            put(connection, meant(&written(name)?.to_lowercase()), None)?;
        }
    }
    Ok(Rows::done("RESET", None))
}

/// Names of schemas, and of databases, with commas between them.
fn set_path(connection: &mut Connection, text: &str) -> Result<()> {
    let mut steps = Vec::new();
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        // What PostgreSQL has for a schema of the user, which none is.
        if name.trim_matches('"') == "$user" {
            continue;
        }
        let parts: Vec<_> = name.split('.').map(|part| part.trim().trim_matches('"').to_owned()).collect();
        steps.push(connection.step(&parts)?);
    }
    connection.session.path = if steps.is_empty() { SearchPath::default() } else { SearchPath(steps) };
    Ok(())
}

/// A time zone by its name, by the hours that it is east of UTC, or as an interval; UTC for DEFAULT and LOCAL.
fn zone(given: &Expr) -> Result<Zone> {
    let name = match given {
        Expr::Identifier(name) => ident(name),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            Value::Number(hours, _) => return hours_east(hours),
            other => other.to_string(),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => return hours_east(&format!("-{expr}")),
        Expr::Interval(interval) => match interval.value.as_ref() {
            Expr::Value(value) => value.value.to_string().trim_matches('\'').to_owned(),
            other => other.to_string(),
        },
        other => other.to_string(),
    };
    if ["default", "local"].iter().any(|word| name.eq_ignore_ascii_case(word)) {
        return Ok(Zone::UTC);
    }
    let is_offset = name.starts_with(['+', '-']);
    if is_offset && !matches!(given, Expr::Interval(_)) {
        // With a sign PostgreSQL means west of UTC here, and others east.
        return Err(Error::invalid(format!("'{name}' is no name of a time zone"))
            .with_hint("an offset is an interval: SET TIME ZONE INTERVAL '+02:00' is east of UTC"));
    }
    Zone::find(&name).ok_or_else(|| {
        Error::invalid(format!("there is no time zone '{name}'"))
            .with_hint("zones are named as 'Europe/Brussels' or 'UTC'")
    })
}

fn hours_east(text: &str) -> Result<Zone> {
    let seconds = text.parse::<f64>().ok().map(|hours| (hours * 3600.0).round());
    match seconds.filter(|seconds| seconds.abs() < 16.0 * 3600.0) {
        Some(seconds) => Ok(Zone::Fixed(seconds as i32)),
        None => Err(Error::invalid(format!("a time zone is less than 16 hours from UTC, not {text}"))),
    }
}

/// Sets a setting, or to what the database was opened with.
fn put(connection: &mut Connection, name: &str, to: Option<&str>) -> Result<()> {
    let to = to.filter(|to| !to.eq_ignore_ascii_case("default"));
    let (threads, memory, storage): (usize, usize, Storage) = connection.engine().options.parts();
    match name {
        "threads" => match to.map_or(Ok(threads), str::parse) {
            Ok(threads @ 1..=1024) => connection.engine().settings.set_threads(threads),
            _ => {
                let to = to.unwrap_or_default();
                return Err(Error::invalid(format!("threads are a number from 1 to 1024, not {to}")));
            }
        },
        "default_storage" => {
            let storage = to.map_or(Ok(storage), options::storage)?;
            connection.engine().settings.set_storage(storage);
        }
        "keep_partials" => connection.engine().db.keep_partials(to.map(|to| truth(name, to)).transpose()?),
        "memory_limit" => {
            let bytes = to.map_or(Ok(memory), |to| size(name, to))?;
            connection.engine().set_memory_bytes(bytes);
        }
        "timezone" => connection.set_zone(Zone::UTC),
        "search_path" | "schema" => match to {
            Some(to) => set_path(connection, to)?,
            None => connection.session.path = SearchPath::default(),
        },
        "statement_memory" => {
            let to = to.filter(|to| *to != "0");
            connection.session.statement_memory = to.map(|to| size(name, to)).transpose()?;
        }
        "statement_timeout" => {
            connection.session.statement_timeout = to.map_or(Ok(None), |to| time(name, to))?;
        }
        "lock_timeout" => connection.session.lock_timeout = to.map(|to| time(name, to)).transpose()?,
        "default_null_order" | "default_order" => put_order(connection, name, to)?,
        hint if is_hint(hint) => {}
        other => return Err(no_setting(other)),
    }
    Ok(())
}

/// What is on or off.
fn truth(name: &str, to: &str) -> Result<bool> {
    match to.to_lowercase().as_str() {
        "on" | "true" | "1" | "yes" => Ok(true),
        "off" | "false" | "0" | "no" => Ok(false),
        _ => Err(Error::invalid(format!("{name} is on or off, not {to}"))),
    }
}

fn put_order(connection: &mut Connection, name: &str, to: Option<&str>) -> Result<()> {
    let order = &mut connection.session.order;
    match (name, to.map(str::to_lowercase).as_deref()) {
        ("default_null_order", None) => order.nulls = DefaultOrder::default().nulls,
        ("default_null_order", Some(to)) => {
            order.nulls = NullOrder::named(to).ok_or_else(|| {
                Error::invalid(format!("{name} cannot be '{to}'")).with_hint(
                    "it is nulls_first, nulls_last, nulls_first_on_asc_last_on_desc or nulls_last_on_asc_first_on_desc",
                )
            })?;
        }
        (_, None | Some("asc" | "ascending")) => order.is_descending = false,
        (_, Some("desc" | "descending")) => order.is_descending = true,
        (_, Some(to)) => return Err(Error::invalid(format!("{name} is ASC or DESC, not {to}"))),
    }
    Ok(())
}
