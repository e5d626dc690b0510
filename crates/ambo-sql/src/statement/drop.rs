//! DROP TABLE, VIEW, INDEX, SCHEMA.

use ambo::{Database, qualify};
use datafusion::sql::sqlparser::ast::{self, ObjectName, ObjectType};

use super::table;
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{about_object, object, shown, written},
};

pub(super) fn run(connection: &Connection, statement: ast::Statement) -> Result<Rows<'static>> {
    let ast::Statement::Drop { object_type, if_exists, names, cascade, table: of, .. } = &statement else {
        return Err(Error::invalid(format!("not supported: {statement}")));
    };
    connection.require_no_transaction("DROP")?;
    let db = &connection.engine().db;
    if *cascade && *object_type != ObjectType::Schema {
        return Err(Error::invalid("not supported: CASCADE")
            .with_hint("indexes go with their tables; views stay, and say what they miss"));
    }
    let (tag, drop): (_, fn(&Database, &ObjectName) -> Result<()>) = match object_type {
        ObjectType::Table => ("DROP TABLE", drop_table),
        ObjectType::View => ("DROP VIEW", drop_view),
        ObjectType::Index => ("DROP INDEX", drop_index),
        ObjectType::Schema if *cascade => ("DROP SCHEMA", drop_schema_with_all),
        ObjectType::Schema => ("DROP SCHEMA", drop_schema),
        other => return Err(Error::invalid(format!("not supported: DROP {other}"))),
    };
    if of.is_some() {
        return Err(Error::invalid("not supported: DROP INDEX … ON").with_hint("DROP INDEX name"));
    }
    for name in names {
        match drop(db, name) {
            Err(error) if *if_exists && error.kind() == ErrorKind::NotFound => {}
            dropped => dropped.map_err(|error| about_object(error, name))?,
        }
    }
    Ok(Rows::done(tag, None))
}

fn drop_table(db: &Database, name: &ObjectName) -> Result<()> {
    let table = table(db, name)?;
    Ok(db.drop_table(&table.definition().name)?)
}

fn drop_view(db: &Database, name: &ObjectName) -> Result<()> {
    let wanted = object(name)?;
    match db.drop_view(&wanted) {
        Err(ambo::Error::NotFound(_)) if db.tables().contains(&qualify(&wanted)?) => {
            Err(Error::invalid(format!("\"{wanted}\" is a table, not a view")))
        }
        Err(ambo::Error::NotFound(_)) => {
            let views = db.views();
            Err(Error::not_found("view", &wanted, views.iter().map(|view| shown(&view.name))))
        }
        dropped => Ok(dropped?),
    }
}

fn drop_index(db: &Database, name: &ObjectName) -> Result<()> {
    let wanted = object(name)?;
    match db.drop_index(&wanted) {
        Err(ambo::Error::NotFound(_)) => {
            let tables = db.tables();
            let indexes =
                tables.iter().filter_map(|table| db.table(table).ok()).flat_map(|table| table.indexes());
            let indexes: Vec<_> = indexes.collect();
            Err(Error::not_found("index", &wanted, indexes.iter().map(|name| shown(name))))
        }
        dropped => Ok(dropped?),
    }
}

fn drop_schema(db: &Database, name: &ObjectName) -> Result<()> {
    let wanted = written(name)?;
    match db.drop_schema(&wanted) {
        Err(ambo::Error::NotFound(_)) => {
            let schemas = db.schemas();
            Err(Error::not_found("schema", &wanted, schemas.iter().map(String::as_str)))
        }
        dropped => Ok(dropped?),
    }
}

/// A schema with its views and tables; one by one, the schema at the end.
fn drop_schema_with_all(db: &Database, name: &ObjectName) -> Result<()> {
    let wanted = written(name)?;
    if !db.schemas().contains(&wanted) || wanted == ambo::DEFAULT_SCHEMA {
        return drop_schema(db, name);
    }
    let prefix = format!("{wanted}.");
    for view in db.views().iter().filter(|view| view.name.starts_with(&prefix)) {
        db.drop_view(&view.name)?;
    }
    for table in db.tables().iter().filter(|table| table.starts_with(&prefix)) {
        db.drop_table(table)?;
    }
    drop_schema(db, name)
}
