//! Generated columns: values that are computed of the other columns of a row whenever it is written.
//!
//! The expression of such a column is kept where others have their default, and a check of its own says that each row has its value: so
//! [`crate::check`] verifies it, and whoever writes rows without SQL is refused. What it says of other generated columns is written out. It
//! is the same whenever it is computed, so that nobody can tell a column that is stored from one that is virtual: both are stored.

use std::{collections::HashMap, ops::ControlFlow};

use ambo::{CatalogEdit, Check, Column, TableChange, TableDefinition, arrow::column_type};
use datafusion::{
    logical_expr::Volatility,
    sql::sqlparser::{
        ast::{self, CastKind, DataType, Expr, Ident, SetExpr, Value, Visitor, VisitorMut},
        parser::Parser,
    },
};

use super::{
    definition::{Parts, place},
    expression::{Computed, refuse_queries, row_schema, unqualify},
    target::Target,
    types::{column_type_text, declared},
    update,
};
use crate::{
    Connection, Error, Result,
    connection::Work,
    error::type_in_sql,
    hidden::seen,
    names::{about, ident, quoted, quoted_object},
    parse::{DIALECT, IMPLIED, parse_expression, parse_type},
    planner::Planner,
    value::part_of,
    walk::{Walk, WalkMut},
};

/// What is said of a generated column.
pub(super) struct Generated {
    pub column: Ident,
    pub expr: Expr,
    /// Whether its type is said, and not that of the expression.
    pub is_typed: bool,
}

/// Whether a column has no type of its own.
pub(super) fn is_implied(ty: &DataType) -> bool {
    matches!(ty, DataType::Custom(name, _) if name.0.first().and_then(|part| part.as_ident()).is_some_and(|name| name.value == IMPLIED))
}

/// Gives generated columns of a table, which are in their places, what they are computed of.
///
/// # Errors
/// Columns that are computed of each other; what [`define`] refuses.
pub(super) fn define_all(
    planner: &Planner<'_>,
    table: &mut TableDefinition,
    mut waiting: Vec<Generated>,
) -> Result<()> {
    while !waiting.is_empty() {
        let names: Vec<_> = waiting.iter().map(|of| ident(&of.column)).collect();
        let Some(next) = waiting.iter().position(|of| !mentions(&of.expr, &names)) else {
            let first = &waiting[0].column;
            let what = format!("generated column \"{}\" is computed of itself", ident(first));
            return Err(about(Error::invalid(what), first));
        };
        let of = waiting.remove(next);
        define(planner, table, &of).map_err(|error| about(error, &of.column))?;
    }
    Ok(())
}

fn mentions(expr: &Expr, names: &[String]) -> bool {
    struct Mentions<'n>(&'n [String]);
    impl Visitor for Mentions<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let name = match expr {
                Expr::Identifier(name) => Some(name),
                Expr::CompoundIdentifier(parts) => parts.last(),
                _ => None,
            };
            match name.is_some_and(|name| self.0.contains(&ident(name))) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
    }
    expr.walk(&mut Mentions(names)).is_break()
}

/// Gives a column what it is computed of, and the table the check that says so.
fn define(planner: &Planner<'_>, table: &mut TableDefinition, of: &Generated) -> Result<()> {
    const WHAT: &str = "generated column";
    refuse_queries(&of.expr, WHAT)?;
    let at = place(table, &of.column)?;
    let mut expr = of.expr.clone();
    unqualify(&mut expr, &table.name);
    write_out(&mut expr, table)?;
    let computed = Computed::new(planner, expr.clone(), &row_schema(table), WHAT)?;
    if computed.volatility != Volatility::Immutable {
        return Err(Error::invalid(format!("{} is not the same whenever it is computed", of.expr))
            .with_hint("a generated column is computed of the other columns of its row alone"));
    }
    let old = &table.columns[at];
    if !of.is_typed {
        let part = part_of(computed.ty())
            .filter(|_| !computed.ty().is_null())
            .ok_or_else(|| Error::invalid(format!("no column is of type {}", type_in_sql(computed.ty()))))?;
        let typed = Column::typed(&old.name, part);
        table.columns[at] = Column { nullable: old.nullable, comment: old.comment.clone(), ..typed };
    }
    let column = &mut table.columns[at];
    computed.require_for(&column_type(column))?;
    *column = column.clone().generated_as(expr.to_string());
    let check = check_of(column, &expr);
    table.checks.push(check);
    Ok(())
}

/// The check that a column has the value of its expression.
fn check_of(column: &Column, expr: &Expr) -> Check {
    let (name, ty) = (quoted(&column.name), column_type_text(column));
    Check::new(
        TableDefinition::generated_check(&column.name),
        format!("{name} IS NOT DISTINCT FROM CAST({expr} AS {ty})"),
    )
}

