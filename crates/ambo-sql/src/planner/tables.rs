//! Tables by the names that statements have for them.

use std::ops::ControlFlow;

use ambo::Database;
use datafusion::sql::sqlparser::ast::{self, Visit, Visitor};

use crate::{Error, Result, names};

/// The stored table of a name.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] with the nearest name that is there; [`crate::ErrorKind::Invalid`] for the name of a view.
pub(crate) fn find_table(db: &Database, name: &str) -> Result<ambo::Table> {
    match db.table(name) {
        Err(ambo::Error::NotFound(_)) if db.view(name).is_ok() => {
            Err(Error::invalid(format!("\"{}\" is a view, not a table", names::shown(name))))
        }
        Err(ambo::Error::NotFound(_)) => Err(Error::not_found(
            "table",
            names::shown(name),
            db.tables().iter().map(|name| names::shown(name)),
        )),
        found => Ok(found?),
    }
}

/// The tables that a query names, CTEs among them.
pub(crate) fn tables_of(statement: &impl Visit) -> Vec<String> {
    struct Relations(Vec<String>);
    impl Visitor for Relations {
        type Break = ();
        fn pre_visit_relation(&mut self, name: &ast::ObjectName) -> ControlFlow<()> {
            if let Ok(name) = names::object(name)
                && !self.0.contains(&name)
            {
                self.0.push(name);
            }
            ControlFlow::Continue(())
        }
    }
    let mut relations = Relations(Vec::new());
    let _ = statement.visit(&mut relations);
    relations.0
}
