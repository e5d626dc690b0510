//! Functions of texts are not given lists, structs or maps.
//!
//! The planner makes a text of whatever a function of texts is given: `reverse([1, 2, 3])` is `]3 ,2 ,1[`.

use std::{collections::HashSet, sync::LazyLock};

use arrow::datatypes::DataType;
use datafusion::{
    common::{DFSchema, Result, plan_err, tree_node::Transformed, tree_node::TreeNode},
    functions::{regex, string, unicode},
    logical_expr::{Expr, ExprSchemable, expr::ScalarFunction},
};

use super::expressions::ExpressionRule;

pub(super) const TEXT_FUNCTIONS: ExpressionRule = ExpressionRule {
    name: "text_functions",
    wanted: |expr| matches!(expr, Expr::ScalarFunction(function) if is_of_texts(function)),
    change: |expr, schema, _| {
        expr.apply(|expr| {
            refuse(expr, schema)?;
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        })?;
        Ok(Transformed::no(expr))
    },
};

/// What takes anything.
const OF_ANYTHING: [&str; 2] = ["concat", "concat_ws"];

pub(crate) fn is_of_texts(function: &ScalarFunction) -> bool {
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let all = string::functions().into_iter().chain(unicode::functions()).chain(regex::functions());
        all.map(|function| function.name().to_owned())
            .filter(|name| !OF_ANYTHING.contains(&name.as_str()))
            .collect()
    });
    NAMES.contains(function.name())
}

fn refuse(expr: &Expr, schema: &DFSchema) -> Result<()> {
    let Expr::ScalarFunction(function) = expr else { return Ok(()) };
    if !is_of_texts(function) {
        return Ok(());
    }
    for argument in &function.args {
        // What has no type yet is told later.
        let Ok(ty) = argument.get_type(schema) else { continue };
        let what = match ty {
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => "a list",
            DataType::Struct(_) => "a struct",
            DataType::Map(..) => "a map",
            _ => continue,
        };
        return plan_err!(
            "{} takes texts, not {what}; there are functions of lists: array_reverse, array_position, array_has …",
            function.name()
        );
    }
    Ok(())
}
