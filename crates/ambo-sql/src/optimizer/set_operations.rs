//! EXCEPT and INTERSECT count copies, and have the types that UNION would have.
//!
//! The planner (DataFusion 55) makes of both a join that asks whether a row is on the other side, and not how often, with ALL, too
//! (apache/datafusion#12955, apache/datafusion#12956): of three copies less one none is left. So each copy is numbered among those that are
//! equal to it, on both sides, and the number is one of the columns that are compared.
//!
//! It also takes the types of the left side for those of the result: `SELECT 1 EXCEPT SELECT 1.5` had whole numbers. So both sides are cast
//! to what they have in common, before copies of a row are looked for. UNION itself had the types of its first part until the planner cast
//! the others: by then CASE and others had taken them for those of its columns.

use std::{cell::Cell, sync::Arc};

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        Column, NullEquality, Result,
        config::ConfigOptions,
        plan_err,
        tree_node::{Transformed, TreeNodeRecursion},
    },
    functions_window::row_number::row_number_udwf,
    logical_expr::{
        Distinct, Expr, Join, JoinConstraint, JoinType, LogicalPlan, Projection, Union, Window,
        expr::WindowFunction, type_coercion::binary::type_union_coercion,
    },
    optimizer::AnalyzerRule,
};

use super::expressions::with_types;
use crate::{
    logical::{goes_by_places, is_enum},
    numbers::with_floats,
    times::rules::{own, refuse_numbers},
};

/// See the module. To be run before types are looked at.
#[derive(Debug)]
pub(super) struct SetOperations;

/// Begins the names of the columns that number copies.
const COPY: &str = "\u{1}copy";

