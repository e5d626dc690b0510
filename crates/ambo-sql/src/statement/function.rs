//! CREATE FUNCTION, DROP FUNCTION, of functions that are written out where they are called.

use ambo::{CatalogEdit, Object, ObjectKind, qualify};

use super::expression::refuse_parameters;
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{about_object, object, shown},
    parse::{Body, CreateFunction, DropFunctions},
};

pub(super) fn create(connection: &mut Connection, create: &CreateFunction) -> Result<Rows<'static>> {
    let CreateFunction { name, or_replace, if_not_exists, temporary, function } = create;
    if *temporary {
        return Err(about_object(Error::invalid("not supported: temporary functions"), name));
    }
    let wanted = qualify(&object(name)?).map_err(|error| about_object(error, name))?;
    super::require_schema(&connection.definitions(), name)?;
    function.check().map_err(|error| about_object(error, name))?;
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
