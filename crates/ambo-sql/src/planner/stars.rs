//! `COLUMNS(…)`, which stands for an expression of each of several columns, and what stands behind `*`.
//!
//! `min(COLUMNS('a|b')) + 1` is `min(a) + 1, min(b) + 1`; all COLUMNS of an expression stand for the same columns. In a condition, the
//! expressions of all columns have to be true. As the arguments of a function `*COLUMNS(…)` are all of the columns. Which are meant is said
//! by a star, a regular expression that fits somewhere in a name, a list of names, or a condition on the name.

mod visitors;

use datafusion::sql::sqlparser::ast::{
    self, ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    Ident, ObjectName, OrderByKind, RenameSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind,
    Value, Visit, VisitMut, WildcardAdditionalOptions, With,
};
use regex::Regex;

use visitors::{Binding, Finding, Gathering, Replacing, Unpacking};

use super::{
    ask::Ask,
    pivot::columns_of,
    rewrite::tell_apart,
    trees::{self, all_of},
};
use crate::{
    Error, Result,
    names::{ident, written},
    parse::{LAMBDA, UNPACKED},
};

/// Writes out what stands for several columns in a SELECT, and in the order of its rows.
pub(super) fn write_out(
    select: &mut Select,
    order_by: Option<&mut OrderByKind>,
    with: Option<&With>,
    ask: &Ask<'_>,
) -> Result<()> {
    let has_columns = |order_by: &Option<&mut OrderByKind>| {
        let visitor = &mut Finding::default();
        Visit::visit(&select.projection, visitor).is_break()
            || Visit::visit(&select.selection, visitor).is_break()
            || Visit::visit(&select.group_by, visitor).is_break()
            || Visit::visit(&select.having, visitor).is_break()
            || Visit::visit(&select.qualify, visitor).is_break()
            || Visit::visit(&select.distinct, visitor).is_break()
            || order_by.as_ref().is_some_and(|by| Visit::visit(&**by, visitor).is_break())
    };
    let is_special = select.projection.iter().any(has_special_star);
    if !is_special && !has_columns(&order_by) {
        return Ok(());
    }
    let all = columns_of(&select.from, with, ask)?.into_iter();
    let all: Vec<Column> = all.map(|(expr, name)| Column { expr, name, parts: Vec::new() }).collect();
    let stars = Stars { all, ask };
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
    ask: &'a Ask<'a>,
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
        let is_special = has_special_star(&item);
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
        if Visit::visit(expr, &mut Finding::default()).is_continue() {
            return Ok(None);
        }
        let mut expr = expr.clone();
        let mut unpacking = Unpacking { stars: self, queries: 0, error: None };
        let _ = VisitMut::visit(&mut expr, &mut unpacking);
        if let Some(error) = unpacking.error {
            return Err(error);
        }
        let mut meant: Option<(Function, Vec<Column>)> = None;
        let mut gathering = Gathering { all: Vec::new(), queries: 0 };
        let _ = Visit::visit(&expr, &mut gathering);
        for function in gathering.all {
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
            let _ = VisitMut::visit(&mut expr, &mut Replacing { with: &column.expr, queries: 0 });
            (expr, column)
        };
        Ok(Some(columns.into_iter().map(one).collect()))
    }

    /// The columns that COLUMNS stands for.
    fn meant(&self, function: &Function) -> Result<Vec<Column>> {
        let FunctionArguments::List(list) = &function.args else { return Err(unclear(function)) };
        let [FunctionArg::Unnamed(argument)] = &list.args[..] else { return Err(unclear(function)) };
        let none = WildcardAdditionalOptions::default();
        let columns = match argument {
            FunctionArgExpr::Wildcard => self.star(None, &none)?,
            FunctionArgExpr::WildcardWithOptions(options) => self.star(None, options)?,
            FunctionArgExpr::QualifiedWildcard(table) => self.star(Some(table), &none)?,
            FunctionArgExpr::Expr(Expr::Value(value)) => match &value.value {
                Value::SingleQuotedString(pattern) => self.fitting(pattern)?,
                _ => return Err(unclear(function)),
            },
            FunctionArgExpr::Expr(Expr::Array(list)) => {
                list.elem.iter().map(|name| self.called(name, function)).collect::<Result<_>>()?
            }
            FunctionArgExpr::Expr(Expr::Function(lambda))
                if written(&lambda.name).is_ok_and(|name| name == LAMBDA) =>
            {
                self.chosen(lambda)?
            }
            _ => return Err(unclear(function)),
        };
        match columns.is_empty() {
            false => Ok(columns),
            true => {
                let names = self.all.iter().map(|column| column.name.as_str()).collect::<Vec<_>>();
                Err(Error::invalid(format!("{function} stands for no column"))
                    .with_hint(format!("there are {}", names.join(", "))))
            }
        }
    }

    fn fitting(&self, pattern: &str) -> Result<Vec<Column>> {
        let regex = Regex::new(pattern)
            .map_err(|error| Error::invalid(format!("'{pattern}' is no regular expression: {error}")))?;
        let fits = |column: &Column| {
            let captures = regex.captures(&column.name)?;
            let parts =
                captures.iter().map(|part| part.map_or(String::new(), |part| part.as_str().to_owned()));
            Some(Column { parts: parts.collect(), ..column.clone() })
        };
        Ok(self.all.iter().filter_map(fits).collect())
    }

    fn called(&self, name: &Expr, function: &Function) -> Result<Column> {
        let Expr::Value(value) = name else { return Err(unclear(function)) };
        let Value::SingleQuotedString(wanted) = &value.value else { return Err(unclear(function)) };
        let is_it = |column: &&Column| column.name == *wanted;
        let is_alike = |column: &&Column| column.name.eq_ignore_ascii_case(wanted);
        let found = self.all.iter().find(is_it).or_else(|| self.all.iter().find(is_alike));
        let known = self.all.iter().map(|column| column.name.as_str());
        found.cloned().ok_or_else(|| Error::not_found("column", wanted, known))
    }

    /// The columns whose names fulfil a condition: `lambda name: name LIKE 'a%'`.
    fn chosen(&self, lambda: &Function) -> Result<Vec<Column>> {
        let unclear = || Error::invalid("COLUMNS takes a condition on the name: lambda c: c LIKE 'a%'");
        let arguments = trees::arguments(lambda).ok_or_else(unclear)?;
        let [Expr::Identifier(variable), condition] = &arguments[..] else { return Err(unclear()) };
        let mut query = trees::query("SELECT 1");
        let of_name = |(nth, column): (usize, &Column)| {
            let mut condition = (*condition).clone();
            let name = trees::text(&column.name);
            let _ = VisitMut::visit(&mut condition, &mut Binding { variable, with: &name });
            trees::named(trees::cast_to_text(condition), &nth.to_string())
        };
        trees::select(&mut query).projection = self.all.iter().enumerate().map(of_name).collect();
        let row = self.ask.texts(query)?.into_iter().next().unwrap_or_default();
        let chosen = self.all.iter().zip(row).filter(|(_, is_it)| is_it.as_deref() == Some("true"));
        Ok(chosen.map(|(column, _)| column.clone()).collect())
    }

    /// The columns of a star.
    fn star(&self, table: Option<&ObjectName>, options: &WildcardAdditionalOptions) -> Result<Vec<Column>> {
        let WildcardAdditionalOptions {
            wildcard_token: _,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        if opt_alias.is_some() {
            return Err(Error::invalid("* has no name of its own"));
        }
        let of_table = |column: &&Column| match (table, &column.expr) {
            (None, _) => true,
            (Some(table), Expr::CompoundIdentifier(parts)) => {
                let wanted = table.0.iter().rev().map(|part| part.as_ident().map(ident));
                let own = parts[..parts.len() - 1].iter().rev().map(|part| Some(part.value.clone()));
                wanted.zip(own).all(|(wanted, own)| wanted == own)
            }
            (Some(_), _) => false,
        };
        let mut columns: Vec<Column> = self.all.iter().filter(of_table).cloned().collect();
        let names: Vec<ObjectName> = match opt_exclude {
            None => Vec::new(),
            Some(ExcludeSelectItem::Single(name)) => vec![name.clone()],
            Some(ExcludeSelectItem::Multiple(names)) => names.clone(),
        };
        let except = opt_except
            .iter()
            .flat_map(|except| std::iter::once(&except.first_element).chain(&except.additional_elements));
        for name in names.into_iter().chain(except.cloned().map(ObjectName::from)) {
            let before = columns.len();
            columns.retain(|column| !is_column(column, &name));
            if columns.len() == before {
                return Err(missing(&name, &columns));
            }
        }
        for element in opt_replace.iter().flat_map(|replace| &replace.items) {
            let name = ObjectName::from(element.column_name.clone());
            let column = columns.iter_mut().find(|column| is_column(column, &name));
            match column {
                Some(column) => column.expr = element.expr.clone(),
                None => return Err(missing(&name, &columns)),
            }
        }
        let renamed = match opt_rename {
            None => &[][..],
            Some(RenameSelectItem::Single(one)) => std::slice::from_ref(one),
            Some(RenameSelectItem::Multiple(all)) => &all[..],
        };
        for one in renamed {
            let name = ObjectName::from(one.ident.clone());
            match columns.iter_mut().find(|column| is_column(column, &name)) {
                Some(column) => column.name = ident(&one.alias),
                None => return Err(missing(&name, &columns)),
            }
        }
        if let Some(ilike) = opt_ilike {
            let condition = trees::expr("\"\u{1}lambda\"(c, c ILIKE 'p')");
            let Expr::Function(mut lambda) = condition else { return Ok(columns) };
            if let FunctionArguments::List(list) = &mut lambda.args
                && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::ILike { pattern, .. }))) =
                    list.args.last_mut()
            {
                **pattern = trees::text(&ilike.pattern);
            }
            return Stars { all: columns, ask: self.ask }.chosen(&lambda);
        }
        Ok(columns)
    }
}

