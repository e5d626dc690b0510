//! `SEMI JOIN` and `ANTI JOIN` are `LEFT SEMI JOIN` and `LEFT ANTI JOIN`: rows of the left side that have a partner, or none.
//!
//! The planner knows those with a side only.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Join, JoinOperator, Query, TableFactor, VisitorMut};

use super::each_select;

use crate::walk::WalkMut;

/// Says the side of all of them.
pub(super) fn say_sides(tree: &mut impl WalkMut) {
    let _ = tree.walk_mut(&mut Sides);
}

struct Sides;

impl VisitorMut for Sides {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        each_select(&mut query.body, &mut |select| {
            select.from.iter_mut().flat_map(|tables| &mut tables.joins).for_each(say_side);
        });
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            table_with_joins.joins.iter_mut().for_each(say_side);
        }
        ControlFlow::Continue(())
    }
}

fn say_side(join: &mut Join) {
    let operator = &mut join.join_operator;
    *operator = match operator.clone() {
        JoinOperator::Semi(on) => JoinOperator::LeftSemi(on),
        JoinOperator::Anti(on) => JoinOperator::LeftAnti(on),
        other => other,
    };
}
