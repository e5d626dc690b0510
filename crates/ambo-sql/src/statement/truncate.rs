//! TRUNCATE.

use ambo::{CatalogEdit, qualify};
use datafusion::sql::sqlparser::ast::{self, CascadeOption, TruncateIdentityOption};

use super::{references, table};
use crate::{
    Connection, Error, ErrorKind, Result, Rows,
    names::{about_object, object},
};

pub(super) fn run(connection: &mut Connection, truncate: &ast::Truncate) -> Result<Rows<'static>> {
    if truncate.partitions.is_some() || truncate.cascade == Some(CascadeOption::Cascade) {
        return Err(Error::invalid(format!("not supported: {truncate}")));
    }
    if truncate.identity == Some(TruncateIdentityOption::Continue) {
        return Err(Error::invalid("not supported: CONTINUE IDENTITY; numbers begin anew"));
    }
    let others = truncate.table_names.iter().filter_map(|target| qualify(&object(&target.name).ok()?).ok());
    let others: Vec<_> = others.collect();
    connection.write(&[], |work| {
        for target in &truncate.table_names {
            let name = &target.name;
            let found = table(&work.definitions(), name);
            match found {
                Err(error) if truncate.if_exists && error.kind() == ErrorKind::NotFound => {}
                found => {
                    let of = found?.definition().name.clone();
                    references::before_truncate(work, &of, &others)
                        .map_err(|error| about_object(error, name))?;
                    let edit = CatalogEdit::TruncateTable(of);
                    work.transaction.define(&edit).map_err(|error| about_object(error, name))?;
                }
            }
        }
        Ok(())
    })?;
    Ok(Rows::done("TRUNCATE", None))
}
