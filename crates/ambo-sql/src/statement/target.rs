//! The table that a statement writes to, and queries for the rows of it that are meant.
//!
//! An UPDATE, a DELETE or a MERGE becomes a query: all that its rows are chosen by, subqueries, joins and correlated conditions among it,
//! is planned as in any SELECT. In that query the table has a name of its own under which, and only there, it shows the numbers of its
//! rows, by which rows without a primary key are told apart.

use std::{ops::ControlFlow, sync::Arc};

use ambo::{Datum, Table, TableDefinition};
use datafusion::{
    datasource::provider_as_source,
    sql::sqlparser::{
        ast::{
            self, Expr, Ident, LimitClause, ObjectName, OnConflictAction, OrderByKind, SelectItem,
            TableFactor, TableWithJoins, VisitorMut,
        },
        parser::Parser,
    },
};

use super::rules::Rules;
use crate::{
    Error, Result,
    connection::Work,
    foreign_keys::has_references,
    names::{ident, last, object, split},
    parse::DIALECT,
    planner::Planner,
    rights::Right,
    table::{ROW_NUMBER, StoredTable},
    value::Values,
    walk::WalkMut,
};

/// What the table is called in queries of ours: no name that anybody gives to one.
pub(crate) const TARGET: &str = "\u{1}target";

/// See the module.
pub(super) struct Target {
    pub table: Table,
    /// Its defaults and checks.
    pub rules: Arc<Rules>,
    /// What the statement calls it.
    pub alias: String,
    /// What may stand before the names of columns, if the statement gives it no other name.
    qualifiers: Vec<Vec<String>>,
}

/// What is read of the target, in front of the other columns of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    /// What tells rows apart: the key's columns, or the number.
    Key,
    /// All columns, and the number if rows have one.
    All,
}

impl Target {
    /// The table of a name, to which the role has these rights.
    pub(super) fn new(
        work: &Work<'_>,
        name: &ObjectName,
        alias: Option<&Ident>,
        rights: &[Right],
    ) -> Result<Self> {
        let written = object(name)?;
        let table = super::table(&work.definitions(), name)?.checked_by_caller();
        rights.iter().try_for_each(|right| work.require(&table.definition().name, *right))?;
        let rules = Rules::of(work, table.definition())?;
        let own = last(&written).to_owned();
        Ok(match alias {
            Some(alias) => Self { table, rules, alias: ident(alias), qualifiers: Vec::new() },
            None => {
                let qualifiers = work.qualifiers(split(&written).0, &own)?;
                Self { table, rules, alias: own, qualifiers }
            }
        })
    }

    /// The target of a statement that names it as queries name tables.
    pub(super) fn of_factor(work: &Work<'_>, factor: &TableFactor, rights: &[Right]) -> Result<Self> {
        match factor {
            TableFactor::Table { name, alias, args: None, with_hints, version: None, partitions, .. }
                if with_hints.is_empty()
                    && partitions.is_empty()
                    && alias.as_ref().is_none_or(|alias| alias.columns.is_empty()) =>
            {
                Self::new(work, name, alias.as_ref().map(|alias| &alias.name), rights)
            }
            other => Err(Error::invalid(format!("{other} is no table that can be written to"))),
        }
    }

    pub(super) fn of_insert(work: &Work<'_>, insert: &ast::Insert) -> Result<Self> {
        let ast::TableObject::TableName(name) = &insert.table else {
            return Err(Error::invalid(format!("not supported: INSERT INTO {}", insert.table)));
        };
        // What is given back of rows, or done where there is one, tells what there is.
        let replaces = insert.replace_into || matches!(insert.or, Some(ast::SqliteOnConflict::Replace));
        let rights: &[Right] = match (&insert.on, insert.returning.is_some()) {
            (None, false) if !replaces => &[Right::Insert],
            (
                Some(ast::OnInsert::OnConflict(ast::OnConflict {
                    action: OnConflictAction::DoNothing, ..
                })),
                false,
            ) => &[Right::Insert],
            (None, true) if !replaces => &[Right::Insert, Right::Select],
            _ => &[Right::Insert, Right::Select, Right::Update],
        };
        Self::new(work, name, insert.table_alias.as_ref().map(|alias| &alias.alias), rights)
    }

