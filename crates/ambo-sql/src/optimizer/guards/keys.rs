//! Values by which rows are joined are computed where the other conditions hold.
//!
//! Keys of a join are computed for all rows of a side, its other conditions for pairs that have equal keys. Of several keys, those that can
//! fail become conditions; the key of a side that can fail is NULL, so that it meets no other, where the conditions about that side alone
//! do not hold.

use datafusion::{
    common::{DFSchema, NullEquality, Result, tree_node::Transformed},
    logical_expr::{
        Expr, Join, LogicalPlan,
        utils::{conjunction, split_conjunction},
        when,
    },
};

use super::failing::{Failing, can_fail, failing};

pub(super) fn guarded_keys(mut join: Join, schema: &DFSchema) -> Result<Transformed<Join>> {
    let fails = |expr: &Expr| failing(expr, schema) == Failing::Value;
    let is_safe = |(left, right): &(Expr, Expr)| !fails(left) && !fails(right);
    let is_other = join.null_equality != NullEquality::NullEqualsNothing || join.null_aware;
    if is_other || join.on.iter().all(is_safe) {
        return Ok(Transformed::no(join));
    }
    if join.on.iter().any(is_safe) {
        let (on, conditions): (Vec<_>, Vec<_>) = join.on.into_iter().partition(is_safe);
        let conditions = conditions.into_iter().map(|(left, right)| left.eq(right));
        join.filter = conjunction(join.filter.into_iter().chain(conditions));
        join.on = on;
        return Ok(Transformed::yes(join));
    }
    let terms = join.filter.iter().flat_map(split_conjunction).filter(|term| !can_fail(term, schema));
    let terms: Vec<_> = terms.cloned().collect();
    let guarded = |key: Expr, side: &LogicalPlan| {
        let is_of_side = |term: &&Expr| {
            let columns = term.column_refs();
            !columns.is_empty() && columns.iter().all(|column| side.schema().has_column(column))
        };
        match conjunction(terms.iter().filter(is_of_side).cloned()) {
            Some(guard) if fails(&key) => when(guard, key).end(),
            _ => Ok(key),
        }
    };
    let on = std::mem::take(&mut join.on).into_iter();
    let on = on.map(|(left, right)| Ok((guarded(left, &join.left)?, guarded(right, &join.right)?)));
    join.on = on.collect::<Result<_>>()?;
    Ok(Transformed::yes(join))
}
