//! Casts of lists, structs and maps to texts write what results show ([`NestedText`]).

use std::sync::{Arc, LazyLock};

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, Result, tree_node::Transformed, tree_node::TreeNode},
    logical_expr::{Cast, Expr, ExprSchemable, ScalarUDF, TryCast},
};

use super::expressions::ExpressionRule;
use crate::{functions::NestedText, nested::is_nested};

pub(super) const NESTED_TEXTS: ExpressionRule = ExpressionRule {
    name: "nested_texts",
    wanted: |expr| to_text(expr).is_some(),
    change: |expr, schema, _| expr.transform_up(|expr| written(expr, schema)),
};

/// What is cast to a text, and to which type of them.
fn to_text(expr: &Expr) -> Option<(&Expr, &DataType)> {
    let (Expr::Cast(Cast { expr, field }) | Expr::TryCast(TryCast { expr, field })) = expr else {
        return None;
    };
    let ty = field.data_type();
    matches!(ty, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View).then_some((expr, ty))
}

fn written(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    static TEXT: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(NestedText::new())));
    let Some((value, ty)) = to_text(&expr) else { return Ok(Transformed::no(expr)) };
    if !is_nested(&value.get_type(schema)?) {
        return Ok(Transformed::no(expr));
    }
    let text = TEXT.call(vec![value.clone()]);
    Ok(Transformed::yes(match ty {
        DataType::Utf8 => text,
        other => text.cast_to(other, schema)?,
    }))
}
