//! ATTACH, DETACH, USE: other databases beside the connection's own.
//!
//! Connections to one database share what they attach, so that each file is open once. What is open elsewhere in the process, or in
//! another, is refused by the lock of its directory.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use ambo::{DEFAULT_SCHEMA, Options};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName};

use super::{
    Kind, Place, SearchPath,
    names::{Step, has_schema, parts},
    place::MAIN,
};
use crate::{
    Connection, Error, ErrorKind, Result, Rows, catalog,
    engine::SqlEngine,
    names::{about, about_object, ident},
    parse::Attach,
};

/// A database in memory.
const MEMORY: &str = ":memory:";

/// Names of databases that mean something else.
const RESERVED: [&str; 6] = ["ambo", "temp", "pg_temp", "main", "system", "pg_catalog"];

/// What connections to a database have attached, by its path.
#[derive(Default)]
pub(crate) struct Attached(Mutex<HashMap<PathBuf, Opened>>);

/// How an attached database is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    /// Read beside the process that writes it.
    Beside,
    Write,
}

struct Opened {
    engine: Weak<SqlEngine>,
    access: Access,
}

impl Attached {
    /// The database in a directory.
    ///
    /// # Errors
    /// What opening says; it is open to be read alone, or to be written.
    fn open(
        &self,
        beside: &SqlEngine,
        path: &Path,
        access: Access,
        key_file: Option<&str>,
    ) -> Result<Arc<SqlEngine>> {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let whole = whole.canonicalize().unwrap_or(whole);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = known.get(&whole)
            && let Some(engine) = opened.engine.upgrade()
        {
            if opened.access != access {
                let how = match opened.access {
                    Access::Read => "to be read alone",
                    Access::Beside => "to be read beside the process that writes it",
                    Access::Write => "to be written as well",
                };
                let path = path.display();
                return Err(Error::invalid(format!(
                    "database '{path}' is attached by another connection, {how}"
                )));
            }
            return Ok(engine);
        }
        let mut options = Options::new().read_only(access == Access::Read).beside(access == Access::Beside);
        if let Some(file) = key_file {
            if beside.spills {
                return Err(Error::invalid(
                    "an encrypted database is attached to an encrypted one only: statements might write its rows to temporary files",
                ));
            }
            options = options.key_file(file);
        }
        let db = options.open(path)?;
        let engine = Arc::new(beside.beside(db));
        // It may be new: then it has a whole path now.
        let whole = path.canonicalize().unwrap_or(whole);
        known.retain(|_, opened| opened.engine.strong_count() > 0);
        known.insert(whole, Opened { engine: Arc::downgrade(&engine), access });
        Ok(engine)
    }
}

/// Options of DuckDB's that say how its files are laid out, and not what is in them.
const HINTS: [&str; 5] = ["block_size", "compress", "recovery_mode", "row_group_size", "storage_version"];

pub(crate) fn attach(connection: &mut Connection, attach: &Attach) -> Result<Rows<'static>> {
    const TAG: &str = "ATTACH";
    let Attach { path, alias, if_not_exists, options } = attach;
    let (mut read_only, mut is_beside, mut key_file) = (false, false, None);
    for (name, value) in options {
        match ident(name).to_lowercase().as_str() {
            "read_only" | "readonly" => read_only = is_on(name, value.as_deref())?,
            "read_write" => read_only = !is_on(name, value.as_deref())?,
            "beside" => is_beside = is_on(name, value.as_deref())?,
            "type" if value.as_deref().is_some_and(|value| ["ambo", "duckdb"].contains(&value)) => {}
            "key_file" => key_file = value.as_deref(),
            hint if HINTS.contains(&hint) => {}
            other => {
                let known = ["read_only", "read_write", "beside", "key_file", "type"];
                return Err(about(Error::not_found("option of ATTACH", other, known.into_iter()), name));
            }
        }
    }
    let name = match alias {
        Some(alias) => ident(alias),
        None => name_of(path)?,
    };
    let refuse = |error: Error| match alias {
        Some(alias) => about(error, alias),
        None => error,
    };
    if RESERVED.contains(&name.as_str()) || catalog::SCHEMAS.contains(&name.as_str()) || name.contains('.') {
        return Err(refuse(
            Error::invalid(format!("no attached database is called \"{name}\""))
                .with_hint("ATTACH 'path' AS another_name"),
        ));
    }
    if connection.places().any(|place| place.name == name) {
        return match if_not_exists {
            true => Ok(Rows::done(TAG, None)),
            false => Err(refuse(
                Error::new(ErrorKind::Constraint, format!("there is a database \"{name}\" already"))
                    .with_hint(format!("DETACH {name} first, or give this one another name")),
            )),
        };
    }
    let access = match (is_beside, read_only) {
        (true, _) => Access::Beside,
        (false, true) => Access::Read,
        (false, false) => Access::Write,
    };
    let read_only = access != Access::Write;
    let is_own = path == MEMORY || path.is_empty();
    let beside = connection.engine().clone();
    let engine = match is_own {
        true if read_only => {
            return Err(Error::invalid("a database in memory is new, so there is nothing to read"));
        }
        true => Arc::new(beside.beside(Options::new().sync(ambo::Sync::Off).open_in_memory()?)),
        false => beside.attached.open(&beside, Path::new(path), access, key_file)?,
    };
    let mut place = Place::new(name, Kind::Attached { read_only, is_own }, engine);
    place.path = (!is_own).then(|| path.clone());
    connection.add(place)?;
    Ok(Rows::done(TAG, None))
}