    pub(super) fn of_relation(work: &Work<'_>, relation: &TableWithJoins, rights: &[Right]) -> Result<Self> {
        match relation.joins.is_empty() {
            true => Self::of_factor(work, &relation.relation, rights),
            false => Err(Error::invalid("one statement writes to one table, not to a join")
                .with_hint("name the other tables behind FROM (of UPDATE) or USING (of DELETE)")),
        }
    }

    pub(super) fn definition(&self) -> &TableDefinition {
        self.table.definition()
    }

    /// Whether a statement that sets these columns may change any number of its rows without a transaction.
    pub(super) fn is_changed_in_bulk(&self, work: &Work<'_>, set: &[usize]) -> bool {
        let moves = set.iter().any(|column| self.definition().key.contains(column));
        work.is_auto && self.table.takes_bulk_changes() && !moves && !has_references(self.definition())
    }

    /// The place of a column: the one that has the name, or else the one that has it but for large and small letters.
    pub(super) fn column(&self, name: &str) -> Result<usize> {
        let known = || self.definition().columns.iter().map(|column| column.name.as_str());
        if let Some(place) = self.definition().column_index(name) {
            return Ok(place);
        }
        let wanted = name.to_lowercase();
        let alike: Vec<_> = known().enumerate().filter(|(_, known)| known.to_lowercase() == wanted).collect();
        match &alike[..] {
            [(place, _)] => Ok(*place),
            [] => Err(Error::not_found("column", name, known())),
            [(_, one), (_, other), ..] => Err(Error::invalid(format!(
                "column \"{name}\" is ambiguous: there are \"{one}\" and \"{other}\""
            ))),
        }
    }

    /// The place of a column as statements write it, with the name of the table before it or without.
    pub(super) fn column_of(&self, name: &ObjectName) -> Result<usize> {
        let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident().map(ident)).collect();
        match parts.as_deref() {
            Some([column]) => self.column(column),
            Some([table, column]) if *table == self.alias => self.column(column),
            Some([qualifier @ .., column]) if self.qualifiers.iter().any(|known| known == qualifier) => {
                self.column(column)
            }
            _ => Err(Error::invalid(format!("{name} is no column of table \"{}\"", self.alias))),
        }
    }

    /// The places of columns of a list in which each is once.
    pub(super) fn columns_of<'a>(&self, names: impl Iterator<Item = &'a ObjectName>) -> Result<Vec<usize>> {
        let mut places = Vec::new();
        for name in names {
            let place = self.column_of(name)?;
            if places.contains(&place) {
                return Err(Error::invalid(format!("column {name} is named twice")));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// A column in queries of ours.
    pub(super) fn expr(&self, column: &str) -> Expr {
        column_of(&self.alias, column)
    }

    /// The table in FROM.
    pub(super) fn relation(&self) -> TableWithJoins {
        let mut relation = relation(TARGET);
        if let TableFactor::Table { alias, .. } = &mut relation.relation {
            *alias = Some(table_alias(&self.alias));
        }
        relation
    }

    /// A planner that knows the table under our name.
    pub(super) fn planner<'w>(&self, work: &'w Work<'_>) -> Result<Planner<'w>> {
        work.transaction.note_scan(&self.table);
        let mut planner = work.planner()?;
        let stored = StoredTable::new(self.table.clone(), Arc::new(work.transaction.view()), true);
        planner.add_table(TARGET, provider_as_source(Arc::new(stored)));
        Ok(planner)
    }

    /// The first columns of a query: what is read of the target.
    pub(super) fn items(&self, read: Read) -> Vec<SelectItem> {
        let definition = self.definition();
        let mut columns: Vec<&str> = match read {
            Read::Key => definition.key.iter().map(|&place| &*definition.columns[place].name).collect(),
            Read::All => definition.columns.iter().map(|column| &*column.name).collect(),
        };
        if definition.is_numbered() {
            columns.push(ROW_NUMBER);
        }
        let named = columns.iter().enumerate();
        named.map(|(nth, column)| item(self.expr(column), &format!("\u{1}{nth}"))).collect()
    }

    /// How many columns [`Target::items`] has.
    pub(super) fn width(&self, read: Read) -> usize {
        let definition = self.definition();
        let columns = match read {
            Read::Key => definition.key.len(),
            Read::All => definition.columns.len(),
        };
        columns + usize::from(definition.is_numbered())
    }

    /// The stored key of the row that the first columns of a batch read.
    pub(super) fn stored_key(&self, values: &Values<'_>, row: usize, read: Read) -> Result<Vec<u8>> {
        let definition = self.definition();
        let number = match definition.is_numbered() {
            true => match values.get(row, self.width(read) - 1)? {
                Datum::U64(number) => number,
                other => return Err(Error::invalid(format!("{other} is no number of a row"))),
            },
            false => 0,
        };
        let place = |(nth, &column): (usize, &usize)| if read == Read::Key { nth } else { column };
        let key = definition.key.iter().enumerate().map(|column| values.get(row, place(column)));
        Ok(self.table.stored_key_of(&key.collect::<Result<Vec<_>>>()?, number)?)
    }

    /// Makes `table.column` of `schema.table.column` where this table is meant, which has another name in queries of ours.
    pub(super) fn unqualify(&self, tree: &mut impl WalkMut) {
        struct Unqualify<'a>(&'a [Vec<String>]);
        impl VisitorMut for Unqualify<'_> {
            type Break = ();
            fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
                if let Expr::CompoundIdentifier(parts) = expr
                    && let [qualifier @ .., _] = &parts[..]
                    && self.0.iter().any(|known| qualifier.iter().map(ident).eq(known.iter().cloned()))
                {
                    parts.drain(..parts.len() - 2);
                }
                ControlFlow::Continue(())
            }
        }
        let _ = tree.walk_mut(&mut Unqualify(&self.qualifiers));
    }
}

