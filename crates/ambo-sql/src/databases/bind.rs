//! The query of a view names its tables so that they are found later, whatever the search path is then.
//!
//! A view that stays is about its own database alone. One that names something temporary is temporary itself, as in PostgreSQL.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Query, Visitor, VisitorMut};

use super::{
    Kind, Named,
    names::{has_relation, localize, parts},
};
use crate::{
    Connection, Error, Result,
    names::about_object,
    walk::{Walk, WalkMut},
};

impl Connection {
    /// Whether a query names a temporary table or view.
    pub(super) fn names_temporary(&self, query: &Query) -> Result<bool> {
        if !self.places().any(|place| place.kind == Kind::Temporary) {
            return Ok(false);
        }
        for name in relations(query) {
            if let Some(named) = self.relation(&name)?
                && self.place(named.place).kind == Kind::Temporary
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The table or view that a name means; `None` for another thing, such as a file.
    fn relation(&self, name: &ObjectName) -> Result<Option<Named>> {
        let candidates = self.candidates(name)?;
        Ok(candidates.into_iter().find(|of| has_relation(&self.place(of.place).definitions(), of)))
    }

    /// Names the tables of a view's query as they are found from its database.
    pub(super) fn bind(&self, query: &mut Query, home: usize, view: &Named) -> Result<()> {
        let with = with_names(query);
        let mut binding = Binding { connection: self, home, view, with };
        match query.walk_mut(&mut binding) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(()),
        }
    }
}

/// The names of tables in a query, those of its WITH among them.
fn relations(query: &Query) -> Vec<ObjectName> {
    struct Relations(Vec<ObjectName>);
    impl Visitor for Relations {
        type Break = ();
        fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
            self.0.push(name.clone());
            ControlFlow::Continue(())
        }
    }
    let mut found = Relations(Vec::new());
    let _ = query.walk(&mut found);
    // Names of more parts than tables have are no concern here: the planner says what is wrong.
    found.0.retain(|name| parts(name).is_ok_and(|parts| parts.len() <= 3));
    found.0
}

/// What WITH calls its tables, in this query and within.
fn with_names(query: &Query) -> Vec<String> {
    struct With(Vec<String>);
    impl Visitor for With {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let tables = query.with.iter().flat_map(|with| &with.cte_tables);
            self.0.extend(tables.map(|table| crate::names::ident(&table.alias.name)));
            ControlFlow::Continue(())
        }
    }
    let mut found = With(Vec::new());
    let _ = query.walk(&mut found);
    found.0
}

struct Binding<'a> {
    connection: &'a Connection,
    home: usize,
    view: &'a Named,
    with: Vec<String>,
}

impl Binding<'_> {
    fn bind(&self, name: &mut ObjectName) -> Result<()> {
        let is_with = matches!(&parts(name)?[..], [one] if self.with.contains(one));
        let Some(named) = self.connection.relation(name)? else { return Ok(()) };
        let (place, home) = (self.connection.place(named.place), self.connection.place(self.home));
        let stays = named.place == self.home && home.kind != Kind::Temporary;
        if is_with {
            // The planner knows which is meant; another one would be found later.
            let is_same = stays && named.schema == ambo::DEFAULT_SCHEMA;
            return match is_same {
                true => Ok(()),
                false => Err(Error::invalid(format!("\"{name}\" is a table, and one of WITH"))
                    .with_hint("give the table of WITH another name")),
            };
        }
        if stays || named.place == self.home && named == *self.view {
            localize(name, &named.schema);
        } else if home.kind == Kind::Temporary {
            let last = name.0.pop();
            let quoted = |text: &str| ObjectNamePart::Identifier(Ident::with_quote('"', text));
            name.0 = [quoted(&place.name), quoted(&named.schema)].into_iter().chain(last).collect();
        } else {
            return Err(Error::invalid(format!(
                "a view of database \"{}\" cannot be made of \"{name}\", which is in database \"{}\"",
                home.name, place.name
            ))
            .with_hint("CREATE TEMPORARY VIEW is for this connection, and reads all databases"));
        }
        Ok(())
    }
}

impl VisitorMut for Binding<'_> {
    type Break = Error;

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<Error> {
        let place = name.clone();
        match self.bind(name).map_err(|error| about_object(error, &place)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}
