//! Tables of one name in several schemas: `SELECT s.t.a FROM t, s.t`.
//!
//! The planner takes `s.t.a` for a column of any `t` that does not say its schema, and of two the first. So tables say all parts of their
//! names where that matters, and `t.a` is refused where two tables in sight are called so.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, ObjectName, ObjectNamePart, Select, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, Visitor, VisitorMut,
};

use super::{Planner, tables::has_relation};
use crate::{
    Error, Result,
    names::{about, ident},
    walk::{Walk, WalkMut, each_expr},
};

/// Has tables say all parts of their names, if that matters in a tree.
///
/// # Errors
/// A column is of two tables.
pub(super) fn say_schemas<T: Walk + WalkMut>(tree: &mut T, planner: &Planner<'_>) -> Result<()> {
    let mut looking = Looking::default();
    if let ControlFlow::Break(error) = tree.walk(&mut looking) {
        return Err(error);
    }
    looking.refuse_strangers()?;
    if !looking.matters() {
        return Ok(());
    }
    let mut saying = Saying { planner, with: looking.with };
    match tree.walk_mut(&mut saying) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// What there is in a tree.
#[derive(Default)]
struct Looking {
    /// Whether two tables of a query are called alike.
    are_alike: bool,
    /// The names of tables that have no other.
    tables: Vec<Vec<String>>,
    aliases: Vec<String>,
    with: Vec<String>,
    /// Columns with what is before their tables.
    columns: Vec<Vec<Ident>>,
}

impl Looking {
    /// The names before a column with three or more parts; `None` for a field of a struct.
    fn qualifier(&self, column: &[Ident]) -> Option<Vec<String>> {
        let parts: Vec<_> = column[..column.len() - 1].iter().map(ident).collect();
        let is_called = |name: &String| {
            self.aliases.contains(name) || self.tables.iter().any(|of| of.last() == Some(name))
        };
        (!is_called(&parts[0]) || parts.first() == parts.last()).then_some(parts)
    }

    /// Whether a column might be taken for that of another table.
    fn matters(&self) -> bool {
        let is_unclear = |of: Vec<String>| {
            let mut alike = self.tables.iter().filter(|table| table.last() == of.last());
            alike.any(|table| *table != of)
        };
        self.are_alike || self.columns.iter().filter_map(|column| self.qualifier(column)).any(is_unclear)
    }

    /// Refuses columns that say a schema where only what has another name is called as their table.
    fn refuse_strangers(&self) -> Result<()> {
        for column in &self.columns {
            let Some(of) = self.qualifier(column) else { continue };
            let is_table = self.tables.iter().any(|table| table.last() == of.last());
            if !is_table && of.last().is_some_and(|name| self.aliases.contains(name)) {
                let error =
                    Error::invalid(format!("no table of the statement is called \"{}\"", of.join(".")));
                return Err(about(
                    error.with_hint("what has another name is called by that alone"),
                    &column[0],
                ));
            }
        }
        Ok(())
    }
}

impl Visitor for Looking {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<Error> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        self.with.extend(tables.map(|table| ident(&table.alias.name)));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Error> {
        let factors = select.from.iter().flat_map(|from| {
            std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
        });
        let called: Vec<_> = factors.filter_map(called_as).collect();
        for (nth, one) in called.iter().enumerate() {
            for other in called[..nth].iter().filter(|other| other.name == one.name) {
                if one.parts.max(other.parts) < 2 {
                    continue;
                }
                self.are_alike = true;
                if one.parts == 0 || other.parts == 0 {
                    let error = format!("two tables are called \"{}\"", one.name);
                    return ControlFlow::Break(
                        Error::invalid(error).with_hint("give one of them another name: … AS other"),
                    );
                }
                refuse_unclear(select, &one.name)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Error> {
        match (called_as(factor), factor) {
            (Some(called), _) if called.parts == 0 => self.aliases.push(called.name),
            (Some(_), TableFactor::Table { name, .. }) => {
                self.tables.push(name.0.iter().filter_map(|part| part.as_ident()).map(ident).collect());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Error> {
        if let Expr::CompoundIdentifier(parts) = expr
            && parts.len() > 2
        {
            self.columns.push(parts.clone());
        }
        ControlFlow::Continue(())
    }
}

/// What a table of FROM is called.
struct Called {
    name: String,
    /// How many parts its name has; none for one that has another name.
    parts: usize,
}

fn called_as(factor: &TableFactor) -> Option<Called> {
    match factor {
        TableFactor::Table { name, alias: None, args: None, .. } => {
            let last = name.0.last()?.as_ident()?;
            Some(Called { name: ident(last), parts: name.0.len() })
        }
        TableFactor::Table { alias: Some(alias), .. } | TableFactor::Derived { alias: Some(alias), .. } => {
            Some(Called { name: ident(&alias.name), parts: 0 })
        }
        _ => None,
    }
}

/// Refuses columns of a table that might be another.
fn refuse_unclear(select: &Select, name: &str) -> ControlFlow<Error> {
    let unclear = |place: &Ident| {
        let error = Error::invalid(format!("\"{name}\" is ambiguous: two tables are called so"));
        about(error.with_hint("write the schema before it, or give one of them another name"), place)
    };
    for item in &select.projection {
        if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(of), _) = item
            && let [one] = &of.0[..]
            && let Some(one) = one.as_ident().filter(|one| ident(one) == name)
        {
            return ControlFlow::Break(unclear(one));
        }
    }
    each_expr(select, |expr| match expr {
        Expr::CompoundIdentifier(parts) if matches!(&parts[..], [table, _] if ident(table) == name) => {
            ControlFlow::Break(unclear(&parts[0]))
        }
        _ => ControlFlow::Continue(()),
    })
}

struct Saying<'a> {
    planner: &'a Planner<'a>,
    with: Vec<String>,
}

impl Saying<'_> {
    fn say(&self, name: &mut ObjectName) -> Result<()> {
        let Some(parts) = name.0.iter().map(|part| part.as_ident().map(ident)).collect::<Option<Vec<_>>>()
        else {
            return Ok(());
        };
        if parts.len() > 2
            || matches!(&parts[..], [one] if self.with.contains(one) || self.planner.has_extra(one))
        {
            return Ok(());
        }
        let candidates = self.planner.candidates_of(&parts)?;
        let is_there = |named: &&crate::databases::Named| {
            has_relation(&self.planner.place(named.place).definitions(), &named.local())
        };
        // Other things, such as files, are in no schema.
        let Some(named) = candidates.iter().find(is_there) else { return Ok(()) };
        let Some(last) = name.0.pop() else { return Ok(()) };
        let quoted = |text: &str| ObjectNamePart::Identifier(Ident::with_quote('"', text));
        name.0 = vec![quoted(self.planner.place(named.place).name), quoted(&named.schema), last];
        Ok(())
    }
}

impl VisitorMut for Saying<'_> {
    type Break = Error;

    /// `schema.table.*` has the whole name of the table, too.
    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Error> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(of), _) = item
                && of.0.len() == 2
                && let Err(error) = self.say(of)
            {
                return ControlFlow::Break(error);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        match factor {
            TableFactor::Table { name, alias: None, args: None, .. } => match self.say(name) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            },
            _ => ControlFlow::Continue(()),
        }
    }

    /// `database.table.column` is one of the schema that is always there.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [first, _, _] = &parts[..]
            && let Some(database) = self.planner.database_of(&ident(first))
        {
            let main = Ident::with_quote('"', ambo::DEFAULT_SCHEMA);
            parts.splice(..1, [Ident::with_quote('"', database), main]);
        }
        ControlFlow::Continue(())
    }
}
