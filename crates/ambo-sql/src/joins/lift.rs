//! A relation of inner joins as one side of the last of them.

use std::sync::Arc;

use datafusion::{
    common::{JoinType, Result},
    logical_expr::{Expr, Join, LogicalPlan},
};

/// A relation that was taken out of joins.
struct Taken {
    relation: Arc<LogicalPlan>,
    /// What is equal in it and in the others.
    on: Vec<(Expr, Expr)>,
    /// The joins of the others.
    others: Arc<LogicalPlan>,
}

/// The joins with the first wanted relation below the last join as the left side of the last; `None` if there is none that can stand there.
pub(super) fn lifted(join: &Join, is_wanted: &dyn Fn(&LogicalPlan) -> bool) -> Result<Option<Join>> {
    for side in [&join.left, &join.right] {
        let Some(Taken { relation, on, others }) = taken(side, is_wanted)? else { continue };
        let Some(others) = joined_again(join, side, others)? else { continue };
        return joined(relation, others, on, join).map(Some);
    }
    Ok(None)
}

/// Whether a join is one of columns that are equal, and nothing else.
pub(super) fn is_plain(join: &Join) -> bool {
    join.join_type == JoinType::Inner && join.filter.is_none() && !join.null_aware && !join.on.is_empty()
}

/// Takes a wanted relation out of a plan of joins.
fn taken(plan: &LogicalPlan, is_wanted: &dyn Fn(&LogicalPlan) -> bool) -> Result<Option<Taken>> {
    let join = match plan {
        // It leaves columns out.
        LogicalPlan::Projection(of) if of.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) => {
            return taken(&of.input, is_wanted);
        }
        LogicalPlan::Join(join) if is_plain(join) => join,
        _ => return Ok(None),
    };
    for (side, other, is_left) in [(&join.left, &join.right, true), (&join.right, &join.left, false)] {
        if is_wanted(side) {
            let turned = |(left, right): (Expr, Expr)| if is_left { (left, right) } else { (right, left) };
            let on = join.on.iter().cloned().map(turned).collect();
            return Ok(Some(Taken { relation: side.clone(), on, others: other.clone() }));
        }
        if let Some(of_side) = taken(side, is_wanted)?
            && let Some(others) = joined_again(join, side, of_side.others)?
        {
            return Ok(Some(Taken { others, ..of_side }));
        }
    }
    Ok(None)
}

/// The join with other rows in the place of one of its sides; `None` if it asks for columns that these do not have.
fn joined_again(
    join: &Join,
    side: &Arc<LogicalPlan>,
    others: Arc<LogicalPlan>,
) -> Result<Option<Arc<LogicalPlan>>> {
    let is_left = Arc::ptr_eq(side, &join.left);
    let asked = join.on.iter().map(|(left, right)| if is_left { left } else { right });
    if !asked.flat_map(Expr::column_refs).all(|column| others.schema().has_column(column)) {
        return Ok(None);
    }
    let (left, right) = match is_left {
        true => (others, join.right.clone()),
        false => (join.left.clone(), others),
    };
    let again = joined(left, right, join.on.clone(), join)?;
    Ok(Some(Arc::new(LogicalPlan::Join(again))))
}

/// A join of the kind of another one.
pub(super) fn joined(
    left: Arc<LogicalPlan>,
    right: Arc<LogicalPlan>,
    on: Vec<(Expr, Expr)>,
    like: &Join,
) -> Result<Join> {
    Join::try_new(left, right, on, None, JoinType::Inner, like.join_constraint, like.null_equality, false)
}
