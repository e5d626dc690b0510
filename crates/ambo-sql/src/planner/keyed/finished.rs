//! The rows for the keys of a recursive table: a group of the candidates for each.

use std::ops::ControlFlow;

use arrow::datatypes::SchemaRef;
use datafusion::sql::sqlparser::{
    ast::{Expr, Query, SelectItem, Visitor},
    parser::Parser,
};

use crate::{
    Error, Result,
    names::{ident, written},
    parse::DIALECT,
    planner::trees,
    walk::Walk,
};

/// Which candidate a row is, counted from the first on.
pub(super) const PLACE: &str = "\u{1}place";

/// What the candidates are called.
pub(super) const NEW: &str = "\u{1}new";

/// Aggregates whose result hangs on the order of rows, which is that of the candidates.
const ORDERED: [&str; 8] =
    ["list", "array_agg", "string_agg", "group_concat", "listagg", "first", "last", "any_value"];

/// The query of the rows for the keys: a group for each.
pub(super) fn finished(schema: &SchemaRef, keys: &str) -> Result<Query> {
    let parsed = |text: &str| -> Result<Query> {
        let query = Parser::new(&DIALECT).try_with_sql(text).and_then(|mut parser| parser.parse_query());
        query.map(|query| *query).map_err(|error| Error::invalid(format!("USING KEY ({keys}): {error}")))
    };
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let place = quoted(PLACE);
    let mut columns: Vec<(String, Option<String>)> = schema
        .fields()
        .iter()
        .map(|field| {
            (field.name().clone(), Some(format!("last_value({} ORDER BY {place})", quoted(field.name()))))
        })
        .collect();
    let mut of_aggregates: Vec<String> = Vec::new();
    let mut own = parsed(&format!("SELECT {keys}"))?;
    for item in &trees::select(&mut own).projection {
        let (expr, called) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(ident(alias))),
            other => return Err(Error::invalid(format!("USING KEY: {other} is no column and no aggregate"))),
        };
        let mut of = Named { schema, found: Vec::new() };
        let _ = expr.walk(&mut of);
        let aggregate = match expr {
            Expr::Identifier(_) => None,
            Expr::Function(function) => {
                let is_ordered = written(&function.name).is_ok_and(|name| ORDERED.contains(&name.as_str()));
                let text = expr.to_string();
                let end =
                    text.trim_end().strip_suffix(')').filter(|text| is_ordered && !text.contains("ORDER BY"));
                Some(end.map_or_else(|| text.clone(), |text| format!("{text} ORDER BY {place})")))
            }
            other => return Err(Error::invalid(format!("USING KEY: {other} is no column and no aggregate"))),
        };
        let column = called.or_else(|| of.found.first().cloned());
        let at = column.and_then(|column| columns.iter().position(|(name, _)| *name == column));
        let Some(at) = at else {
            return Err(Error::invalid(format!("USING KEY: {expr} is of no column of the table"))
                .with_hint("which column it is for is said so: max(1) AS b"));
        };
        let name = columns[at].0.clone();
        if aggregate.is_some() {
            if columns[at].1.is_none() {
                return Err(Error::invalid(format!("USING KEY: \"{name}\" is a key and of an aggregate")));
            }
            if of_aggregates.contains(&name) {
                return Err(Error::invalid(format!("USING KEY: two aggregates are of \"{name}\"")));
            }
            of_aggregates.push(name);
        } else if of_aggregates.contains(&name) {
            return Err(Error::invalid(format!("USING KEY: \"{name}\" is a key and of an aggregate")));
        }
        columns[at].1 = aggregate;
    }
    let keys: Vec<_> = columns.iter().filter(|(_, of)| of.is_none()).map(|(name, _)| quoted(name)).collect();
    if keys.is_empty() {
        return Err(Error::invalid("USING KEY has no column that is a key"));
    }
    let value = |(name, of): &(String, Option<String>)| {
        let name = quoted(name);
        of.as_ref().map_or_else(|| name.clone(), |of| format!("{of} AS {name}"))
    };
    let values = columns.iter().map(value).collect::<Vec<_>>().join(", ");
    parsed(&format!("SELECT {values} FROM \"{NEW}\" GROUP BY {}", keys.join(", ")))
}

/// The columns of a schema that are named.
struct Named<'s> {
    schema: &'s SchemaRef,
    found: Vec<String>,
}

impl Visitor for Named<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && self.schema.column_with_name(&ident(name)).is_some()
        {
            self.found.push(ident(name));
        }
        ControlFlow::Continue(())
    }
}
