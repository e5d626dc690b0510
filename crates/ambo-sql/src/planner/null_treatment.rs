//! IGNORE NULLS within the parentheses, behind the last argument: `last_value(f(x) IGNORE NULLS)`.
//!
//! The parser takes it for what follows a function's own parentheses: `f(x) IGNORE NULLS`. A function without OVER within the arguments of
//! another one cannot have it, so it is the outer one's.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, NullTreatment,
};

/// Takes IGNORE NULLS and RESPECT NULLS from the end of the last argument.
pub(super) fn say_null_treatment(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    if function.null_treatment.is_some() || !list.clauses.is_empty() {
        return;
    }
    if let Some(
        FunctionArg::Unnamed(FunctionArgExpr::Expr(last))
        | FunctionArg::Named { arg: FunctionArgExpr::Expr(last), .. },
    ) = list.args.last_mut()
    {
        function.null_treatment = taken(last);
    }
}

/// That of the function at the end of an expression.
fn taken(expr: &mut Expr) -> Option<NullTreatment> {
    match expr {
        Expr::Function(function) if function.over.is_none() => function.null_treatment.take(),
        Expr::BinaryOp { right: last, .. } | Expr::UnaryOp { expr: last, .. } => taken(last),
        _ => None,
    }
}
