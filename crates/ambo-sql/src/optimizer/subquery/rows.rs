//! Rows of a plan, and beside them what subqueries are for each.

use datafusion::{
    common::{
        Column, DFSchema, NullEquality, Result, TableReference, not_impl_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    error::DataFusionError,
    functions_aggregate::{count::count, first_last::first_value, min_max::max},
    logical_expr::{
        Aggregate, Distinct, Expr, ExprSchemable, Filter, JoinType, LogicalPlan, LogicalPlanBuilder,
        Operator, Projection, binary_expr, col,
        expr::Exists,
        lit,
        utils::{conjunction, split_conjunction},
    },
};

use super::{
    dependent::outer_join,
    domain::{Domain, renamed},
    has_query,
    meaning::{Meaning, first_row},
    names::Names,
    only_one::only_one,
    simple, subquery,
};

/// See the module.
pub(super) struct Rows<'n> {
    names: &'n Names,
    plan: LogicalPlan,
    /// How many columns the plan had; further ones follow.
    width: usize,
}

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// In a condition.
    Filter,
    /// In the list of a SELECT.
    Projection,
    /// Where the planner knows no columns from outside.
    Elsewhere,
}

impl<'n> Rows<'n> {
    pub(super) fn new(plan: LogicalPlan, names: &'n Names) -> Self {
        Self { names, width: plan.schema().fields().len(), plan }
    }

    pub(super) fn plan(&self) -> LogicalPlan {
        self.plan.clone()
    }

    /// The columns that the plan had.
    pub(super) fn columns(&self) -> impl Iterator<Item = Expr> {
        let schema = self.plan.schema().as_ref();
        (0..self.width).map(|i| Expr::Column(Column::from(schema.qualified_field(i))))
    }

    /// An expression of the same value; of a condition, one with the same rows. What subqueries the planner cannot join are columns then.
    pub(super) fn replaced(&mut self, expr: Expr, place: Place) -> Result<Expr> {
        let expr = expr.transform_up(|expr| self.operand(expr))?.data;
        let schema = self.plan.schema().clone();
        let meaning = Meaning { schema: &schema, names: self.names };
        let expr = match place {
            Place::Filter => meaning.condition(expr)?,
            _ => meaning.value(expr)?.data,
        };
        let joined = |expr: Expr| self.joined(expr, place);
        Ok(expr.transform_down(joined)?.data)
    }

    /// What is compared with the rows of a subquery is an expression over columns.
    fn operand(&mut self, expr: Expr) -> Result<Transformed<Expr>> {
        match expr {
            Expr::InSubquery(mut of) if has_query(&of.expr)? => {
                of.expr = Box::new(self.replaced(*of.expr, Place::Elsewhere)?);
                Ok(Transformed::yes(Expr::InSubquery(of)))
            }
            Expr::SetComparison(mut of) if has_query(&of.expr)? => {
                of.expr = Box::new(self.replaced(*of.expr, Place::Elsewhere)?);
                Ok(Transformed::yes(Expr::SetComparison(of)))
            }
            expr => Ok(Transformed::no(expr)),
        }
    }

    fn joined(&mut self, expr: Expr, place: Place) -> Result<Transformed<Expr>> {
        let schema = self.plan.schema();
        let is_known = |query: &LogicalPlan| {
            Ok::<_, DataFusionError>(match simple::is_correlated(query) {
                true => place != Place::Elsewhere && simple::is_value(query, schema)?,
                false => true,
            })
        };
        let value = match &expr {
            Expr::ScalarSubquery(query) => {
                let query = query.subquery.as_ref();
                match is_known(query)? {
                    true => {
                        let kept = or_null(query)?.map(|plan| Expr::ScalarSubquery(subquery(plan)));
                        let is_changed = kept.is_some();
                        let kept = kept.unwrap_or(expr);
                        return Ok(Transformed::new(kept, is_changed, TreeNodeRecursion::Jump));
                    }
                    false => self.value(query)?,
                }
            }
            Expr::Exists(Exists { subquery: query, negated }) => {
                let listless = without_list(&query.subquery, self.names)?;
                let query = listless.as_ref().unwrap_or(&query.subquery);
                if place == Place::Filter && simple::is_filter(query, schema)? {
                    let is_changed = listless.is_some();
                    let expr = match listless {
                        Some(plan) => Expr::Exists(Exists { subquery: subquery(plan), negated: *negated }),
                        None => expr,
                    };
                    return Ok(Transformed::new(expr, is_changed, TreeNodeRecursion::Jump));
                }
                let counted = counted(query)?;
                let is_there = match is_known(&counted)? {
                    true => Expr::ScalarSubquery(subquery(counted)),
                    false => self.is_there(query)?,
                };
                if *negated { Expr::Not(Box::new(is_there)) } else { is_there }
            }
            _ => return Ok(Transformed::no(expr)),
        };
        Ok(Transformed::new(value, true, TreeNodeRecursion::Jump))
    }