/// What stands for all columns at once has no column's name.
fn of_all() -> Column {
    Column { expr: trees::expr("NULL"), name: String::new(), parts: Vec::new() }
}

fn unclear(function: &Function) -> Error {
    Error::invalid(format!("{function}: which columns are meant?")).with_hint(
        "COLUMNS(*), COLUMNS('regular expression'), COLUMNS(['a', 'b']), COLUMNS(lambda c: c LIKE 'a%')",
    )
}

fn missing(name: &ObjectName, columns: &[Column]) -> Error {
    let wanted = name.0.last().and_then(|part| part.as_ident()).map(ident).unwrap_or_default();
    let known = columns.iter().map(|column| column.name.as_str());
    crate::names::about_object(Error::not_found("column", &wanted, known), name)
}

/// Whether a column is called so, with its table or without.
fn is_column(column: &Column, name: &ObjectName) -> bool {
    let wanted = name.0.iter().rev().map(|part| part.as_ident().map(ident));
    match &column.expr {
        Expr::CompoundIdentifier(parts) => {
            let own = parts.iter().rev().map(|part| part.value.clone());
            wanted
                .zip(own)
                .all(|(wanted, own)| wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(&own)))
        }
        _ => wanted
            .take(1)
            .all(|wanted| wanted.is_some_and(|wanted| wanted.eq_ignore_ascii_case(&column.name))),
    }
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
