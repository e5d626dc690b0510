//! TRUNCATE.

use datafusion::sql::sqlparser::ast::{self, CascadeOption, TruncateIdentityOption};

use super::table;
use crate::{Connection, Error, ErrorKind, Result, Rows, names::about_object};

pub(super) fn run(connection: &Connection, truncate: &ast::Truncate) -> Result<Rows<'static>> {
    connection.require_no_transaction("TRUNCATE")?;
    if truncate.partitions.is_some() || truncate.cascade == Some(CascadeOption::Cascade) {
        return Err(Error::invalid(format!("not supported: {truncate}")));
    }
    if truncate.identity == Some(TruncateIdentityOption::Continue) {
        return Err(Error::invalid("not supported: CONTINUE IDENTITY; numbers begin anew"));
    }
    let db = &connection.engine().db;
    for target in &truncate.table_names {
        let name = &target.name;
        match table(db, name) {
            Err(error) if truncate.if_exists && error.kind() == ErrorKind::NotFound => {}
            found => {
                let table = found?;
                db.truncate_table(&table.definition().name).map_err(|error| about_object(error, name))?;
            }
        }
    }
    Ok(Rows::done("TRUNCATE", None))
}
