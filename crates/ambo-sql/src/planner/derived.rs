//! Tables that are not stored: views, which are planned where they are named, and those of the catalog.

use std::sync::{Arc, PoisonError};

use datafusion::{
    datasource::{ViewTable, provider_as_source},
    logical_expr::{LogicalPlan, TableSource},
};

use super::{Planner, tables::find_view};
use crate::{
    Error, ErrorKind, Result, catalog,
    names::{shown, split},
    parse::parse_query,
    pg_catalog,
};

/// Views within views within views: more are not planned.
const DEPTH_MAX: usize = 64;

impl Planner<'_> {
    /// The view or the table of the catalog that has this name in a database.
    ///
    /// # Errors
    /// A view that cannot be planned: what it is made of has changed since.
    pub(super) fn derived(&self, place: usize, name: &str) -> Result<Option<Arc<dyn TableSource>>> {
        if let Some(table) = pg_catalog::table(self, name)? {
            return Ok(Some(provider_as_source(table)));
        }
        if let Some(table) = catalog::table(self, name)? {
            return Ok(Some(provider_as_source(table)));
        }
        // What is no name of a table may be that of a file.
        let Some(view) = find_view(&self.place(place).definitions(), name)? else {
            return match pg_catalog::sequence(self, place, name)? {
                Some(table) => {
                    self.require_sequence(place, name)?;
                    Ok(Some(provider_as_source(table)))
                }
                None => self.familiar(name),
            };
        };
        self.require_read(place, &view.name, "view")?;
        let plan = self.view(place, &view.name, &view.query)?;
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
        let plan = self.within_query(self.within(), name, query)?;
        Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
    }

    /// The plan of the query of a view in a database.
    pub(crate) fn view(&self, place: usize, name: &str, query: &str) -> Result<LogicalPlan> {
        let whole = if place == 0 { name.to_owned() } else { format!("{}.{name}", self.place(place).name) };
        self.within_query(self.within_view_of(place), &whole, query)
    }

    /// The plan of a query whose names are sought in a database.
    fn within_query(&self, within: Option<usize>, name: &str, query: &str) -> Result<LogicalPlan> {
        let stack = || self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if stack().iter().any(|(_, outer)| outer == name) {
            return Err(Error::invalid(format!("view \"{}\" is made of itself", shown(name))));
        }
        if stack().len() >= DEPTH_MAX {
            return Err(Error::invalid(format!("views are more than {DEPTH_MAX} deep in each other")));
        }
        stack().push((within, name.to_owned()));
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
}
