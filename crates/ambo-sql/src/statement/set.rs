//! SET and RESET: settings of the open database, for all its connections until it is closed; and the time zone of the connection.

use ambo::Storage;
use datafusion::sql::sqlparser::ast::{self, Expr, Reset, ResetStatement, UnaryOperator, Value};

use super::options;
use crate::{
    Connection, Error, Result, Rows,
    engine::SqlEngine,
    names::{ident, written},
    times::Zone,
};

/// The settings, each with what it is.
pub(crate) const SETTINGS: [(&str, &str); 4] = [
    ("default_storage", "the storage of tables whose CREATE TABLE does not say"),
    (
        "memory_limit",
        "bytes that the operators of all statements may use together; said when the database is opened",
    ),
    ("timezone", "where clocks are that texts of times are of; of this connection alone"),
    ("threads", "parts that the work of a statement is split into"),
];

/// The value of a setting, for a session in this zone.
pub(crate) fn setting(engine: &SqlEngine, zone: Zone, name: &str) -> Result<String> {
    Ok(match name {
        "threads" => engine.settings.threads().to_string(),
        "default_storage" => engine.settings.storage().name().to_owned(),
        "timezone" | "time_zone" => zone.name(),
        "memory_limit" => engine.options.parts().1.to_string(),
        other => return Err(Error::not_found("setting", other, SETTINGS.iter().map(|(name, _)| *name))),
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
        } => (written(variable)?, &values[..]),
        other => {
            return Err(Error::invalid(format!("not supported: {other}"))
                .with_hint("a setting is for all connections to the open database: SET threads = 4"));
        }
    };
    let [given] = values else {
        return Err(Error::invalid(format!("setting {name} has one value")));
    };
    if is_zone(&name) {
        let zone = zone(given)?;
        connection.set_zone(zone);
        return Ok(Rows::done("SET", None));
    }
    let given = match given {
        Expr::Identifier(name) => ident(name),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    };
    put(connection, &name, Some(&given))?;
    Ok(Rows::done("SET", None))
}

pub(super) fn reset(connection: &mut Connection, reset: &ResetStatement) -> Result<Rows<'static>> {
    match &reset.reset {
        Reset::ALL => {
            connection.set_zone(Zone::UTC);
            ["threads", "default_storage"].iter().try_for_each(|name| put(connection, name, None))?
        }
        Reset::ConfigurationParameter(name) if is_zone(&written(name)?) => connection.set_zone(Zone::UTC),
        Reset::ConfigurationParameter(name) => put(connection, &written(name)?, None)?,
    }
    Ok(Rows::done("RESET", None))
}

fn is_zone(name: &str) -> bool {
    matches!(name, "timezone" | "time_zone")
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
fn put(connection: &Connection, name: &str, to: Option<&str>) -> Result<()> {
    let engine = connection.engine();
    let (threads, _, storage): (usize, usize, Storage) = engine.options.parts();
    match (name, to) {
        (_, Some(to)) if to.eq_ignore_ascii_case("default") => return put(connection, name, None),
        ("threads", None) => engine.settings.set_threads(threads),
        ("threads", Some(to)) => match to.parse() {
            Ok(threads @ 1..=1024) => engine.settings.set_threads(threads),
            _ => return Err(Error::invalid(format!("threads are a number from 1 to 1024, not {to}"))),
        },
        ("default_storage", None) => engine.settings.set_storage(storage),
        ("default_storage", Some(to)) => engine.settings.set_storage(options::storage(to)?),
        ("memory_limit", _) => {
            return Err(Error::invalid("the memory limit is said when the database is opened")
                .with_hint("SqlOptions::memory_bytes"));
        }
        (other, _) => {
            return Err(Error::not_found("setting", other, SETTINGS.iter().map(|(name, _)| *name)));
        }
    }
    Ok(())
}
