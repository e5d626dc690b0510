//! Conditions of the planner as filters of a table, which its storage answers on encoded blocks, by its key or by its indexes.

use ambo::{Compare, Datum, Test};
use arrow::array::Array;
use datafusion::{
    common::ScalarValue,
    logical_expr::{BinaryExpr, Expr, Like, Operator},
};

use crate::{
    logical::{UUID_LEN, codes, is_enum},
    value::datum,
};

/// A condition as a question about one column, if it is one that storages answer just as the planner's own operators would.
pub(crate) fn filter(expr: &Expr) -> Option<(String, Test)> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let compare = comparison(*op)?;
            match (&**left, &**right) {
                (Expr::Column(column), Expr::Literal(constant, _)) => {
                    Some((column.name.clone(), Test::Compare(compare, comparable(constant)?)))
                }
                (Expr::Literal(constant, _), Expr::Column(column)) => {
                    Some((column.name.clone(), Test::Compare(compare.turned(), comparable(constant)?)))
                }
                _ => None,
            }
        }
        Expr::Between(between) if !between.negated => {
            let (low, high) = (literal(&between.low)?, literal(&between.high)?);
            Some((column(&between.expr)?, Test::Between(comparable(low)?, comparable(high)?)))
        }
        Expr::InList(list) if !list.negated => {
            let values = list.list.iter().map(|item| comparable(literal(item)?)).collect::<Option<_>>()?;
            Some((column(&list.expr)?, Test::In(values)))
        }
        Expr::IsNull(of) => Some((column(of)?, Test::IsNull)),
        Expr::IsNotNull(of) => Some((column(of)?, Test::IsNotNull)),
        Expr::Column(column) => Some((column.name.clone(), Test::Compare(Compare::Equal, Datum::Bool(true)))),
        Expr::Not(of) => Some((column(of)?, Test::Compare(Compare::Equal, Datum::Bool(false)))),
        Expr::Like(like) => Some((column(&like.expr)?, pattern(like)?)),
        _ => None,
    }
}

fn column(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Column(column) => Some(column.name.clone()),
        _ => None,
    }
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(constant, _) => Some(constant),
        _ => None,
    }
}

/// A constant that storages compare as the planner does: no NULL, which answers nothing, and no NaN.
pub(super) fn comparable(constant: &ScalarValue) -> Option<Datum> {
    // A UUID is in the order of its bytes.
    if let ScalarValue::FixedSizeBinary(UUID_LEN, Some(bytes)) = constant {
        return Some(Datum::Binary(bytes.clone()));
    }
    // An enum is in the order of its labels.
    if let ScalarValue::Struct(of) = constant
        && is_enum(of.data_type())
    {
        let code = codes(of.as_ref());
        return code.is_valid(0).then(|| Datum::U16(code.value(0)));
    }
    match datum(constant)? {
        Datum::Null => None,
        Datum::F32(value) if value.is_nan() => None,
        Datum::F64(value) if value.is_nan() => None,
        value => Some(value),
    }
}

pub(super) fn comparison(op: Operator) -> Option<Compare> {
    Some(match op {
        Operator::Eq => Compare::Equal,
        Operator::NotEq => Compare::NotEqual,
        Operator::Lt => Compare::Less,
        Operator::LtEq => Compare::LessEqual,
        Operator::Gt => Compare::Greater,
        Operator::GtEq => Compare::GreaterEqual,
        _ => return None,
    })
}

/// LIKE with a pattern that only says how the text begins, or what is in it.
fn pattern(like: &Like) -> Option<Test> {
    if like.negated || like.case_insensitive || like.escape_char.is_some_and(|escape| escape != '\\') {
        return None;
    }
    let Datum::Utf8(pattern) = datum(literal(&like.pattern)?)? else { return None };
    if pattern.contains(['_', '\\']) {
        return None;
    }
    let (before, part) = match pattern.strip_prefix('%') {
        Some(rest) => (true, rest),
        None => (false, &*pattern),
    };
    let part = part.strip_suffix('%')?;
    if part.contains('%') {
        return None;
    }
    let part = part.as_bytes().to_vec();
    Some(if before { Test::Contains(part) } else { Test::Prefix(part) })
}

#[cfg(test)]
mod tests {
    use datafusion::prelude::{col, lit};

    use super::*;

    #[test]
    fn what_storages_answer_is_told_from_what_they_do_not() {
        let compare = |compare, value: i64| Some(("a".to_owned(), Test::Compare(compare, Datum::I64(value))));
        assert_eq!(filter(&col("a").gt(lit(5i64))), compare(Compare::Greater, 5));
        assert_eq!(filter(&lit(5i64).gt(col("a"))), compare(Compare::Less, 5));
        assert_eq!(filter(&lit(5i64).lt_eq(col("a"))), compare(Compare::GreaterEqual, 5));
        assert_eq!(filter(&col("a").gt(col("b"))), None);
        assert_eq!(filter(&col("a").eq(lit(ScalarValue::Int64(None)))), None);
        assert_eq!(filter(&col("a").lt(lit(f64::NAN))), None);
        assert_eq!(filter(&(col("a") + lit(1i64)).gt(lit(5i64))), None);
        assert_eq!(filter(&col("a").is_null()), Some(("a".into(), Test::IsNull)));
        let list = col("a").in_list(vec![lit(1i64), lit(2i64)], false);
        assert_eq!(filter(&list), Some(("a".into(), Test::In(vec![Datum::I64(1), Datum::I64(2)]))));
        assert_eq!(filter(&col("a").in_list(vec![lit(1i64)], true)), None);
        assert_eq!(filter(&col("a").in_list(vec![lit(ScalarValue::Null)], false)), None);
    }

    #[test]
    fn patterns_are_prefixes_or_parts() {
        let like = |pattern: &str| filter(&col("a").like(lit(pattern))).map(|(_, test)| test);
        assert_eq!(like("ab%"), Some(Test::Prefix(b"ab".to_vec())));
        assert_eq!(like("%ab%"), Some(Test::Contains(b"ab".to_vec())));
        for other in ["ab", "a_b%", "%ab", "a%b%", "a\\%%"] {
            assert_eq!(like(other), None, "{other}");
        }
        assert_eq!(filter(&col("a").not_like(lit("ab%"))), None);
        assert_eq!(filter(&col("a").ilike(lit("ab%"))), None);
    }
}
