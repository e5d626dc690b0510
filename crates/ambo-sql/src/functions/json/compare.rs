//! `@>` and `-` of JSON, as PostgreSQL's `jsonb` has them.

use std::sync::LazyLock;

use datafusion::{
    common::{DFSchema, Result, exec_err},
    logical_expr::{
        Expr, ExprSchemable, ScalarUDF,
        planner::{ExprPlanner, PlannerResult, RawBinaryExpr},
    },
    sql::sqlparser::ast::BinaryOperator,
};

use super::{
    super::plain::{
        self, Form, Given,
        Kind::{Bool, Json as AsJson, Text, Whole},
        Made, Named, plain,
    },
    is_json,
    read::covers,
    value::{Json, given},
};

pub(super) static ALL: [Named; 2] = [
    plain!(["jsonb_contains"], [Text, Text] => Bool, contains),
    Named {
        names: &["jsonb_delete"],
        is_volatile: false,
        forms: &[
            Form { takes: &[Text, Text], gives: AsJson, make: without_name },
            Form { takes: &[Text, Whole], gives: AsJson, make: without_element },
        ],
    },
];

/// Whether a value has all that another has: names of objects and elements of arrays. An array has a value that is one of its elements.
fn contains(of: &[Given<'_>]) -> Result<Made> {
    let [value, wanted] = [0, 1].map(|nth| given("jsonb_contains", of[nth].text()));
    let (value, wanted) = (value?, wanted?);
    let is_element = match (&value, &wanted) {
        (_, Json::Array(_) | Json::Object(_)) => false,
        (Json::Array(elements), wanted) => elements.iter().any(|element| covers(element, wanted)),
        _ => false,
    };
    Ok((is_element || covers(&value, &wanted)).into())
}

/// An object without a name, or an array without the texts that are equal to it.
fn without_name(of: &[Given<'_>]) -> Result<Made> {
    let (value, name) = (given("jsonb_delete", of[0].text())?, of[1].text());
    let rest = match value {
        Json::Object(fields) => Json::Object(fields.into_iter().filter(|(of, _)| of != name).collect()),
        Json::Array(elements) => {
            let is_it = |element: &Json<'_>| matches!(element, Json::Text(text) if text == name);
            Json::Array(elements.into_iter().filter(|element| !is_it(element)).collect())
        }
        other => return exec_err!("nothing can be taken out of the {} {}", other.kind(), other.text()),
    };
    Ok(rest.text().into())
}

/// An array without an element; numbers below 0 count from its end.
fn without_element(of: &[Given<'_>]) -> Result<Made> {
    let mut elements = match given("jsonb_delete", of[0].text())? {
        Json::Array(elements) => elements,
        other => return exec_err!("no element can be taken out of the {} {}", other.kind(), other.text()),
    };
    let count = elements.len() as i64;
    let place = of[1].whole();
    let place = if place < 0 { place.saturating_add(count) } else { place };
    if (0..count).contains(&place) {
        elements.remove(place as usize);
    }
    Ok(Json::Array(elements).text().into())
}

/// The operators.
#[derive(Debug)]
pub(crate) struct JsonOperators;

impl ExprPlanner for JsonOperators {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        static FUNCTIONS: LazyLock<Vec<ScalarUDF>> = LazyLock::new(|| plain::functions(&ALL).collect());

        let of_json = |expr: &Expr| expr.to_field(schema).is_ok_and(|(_, field)| is_json(&field));
        let (function, left, right) = match expr.op {
            BinaryOperator::AtArrow if of_json(&expr.left) => (0, expr.left, expr.right),
            BinaryOperator::ArrowAt if of_json(&expr.right) => (0, expr.right, expr.left),
            BinaryOperator::Minus if of_json(&expr.left) => (1, expr.left, expr.right),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        Ok(PlannerResult::Planned(FUNCTIONS[function].call(vec![left, right])))
    }
}