    /// A column with the value of a query for each row.
    fn value(&mut self, query: &LogicalPlan) -> Result<Expr> {
        if let Some((found, keys)) = found_by(query, self.plan.schema())? {
            return self.one_of(found, keys, NullEquality::NullEqualsNothing);
        }
        let (domain, keys) = self.domain(query)?;
        let rows = domain.dependent(query)?;
        let value = Expr::Column(Column::from(rows.schema().qualified_field(0)));
        let by = domain.values().cloned().map(Expr::Column).collect();
        if query.max_rows().is_some_and(|rows| rows <= 1) {
            let columns = self.with(rows, by, vec![value], keys, NullEquality::NullEqualsNull)?;
            return Ok(columns[0].clone());
        }
        self.one_of(counted_by(rows, by, value)?, keys, NullEquality::NullEqualsNull)
    }

    /// The value of rows that [`counted_by`] made, for each row.
    fn one_of(&mut self, counted: LogicalPlan, keys: Vec<Column>, nulls: NullEquality) -> Result<Expr> {
        let mut by: Vec<_> = all_columns(counted.schema()).collect();
        let values = by.split_off(keys.len());
        let columns = self.with(counted, by, values, keys, nulls)?;
        Ok(only_one(columns[0].clone(), columns[1].clone()))
    }

    /// Whether a query has a row, for each row.
    fn is_there(&mut self, query: &LogicalPlan) -> Result<Expr> {
        let (domain, keys) = self.domain(query)?;
        let rows = domain.dependent(query)?;
        let by: Vec<_> = domain.values().cloned().map(Expr::Column).collect();
        let found = Projection::try_new(by.clone(), rows.into())?;
        let found = LogicalPlan::Distinct(Distinct::All(LogicalPlan::Projection(found).into()));
        let columns = self.with(found, by, vec![lit(true)], keys, NullEquality::NullEqualsNull)?;
        Ok(columns[0].clone().is_not_null())
    }

    /// The values of a query's columns from outside, and which columns of the plan they are.
    fn domain(&mut self, query: &LogicalPlan) -> Result<(Domain<'n>, Vec<Column>)> {
        let (mut outside, mut keys, mut further) = (Vec::new(), Vec::new(), Vec::new());
        for reference in query.all_out_ref_exprs() {
            let Expr::OuterReferenceColumn(_, column) = &reference else {
                return not_impl_err!("{reference} in a subquery");
            };
            // References to one column may differ in whether it can be NULL.
            if outside.contains(column) {
                continue;
            }
            outside.push(column.clone());
            keys.push(match self.plan.schema().has_column(column) {
                true => column.clone(),
                // From further out: a column of the plan from there.
                false => {
                    let key = self.names.column();
                    further.push(reference.alias(&key.name));
                    key
                }
            });
        }
        if !further.is_empty() {
            let all = all_columns(self.plan.schema()).chain(further).collect();
            self.plan = LogicalPlan::Projection(Projection::try_new(all, self.plan().into())?);
        }
        Ok((Domain::new(self.names, &mut self.plan, outside, &keys)?, keys))
    }

    /// Adds columns of rows whose `by` are the plan's `keys`, and says which they are.
    fn with(
        &mut self,
        rows: LogicalPlan,
        by: Vec<Expr>,
        values: Vec<Expr>,
        keys: Vec<Column>,
        nulls: NullEquality,
    ) -> Result<Vec<Expr>> {
        let mut same = self.names.columns(by.len() + values.len());
        let named = by.into_iter().chain(values).zip(&same).map(|(expr, to)| expr.alias(&to.name)).collect();
        let rows = LogicalPlan::Projection(Projection::try_new(named, rows.into())?);
        let values = same.split_off(keys.len());
        self.plan = outer_join(self.plan(), rows, keys, same, nulls)?;
        Ok(values.into_iter().map(Expr::Column).collect())
    }

