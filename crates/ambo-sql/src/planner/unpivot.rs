//! UNPIVOT: columns become rows, each with the name of a column and its value.
//!
//! `UNPIVOT t ON a, b INTO NAME n VALUE v` is `SELECT k, unnest(['a', 'b']) AS n, unnest([a, b]) AS v FROM t`, without the rows whose value
//! is NULL; k are the columns that the statement does not name.

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, With,
};

use super::{
    ask::Ask,
    pivot::{columns_of, unnamed_columns},
    rewrite::tell_apart,
    trees::{self, all_of, column, mark, named},
};
use crate::{
    Error, Result,
    names::ident,
    parse::{ON, UNPIVOT, WITH_NULLS},
};

/// Values that stand in one row, and what the row is called.
struct Row {
    name: String,
    values: Vec<Expr>,
}

/// Says what a SELECT with the mark of an UNPIVOT means.
pub(super) fn say_unpivot(select: &mut Select, with: Option<&With>, ask: &Ask<'_>) -> Result<()> {
    let marked = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => mark(expr).map(str::to_owned),
        _ => None,
    };
    if select.projection.first().and_then(marked).as_deref() != Some(UNPIVOT) {
        return Ok(());
    }
    let mut names = select.projection.split_off(1);
    let on = names.iter().position(|item| marked(item).as_deref() == Some(ON));
    let turned = names.split_off(on.unwrap_or(names.len()));
    let with_nulls = names.first().and_then(marked).as_deref() == Some(WITH_NULLS);
    if with_nulls {
        names.remove(0);
    }
    let names = names.iter().map(name_of).collect::<Result<Vec<_>>>()?;
    let [name, values @ ..] = &names[..] else { return Err(Error::invalid("an UNPIVOT without names")) };
    let mut rows = Vec::new();
    for item in turned.get(1..).unwrap_or_default() {
        rows.extend(rows_of(item, select, with, ask)?);
    }
    if let Some(row) = rows.iter().find(|row| row.values.len() != values.len()) {
        return Err(Error::invalid(format!(
            "UNPIVOT has {} names for values, and {} stands for {}",
            values.len(),
            row.name,
            row.values.len()
        )));
    }
    let used = rows.iter().flat_map(|row| &row.values);
    let rest = unnamed_columns(&select.from, with, used, ask)?;
    let mut projection: Vec<_> = rest.into_iter().map(SelectItem::UnnamedExpr).collect();
    projection.push(named(unnested(rows.iter().map(|row| trees::text(&row.name))), name));
    for (nth, value) in values.iter().enumerate() {
        projection.push(named(unnested(rows.iter().map(|row| row.values[nth].clone())), value));
    }
    tell_apart(&mut projection);
    let mut around = trees::query("SELECT * FROM (SELECT 1 FROM it) AS unpivot");
    let outer = trees::select(&mut around);
    if !with_nulls {
        outer.selection = all_of(values.iter().map(|value| Expr::IsNotNull(Box::new(column(value)))));
    }
    if let TableFactor::Derived { subquery, .. } = &mut outer.from[0].relation {
        let inner = trees::select(subquery);
        inner.from = std::mem::take(&mut select.from);
        inner.projection = projection;
    }
    select.projection = std::mem::take(&mut outer.projection);
    select.from = std::mem::take(&mut outer.from);
    select.selection = outer.selection.take();
    Ok(())
}

fn name_of(item: &SelectItem) -> Result<String> {
    match item {
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Ok(ident(name)),
        other => Err(Error::invalid(format!("{other} is no name for a column of an UNPIVOT"))),
    }
}

fn unnested(values: impl Iterator<Item = Expr>) -> Expr {
    let mut call = trees::expr("unnest([1])");
    if let Expr::Function(function) = &mut call
        && let datafusion::sql::sqlparser::ast::FunctionArguments::List(list) = &mut function.args
        && let Some(datafusion::sql::sqlparser::ast::FunctionArg::Unnamed(argument)) = list.args.first_mut()
        && let datafusion::sql::sqlparser::ast::FunctionArgExpr::Expr(Expr::Array(array)) = argument
    {
        array.elem = values.collect();
    }
    call
}

/// What becomes of an item behind ON: a row, or several of a `*`.
fn rows_of(item: &SelectItem, select: &Select, with: Option<&With>, ask: &Ask<'_>) -> Result<Vec<Row>> {
    let all = |wanted: &dyn Fn(&Expr) -> bool| -> Result<Vec<Row>> {
        let columns = columns_of(&select.from, with, ask)?.into_iter();
        let row = |(expr, name)| Row { name, values: vec![expr] };
        Ok(columns.filter(|(expr, _)| wanted(expr)).map(row).collect())
    };
    match item {
        SelectItem::Wildcard(options) if *options == Default::default() => all(&|_| true),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(table), options)
            if *options == Default::default() =>
        {
            let table = crate::names::last(&crate::names::written(table)?).to_owned();
            all(
                &|expr| matches!(expr, Expr::CompoundIdentifier(parts) if parts[parts.len() - 2].value == table),
            )
        }
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            let alias = match item {
                SelectItem::ExprWithAlias { alias, .. } => Some(alias),
                _ => None,
            };
            let values = match expr {
                Expr::Tuple(values) => values.clone(),
                Expr::Nested(inner) => vec![inner.as_ref().clone()],
                expr => vec![expr.clone()],
            };
            let name = match alias {
                Some(alias) => ident(alias),
                None => values.iter().map(column_name).collect::<Vec<_>>().join("_"),
            };
            Ok(vec![Row { name, values }])
        }
        other => Err(Error::invalid(format!("{other} cannot stand behind ON of an UNPIVOT"))),
    }
}

fn column_name(expr: &Expr) -> String {
    let last = |parts: &[Ident]| parts.last().map(ident).unwrap_or_default();
    match expr {
        Expr::Identifier(name) => ident(name),
        Expr::CompoundIdentifier(parts) => last(parts),
        other => other.to_string(),
    }
}
