//! Tables that are not stored: views, which are planned where they are named, and those of the catalog.

use std::sync::{Arc, PoisonError};

use ambo::Definitions;
use datafusion::{
    datasource::{ViewTable, provider_as_source},
    logical_expr::TableSource,
};

use super::{Planner, tables::alike};
use crate::{
    Error, ErrorKind, Result, catalog,
    names::{shown, split},
    parse::parse_query,
};

/// Views within views within views: more are not planned.
const DEPTH_MAX: usize = 64;

impl Planner<'_> {
    /// The view or the table of the catalog that has this name.
    ///
    /// # Errors
    /// A view that cannot be planned: what it is made of has changed since.
    pub(super) fn derived(&self, name: &str) -> Result<Option<Arc<dyn TableSource>>> {
        if let Some(table) = catalog::table(self, name)? {
            return Ok(Some(provider_as_source(table)));
        }
        // What is no name of a table may be that of a file.
        let db = self.definitions();
        let view = match db.view(name) {
            Ok(view) => view,
            Err(_) => match alike(db.views().iter().map(|view| view.name.clone()), name)? {
                Some(alike) => db.view(&alike)?,
                None => return self.familiar(name),
            },
        };
        let plan = self.view(&view.name, &view.query)?;
        Ok(Some(provider_as_source(Arc::new(ViewTable::new(plan, Some(view.query.clone()))))))
    }

    /// The catalog of another system of this name, if there is one.
    fn familiar(&self, name: &str) -> Result<Option<Arc<dyn TableSource>>> {
        match split(name) {
            (ambo::DEFAULT_SCHEMA, name) => {
                catalog::familiar::query(name).map(|query| self.of_query(name, query)).transpose()
            }
            _ => Ok(None),
        }
    }

    /// The rows of a query that is written here.
    pub(super) fn of_query(&self, name: &str, query: &str) -> Result<Arc<dyn TableSource>> {
        let plan = self.view(name, query)?;
        Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
    }

    /// The plan of a view's query.
    pub(crate) fn view(&self, name: &str, query: &str) -> Result<datafusion::logical_expr::LogicalPlan> {
        let stack = || self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if stack().iter().any(|outer| outer == name) {
            return Err(Error::invalid(format!("view \"{}\" is made of itself", shown(name))));
        }
        if stack().len() >= DEPTH_MAX {
            return Err(Error::invalid(format!("views are more than {DEPTH_MAX} deep in each other")));
        }
        stack().push(name.to_owned());
        let plan = parse_query(query).and_then(|query| self.plan_query(&query, &[]));
        stack().pop();
        // A place would be one in the view's text.
        plan.map_err(|error| {
            let message = match error.message() {
                message if message.starts_with("view \"") => message.to_owned(),
                message => format!("view \"{}\": {message}", shown(name)),
            };
            let kind = match error.kind() {
                ErrorKind::Syntax | ErrorKind::NotFound => ErrorKind::Invalid,
                kind => kind,
            };
            match error.hint() {
                Some(hint) => Error::new(kind, message).with_hint(hint),
                None => Error::new(kind, message),
            }
        })
    }

    /// What there is, as the statement sees it.
    pub(crate) fn definitions(&self) -> Definitions<'_> {
        self.engine.db.definitions(&*self.view)
    }

    pub(crate) fn database(&self) -> &ambo::Database {
        &self.engine.db
    }
}
