//! Groups are made by numbers where their columns are those of a small side of joins.
//!
//! `GROUP BY i_category, i_brand` above a join of sales with their items hashes and compares the two texts of each sale, and the join
//! copies them for each sale, though there are only as many combinations as there are items. Here the items are given the number of their
//! combination before they are joined ([`Coded`]); joins hand on the number, groups are made by it, and the groups get the values back
//! ([`Decoded`]). Several columns of one relation become one number.
//!
//! That is right for any join whose rows have the columns as the relation has them, or NULL: what is NULL in all columns has no number, and
//! neither has a row that found no partner, so both are in one group, as they would be by their values. What is computed of columns is
//! computed for rows that find no partner, too; so it must not fail, and not be computed below a join that adds rows without a partner.
//!
//! (Late materialization by positions: Abadi et al., ICDE 2007; group joins by surrogates: Moerkotte, Neumann, VLDB 2011.)

mod exec;
mod node;
mod numbers;
mod relation;

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        Column, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Aggregate, Expr, ExprSchemable, Extension, LogicalPlan},
};

pub(crate) use node::CodesPlanner;
use node::{Coded, Decoded, Shown};
use numbers::Numbers;
use relation::{Relation, relation, with_relation};

use super::estimate;
use crate::optimizer::may_fail;

/// With fewer rows it is not worth its planning.
const ROWS_LEAST: f64 = 20_000.0;
/// So many rows of the joins have to come to each row of the relation.
const ROWS_EACH: f64 = 4.0;

/// When groups are made by numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ByCodes {
    /// Where that is less work.
    WhereWorth,
    /// Wherever that can be, as tests have it.
    Always,
}

impl ByCodes {
    /// The plan, in which groups of columns of small relations are made by numbers. To be done when plans are as they will be computed;
    /// columns that nobody reads any more are left for others to leave out.
    pub(crate) fn coded(self, plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|node| {
            let LogicalPlan::Aggregate(aggregate) = &node else { return Ok(Transformed::no(node)) };
            Ok(match self.grouped(aggregate)? {
                Some(plan) => Transformed::yes(plan),
                None => Transformed::no(node),
            })
        })
    }

    fn grouped(self, aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
        let rows = estimate::rows(&aggregate.input);
        if self == Self::WhereWorth && rows < ROWS_LEAST {
            return Ok(None);
        }
        let mut sides: Vec<Side<'_>> = Vec::new();
        for (place, group) in aggregate.group_expr.iter().enumerate() {
            if matches!(group, Expr::GroupingSet(_)) {
                return Ok(None);
            }
            let Some(relation) = relation(&aggregate.input, group)? else { continue };
            if !can_be_coded(&relation)? {
                continue;
            }
            match sides.iter_mut().find(|side| side.relation.path == relation.path) {
                Some(side) => side.add(place, relation.expr),
                None => sides.push(Side::new(place, relation)),
            }
        }
        sides.retain(|side| side.saves_work(rows, self));
        match sides.is_empty() {
            true => Ok(None),
            false => by_numbers(aggregate, sides).map(Some),
        }
    }
}

/// Whether values may be computed for each row of the relation, and are equal where groups say that they are.
fn can_be_coded(relation: &Relation<'_>) -> Result<bool> {
    let schema = relation.plan.schema();
    let asks_others = relation.expr.exists(|expr| {
        Ok(matches!(
            expr,
            Expr::ScalarSubquery(_)
                | Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(..)
                | Expr::Placeholder(_)
        ))
    })?;
    Ok(!asks_others
        && !relation.expr.is_volatile()
        && is_plain(&relation.expr.get_type(schema)?)
        && !may_fail(&relation.expr, schema))
}

/// Whether equal values of a type have equal bytes.
fn is_plain(ty: &DataType) -> bool {
    use DataType::*;
    match ty {
        Boolean | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) | Decimal128(..) => true,
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => true,
        ty => ty.is_integer(),
    }
}

/// A relation with groups of its columns, and where these stand in the aggregation.
struct Side<'p> {
    relation: Relation<'p>,
    exprs: Vec<Expr>,
    places: Vec<usize>,
}

impl<'p> Side<'p> {
    fn new(place: usize, relation: Relation<'p>) -> Self {
        Self { exprs: vec![relation.expr.clone()], places: vec![place], relation }
    }

    fn add(&mut self, place: usize, expr: Expr) {
        self.places.push(place);
        self.exprs.push(expr);
    }

    /// Whether it has few rows for those of the joins, and its columns are more than one number.
    fn saves_work(&self, rows: f64, when: ByCodes) -> bool {
        if when == ByCodes::Always {
            return true;
        }
        let schema = self.relation.plan.schema();
        let is_number = |expr: &Expr| expr.get_type(schema).is_ok_and(|ty| ty.is_primitive());
        let is_more = self.exprs.len() > 1 || !self.exprs.iter().all(is_number);
        is_more && estimate::rows(self.relation.plan) * ROWS_EACH <= rows
    }
}

/// The aggregation with numbers in the place of the columns of these sides, and its rows as they were.
fn by_numbers(aggregate: &Aggregate, sides: Vec<Side<'_>>) -> Result<LogicalPlan> {
    let mut input = aggregate.input.as_ref().clone();
    let mut groups: Vec<Expr> = Vec::new();
    let mut shown: Vec<Option<Shown>> = vec![None; aggregate.group_expr.len()];
    for (nth, side) in sides.into_iter().enumerate() {
        let schema = side.relation.plan.schema();
        let types = side.exprs.iter().map(|expr| expr.get_type(schema)).collect::<Result<Vec<_>>>()?;
        let numbers = Arc::new(Numbers::new(&types)?);
        for (column, place) in side.places.iter().enumerate() {
            shown[*place] = Some(Shown::Numbered { numbers: numbers.clone(), number: groups.len(), column });
        }
        // No table has a column of that name.
        let number = Column::new_unqualified(format!("\u{1}number {nth}"));
        input = with_relation(&input, &side.relation.path, &number, &mut |plan| {
            let coded = Coded::new(plan.clone(), side.exprs.clone(), number.clone(), numbers.clone())?;
            Ok(LogicalPlan::Extension(Extension { node: Arc::new(coded) }))
        })?;
        groups.push(Expr::Column(number));
    }
    for (group, shown) in aggregate.group_expr.iter().zip(&mut shown) {
        if shown.is_none() {
            *shown = Some(Shown::Same(groups.len()));
            groups.push(group.clone());
        }
    }
    let aggregates = (0..aggregate.aggr_expr.len()).map(|nth| Shown::Same(groups.len() + nth));
    let shown = shown.into_iter().flatten().chain(aggregates).collect();
    let grouped = Aggregate::try_new(Arc::new(input), groups, aggregate.aggr_expr.clone())?;
    let decoded = Decoded::new(LogicalPlan::Aggregate(grouped), shown, &aggregate.schema)?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(decoded) }))
}
