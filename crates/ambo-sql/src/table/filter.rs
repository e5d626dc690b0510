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
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            either(filter(left)?, filter(right)?)
        }
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
        Expr::Between(between) => {
            let (low, high) = (literal(&between.low)?, literal(&between.high)?);
            let test = Test::Between(comparable(low)?, comparable(high)?);
            Some((column(&between.expr)?, negated(test, between.negated)))
        }
        Expr::InList(list) => {
            let values = list.list.iter().map(|item| comparable(literal(item)?)).collect::<Option<_>>()?;
            Some((column(&list.expr)?, negated(Test::In(values), list.negated)))
        }
        Expr::IsNull(of) => Some((column(of)?, Test::IsNull)),
        Expr::IsNotNull(of) => Some((column(of)?, Test::IsNotNull)),
        Expr::Column(column) => Some((column.name.clone(), Test::Compare(Compare::Equal, Datum::Bool(true)))),
        Expr::Not(of) => Some((column(of)?, Test::Compare(Compare::Equal, Datum::Bool(false)))),
        Expr::Like(like) => Some((column(&like.expr)?, negated(pattern(like)?, like.negated))),
        _ => None,
    }
}

fn negated(test: Test, is_negated: bool) -> Test {
    if is_negated { Test::Not(Box::new(test)) } else { test }
}

/// Two questions about values of one column, of which one is to be answered with yes.
fn either((column, one): (String, Test), (other, two): (String, Test)) -> Option<(String, Test)> {
    let values = |test| match test {
        Test::Compare(Compare::Equal, value) => Some(vec![value]),
        Test::In(values) => Some(values),
        _ => None,
    };
    let mut all = values(one).filter(|_| column == other)?;
    all.extend(values(two)?);
    Some((column, Test::In(all)))
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
    // So are bits and geometries.
    if let ScalarValue::LargeBinary(Some(bytes)) | ScalarValue::BinaryView(Some(bytes)) = constant {
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

/// LIKE with a pattern of letters and `%`.
fn pattern(like: &Like) -> Option<Test> {
    if like.case_insensitive || like.escape_char.is_some_and(|escape| escape != '\\') {
        return None;
    }
    let Datum::Utf8(pattern) = datum(literal(&like.pattern)?)? else { return None };
    if pattern.contains(['_', '\\']) {
        return None;
    }
    let pieces: Vec<&str> = pattern.split('%').collect();
    let bytes = |piece: &str| piece.as_bytes().to_vec();
    match pieces[..] {
        [_] => None,
        [begin, ""] => Some(Test::Prefix(bytes(begin))),
        ["", part, ""] => Some(Test::Contains(bytes(part))),
        _ => Some(Test::Like(pieces.into_iter().map(bytes).collect())),
    }
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
        let other = Test::Not(Box::new(Test::In(vec![Datum::I64(1)])));
        assert_eq!(filter(&col("a").in_list(vec![lit(1i64)], true)), Some(("a".into(), other)));
        let one = Test::In(vec![Datum::I64(1), Datum::I64(2), Datum::I64(3)]);
        let either = col("a").eq(lit(1i64)).or(col("a").in_list(vec![lit(2i64), lit(3i64)], false));
        assert_eq!(filter(&either), Some(("a".into(), one)));
        assert_eq!(filter(&col("a").eq(lit(1i64)).or(col("b").eq(lit(2i64)))), None);
        assert_eq!(filter(&col("a").eq(lit(1i64)).or(col("a").gt(lit(2i64)))), None);
        assert_eq!(filter(&col("a").in_list(vec![lit(ScalarValue::Null)], false)), None);
    }

    #[test]
    fn patterns_are_prefixes_or_parts() {
        let like = |pattern: &str| filter(&col("a").like(lit(pattern))).map(|(_, test)| test);
        assert_eq!(like("ab%"), Some(Test::Prefix(b"ab".to_vec())));
        assert_eq!(like("%ab%"), Some(Test::Contains(b"ab".to_vec())));
        let pieces =
            |pieces: &[&str]| Some(Test::Like(pieces.iter().map(|one| one.as_bytes().to_vec()).collect()));
        assert_eq!(like("%ab"), pieces(&["", "ab"]));
        assert_eq!(like("a%b%"), pieces(&["a", "b", ""]));
        for other in ["ab", "a_b%", "a\\%%"] {
            assert_eq!(like(other), None, "{other}");
        }
        let not = filter(&col("a").not_like(lit("ab%"))).map(|(_, test)| test);
        assert_eq!(not, Some(Test::Not(Box::new(Test::Prefix(b"ab".to_vec())))));
        assert_eq!(filter(&col("a").ilike(lit("ab%"))), None);
    }
}
