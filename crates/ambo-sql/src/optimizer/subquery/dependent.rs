//! A query for each row of a [`Domain`]: its rows, each beside the row of the domain that it is for.
//!
//! Operator by operator, from the tables up. Each keeps its columns, in their order and under their names; those of the domain follow.
//!
//! | operator | for each row of a domain |
//! |---|---|
//! | without columns from outside below it | all pairs with the domain |
//! | condition, projection | over the domain's columns instead of those from outside |
//! | groups, windows, DISTINCT | the domain's columns are further groups |
//! | aggregate of all rows | the same; a domain's row without rows gets what the aggregate of nothing is |
//! | LIMIT, OFFSET | conditions on the row's number |
//! | rows of lists | the same, beside each of which the domain's columns stand |
//! | join | of the side that has columns from outside; of both by the domain's columns, if both have |

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use datafusion::{
    common::{Column, DFSchema, NullEquality, Result, not_impl_err},
    functions_window::row_number::row_number_udwf,
    logical_expr::{
        Aggregate, Distinct, DistinctOn, Expr, ExprSchemable, FetchType, Filter, Join, JoinType, Limit,
        LogicalPlan, LogicalPlanBuilder, Operator, Projection, SkipType, Union, Unnest, Values, Window,
        WindowFunctionDefinition, binary_expr,
        expr::{AggregateFunction, Sort, WindowFunction},
        lit,
        utils::conjunction,
        when,
    },
};

use super::{
    domain::{Domain, renamed},
    simple::is_correlated,
};

