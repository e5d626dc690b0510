//! TABLESAMPLE and USING SAMPLE: a part of a table's rows, by chance.
//!
//! | wanted | is |
//! |---|---|
//! | `10 PERCENT` | each row by itself: those whose chance is below 0.1 |
//! | `reservoir(10 PERCENT)`, `10 ROWS` | so many rows: those of the least chance |
//! | `… REPEATABLE (42)` | the same with a chance that follows from the number and from the row's place among all rows in their order |
//!
//! USING SAMPLE takes a part of what stands in FROM, before WHERE.

use datafusion::sql::sqlparser::ast::{
    self, Expr, FunctionArguments, Query, Select, TableAlias, TableFactor, TableSampleKind, Value,
};

use super::{
    rewrite::ColumnsOf,
    trees::{self, all_of},
};
use crate::{
    Error, Result,
    functions::CHANCE,
    names::{last, written},
    parse::{PERCENT, SAMPLE, each_select},
};

/// How much is wanted.
struct Sample {
    method: String,
    amount: Expr,
    is_share: bool,
    seed: Option<Expr>,
}

/// Says what USING SAMPLE is in the SELECTs of a query.
pub(super) fn say_samples(query: &mut Query, known: &ColumnsOf<'_>) -> Result<()> {
    let mut result = Ok(());
    each_select(&mut query.body, &mut |select| {
        if result.is_ok() {
            result = in_select(select, known);
        }
    });
    result
}

fn in_select(select: &mut Select, known: &ColumnsOf<'_>) -> Result<()> {
    let Some(first) = select.from.first() else { return Ok(()) };
    let TableFactor::Table { name, args: Some(args), .. } = &first.relation else { return Ok(()) };
    if !written(name).is_ok_and(|name| name == SAMPLE) {
        return Ok(());
    }
    let args: Vec<Expr> = args.args.iter().filter_map(argument).collect();
    let sample = sample(&args)?;
    select.from.remove(0);
    match &mut select.from[..] {
        [only] if only.joins.is_empty() => sampled(&mut only.relation, &sample, known),
        _ if sample.is_share && sample.method != "reservoir" && sample.seed.is_none() => {
            let chosen = sample.condition(trees::expr("random()"));
            select.selection = all_of([chosen].into_iter().chain(select.selection.take()));
            Ok(())
        }
        _ => Err(Error::invalid("not supported: a sample of a join with a number of rows or REPEATABLE")
            .with_hint("put the join in a query: SELECT … FROM (SELECT … FROM a JOIN b …) AS joined USING SAMPLE 10 ROWS")),
    }
}

fn argument(argument: &ast::FunctionArg) -> Option<Expr> {
    match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    }
}

/// Says what TABLESAMPLE behind a table is.
pub(super) fn say_sample(factor: &mut TableFactor, known: &ColumnsOf<'_>) -> Result<()> {
    let (TableFactor::Table { sample: kind, .. } | TableFactor::Derived { sample: kind, .. }) = factor else {
        return Ok(());
    };
    let args = match kind {
        Some(TableSampleKind::BeforeTableAlias(of) | TableSampleKind::AfterTableAlias(of)) => {
            match of.quantity.as_ref().map(|quantity| &quantity.value) {
                Some(Expr::Function(function))
                    if written(&function.name).is_ok_and(|name| name == SAMPLE) =>
                {
                    match &function.args {
                        FunctionArguments::List(list) => list.args.iter().filter_map(argument).collect(),
                        _ => Vec::new(),
                    }
                }
                _ => return Ok(()),
            }
        }
        None => return Ok(()),
    };
    let sample = sample(&args)?;
    *kind = None;
    sampled(factor, &sample, known)
}

fn sample(args: &[Expr]) -> Result<Sample> {
    let text = |expr: &Expr| match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            _ => String::new(),
        },
        _ => String::new(),
    };
    let [method, amount, unit, seed] = args else {
        return Err(Error::invalid("not supported: a sample of this kind")
            .with_hint("TABLESAMPLE 10 PERCENT, TABLESAMPLE reservoir(100 ROWS) REPEATABLE (42)"));
    };
    let is_null = |expr: &Expr| matches!(expr, Expr::Value(value) if value.value == Value::Null);
    let is_share = text(unit) == "percent";
    if let Expr::Value(value) = amount
        && let Value::Number(number, _) = &value.value
        && number.parse().is_ok_and(|amount: f64| is_share && !(0.0..=100.0).contains(&amount))
    {
        return Err(Error::invalid(format!("a sample of {number} %: it is between 0 and 100")));
    }
    Ok(Sample {
        method: text(method),
        amount: amount.clone(),
        is_share,
        seed: (!is_null(seed)).then(|| seed.clone()),
    })
}