/// An expression of a select list under a name of ours.
pub(crate) fn item(expr: Expr, name: &str) -> SelectItem {
    SelectItem::ExprWithAlias { expr, alias: quoted(name) }
}

/// A name that is taken as it stands.
pub(super) fn quoted(name: &str) -> Ident {
    Ident::with_quote('"', name)
}

/// The column of a table.
pub(super) fn column_of(table: &str, column: &str) -> Expr {
    Expr::CompoundIdentifier(vec![quoted(table), quoted(column)])
}

pub(crate) fn table_alias(name: &str) -> ast::TableAlias {
    ast::TableAlias { explicit: true, name: quoted(name), columns: Vec::new(), at: None }
}

/// A table in FROM.
pub(crate) fn relation(name: &str) -> TableWithJoins {
    let text = format!("select 1 from \"{name}\"");
    let query = Parser::new(&DIALECT).try_with_sql(&text).and_then(|mut parser| parser.parse_query());
    match query.map(|query| *query.body) {
        Ok(ast::SetExpr::Select(mut select)) => select.from.remove(0),
        _ => unreachable!("the text is a query"),
    }
}

/// The parts of a query of ours.
#[derive(Default)]
pub(crate) struct Parts {
    pub with: Option<ast::With>,
    pub items: Vec<SelectItem>,
    pub from: Vec<TableWithJoins>,
    pub selection: Option<Expr>,
    pub order_by: Vec<ast::OrderByExpr>,
    pub limit: Option<Expr>,
}

impl Parts {
    pub(crate) fn query(self) -> ast::Query {
        let parsed =
            Parser::new(&DIALECT).try_with_sql("select 1").and_then(|mut parser| parser.parse_query());
        let mut query = parsed.expect("the text is a query");
        if let ast::SetExpr::Select(select) = &mut *query.body {
            select.projection = self.items;
            select.from = self.from;
            select.selection = self.selection;
        }
        query.with = self.with;
        if !self.order_by.is_empty() {
            let kind = OrderByKind::Expressions(self.order_by);
            query.order_by = Some(ast::OrderBy { kind, interpolate: None });
        }
        if self.limit.is_some() {
            let limit_by = Vec::new();
            query.limit_clause = Some(LimitClause::LimitOffset { limit: self.limit, offset: None, limit_by });
        }
        *query
    }
}