impl AnalyzerRule for SetOperations {
    fn name(&self) -> &str {
        "set_operations"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_there = false;
        plan.apply_with_subqueries(|node| {
            is_there = matches!(node, LogicalPlan::Join(join) if is_set_operation(join));
            Ok(if is_there { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        if !is_there {
            return Ok(plan);
        }
        let has_changed = Cell::new(false);
        let change = |node: LogicalPlan| {
            // What is below may have other types than before.
            let node = if has_changed.get() { node.recompute_schema()? } else { node };
            match node {
                LogicalPlan::Join(join) if is_set_operation(&join) => {
                    has_changed.set(true);
                    of_copies(join).map(Transformed::yes)
                }
                node => Ok(Transformed::no(node)),
            }
        };
        Ok(plan.transform_up_with_subqueries(change)?.data)
    }
}

/// Whether a join is EXCEPT or INTERSECT: no other has NULL equal to NULL before conditions were looked at.
fn is_set_operation(join: &Join) -> bool {
    let is_done = || {
        let mut keys = join.on.iter().map(|(left, _)| left);
        keys.any(|key| matches!(key, Expr::Column(column) if column.name.starts_with(COPY)))
    };
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && !is_done()
}

/// Without ALL, the rows on the left are distinct; then none has a copy to be counted.
fn of_copies(join: Join) -> Result<LogicalPlan> {
    let types = common_types(&join);
    let right = cast_to(Arc::unwrap_or_clone(join.right), &types)?;
    let (left, right) = match Arc::unwrap_or_clone(join.left) {
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let input = cast_to(Arc::unwrap_or_clone(input), &types)?;
            (LogicalPlan::Distinct(Distinct::All(input.into())), right)
        }
        left => (numbered(cast_to(left, &types)?, "left")?, numbered(right, "right")?),
    };
    let keys = columns(&left).into_iter().zip(columns(&right)).collect();
    let shown = columns(&left).into_iter().take(types.len()).collect();
    let joined = Join::try_new(
        left.into(),
        right.into(),
        keys,
        None,
        join.join_type,
        JoinConstraint::On,
        NullEquality::NullEqualsNull,
        false,
    )?;
    Ok(LogicalPlan::Projection(Projection::try_new(shown, LogicalPlan::Join(joined).into())?))
}

fn columns(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema().iter().map(|field| Expr::Column(Column::from(field))).collect()
}

/// For each column the type that both sides have in common; without one, the join says what is wrong.
fn common_types(join: &Join) -> Vec<Option<DataType>> {
    let (left, right) = (join.left.schema().fields(), join.right.schema().fields());
    left.iter().zip(right).map(|(left, right)| common_type(left.data_type(), right.data_type())).collect()
}

/// The type of a column that has values of both.
pub(crate) fn common_type(left: &DataType, right: &DataType) -> Option<DataType> {
    if left != right && [left, right].iter().any(|ty| is_enum(ty)) {
        let is_text = |ty: &DataType| is_enum(ty) || ty.is_string();
        return match (left.is_null(), right.is_null()) {
            (true, _) => Some(right.clone()),
            (_, true) => Some(left.clone()),
            _ => (is_text(left) && is_text(right)).then_some(DataType::Utf8),
        };
    }
    match with_floats(&[left.clone(), right.clone()]).as_deref() {
        Some([left, right]) => type_union_coercion(left, right),
        _ => type_union_coercion(left, right),
    }
}

/// UNION with columns of the types that its parts have in common, before anything is computed of them.
pub(crate) fn united(union: Union) -> Result<Transformed<LogicalPlan>> {
    let columns = union.schema.fields().len();
    // The planner looks for columns of ORDER BY in one part, and takes them along there alone.
    if union.inputs.iter().any(|input| input.schema().fields().len() != columns) {
        return plan_err!(
            "ORDER BY of a UNION names columns of its result, not of the tables in one part of it"
        );
    }
    let types = |column: usize| -> Vec<DataType> {
        union.inputs.iter().map(|input| input.schema().field(column).data_type().clone()).collect()
    };
    for column in 0..columns {
        if types(column).windows(2).any(|pair| goes_by_places(&pair[0], &pair[1])) {
            return plan_err!(
                "the structs of column {} of a UNION have no name of a field in common; a cast to struct(…) gives them names",
                column + 1
            );
        }
    }
    let wanted: Vec<_> = (0..columns).map(|column| common_of(&types(column))).collect();
    // The planner takes the type that a column had when it read the statement for one among those of the parts.
    let is_old = |column| union.schema.field(column).data_type() != &types(column)[0];
    if wanted.iter().all(Option::is_none) && !(0..columns).any(is_old) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let cast_input = |input: Arc<LogicalPlan>| {
        let to = |place: usize, ty: &DataType| wanted[place].clone().unwrap_or_else(|| ty.clone());
        Ok(Arc::new(with_types(Arc::unwrap_or_clone(input), to)?))
    };
    let inputs = union.inputs.into_iter().map(cast_input).collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?)))
}

/// The type that all have in common; `None` if they are of one already, or if nothing is common to them, of which the planner tells.
fn common_of(types: &[DataType]) -> Option<DataType> {
    let (first, others) = types.split_first()?;
    if others.iter().all(|ty| ty == first) {
        return None;
    }
    let common = others.iter().try_fold(first.clone(), |common, ty| common_type(&common, ty))?;
    let common = own(&common);
    types.iter().all(|ty| refuse_numbers(ty, &common).is_ok()).then_some(common)
}

fn cast_to(plan: LogicalPlan, types: &[Option<DataType>]) -> Result<LogicalPlan> {
    with_types(plan, |place, ty| types.get(place).cloned().flatten().unwrap_or_else(|| ty.clone()))
}

/// The rows, each with its number among those that are equal to it.
fn numbered(plan: LogicalPlan, side: &str) -> Result<LogicalPlan> {
    let mut shown = columns(&plan);
    let mut number = WindowFunction::new(row_number_udwf(), Vec::new());
    number.params.partition_by.clone_from(&shown);
    let windows = LogicalPlan::Window(Window::try_new(vec![number.into()], plan.into())?);
    let number = columns(&windows).pop().into_iter();
    shown.extend(number.map(|number| number.alias(format!("{COPY} {side}"))));
    Ok(LogicalPlan::Projection(Projection::try_new(shown, windows.into())?))
}