fn is_on(name: &Ident, value: Option<&str>) -> Result<bool> {
    match value.map(str::to_lowercase).as_deref() {
        None | Some("true" | "1" | "on") => Ok(true),
        Some("false" | "0" | "off") => Ok(false),
        Some(other) => Err(about(Error::invalid(format!("{name} is true or false, not {other}")), name)),
    }
}

/// What a database is called for which no name is given: as its directory, without the ending.
fn name_of(path: &str) -> Result<String> {
    let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    match stem {
        Some(stem) if path != MEMORY && !stem.is_empty() => Ok(stem),
        _ => Err(Error::invalid(format!("'{path}' does not say what the database is to be called"))
            .with_hint(format!("ATTACH '{path}' AS name"))),
    }
}

pub(crate) fn detach(connection: &mut Connection, name: &Ident, if_exists: bool) -> Result<Rows<'static>> {
    const TAG: &str = "DETACH";
    let wanted = ident(name);
    let Some(nth) = connection.others.iter().position(|place| place.name == wanted) else {
        let error = match () {
            () if connection.home.name == wanted => {
                Error::invalid("the connection's own database stays").with_hint("close the connection")
            }
            () if if_exists => return Ok(Rows::done(TAG, None)),
            () => Error::not_found(
                "database",
                &wanted,
                connection.others.iter().map(|place| place.name.as_str()),
            ),
        };
        return Err(about(error, name));
    };
    let place = &connection.others[nth];
    if place.kind == Kind::Temporary {
        return Err(about(Error::invalid("the database of temporary objects is not detached"), name));
    }
    if connection.session.path.0.iter().any(|step| step.database.as_ref() == Some(&wanted)) {
        return Err(about(
            Error::invalid(format!("database \"{wanted}\" is where names are sought"))
                .with_hint("USE memory first"),
            name,
        ));
    }
    if place.has_written() {
        return Err(about(
            Error::invalid(format!("the transaction has written to database \"{wanted}\""))
                .with_hint("COMMIT or ROLLBACK first"),
            name,
        ));
    }
    let mut place = connection.others.remove(nth);
    place.rollback();
    Ok(Rows::done(TAG, None))
}

impl Connection {
    /// Writes what is in memory of the database of a name to its pages.
    ///
    /// # Errors
    /// There is none of that name; what the engine says.
    pub(crate) fn flush_database(&self, name: &Ident) -> Result<()> {
        let wanted = ident(name);
        match self.places().find(|place| place.name == wanted) {
            Some(place) => Ok(place.engine.db.flush()?),
            None => {
                let known = self.places().map(|place| place.name.as_str());
                Err(about(Error::not_found("database", &wanted, known), name))
            }
        }
    }
}

pub(crate) fn use_database(connection: &mut Connection, name: &ObjectName) -> Result<Rows<'static>> {
    let step = connection.step(&parts(name)?).map_err(|error| about_object(error, name))?;
    connection.session.path = SearchPath(vec![step]);
    Ok(Rows::done("USE", None))
}

impl Connection {
    /// The schema that a part of a search path names: `schema`, `database` or `database.schema`.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn step(&self, parts: &[String]) -> Result<Step> {
        let place = |name: &str| self.with_names(|names| names.place(name));
        let here = self.with_names(|names| names.first())?;
        let (nth, schema) = match parts {
            [one] if has_schema(&self.place(here).definitions(), one) => (here, one.as_str()),
            [one] => match place(one) {
                Some(nth) => (nth, DEFAULT_SCHEMA),
                None => {
                    let known = self.places().map(|place| place.name.as_str());
                    let schemas = self.place(here).definitions().schemas();
                    let known: Vec<_> = known.chain(schemas.iter().map(String::as_str)).collect();
                    return Err(Error::not_found("database or schema", one, known.into_iter()));
                }
            },
            [database, schema] => match place(database) {
                Some(nth) => (nth, schema.as_str()),
                None => {
                    let known = self.places().map(|place| place.name.as_str());
                    return Err(Error::not_found("database", database, known));
                }
            },
            _ => {
                return Err(Error::invalid(format!("\"{}\" is no database and no schema", parts.join("."))));
            }
        };
        let definitions = self.place(nth).definitions();
        if !has_schema(&definitions, schema) {
            let known = definitions.schemas();
            return Err(Error::not_found("schema", schema, known.iter().map(String::as_str)));
        }
        let place = self.place(nth);
        if place.kind == Kind::Temporary {
            return Err(Error::invalid("temporary objects are found first wherever names are sought"));
        }
        let database = (place.kind != Kind::Main).then(|| place.name.clone());
        Ok(Step { database, schema: schema.to_owned() })
    }

    /// The database that a name of a schema or of a database means, and the schema if it says one.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn schema_named(&self, parts: &[String]) -> Result<(String, Option<String>)> {
        if let [one] = parts
            && self
                .places()
                .any(|place| place.kind == Kind::Temporary && (place.name == *one || one == "pg_temp"))
        {
            return Ok(("temp".to_owned(), None));
        }
        let step = self.step(parts)?;
        let is_schema = parts.len() > 1 || parts.contains(&step.schema);
        Ok((step.database.unwrap_or_else(|| MAIN.to_owned()), is_schema.then_some(step.schema)))
    }
}
