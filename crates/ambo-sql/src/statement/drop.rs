//! DROP.

use datafusion::sql::sqlparser::ast::{self, ObjectType};

use crate::{Connection, Error, ErrorKind, Result, Rows, names::object};

pub(super) fn run(connection: &mut Connection, statement: ast::Statement) -> Result<Rows<'static>> {
    let ast::Statement::Drop { object_type, if_exists, names, .. } = &statement else {
        return Err(Error::invalid(format!("not supported: {statement}")));
    };
    connection.require_no_transaction("DROP")?;
    let db = &connection.engine().db;
    for name in names {
        let name = object(name)?;
        let dropped = match object_type {
            ObjectType::Table => db.drop_table(&name),
            ObjectType::Index => db.drop_index(&name),
            ObjectType::Schema => db.drop_schema(&name),
            other => return Err(Error::invalid(format!("DROP {other} is not supported"))),
        };
        match dropped.map_err(Error::from) {
            Err(error) if *if_exists && error.kind() == ErrorKind::NotFound => {}
            result => result?,
        }
    }
    Ok(Rows::done("DROP", None))
}
