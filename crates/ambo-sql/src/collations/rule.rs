//! What collations change of a plan: conditions, joins, orders, groups, DISTINCT, windows and set operations compare keys.

use std::{collections::HashMap, sync::Arc};

use ambo::arrow::{collated, collation_of};
use datafusion::{
    common::{
        Column, DFSchema, Result,
        config::ConfigOptions,
        not_impl_err, plan_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{
        Aggregate, Distinct, Expr, LogicalPlan, Projection, Union, WindowFunctionDefinition,
        expr::WindowFunction,
    },
    optimizer::AnalyzerRule,
};

use super::{
    COLLATE, collate,
    compare::{compared, is_text, key_one, of_order},
    derived::{Derived, derived},
    groups::of_aggregate,
};
use crate::{
    functions::arg_extreme,
    optimizer::{map_named, schema_of_rows},
};

/// See the module. To be run when types are known, and before subqueries become joins.
#[derive(Debug)]
pub(crate) struct Collations;

impl AnalyzerRule for Collations {
    fn name(&self) -> &str {
        "collations"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        match has_collations(&plan)? {
            true => Ok(plan.transform_up_with_subqueries(changed)?.data),
            false => Ok(plan),
        }
    }
}

/// Whether a column of a table has a collation, or COLLATE says one.
fn has_collations(plan: &LogicalPlan) -> Result<bool> {
    let mut is_there = false;
    let says_one =
        |expr: &Expr| Ok(matches!(expr, Expr::ScalarFunction(function) if function.name() == COLLATE));
    plan.apply_with_subqueries(|node| {
        is_there = match node {
            LogicalPlan::TableScan(scan) => {
                scan.projected_schema.fields().iter().any(|field| collation_of(field).is_some())
            }
            _ => false,
        };
        if !is_there {
            node.apply_expressions(|expr| {
                is_there |= expr.exists(says_one)?;
                Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })?;
        }
        Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(is_there)
}

fn changed(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    // What is below may say collations that it did not say before.
    let plan = plan.recompute_schema()?;
    match plan {
        LogicalPlan::Aggregate(aggregate) => of_aggregate(aggregate),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let groups: Vec<_> = input.schema().columns().into_iter().map(Expr::Column).collect();
            let of = of_aggregate(Aggregate::try_new(input.clone(), groups, Vec::new())?)?;
            Ok(match of.transformed {
                true => of,
                false => Transformed::no(LogicalPlan::Distinct(Distinct::All(input))),
            })
        }
        LogicalPlan::Distinct(Distinct::On(of)) => {
            for expr in of.on_expr.iter() {
                if let Some(how) = of_order(expr, of.input.schema())? {
                    return not_impl_err!("DISTINCT ON of texts that are compared by {how}");
                }
            }
            Ok(Transformed::no(LogicalPlan::Distinct(Distinct::On(of))))
        }
        LogicalPlan::RecursiveQuery(of) => {
            for column in of.schema.columns().into_iter().map(Expr::Column) {
                if of.is_distinct && of_order(&column, &of.schema)?.is_some() {
                    return plan_err!(
                        "not supported: UNION of a recursive table with texts that have a collation; write UNION ALL"
                    );
                }
            }
            Ok(Transformed::no(LogicalPlan::RecursiveQuery(of)))
        }
        LogicalPlan::Union(union) => of_union(union),
        LogicalPlan::Join(mut join) => {
            let mut is_changed = false;
            let (left, right) = (join.left.schema().clone(), join.right.schema().clone());
            for (one, other) in &mut join.on {
                is_changed |= key_pair(one, &left, other, &right)?;
            }
            let schema = schema_of_rows(&LogicalPlan::Join(join.clone()));
            if let Some(filter) = join.filter.take() {
                let filter = compared(filter, &schema)?;
                is_changed |= filter.transformed;
                join.filter = Some(filter.data);
            }
            Ok(Transformed::new_transformed(LogicalPlan::Join(join), is_changed))
        }
        LogicalPlan::Sort(mut sort) => {
            let schema = sort.input.schema().clone();
            let mut is_changed = false;
            for by in &mut sort.expr {
                let expr = compared(std::mem::take(&mut by.expr), &schema)?;
                by.expr = expr.data;
                is_changed |= expr.transformed | key_one(&mut by.expr, &schema)?;
            }
            Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), is_changed))
        }
        LogicalPlan::Projection(projection) => of_projection(projection),
        LogicalPlan::Window(_) => {
            let schema = schema_of_rows(&plan);
            map_named(plan, |_| Ok(true), |expr| of_windows(expr, &schema))
        }
        plan => {
            let schema = schema_of_rows(&plan);
            map_named(plan, |_| Ok(true), |expr| compared(expr, &schema))
        }
    }
}

