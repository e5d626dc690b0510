//! Casts that round stay where they are compared.
//!
//! The planner takes a cast off a column by which a literal is compared, and casts the literal instead: `CAST(d AS INT) = 2` becomes `d =
//! 2.00`. That is right only of casts that keep every value; so it is not shown those of decimals that round.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result,
        tree_node::{Transformed, TreeNode},
    },
    logical_expr::{Expr, ExprSchemable},
};

use super::expressions::ExpressionRule;
use crate::identity::identity;

pub(super) const LOSSY_CASTS: ExpressionRule = ExpressionRule {
    name: "lossy_casts",
    wanted: |expr| matches!(expr, Expr::Cast(_) | Expr::TryCast(_)),
    change: |expr, schema, _| expr.transform_up(|expr| kept(expr, schema)),
};

fn kept(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let (from, to) = match &expr {
        Expr::Cast(cast) => (cast.expr.get_type(schema)?, cast.field.data_type()),
        Expr::TryCast(cast) => (cast.expr.get_type(schema)?, cast.field.data_type()),
        _ => return Ok(Transformed::no(expr)),
    };
    Ok(match (scale_of(&from), scale_of(to)) {
        (Some(from), Some(to)) if to < from => {
            Transformed::yes(Arc::new(identity("rounded", 1, true)).call(vec![expr]))
        }
        _ => Transformed::no(expr),
    })
}

/// Places behind the point that numbers of an exact type have.
fn scale_of(data_type: &DataType) -> Option<i8> {
    match data_type {
        DataType::Decimal32(_, scale)
        | DataType::Decimal64(_, scale)
        | DataType::Decimal128(_, scale)
        | DataType::Decimal256(_, scale) => Some(*scale),
        data_type => data_type.is_integer().then_some(0),
    }
}
