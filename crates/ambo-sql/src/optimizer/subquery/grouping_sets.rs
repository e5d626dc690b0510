//! ROLLUP, CUBE and GROUPING SETS for each row of a [`Domain`]: the domain's columns are in every set.
//!
//! They are the first ones, so that `__grouping_id`, of which the planner has made `grouping(x)` before, has the same bits for the query's
//! own groups. The set without groups has a row for each row of the domain, also where there are no rows; it is computed by itself.

use std::{collections::HashMap, sync::Arc};

use datafusion::{
    common::{Column, DFSchema, Result, ScalarValue, not_impl_err},
    logical_expr::{
        Aggregate, Expr, ExprSchemable, GroupingSet, LogicalPlan, Operator, Projection, binary_expr, cast,
        lit,
    },
};

use super::domain::{Domain, is_repeatable, kept};

/// More sets than these are refused, as the planner does.
const COLUMNS_MAX: usize = 12;

impl Domain<'_> {
    /// The rows of such an aggregation, under the names of a schema.
    pub(super) fn grouping_sets(
        &self,
        aggregate: &Aggregate,
        of: &GroupingSet,
        schema: &DFSchema,
    ) -> Result<LogicalPlan> {
        let groups: Vec<Expr> = of.distinct_expr().into_iter().cloned().collect();
        let (sets, totals): (Vec<_>, Vec<_>) = sets_of(of)?.into_iter().partition(|set| !set.is_empty());
        let mut input = self.dependent(&aggregate.input)?;
        if !totals.is_empty() && totals.len() + sets.len() > 1 && !is_repeatable(&input)? {
            input = kept(input)?;
            if !is_repeatable(&input)? {
                return not_impl_err!(
                    "a subquery with ROLLUP, CUBE or GROUPING SETS over rows that a recursion finds, or another subquery around it, and which may be others each time they are computed: make a table of them first"
                );
            }
        }
        let mut plans = Vec::new();
        if !sets.is_empty() {
            plans.push(Arc::new(self.grouped(aggregate, input.clone(), &groups, sets, schema)?));
        }
        for _ in totals {
            plans.push(Arc::new(self.total(aggregate, input.clone(), groups.len(), schema)?));
        }
        self.all_of(plans, schema)
    }

    /// The rows of sets that have groups.
    fn grouped(
        &self,
        aggregate: &Aggregate,
        input: LogicalPlan,
        groups: &[Expr],
        sets: Vec<Vec<Expr>>,
        schema: &DFSchema,
    ) -> Result<LogicalPlan> {
        let columns = self.names.columns(groups.len());
        let place = |group: &Expr| groups.iter().position(|known| known == group);
        let with_domain = |set: Vec<Expr>| {
            let own = set.iter().filter_map(place).map(|at| Expr::Column(columns[at].clone()));
            self.value_exprs().chain(own).collect()
        };
        let sets = sets.into_iter().map(with_domain).collect();
        // Columns for what is grouped by: a column from outside would be that of the domain, which every set has.
        let mut all: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        for (group, column) in groups.iter().zip(&columns) {
            all.push(self.inside(group.clone())?.alias(&column.name));
        }
        let input = LogicalPlan::Projection(Projection::try_new(all, Arc::new(input))?);
        let by = vec![Expr::GroupingSet(GroupingSet::GroupingSets(sets))];
        let values = self.all_inside(&aggregate.aggr_expr)?;
        let grouped = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), by, values)?);
        let mut shown: Vec<Expr> = columns.into_iter().map(Expr::Column).collect();
        shown.push(self.grouping_id(&grouped, groups.len(), schema)?);
        for at in self.columns.len() + shown.len()..grouped.schema().fields().len() {
            shown.push(Expr::Column(Column::from(grouped.schema().qualified_field(at))));
        }
        self.project(&shown, grouped, schema)
    }

    /// The row of a set without groups, which is there without rows, too.
    fn total(
        &self,
        aggregate: &Aggregate,
        input: LogicalPlan,
        groups: usize,
        schema: &DFSchema,
    ) -> Result<LogicalPlan> {
        let values = self.all_inside(&aggregate.aggr_expr)?;
        let by = self.value_exprs().collect();
        let grouped = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), by, values.clone())?);
        let fields = schema.iter().skip(groups + 1);
        let fields = fields.map(|(table, field)| (table.cloned(), field.clone())).collect();
        let total =
            self.with_nothing(grouped, &values, &DFSchema::new_with_metadata(fields, HashMap::new())?)?;
        let mut shown = Vec::with_capacity(schema.fields().len());
        for group in 0..groups {
            shown.push(lit(ScalarValue::try_from(schema.field(group).data_type())?));
        }
        shown.push(cast(lit(all_bits(groups)), schema.field(groups).data_type().clone()));
        for at in 0..values.len() {
            shown.push(Expr::Column(Column::from(total.schema().qualified_field(at))));
        }
        self.project(&shown, total, schema)
    }

    /// The number that says which of so many groups a row is not grouped by, in the type of the schema.
    fn grouping_id(&self, grouped: &LogicalPlan, groups: usize, schema: &DFSchema) -> Result<Expr> {
        let id = Expr::Column(Column::from_name(Aggregate::INTERNAL_GROUPING_ID));
        let mask = lit(all_bits(groups));
        let wide = cast(id, mask.get_type(grouped.schema())?);
        Ok(cast(binary_expr(wide, Operator::BitwiseAnd, mask), schema.field(groups).data_type().clone()))
    }
}

/// As many bits as there are groups.
fn all_bits(groups: usize) -> u64 {
    u32::try_from(groups).ok().and_then(|groups| 1_u64.checked_shl(groups)).map_or(u64::MAX, |bit| bit - 1)
}

/// The sets that are meant, with each group where it comes first in the order of all groups.
fn sets_of(of: &GroupingSet) -> Result<Vec<Vec<Expr>>> {
    Ok(match of {
        GroupingSet::GroupingSets(sets) => sets.clone(),
        GroupingSet::Rollup(groups) => (0..=groups.len()).map(|count| groups[..count].to_vec()).collect(),
        GroupingSet::Cube(groups) if groups.len() > COLUMNS_MAX => {
            return not_impl_err!(
                "columns from outside of a subquery with CUBE of more than {COLUMNS_MAX} columns"
            );
        }
        GroupingSet::Cube(groups) => {
            let chosen = |set: usize| {
                let is_in = |(at, group): (usize, &Expr)| (set >> at & 1 == 1).then(|| group.clone());
                groups.iter().enumerate().filter_map(is_in).collect()
            };
            (0..1 << groups.len()).map(chosen).collect()
        }
    })
}