/// Rows of several queries, whose columns have the collations of all.
///
/// # Errors
/// They say different things of one column.
fn of_union(union: Union) -> Result<Transformed<LogicalPlan>> {
    let mut fields = Vec::with_capacity(union.schema.fields().len());
    let mut is_changed = false;
    for (place, (table, field)) in union.schema.iter().enumerate() {
        let mut all = Derived::None;
        for input in &union.inputs {
            let column = Expr::Column(Column::from(input.schema().qualified_field(place)));
            all = all.and(derived(&column, input.schema())?)?;
        }
        let how = all.of_comparison()?;
        let (said, says) = (collation_of(field).map(str::to_owned), how.map(|how| how.to_string()));
        is_changed |= said != says;
        let field = match says {
            Some(name) if said.as_deref() != Some(&*name) => {
                Arc::new(collated(field.as_ref().clone(), &name))
            }
            None if said.is_some() => Arc::new(field.as_ref().clone().with_metadata(HashMap::new())),
            _ => field.clone(),
        };
        fields.push((table.cloned(), field));
    }
    let schema = match is_changed {
        true => Arc::new(DFSchema::new_with_metadata(fields, union.schema.metadata().clone())?),
        false => union.schema,
    };
    let union = LogicalPlan::Union(Union { inputs: union.inputs, schema });
    Ok(Transformed::new_transformed(union, is_changed))
}

/// A list of columns, each of which says the collation that it has.
fn of_projection(projection: Projection) -> Result<Transformed<LogicalPlan>> {
    let schema = projection.input.schema().clone();
    let says_itself = |expr: &Expr| match expr {
        Expr::Column(_) | Expr::OuterReferenceColumn(..) => true,
        Expr::ScalarFunction(function) => function.name() == COLLATE,
        _ => false,
    };
    let plan = LogicalPlan::Projection(projection);
    let named = map_named(
        plan,
        |_| Ok(true),
        |expr| {
            let of = compared(expr, &schema)?;
            let bare = match &of.data {
                Expr::Alias(alias) => alias.expr.as_ref(),
                expr => expr,
            };
            if says_itself(bare) {
                return Ok(of);
            }
            match derived(bare, &schema)? {
                Derived::Column(how) | Derived::Said(how) if of_order(bare, &schema)?.is_some() => {
                    Ok(Transformed::yes(match of.data {
                        Expr::Alias(mut alias) => {
                            *alias.expr = collate(std::mem::take(alias.expr.as_mut()), how);
                            Expr::Alias(alias)
                        }
                        expr => collate(expr, how),
                    }))
                }
                _ => Ok(of),
            }
        },
    )?;
    // Who reads it sees what columns say now.
    Ok(Transformed::new_transformed(named.data.recompute_schema()?, named.transformed))
}

/// The keys of both sides of a pair, each of which is of another table.
fn key_pair(one: &mut Expr, left: &DFSchema, other: &mut Expr, right: &DFSchema) -> Result<bool> {
    if is_text(one, left) && is_text(other, right) {
        let both = derived(one, left)?.and(derived(other, right)?)?;
        if let Some(how) = both.of_comparison()? {
            *one = how.key(std::mem::take(one), left)?;
            *other = how.key(std::mem::take(other), right)?;
            return Ok(true);
        }
    }
    Ok(false)
}

fn of_windows(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let within = compared(expr, schema)?;
    let of_functions = within.data.transform_up(|expr| match expr {
        Expr::WindowFunction(function) => of_window(function, schema),
        expr => Ok(Transformed::no(expr)),
    })?;
    Ok(Transformed::new_transformed(of_functions.data, within.transformed || of_functions.transformed))
}

fn of_window(mut function: Box<WindowFunction>, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let mut is_changed = false;
    let name = function.fun.name().to_owned();
    let params = &mut function.params;
    let sorts = params.order_by.iter_mut().map(|sort| &mut sort.expr);
    for by in params.partition_by.iter_mut().chain(sorts) {
        is_changed |= key_one(by, schema)?;
    }
    if let Some(first) = params.args.first().cloned()
        && let Some(how) = of_order(&first, schema)?
    {
        match &*name {
            "min" | "max" => {
                function.fun = WindowFunctionDefinition::AggregateUDF(Arc::new(arg_extreme(name == "max")));
                params.args.push(how.key(first, schema)?);
                params.distinct = false;
                is_changed = true;
            }
            "count" if params.distinct => {
                params.args[0] = how.key(first, schema)?;
                is_changed = true;
            }
            _ if params.distinct => {
                return plan_err!(
                    "{name}(DISTINCT …) OVER of texts that are compared by {how} is not supported"
                );
            }
            _ => {}
        }
    }
    Ok(Transformed::new_transformed(Expr::WindowFunction(function), is_changed))
}
