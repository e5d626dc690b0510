//! CREATE FUNCTION, DROP FUNCTION, of functions that are written out where they are called.

use ambo::{CatalogEdit, Object, ObjectKind, qualify};

use super::expression::refuse_parameters;
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{about_object, ident, object, shown},
    parse::{Body, CreateFunction, DropFunctions, Function},
    planner::tables_of,
};

pub(super) fn create(connection: &mut Connection, create: &CreateFunction) -> Result<Rows<'static>> {
    let CreateFunction { name, or_replace, if_not_exists, temporary: _, function } = create;
    let wanted = qualify(&object(name)?).map_err(|error| about_object(error, name))?;
    super::require_schema(&connection.definitions(), name)?;
    function.check().map_err(|error| about_object(error, name))?;
    refuse_columns(connection, function).map_err(|error| about_object(error, name))?;
    match &function.body {
        Body::Value(expr) => refuse_parameters(expr.as_ref(), "function")?,
        Body::Rows(query) => refuse_parameters(query.as_ref(), "function")?,
    }
    let object =
        Object { kind: ObjectKind::Function, name: wanted, text: function.to_string(), comment: None };
    match connection.define(&[CatalogEdit::CreateObject { object, replace: *or_replace }]) {
        Err(error) if *if_not_exists && error.kind() == ErrorKind::Constraint => {}
        made => made.map_err(|error| about_object(error, name))?,
    }
    Ok(Rows::done("CREATE FUNCTION", None))
}

/// A parameter is not called as a column of a table that the function reads: it would be written out in the place of the column.
fn refuse_columns(connection: &Connection, function: &Function) -> Result<()> {
    let tables = match &function.body {
        Body::Value(expr) => tables_of(expr.as_ref()),
        Body::Rows(query) => tables_of(query.as_ref()),
    };
    let definitions = connection.definitions();
    for table in tables.iter().filter_map(|name| definitions.table(name).ok()) {
        let columns = &table.definition().columns;
        let names = function.parameters.iter().map(|parameter| ident(&parameter.name));
        if let Some(name) = names.into_iter().find(|name| columns.iter().any(|column| column.name == *name)) {
            let table = shown(&table.definition().name);
            let message = format!(
                "parameter \"{name}\" is called as a column of table \"{table}\", which the function reads"
            );
            return Err(Error::invalid(message).with_hint("give the parameter another name"));
        }
    }
    Ok(())
}

pub(super) fn drop(connection: &mut Connection, drop: &DropFunctions) -> Result<Rows<'static>> {
    let kind = ObjectKind::Function;
    connection.write(&[], |work| {
        for name in &drop.names {
            let wanted = object(name)?;
            match work.transaction.define(&CatalogEdit::DropObject { kind, name: wanted.clone() }) {
                Err(ambo::Error::NotFound(_)) if drop.if_exists => {}
                Err(ambo::Error::NotFound(_)) => {
                    let known = work.definitions().objects(kind);
                    let error = Error::not_found("function", &wanted, known.iter().map(|of| shown(&of.name)));
                    return Err(about_object(error, name));
                }
                dropped => dropped?,
            }
        }
        Ok(())
    })?;
    Ok(Rows::done("DROP FUNCTION", None))
}