impl Domain<'_> {
    /// See the module.
    pub(super) fn dependent(&self, plan: &LogicalPlan) -> Result<LogicalPlan> {
        if !is_correlated(plan) {
            return cross(plan.clone(), self.rows.clone());
        }
        match plan {
            LogicalPlan::Projection(projection) => {
                let input = self.dependent(&projection.input)?;
                self.project(&projection.expr, input, plan.schema())
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let input = self.dependent(&alias.input)?;
                self.restored(input, plan.schema(), |i| i)
            }
            LogicalPlan::Filter(filter) => {
                let input = self.dependent(&filter.input)?;
                let predicate = self.inside(filter.predicate.clone())?;
                Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input))?))
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                Ok(LogicalPlan::Distinct(Distinct::All(Arc::new(self.dependent(input)?))))
            }
            LogicalPlan::Distinct(Distinct::On(distinct)) => self.distinct_on(distinct),
            // What needs no order does not get one.
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.dependent(&sort.input),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate, plan.schema()),
            LogicalPlan::Window(window) => self.window(window, plan.schema()),
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Values(values) => self.rows_of(values),
            LogicalPlan::Join(join) => self.join(join, plan.schema()),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            LogicalPlan::Subquery(query) => {
                let input = self.dependent(&query.subquery)?;
                self.restored(input, plan.schema(), |i| i)
            }
            _ => not_impl_err!(
                "columns from outside of a subquery within {}: write the query as a join",
                plan.display()
            ),
        }
    }

    pub(super) fn value_exprs(&self) -> impl Iterator<Item = Expr> {
        self.values().cloned().map(Expr::Column)
    }

    pub(super) fn all_inside(&self, exprs: &[Expr]) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.inside(expr.clone())).collect()
    }

    /// Expressions under the names of a schema, and the domain.
    pub(super) fn project(
        &self,
        exprs: &[Expr],
        input: LogicalPlan,
        schema: &DFSchema,
    ) -> Result<LogicalPlan> {
        let mut all = Vec::with_capacity(exprs.len() + self.columns.len());
        for (expr, (table, field)) in exprs.iter().zip(schema.iter()) {
            let expr = self.inside(expr.clone())?.unalias();
            all.push(expr.alias_qualified(table.cloned(), field.name()));
        }
        all.extend(self.value_exprs());
        Ok(LogicalPlan::Projection(Projection::try_new(all, Arc::new(input))?))
    }

    /// Columns of a plan under the names of a schema, and the domain; `position` says where the schema's columns are.
    fn restored(
        &self,
        plan: LogicalPlan,
        schema: &DFSchema,
        position: impl Fn(usize) -> usize,
    ) -> Result<LogicalPlan> {
        let columns: Vec<_> = (0..schema.fields().len())
            .map(|i| Expr::Column(Column::from(plan.schema().qualified_field(position(i)))))
            .collect();
        self.project(&columns, plan, schema)
    }

    fn distinct_on(&self, distinct: &DistinctOn) -> Result<LogicalPlan> {
        let input = self.dependent(&distinct.input)?;
        let on = self.value_exprs().chain(self.all_inside(&distinct.on_expr)?).collect();
        let select = self.all_inside(&distinct.select_expr)?.into_iter().chain(self.value_exprs()).collect();
        let sort = match &distinct.sort_expr {
            None => None,
            Some(by) => {
                let first = self.value_exprs().map(|value| value.sort(true, false));
                Some(first.chain(self.sorts(by)?).collect())
            }
        };
        let one = DistinctOn::try_new(on, select, sort, Arc::new(input))?;
        self.restored(LogicalPlan::Distinct(Distinct::On(one)), &distinct.schema, |i| i)
    }

    fn sorts(&self, by: &[Sort]) -> Result<Vec<Sort>> {
        by.iter().map(|sort| Ok(Sort { expr: self.inside(sort.expr.clone())?, ..sort.clone() })).collect()
    }

    fn aggregate(&self, aggregate: &Aggregate, schema: &DFSchema) -> Result<LogicalPlan> {
        if let [Expr::GroupingSet(of)] = &aggregate.group_expr[..] {
            return self.grouping_sets(aggregate, of, schema);
        }
        let input = self.dependent(&aggregate.input)?;
        let group_exprs = each_once(&aggregate.group_expr);
        let groups = group_exprs.len();
        let mut by = Vec::with_capacity(groups + self.columns.len());
        for group in &group_exprs {
            let inside = self.inside(group.clone())?;
            // A group of a column from outside is not to be called as the domain's.
            by.push(if inside == *group { inside } else { inside.alias(self.names.column().name) });
        }
        by.extend(self.value_exprs());
        let values = self.all_inside(&aggregate.aggr_expr)?;
        let grouped = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), by, values.clone())?);
        let domain = self.columns.len();
        if groups == 0 {
            return self.with_nothing(grouped, &values, schema);
        }
        self.restored(grouped, schema, |i| if i < groups { i } else { i + domain })
    }

    /// Aggregates by the domain, with what aggregates of nothing are for its other rows.
    pub(super) fn with_nothing(
        &self,
        grouped: LogicalPlan,
        values: &[Expr],
        schema: &DFSchema,
    ) -> Result<LogicalPlan> {
        let there = self.names.column();
        let columns = self.names.columns(grouped.schema().fields().len());
        let mut named = vec![lit(true).alias(&there.name)];
        for (i, to) in columns.iter().enumerate() {
            named.push(renamed(Column::from(grouped.schema().qualified_field(i)), to));
        }
        let named = LogicalPlan::Projection(Projection::try_new(named, Arc::new(grouped))?);
        let (keys, found) = columns.split_at(self.columns.len());
        let by = self.values().cloned().collect();
        let all = outer_join(self.rows.clone(), named, by, keys.to_vec(), NullEquality::NullEqualsNull)?;
        let mut exprs = Vec::with_capacity(values.len());
        for ((value, found), field) in values.iter().zip(found).zip(schema.fields()) {
            let found = Expr::Column(found.clone());
            exprs.push(match of_nothing(value, field.data_type())? {
                Some(nothing) => when(Expr::Column(there.clone()).is_null(), nothing).otherwise(found)?,
                None => found,
            });
        }
        self.project(&exprs, all, schema)
    }

    fn window(&self, window: &Window, schema: &DFSchema) -> Result<LogicalPlan> {
        let columns = window.input.schema().fields().len();
        let input = self.dependent(&window.input)?;
        let mut exprs = Vec::with_capacity(window.window_expr.len());
        for expr in &window.window_expr {
            exprs.push(self.partitioned(self.inside(expr.clone())?)?);
        }
        let windows = LogicalPlan::Window(Window::try_new(exprs, Arc::new(input))?);
        let domain = self.columns.len();
        self.restored(windows, schema, |i| if i < columns { i } else { i + domain })
    }

    fn partitioned(&self, window: Expr) -> Result<Expr> {
        match window {
            Expr::WindowFunction(mut function) => {
                function.params.partition_by.extend(self.value_exprs());
                Ok(Expr::WindowFunction(function))
            }
            Expr::Alias(mut alias) => {
                *alias.expr = self.partitioned(*alias.expr)?;
                Ok(Expr::Alias(alias))
            }
            other => not_impl_err!("columns from outside of a subquery with the window {other}"),
        }
    }

    fn limit(&self, limit: &Limit) -> Result<LogicalPlan> {
        let within = |input: &Arc<LogicalPlan>| {
            self.dependent(&LogicalPlan::Limit(Limit { input: input.clone(), ..limit.clone() }))
        };
        // What makes one row of each is done after, so that the order is known.
        let (input, by): (_, &[Sort]) = match limit.input.as_ref() {
            LogicalPlan::Projection(projection) => {
                let input = within(&projection.input)?;
                return self.project(&projection.expr, input, limit.input.schema());
            }
            LogicalPlan::SubqueryAlias(alias) => {
                return self.restored(within(&alias.input)?, limit.input.schema(), |i| i);
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (&sort.input, &sort.expr),
            _ => (&limit.input, &[]),
        };
        let schema = input.schema();
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
            (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return not_impl_err!("a LIMIT that is not a number in a subquery with columns from outside");
        };
        let mut number =
            WindowFunction::new(WindowFunctionDefinition::WindowUDF(row_number_udwf()), Vec::new());
        number.params.partition_by = self.value_exprs().collect();
        number.params.order_by = self.sorts(by)?;
        let numbered =
            Window::try_new(vec![Expr::WindowFunction(Box::new(number))], Arc::new(self.dependent(input)?))?;
        let numbered = LogicalPlan::Window(numbered);
        let at = numbered.schema().fields().len() - 1;
        let number = Expr::Column(Column::from(numbered.schema().qualified_field(at)));
        let last = fetch.map(|rows| number.clone().lt_eq(lit(skip.saturating_add(rows) as u64)));
        let first = (skip > 0).then(|| number.gt(lit(skip as u64)));
        let wanted = conjunction(last.into_iter().chain(first)).unwrap_or_else(|| lit(true));
        let rows = LogicalPlan::Filter(Filter::try_new(wanted, Arc::new(numbered))?);
        self.restored(rows, schema, |i| i)
    }

    /// The domain's columns are beside each row of a list.
    fn unnest(&self, unnest: &Unnest) -> Result<LogicalPlan> {
        let input = self.dependent(&unnest.input)?;
        let rows = Unnest::try_new(Arc::new(input), unnest.exec_columns.clone(), unnest.options.clone())?;
        self.restored(LogicalPlan::Unnest(rows), &unnest.schema, |i| i)
    }

    fn union(&self, union: &Union) -> Result<LogicalPlan> {
        let each = |input: &Arc<LogicalPlan>| {
            let rows = self.dependent(input)?;
            Ok(Arc::new(self.restored(rows, &union.schema, |i| i)?))
        };
        let inputs = union.inputs.iter().map(each).collect::<Result<Vec<_>>>()?;
        self.all_of(inputs, &union.schema)
    }

    fn rows_of(&self, values: &Values) -> Result<LogicalPlan> {
        let row = |row: &Vec<Expr>| {
            let cast = |(expr, field): (&Expr, &Arc<Field>)| {
                self.inside(expr.clone())?.cast_to(field.data_type(), self.rows.schema())
            };
            let exprs = row.iter().zip(values.schema.fields()).map(cast).collect::<Result<Vec<_>>>()?;
            Ok(Arc::new(self.project(&exprs, self.rows.clone(), &values.schema)?))
        };
        let rows = values.values.iter().map(row).collect::<Result<Vec<_>>>()?;
        self.all_of(rows, &values.schema)
    }

    /// The rows of all plans, which have columns like a schema, and the domain's.
    pub(super) fn all_of(&self, mut plans: Vec<Arc<LogicalPlan>>, schema: &DFSchema) -> Result<LogicalPlan> {
        let all = match plans.len() {
            1 => Arc::unwrap_or_clone(plans.remove(0)),
            _ => LogicalPlan::Union(Union::try_new(plans)?),
        };
        // A union's columns may be those of no table.
        let names = schema.iter().map(|(table, field)| Column::new(table.cloned(), field.name()));
        let names: Vec<_> = names.chain(self.values().cloned()).collect();
        let renamed = |(i, to): (usize, &Column)| renamed(Column::from(all.schema().qualified_field(i)), to);
        let columns = names.iter().enumerate().map(renamed).collect();
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(all))?))
    }

    fn join(&self, join: &Join, schema: &DFSchema) -> Result<LogicalPlan> {
        use JoinType::{
            Full, Inner, Left, LeftAnti, LeftMark, LeftSemi, Right, RightAnti, RightMark, RightSemi,
        };
        let is_in = (is_correlated(&join.left), is_correlated(&join.right));
        // The side whose rows the result has, and whether the other one has to be for each row of the domain, too.
        let (is_left_first, is_both) = match join.join_type {
            Inner if is_in == (false, true) => (false, false),
            Inner | Left | LeftSemi | LeftAnti | LeftMark => (true, is_in.1),
            Right | RightSemi | RightAnti | RightMark => (false, is_in.0),
            Full => return self.full_join(join, schema),
        };
        let (first, second) = match is_left_first {
            true => (&join.left, &join.right),
            false => (&join.right, &join.left),
        };
        let widths = (first.schema().fields().len(), second.schema().fields().len());
        let first = self.dependent(first)?;
        let (second, others) = match is_both {
            true => self.beside(second)?,
            false => (second.as_ref().clone(), Vec::new()),
        };
        let domain = self.columns.len();
        let (left, right) = if is_left_first { (first, second) } else { (second, first) };
        let joined = self.joined(join, left, right, &others)?;
        // Which columns come before those of a domain, be it that of the first side or of the other one.
        let before = match join.join_type {
            Inner | Right if !is_left_first && is_both => widths.1,
            Inner | Right if !is_left_first => widths.1 + widths.0,
            _ => widths.0,
        };
        self.restored(joined, schema, |i| if i < before { i } else { i + domain })
    }

    /// Rows of one side alone have their domain's row there.
    fn full_join(&self, join: &Join, schema: &DFSchema) -> Result<LogicalPlan> {
        let width = join.left.schema().fields().len();
        let left = self.dependent(&join.left)?;
        let (right, others) = self.beside(&join.right)?;
        let joined = self.joined(join, left, right, &others)?;
        let mut columns = Vec::with_capacity(schema.fields().len() + others.len());
        for (i, (table, field)) in schema.iter().enumerate() {
            let at = if i < width { i } else { i + others.len() };
            let from = Expr::Column(Column::from(joined.schema().qualified_field(at)));
            columns.push(from.alias_qualified(table.cloned(), field.name()));
        }
        for (value, other) in self.values().zip(others) {
            let (of_left, of_right) = (Expr::Column(value.clone()), Expr::Column(other));
            let either = when(of_left.clone().is_null(), of_right).otherwise(of_left)?;
            columns.push(either.alias(&value.name));
        }
        Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(joined))?))
    }

    /// A join of other sides, where the domain's columns are like others.
    fn joined(
        &self,
        join: &Join,
        left: LogicalPlan,
        right: LogicalPlan,
        others: &[Column],
    ) -> Result<LogicalPlan> {
        let same = self.values().zip(others).map(|(value, other)| {
            let (value, other) = (Expr::Column(value.clone()), Expr::Column(other.clone()));
            binary_expr(value, Operator::IsNotDistinctFrom, other)
        });
        let filter = join.filter.clone().map(|filter| self.inside(filter)).transpose()?;
        let mut on = Vec::with_capacity(join.on.len());
        for (left, right) in &join.on {
            on.push((self.inside(left.clone())?, self.inside(right.clone())?));
        }
        Ok(LogicalPlan::Join(Join::try_new(
            Arc::new(left),
            Arc::new(right),
            on,
            conjunction(filter.into_iter().chain(same)),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?))
    }

    /// A query's rows for each row of the domain, whose columns have other names there: these.
    fn beside(&self, plan: &LogicalPlan) -> Result<(LogicalPlan, Vec<Column>)> {
        let width = plan.schema().fields().len();
        let rows = self.dependent(plan)?;
        let others = self.names.columns(self.columns.len());
        let mut columns = Vec::with_capacity(width + others.len());
        for (i, field) in rows.schema().iter().enumerate() {
            let from = Column::from(field);
            columns.push(if i < width { Expr::Column(from) } else { renamed(from, &others[i - width]) });
        }
        let rows = Projection::try_new(columns, Arc::new(rows))?;
        Ok((LogicalPlan::Projection(rows), others))
    }
}