impl Sample {
    /// Whether a row is chosen by itself.
    fn condition(&self, chance: Expr) -> Expr {
        let mut condition = trees::expr("0 < 1 / CAST(100 AS DOUBLE)");
        if let Expr::BinaryOp { left, right, .. } = &mut condition {
            **left = chance;
            if let Expr::BinaryOp { left: amount, .. } = right.as_mut() {
                **amount = self.amount.clone();
            }
        }
        condition
    }

    /// Has a query take a part of its rows, by a chance that each has.
    fn choose(&self, query: &mut Query) {
        let chance = trees::column(CHANCE);
        if self.is_share && self.method != "reservoir" {
            trees::select(query).selection = Some(self.condition(chance));
            return;
        }
        let mut ordered = trees::query(&format!("SELECT 1 ORDER BY \"{CHANCE}\" LIMIT \"{PERCENT}\"(1)"));
        query.order_by = ordered.order_by.take();
        query.limit_clause = ordered.limit_clause.take();
        if let Some(ast::LimitClause::LimitOffset { limit: Some(limit), .. }) = &mut query.limit_clause {
            match limit {
                Expr::Function(share) if self.is_share => trees::set_argument(share, 0, self.amount.clone()),
                limit => *limit = self.amount.clone(),
            }
        }
    }
}

/// A part of the rows of a table, under its name.
fn sampled(factor: &mut TableFactor, sample: &Sample, known: &ColumnsOf<'_>) -> Result<()> {
    let mut inner = factor.clone();
    let alias = match &mut inner {
        TableFactor::Table { alias, name, args, .. } => {
            let own = || {
                let name = match args {
                    None => ast::Ident::with_quote('"', last(&written(name)?)),
                    Some(_) => name
                        .0
                        .last()
                        .and_then(|part| part.as_ident())
                        .cloned()
                        .expect("a function has a name"),
                };
                Ok::<_, Error>(TableAlias { explicit: true, name, columns: Vec::new(), at: None })
            };
            match alias.take() {
                Some(alias) => Some(alias),
                None => Some(own()?),
            }
        }
        TableFactor::Derived { alias, .. } => alias.take(),
        _ => return Err(Error::invalid("not supported: a sample of a table of this kind")),
    };
    let shown = format!("SELECT * EXCLUDE (\"{CHANCE}\") FROM");
    let mut query = match &sample.seed {
        None => trees::query(&format!("{shown} (SELECT *, random() AS \"{CHANCE}\" FROM it) AS chosen")),
        Some(seed) => {
            let columns = known(&inner, None).filter(|columns| !columns.is_empty()).ok_or_else(|| {
                Error::invalid(
                    "not supported: REPEATABLE of a table whose columns are not known before others",
                )
            })?;
            let by = columns.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
            let by = by.collect::<Vec<_>>().join(", ");
            let mut query = trees::query(&format!(
                "{shown} (SELECT *, \"{CHANCE}\"(row_number() OVER (ORDER BY {by}), 1) AS \"{CHANCE}\" FROM it) AS chosen"
            ));
            if let TableFactor::Derived { subquery, .. } = &mut trees::select(&mut query).from[0].relation
                && let Some(ast::SelectItem::ExprWithAlias { expr: Expr::Function(chance), .. }) =
                    trees::select(subquery).projection.last_mut()
            {
                trees::set_argument(chance, 1, seed.clone());
            }
            query
        }
    };
    if let TableFactor::Derived { subquery, .. } = &mut trees::select(&mut query).from[0].relation {
        trees::select(subquery).from[0].relation = inner;
    }
    sample.choose(&mut query);
    *factor = TableFactor::Derived { lateral: false, subquery: Box::new(query), alias, sample: None };
    Ok(())
}
