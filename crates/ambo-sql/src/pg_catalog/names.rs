//! What PostgreSQL calls the columns of a query that have no name: programs know values by them.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::{
    ast::{
        AccessExpr, CastKind, DataType, Expr, FunctionArguments, Query, SelectItem, SetExpr, Statement, Value,
    },
    tokenizer::Span,
};

use crate::{names::ident, walk::each_expr};

/// What PostgreSQL makes of a column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresColumn {
    /// What it is called.
    pub name: String,
    /// Whether it is cast to a text: whatever its values are in the catalog, they are no more than that.
    pub is_text: bool,
}

/// PostgreSQL's numbers of the types of parameters that are cast to one which the engine has by another name: each with its place.
pub(crate) fn parameters_of(statement: &Statement) -> Vec<(usize, u32)> {
    let mut all = Vec::new();
    let _ = each_expr(statement, |expr| {
        if let Expr::Cast { expr, data_type, .. } = expr
            && let Expr::Value(value) = expr.as_ref()
            && let Value::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok())
            && let Some(place) = number.checked_sub(1)
            && let Some(ty) = super::syntax::own_type(data_type)
        {
            all.push((place, ty));
        }
        ControlFlow::<()>::Continue(())
    });
    all
}

/// The columns of a result before a `*`, and those behind it.
pub(crate) type Columns = (Vec<PostgresColumn>, Option<Vec<PostgresColumn>>);

/// What an expression is called, and whether that is as good as a name: one of a type is not.
struct Called(String, bool);

/// The names of the columns of a statement: those before a `*`, and those behind it. `None` for a statement that has none to be told.
pub(crate) fn of_statement(statement: &Statement) -> Option<Columns> {
    match statement {
        Statement::Query(query) => of_query(query),
        _ => None,
    }
}

fn of_query(query: &Query) -> Option<Columns> {
    let mut body = query.body.as_ref();
    let select = loop {
        match body {
            SetExpr::Select(select) => break select,
            SetExpr::Query(query) => return of_query(query),
            SetExpr::SetOperation { left, .. } => body = left,
            _ => return None,
        }
    };
    let is_star =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let name = |item: &SelectItem| {
        let (expr, name) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, of_expr(expr)),
            // The parser has given it: its text.
            SelectItem::ExprWithAlias { expr, alias } if alias.span == Span::empty() => (expr, of_expr(expr)),
            SelectItem::ExprWithAlias { expr, alias } => (expr, ident(alias)),
            _ => return None,
        };
        let is_text = matches!(expr, Expr::Cast { data_type, .. } if super::syntax::is_text(data_type));
        Some(PostgresColumn { name, is_text })
    };
    let items = &select.projection;
    let Some(first) = items.iter().position(is_star) else {
        return Some((items.iter().map(name).collect::<Option<_>>()?, None));
    };
    let last = items.iter().rposition(is_star)?;
    let before = items[..first].iter().map(name).collect::<Option<_>>()?;
    Some((before, Some(items[last + 1..].iter().map(name).collect::<Option<_>>()?)))
}

/// What a column is called.
fn of_expr(expr: &Expr) -> String {
    called(expr).map_or_else(|| "?column?".to_owned(), |Called(name, _)| name)
}

fn good(name: impl Into<String>) -> Option<Called> {
    Some(Called(name.into(), true))
}

fn called(expr: &Expr) -> Option<Called> {
    match expr {
        Expr::Identifier(name) => good(ident(name)),
        Expr::CompoundIdentifier(parts) => good(ident(parts.last()?)),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => called(inner),
        Expr::Function(function) => {
            let name = function.name.0.last()?.as_ident().map(ident)?;
            match (name.as_str(), &function.args) {
                ("array", FunctionArguments::Subquery(_)) => good("array"),
                _ => good(name),
            }
        }
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. } => {
            let inner = called(expr).filter(|Called(_, is_good)| *is_good);
            Some(inner.unwrap_or_else(|| Called(type_name(data_type), false)))
        }
        Expr::Case { else_result, .. } => {
            let inner =
                else_result.as_ref().and_then(|expr| called(expr)).filter(|Called(_, is_good)| *is_good);
            Some(inner.unwrap_or_else(|| Called("case".to_owned(), false)))
        }
        Expr::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                AccessExpr::Dot(Expr::Identifier(name)) => Some(ident(name)),
                _ => None,
            });
            field.map_or_else(|| called(root), good)
        }
        Expr::Subquery(query) => {
            let (names, _) = of_query(query)?;
            good(names.into_iter().next()?.name)
        }
        Expr::Exists { .. } => good("exists"),
        Expr::Array(_) => good("array"),
        Expr::Tuple(_) => good("row"),
        Expr::Extract { .. } => good("extract"),
        Expr::Substring { .. } => good("substring"),
        Expr::Position { .. } => good("position"),
        Expr::Overlay { .. } => good("overlay"),
        Expr::Ceil { .. } => good("ceil"),
        Expr::Floor { .. } => good("floor"),
        Expr::AtTimeZone { .. } => good("timezone"),
        Expr::Trim { trim_where, .. } => {
            use datafusion::sql::sqlparser::ast::TrimWhereField as At;
            good(match trim_where {
                Some(At::Leading) => "ltrim",
                Some(At::Trailing) => "rtrim",
                _ => "btrim",
            })
        }
        Expr::TypedString(typed) => Some(Called(type_name(&typed.data_type), false)),
        Expr::Interval(_) => Some(Called("interval".to_owned(), false)),
        _ => None,
    }
}

/// A type as `pg_type` calls it.
fn type_name(ty: &DataType) -> String {
    let text = ty.to_string().to_lowercase();
    let item = text.strip_suffix("[]").unwrap_or(&text);
    let plain = item.split('(').next().unwrap_or_default().trim();
    let plain = plain.rsplit('.').next().unwrap_or_default().trim_matches('"');
    match plain {
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "smallint" => "int2",
        "real" => "float4",
        "double precision" | "double" | "float" => "float8",
        "boolean" => "bool",
        "character varying" => "varchar",
        "character" | "char" => "bpchar",
        "decimal" | "dec" => "numeric",
        "timestamp without time zone" => "timestamp",
        "timestamp with time zone" => "timestamptz",
        "time without time zone" => "time",
        "time with time zone" => "timetz",
        plain => plain,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_query;

    #[test]
    fn columns_are_called_as_postgresql_calls_them() {
        let names = |text: &str| {
            let (before, behind) = of_query(&parse_query(text).unwrap()).unwrap();
            let names = |all: Vec<PostgresColumn>| all.into_iter().map(|of| of.name).collect::<Vec<_>>();
            (names(before), behind.map(names))
        };
        let (all, rest) = names(
            "select 1, a, t.a, count(*), a::text, '1'::int, case when a then 1 end, case when a then 1 else b end,
                (select max(x) from u), exists (select 1), array[1], -a, a + b, max(a) as m, 'x'::varchar(3)",
        );
        let expected = [
            "?column?", "a", "a", "count", "a", "int4", "case", "b", "max", "exists", "array", "?column?",
            "?column?", "m", "varchar",
        ];
        assert_eq!((all, rest), (expected.map(str::to_owned).to_vec(), None));
        let (before, behind) = names("select count(*), t.*, 1 from t union all select 1, 2, 3");
        assert_eq!((before, behind), (vec!["count".to_owned()], Some(vec!["?column?".to_owned()])));
    }
}
