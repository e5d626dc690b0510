//! CREATE SCHEMA.

use ambo::CatalogEdit;
use datafusion::sql::sqlparser::ast::SchemaName;

use crate::{
    Connection, Error, ErrorKind, Result, Rows, catalog,
    names::{about_object, written},
};

const TAG: &str = "CREATE SCHEMA";

pub(super) fn create(
    connection: &mut Connection,
    name: &SchemaName,
    if_not_exists: bool,
) -> Result<Rows<'static>> {
    let SchemaName::Simple(name) = name else {
        return Err(Error::invalid(format!("not supported: CREATE SCHEMA {name}")));
    };
    let wanted = written(name)?;
    if catalog::SCHEMAS.contains(&wanted.as_str()) {
        return Err(about_object(Error::invalid(format!("schema \"{wanted}\" is always there")), name));
    }
    match connection.define(&[CatalogEdit::CreateSchema(wanted)]) {
        Err(error) if if_not_exists && error.kind() == ErrorKind::Constraint => {}
        made => made.map_err(|error| about_object(error, name))?,
    }
    Ok(Rows::done(TAG, None))
}
