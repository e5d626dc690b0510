//! Whole numbers are not cast to blobs.
//!
//! The planner takes the bytes that a number has in memory, in the order of the processor: `CAST(1 AS BYTEA)` is `x'0100000000000000'`.

use arrow::datatypes::DataType;
use datafusion::{
    common::{
        DFSchema, Result, plan_err,
        tree_node::{Transformed, TreeNode, TreeNodeRecursion},
    },
    logical_expr::{Cast, Expr, ExprSchemable, TryCast},
};

use super::expressions::ExpressionRule;

pub(super) const BYTE_CASTS: ExpressionRule = ExpressionRule {
    name: "byte_casts",
    wanted: |expr| to_bytes(expr).is_some(),
    change: |expr, schema, _| {
        expr.apply(|expr| {
            refuse(expr, schema)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(Transformed::no(expr))
    },
};

/// What is cast to a blob.
fn to_bytes(expr: &Expr) -> Option<&Expr> {
    let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = expr else {
        return None;
    };
    let is_blob = matches!(
        field.data_type(),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_)
    );
    is_blob.then_some(expr)
}

fn refuse(expr: &Expr, schema: &DFSchema) -> Result<()> {
    match to_bytes(expr).map(|number| number.get_type(schema)).transpose()? {
        Some(ty) if ty.is_integer() => {
            plan_err!(
                "a whole number is not cast to a blob; decode(to_hex(n), 'hex') has bytes of its digits"
            )
        }
        _ => Ok(()),
    }
}