    /// The rows of LATERAL queries: the plan's with those of a query for each, which are a table of that name.
    pub(super) fn lateral(
        mut self,
        query: &LogicalPlan,
        alias: Option<&TableReference>,
        join_type: JoinType,
        condition: Option<Expr>,
    ) -> Result<LogicalPlan> {
        let (domain, keys) = self.domain(query)?;
        let rows = domain.dependent(query)?;
        let width = query.schema().fields().len();
        let mut columns = Vec::with_capacity(width + keys.len());
        for (i, (table, field)) in rows.schema().iter().enumerate() {
            let from = Column::from((table, field));
            columns.push(match alias {
                Some(alias) if i < width => renamed(from, &Column::new(Some(alias.clone()), field.name())),
                _ => Expr::Column(from),
            });
        }
        let rows = LogicalPlan::Projection(Projection::try_new(columns, rows.into())?);
        let same = keys.into_iter().zip(domain.values()).map(|(key, value)| {
            binary_expr(Expr::Column(key), Operator::IsNotDistinctFrom, Expr::Column(value.clone()))
        });
        let shown: Vec<_> = self.columns().chain(all_columns(rows.schema()).take(width)).collect();
        let joined =
            LogicalPlanBuilder::from(self.plan).join_on(rows, join_type, same.chain(condition))?.build()?;
        Ok(LogicalPlan::Projection(Projection::try_new(shown, joined.into())?))
    }
}

/// A value of rows by columns, and how many rows it has.
fn counted_by(rows: LogicalPlan, by: Vec<Expr>, value: Expr) -> Result<LogicalPlan> {
    // Of one row, the greatest value is the first one, and is found faster.
    let one = match value.get_type(rows.schema())?.is_nested() {
        true => first_value(value, Vec::new()),
        false => max(value),
    };
    let values = vec![one, count(lit(1))];
    Ok(LogicalPlan::Aggregate(Aggregate::try_new(rows.into(), by, values)?))
}

/// Where a query finds rows by columns that are equal to some from outside: its rows for all values of these columns, and those from
/// outside. That needs no domain.
fn found_by(query: &LogicalPlan, outer: &DFSchema) -> Result<Option<(LogicalPlan, Vec<Column>)>> {
    let LogicalPlan::Projection(projection) = query else { return Ok(None) };
    let LogicalPlan::Filter(filter) = projection.input.as_ref() else { return Ok(None) };
    let value = projection.expr[0].clone().unalias();
    // What may fail is not computed for rows that nobody asks for.
    if !matches!(value, Expr::Column(_)) || simple::is_correlated(&filter.input) {
        return Ok(None);
    }
    let (mut by, mut keys, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for part in split_conjunction(&filter.predicate) {
        match simple::equality(part) {
            _ if !part.contains_outer() => rest.push(part.clone()),
            Some((column, Expr::OuterReferenceColumn(_, key))) if outer.has_column(key) => {
                by.push(Expr::Column(column.clone()));
                keys.push(key.clone());
            }
            _ => return Ok(None),
        }
    }
    let mut rows = filter.input.as_ref().clone();
    if let Some(rest) = conjunction(rest) {
        rows = LogicalPlan::Filter(Filter::try_new(rest, rows.into())?);
    }
    let is_once = by.iter().enumerate().all(|(i, column)| !by[..i].contains(column));
    match is_once {
        true => Ok(Some((counted_by(rows, by, value)?, keys))),
        false => Ok(None),
    }
}

fn all_columns(schema: &DFSchema) -> impl Iterator<Item = Expr> {
    schema.iter().map(|(table, field)| Expr::Column(Column::from((table, field))))
}

/// A query with a row of NULL if it has none: the planner takes its value for one that cannot be NULL if its column cannot, or
/// turns out to be a constant.
fn or_null(query: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    if simple::is_correlated(query) || simple::is_one_row(query) {
        return Ok(None);
    }
    LogicalPlanBuilder::empty(true).join_on(query.clone(), JoinType::Left, [lit(true)])?.build().map(Some)
}

/// A query with a row where another has one, if that has a list: what EXISTS selects does not count, and the planner confuses its names
/// with those of the columns in conditions that it takes up.
fn without_list(query: &LogicalPlan, names: &Names) -> Result<Option<LogicalPlan>> {
    let rows = match query {
        LogicalPlan::Projection(projection) => &projection.input,
        LogicalPlan::Distinct(Distinct::All(input)) => input,
        _ => return Ok(None),
    };
    match without_list(rows, names)? {
        Some(further) => Ok(Some(further)),
        None => {
            let row = lit(true).alias(names.column().name);
            LogicalPlanBuilder::from(rows.clone()).project([row])?.build().map(Some)
        }
    }
}

/// Whether a query has a row, as a query with one value.
fn counted(query: &LogicalPlan) -> Result<LogicalPlan> {
    let rows = first_row(LogicalPlanBuilder::from(query.clone()))?;
    LogicalPlanBuilder::from(rows)
        .aggregate(Vec::<Expr>::new(), [count(lit(1)).alias("rows")])?
        .project([col("rows").gt(lit(0i64)).alias("is_there")])?
        .build()
}
