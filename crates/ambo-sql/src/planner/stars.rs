//! `COLUMNS(…)`, which stands for an expression of each of several columns, and what stands behind `*`.
//!
//! `min(COLUMNS('a|b')) + 1` is `min(a) + 1, min(b) + 1`; all COLUMNS of an expression stand for the same columns. In a condition, the
//! expressions of all columns have to be true. As the arguments of a function `*COLUMNS(…)` are all of the columns. Which are meant is said
//! by a star, a regular expression that fits somewhere in a name, a list of names, or a condition on the name.

mod meant;
mod visitors;

use std::{convert::Infallible, ops::ControlFlow};

use datafusion::sql::sqlparser::ast::{
    self, ExcludeSelectItem, Expr, Function, GroupByExpr, Ident, ObjectName, OrderByKind, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableWithJoins, WildcardAdditionalOptions, With,
};

use visitors::{Replacing, Unpacking, is_columns};

use super::{
    ask::Ask,
    own::{each_own, has_own},
    pivot::columns_of,
    rewrite::tell_apart,
    trees::{self, all_of},
    using::Common,
};
use crate::{Error, Result, names::ident, parse::UNPACKED, walk::WalkMut};

/// Writes out what stands for several columns in a SELECT, and in the order of its rows.
pub(super) fn write_out(
    select: &mut Select,
    order_by: Option<&mut OrderByKind>,
    common: Option<Common>,
    with: Option<&With>,
    ask: &Ask<'_>,
) -> Result<()> {
    let has_columns = |order_by: &Option<&mut OrderByKind>| {
        let is_it = |expr: &Expr| is_columns(expr).is_some();
        has_own(&select.projection, is_it)
            || has_own(&select.selection, is_it)
            || has_own(&select.group_by, is_it)
            || has_own(&select.having, is_it)
            || has_own(&select.qualify, is_it)
            || has_own(&select.distinct, is_it)
            || order_by.as_ref().is_some_and(|by| has_own(&**by, is_it))
    };
    let written = Written { has_common: common.is_some(), overlap: overlap(&select.projection) };
    if !select.projection.iter().any(|item| written.is_special(item)) && !has_columns(&order_by) {
        return Ok(());
    }
    let all = columns_of(&select.from, with, ask)?;
    let all = common.map_or_else(|| all.clone(), |common| common.columns(&all));
    let stars = Stars { all: all.into_iter().map(column).collect(), written, from: &select.from, with, ask };
    let mut items = Vec::with_capacity(select.projection.len());
    for item in std::mem::take(&mut select.projection) {
        stars.item(item, &mut items)?;
    }
    if !trees::is_marked(&items) {
        tell_apart(&mut items);
    }
    select.projection = items;
    for condition in [&mut select.selection, &mut select.having, &mut select.qualify].into_iter().flatten() {
        if let Some(each) = stars.each(condition)? {
            *condition =
                all_of(each.into_iter().map(|(expr, _)| expr)).unwrap_or_else(|| trees::expr("true"));
        }
    }
    let exprs = |exprs: &mut Vec<Expr>| -> Result<()> {
        let mut said = Vec::new();
        for expr in exprs.drain(..) {
            match stars.each(&expr)? {
                Some(each) => said.extend(each.into_iter().map(|(expr, _)| expr)),
                None => said.push(expr),
            }
        }
        *exprs = said;
        Ok(())
    };
    if let GroupByExpr::Expressions(by, _) = &mut select.group_by {
        exprs(by)?;
    }
    if let Some(ast::Distinct::On(on)) = &mut select.distinct {
        exprs(on)?;
    }
    if let Some(OrderByKind::Expressions(by)) = order_by {
        let mut said = Vec::new();
        for one in by.drain(..) {
            match stars.each(&one.expr)? {
                Some(each) => {
                    said.extend(each.into_iter().map(|(expr, _)| ast::OrderByExpr { expr, ..one.clone() }))
                }
                None => said.push(one),
            }
        }
        *by = said;
    }
    Ok(())
}

/// A column that is meant.
#[derive(Clone, Debug)]
struct Column {
    expr: Expr,
    name: String,
    /// The parts of the name that groups of a regular expression fit, the whole first.
    parts: Vec<String>,
}

struct Stars<'a> {
    all: Vec<Column>,
    written: Written,
    from: &'a [TableWithJoins],
    with: Option<&'a With>,
    ask: &'a Ask<'a>,
}

fn column((expr, name): (Expr, String)) -> Column {
    Column { expr, name, parts: Vec::new() }
}

/// What there is in a SELECT.
struct Written {
    /// Whether joins have columns in common.
    has_common: bool,
    /// Whether two stars have columns of one table.
    overlap: bool,
}

fn overlap(items: &[SelectItem]) -> bool {
    let mut stars = items.iter().filter_map(|item| match item {
        SelectItem::Wildcard(_) => Some(None),
        SelectItem::QualifiedWildcard(table, _) => Some(Some(table.to_string())),
        _ => None,
    });
    let Some(first) = stars.next() else { return false };
    let mut seen = vec![first];
    stars.any(|star| {
        let is_twice = star.is_none() || seen.iter().any(|other| other.is_none() || *other == star);
        seen.push(star);
        is_twice
    })
}

