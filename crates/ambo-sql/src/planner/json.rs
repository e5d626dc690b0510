//! Forms of JSON: paths `->`, `->>`, `#>`, `#>>` and casts are functions; and so is `s ^@ t`, which is of texts.

use datafusion::sql::sqlparser::ast::{BinaryOperator, CastKind, DataType, Expr, TypedString, Value};

use super::patterns::call;
use crate::functions::is_wild_path;

/// What one of these forms means.
pub(super) fn json(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::BinaryOp { left, op, right } => {
            let function = match op {
                BinaryOperator::Arrow => "json_extract",
                BinaryOperator::LongArrow => "json_extract_string",
                BinaryOperator::HashArrow => "#>",
                BinaryOperator::HashLongArrow => "#>>",
                BinaryOperator::PGStartsWith => "starts_with",
                _ => return None,
            };
            let arguments = vec![left.as_ref().clone(), right.as_ref().clone()];
            Some(to_several(function, &arguments).unwrap_or_else(|| call(function, arguments)))
        }
        Expr::Cast { kind: CastKind::Cast | CastKind::DoubleColon, expr, data_type, .. }
            if is_json(data_type) =>
        {
            Some(call("cast_to_json", vec![expr.as_ref().clone()]))
        }
        Expr::TypedString(TypedString { data_type, value, .. }) if is_json(data_type) => {
            Some(call("cast_to_json", vec![Expr::Value(value.clone())]))
        }
        _ => None,
    }
}

/// What `json_extract` is where its path leads to several places: then it gives a list.
pub(super) fn to_several(function: &str, arguments: &[Expr]) -> Option<Expr> {
    let [_, Expr::Value(path)] = arguments else { return None };
    let Value::SingleQuotedString(path) = &path.value else { return None };
    let of_list = match function {
        "json_extract" | "json_query" => "json_extract_list",
        "json_extract_string" => "json_extract_string_list",
        _ => return None,
    };
    is_wild_path(path).then(|| call(of_list, arguments.to_vec()))
}

fn is_json(ty: &DataType) -> bool {
    matches!(ty, DataType::JSON | DataType::JSONB)
}