/// Puts what generated columns are computed of in their places.
fn write_out(expr: &mut Expr, table: &TableDefinition) -> Result<()> {
    let mut known = HashMap::new();
    for column in &table.columns {
        if let Some(text) = column.generated() {
            let cast = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(Expr::Nested(Box::new(parse_expression(text)?))),
                data_type: parse_type(&column_type_text(column))?,
                array: false,
                format: None,
            };
            known.insert(column.name.clone(), cast);
        }
    }
    struct WriteOut(HashMap<String, Expr>);
    impl VisitorMut for WriteOut {
        type Break = ();
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Identifier(name) = expr
                && let Some(of) = self.0.get(&ident(name))
            {
                *expr = of.clone();
            }
            ControlFlow::Continue(())
        }
    }
    let _ = expr.walk_mut(&mut WriteOut(known));
    Ok(())
}

/// Whether an expression of a statement is the word DEFAULT.
pub(super) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(name) if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default"))
}

/// That a column is given no value.
pub(super) fn given(column: &Column) -> Error {
    Error::invalid(format!("column \"{}\" is generated, so no value can be given for it", column.name))
        .with_hint("leave it out, or write DEFAULT")
}

/// The places of the columns that an INSERT without names is of: all, if so many values are given, or else those that are not generated.
pub(super) fn written(target: &Target, source: Option<&ast::Query>) -> Vec<usize> {
    let columns = &target.definition().columns;
    let values = match source.map(|source| &*source.body) {
        Some(SetExpr::Values(values)) => values.rows.first().map(|row| row.content.len()),
        _ => None,
    };
    let is_whole = values == Some(seen(target.definition()).count());
    seen(target.definition()).filter(|place| is_whole || columns[*place].generated().is_none()).collect()
}

/// Refuses values for generated columns among those that an INSERT is of; DEFAULT is none.
pub(super) fn refuse_given(
    target: &Target,
    columns: &[usize],
    source: Option<&mut ast::Query>,
) -> Result<()> {
    let all = &target.definition().columns;
    let generated: Vec<_> =
        columns.iter().enumerate().filter(|(_, place)| all[**place].generated().is_some()).collect();
    let Some(&(_, &first)) = generated.first() else { return Ok(()) };
    let Some(SetExpr::Values(values)) = source.map(|source| &mut *source.body) else {
        return Err(given(&all[first]));
    };
    for row in &mut values.rows {
        for &(nth, &place) in &generated {
            match row.content.get_mut(nth) {
                Some(expr) if is_default(expr) => *expr = Expr::value(Value::Null),
                Some(_) => return Err(given(&all[place])),
                None => {}
            }
        }
    }
    Ok(())
}

/// ALTER TABLE … ADD COLUMN of a generated one: the rows that are there get its values.
pub(super) fn add(connection: &mut Connection, name: &str, of: &ast::ColumnDef, parts: Parts) -> Result<()> {
    let Some(expr) = parts.generated else { return Ok(()) };
    connection.write(&[], |work| {
        let found = work.definitions().table(name)?;
        work.transaction.hold(&found)?;
        let mut table = found.definition().clone();
        let planner = work.own_planner()?;
        let is_typed = !is_implied(&of.data_type);
        let ty = match is_typed {
            true => declared(&of.data_type, &planner.types()?)?,
            false => ambo::Part::Plain(ambo::Type::Utf8),
        };
        let column = ident(&of.name);
        table
            .columns
            .push(Column { comment: parts.comment.clone(), ..Column::typed(&column, ty).nullable() });
        let of = Generated { column: of.name.clone(), expr: expr.clone(), is_typed };
        define_all(&planner, &mut table, vec![of])?;
        drop(planner);
        let (Some(added), Some(check)) = (table.columns.pop(), table.checks.pop()) else { return Ok(()) };
        let edit = |change| CatalogEdit::ChangeTable { name: name.to_owned(), changes: vec![change] };
        work.transaction.define(&edit(TableChange::AddColumn(added)))?;
        compute(work, name, &column)?;
        work.transaction.define(&edit(TableChange::AddCheck(check)))?;
        match parts.not_null {
            true => Ok(work.transaction.set_not_null(name, &column)?),
            false => Ok(()),
        }
    })
}

/// Adds a column that nobody sees, for an index: the type is that of its expression.
pub(super) fn add_hidden(connection: &mut Connection, table: &str, name: &str, expr: Expr) -> Result<()> {
    let column = ast::ColumnDef {
        name: Ident::with_quote('"', name),
        data_type: DataType::Custom(ast::ObjectName::from(vec![Ident::new(IMPLIED)]), Vec::new()),
        options: Vec::new(),
    };
    let parts = Parts { generated: Some(expr), ..Parts::default() };
    add(connection, table, &column, parts).map_err(|error| {
        let message =
            error.message().replace("generated column", "index").replace(&format!(" \"{name}\""), "");
        match error.hint() {
            Some(hint) => Error::new(error.kind(), message).with_hint(hint),
            None => Error::new(error.kind(), message),
        }
    })
}

/// Has all rows of a table computed again.
fn compute(work: &mut Work<'_>, table: &str, column: &str) -> Result<()> {
    let text = format!("UPDATE {} SET {} = DEFAULT", quoted_object(table), quoted(column));
    let statement = Parser::new(&DIALECT).try_with_sql(&text)?.parse_statement()?;
    let ast::Statement::Update(update) = statement else { return Err(Error::invalid("no UPDATE")) };
    // In this transaction, whatever their number.
    work.is_auto = false;
    update::apply(work, &update, None).map(std::mem::drop)
}