impl Written {
    /// Whether a star is written out here: the planner does not know what stands behind it, takes a column in common from one side, or
    /// refuses the names of two stars.
    fn is_special(&self, item: &SelectItem) -> bool {
        let is_plain = |options: &WildcardAdditionalOptions| *options == WildcardAdditionalOptions::default();
        has_special_star(item)
            || match item {
                SelectItem::Wildcard(options) => self.overlap || self.has_common && !is_plain(options),
                SelectItem::QualifiedWildcard(..) => self.overlap,
                _ => false,
            }
    }
}

/// Whether there is something behind a star that the planner does not know.
fn has_special_star(item: &SelectItem) -> bool {
    let (SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options)) = item else {
        return false;
    };
    let is_long = |name: &ObjectName| name.0.len() > 1;
    options.opt_rename.is_some()
        || match &options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => is_long(name),
            Some(ExcludeSelectItem::Multiple(names)) => names.iter().any(is_long),
            None => false,
        }
}

impl Stars<'_> {
    /// The items that one stands for.
    fn item(&self, item: SelectItem, items: &mut Vec<SelectItem>) -> Result<()> {
        let is_special = self.written.is_special(&item);
        match &item {
            SelectItem::Wildcard(options) if is_special => {
                items.extend(self.star(None, options)?.into_iter().map(as_item));
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), options)
                if is_special =>
            {
                items.extend(self.star(Some(table), options)?.into_iter().map(as_item));
            }
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                let Some(each) = self.each(expr)? else {
                    items.push(item);
                    return Ok(());
                };
                let alias = match &item {
                    SelectItem::ExprWithAlias { alias, .. } => Some(alias),
                    _ => None,
                };
                for (each, column) in each {
                    let name = match (alias, &column) {
                        (Some(alias), column) => called(alias, column),
                        // Of all columns at once.
                        (None, column) if column.name.is_empty() => {
                            expr.to_string().replace(&format!("\"{UNPACKED}\""), "*COLUMNS")
                        }
                        (None, column) => column.name.clone(),
                    };
                    items.push(trees::named(each, &name));
                }
            }
            _ => items.push(item),
        }
        Ok(())
    }

    /// An expression for each of the columns that are meant by COLUMNS in it; `None` if there is none.
    fn each(&self, expr: &Expr) -> Result<Option<Vec<(Expr, Column)>>> {
        if !has_own(expr, |expr| is_columns(expr).is_some()) {
            return Ok(None);
        }
        let mut expr = expr.clone();
        let mut unpacking = Unpacking { stars: self, queries: 0, error: None };
        let _ = expr.walk_mut(&mut unpacking);
        if let Some(error) = unpacking.error {
            return Err(error);
        }
        let mut meant: Option<(Function, Vec<Column>)> = None;
        let mut functions = Vec::new();
        let ControlFlow::Continue(()) = each_own(&expr, |expr| -> ControlFlow<Infallible> {
            functions.extend(is_columns(expr).cloned());
            ControlFlow::Continue(())
        });
        for function in functions {
            match &meant {
                None => {
                    let columns = self.meant(&function)?;
                    meant = Some((function, columns));
                }
                Some((known, _)) if known.args == function.args => {}
                Some((known, columns)) => {
                    let others = self.meant(&function)?;
                    if others.iter().map(|column| &column.name).ne(columns.iter().map(|column| &column.name))
                    {
                        return Err(Error::invalid(format!(
                            "{known} and {function} stand for other columns in one expression"
                        )));
                    }
                }
            }
        }
        let Some((_, columns)) = meant else { return Ok(Some(vec![(expr, of_all())])) };
        let one = |column: Column| {
            let mut expr = expr.clone();
            let _ = expr.walk_mut(&mut Replacing { with: &column.expr, queries: 0 });
            (expr, column)
        };
        Ok(Some(columns.into_iter().map(one).collect()))
    }
}

/// What stands for all columns at once has no column's name.
fn of_all() -> Column {
    Column { expr: trees::expr("NULL"), name: String::new(), parts: Vec::new() }
}

fn as_item(column: Column) -> SelectItem {
    match &column.expr {
        Expr::CompoundIdentifier(parts) if parts.last().is_some_and(|last| last.value == column.name) => {
            SelectItem::UnnamedExpr(column.expr)
        }
        _ => trees::named(column.expr, &column.name),
    }
}

/// The name that AS gives to an expression of a column: `\1` is the first group of the regular expression.
fn called(alias: &Ident, column: &Column) -> String {
    let pattern = ident(alias);
    let mut name = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match (letter, letters.clone().next().and_then(|next| next.to_digit(10))) {
            ('\\', Some(group)) => {
                letters.next();
                let parts = &column.parts;
                let whole = if group == 0 { Some(&column.name) } else { None };
                name.push_str(parts.get(group as usize).or(whole).map_or("", String::as_str));
            }
            _ => name.push(letter),
        }
    }
    name
}
