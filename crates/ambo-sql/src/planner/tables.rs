//! Tables by the names that statements have for them.

use std::{ops::ControlFlow, sync::Arc};

use ambo::{Definitions, View};
use datafusion::sql::sqlparser::ast::{self, Visitor};

use crate::{Error, ErrorKind, Result, names, walk::Walk};

/// The stored table of a name: the one that has it, or else the one that has it but for large and small letters.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] with the nearest name that is there; [`crate::ErrorKind::Invalid`] for the name of a view, and for one
/// that several tables have but for large and small letters.
pub(crate) fn find_table(db: &Definitions<'_>, name: &str) -> Result<ambo::Table> {
    match db.table(name) {
        Err(ambo::Error::NotFound(_)) if db.view(name).is_ok() => {
            Err(Error::invalid(format!("\"{}\" is a view, not a table", names::shown(name))))
        }
        Err(ambo::Error::NotFound(_)) if let Some(alike) = alike(db.tables(), name)? => Ok(db.table(&alike)?),
        Err(ambo::Error::NotFound(_)) if db.is_newer(name) => {
            let later = format!("table \"{}\" was created after this transaction began", names::shown(name));
            Err(Error::new(ErrorKind::NotFound, later).with_hint("COMMIT or ROLLBACK, and it is there"))
        }
        Err(ambo::Error::NotFound(_)) => Err(Error::not_found(
            "table",
            names::shown(name),
            db.tables().iter().map(|name| names::shown(name)),
        )),
        found => Ok(found?),
    }
}

/// The view of a name, in the same manner; `None` if there is none.
///
/// # Errors
/// Several have the name but for large and small letters.
pub(crate) fn find_view(db: &Definitions<'_>, name: &str) -> Result<Option<Arc<View>>> {
    match db.view(name) {
        Ok(view) => Ok(Some(view)),
        Err(_) => match alike(db.views().iter().map(|view| view.name.clone()), name)? {
            Some(alike) => Ok(Some(db.view(&alike)?)),
            None => Ok(None),
        },
    }
}

/// Whether there is a table or a view of this name.
pub(crate) fn has_relation(db: &Definitions<'_>, name: &str) -> bool {
    match find_table(db, name) {
        Err(error) if error.kind() == ErrorKind::NotFound => !matches!(find_view(db, name), Ok(None)),
        // What is ambiguous is there twice.
        _ => true,
    }
}

/// The one of some qualified names that is another but for large and small letters.
///
/// # Errors
/// There are several.
pub(super) fn alike(known: impl IntoIterator<Item = String>, name: &str) -> Result<Option<String>> {
    let Ok(wanted) = ambo::qualify(name) else { return Ok(None) };
    let wanted = wanted.to_lowercase();
    let mut alike: Vec<_> = known.into_iter().filter(|known| known.to_lowercase() == wanted).collect();
    match (alike.pop(), &alike[..]) {
        (one, []) => Ok(one),
        (one, others) => {
            let names: Vec<_> =
                others.iter().chain(&one).map(|name| format!("\"{}\"", names::shown(name))).collect();
            let error = format!("\"{}\" is ambiguous: there are {}", names::shown(name), names.join(" and "));
            Err(Error::invalid(error).with_hint("in double quotes a name is found as it is written"))
        }
    }
}

/// The tables that a query names, CTEs among them.
pub(crate) fn tables_of(statement: &impl Walk) -> Vec<String> {
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
    let _ = statement.walk(&mut relations);
    relations.0
}