/// What an aggregate of no rows is; None if it is NULL.
fn of_nothing(aggregate: &Expr, data_type: &DataType) -> Result<Option<Expr>> {
    match aggregate {
        Expr::Alias(alias) => of_nothing(&alias.expr, data_type),
        Expr::AggregateFunction(AggregateFunction { func, .. }) => {
            let value = func.default_value(data_type)?;
            Ok((!value.is_null()).then(|| lit(value)))
        }
        other => not_impl_err!("columns from outside of a subquery with {other}"),
    }
}

/// Groups without those that stand twice, which are one column of the result.
pub(super) fn each_once(groups: &[Expr]) -> Vec<Expr> {
    let mut once: Vec<Expr> = Vec::with_capacity(groups.len());
    for group in groups {
        if !once.contains(group) {
            once.push(group.clone());
        }
    }
    once
}

/// All pairs of rows.
pub(super) fn cross(left: LogicalPlan, right: LogicalPlan) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(left).cross_join(right)?.build()
}

/// All rows of a plan, with those of another where columns are the same.
pub(super) fn outer_join(
    left: LogicalPlan,
    right: LogicalPlan,
    keys: Vec<Column>,
    same: Vec<Column>,
    nulls: NullEquality,
) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(left).join_detailed(right, JoinType::Left, (keys, same), None, nulls)?.build()
}
