//! Which expressions can fail for a row, and how.

use std::sync::Arc;

use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Schema};
use datafusion::{
    common::{
        DFSchema, Result, ScalarValue,
        tree_node::{TreeNode, TreeNodeRecursion},
    },
    logical_expr::{BinaryExpr, Expr, Operator, expr::ScalarFunction},
    physical_expr::{
        PhysicalExpr, ScalarFunctionExpr,
        expressions::{BinaryExpr as PhysicalBinaryExpr, CastExpr},
    },
};

use super::range::{Range, of_type, range, type_of};
use crate::numbers::{Operation, operation};

/// What can be wrong with the value of an expression, the worst last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Failing {
    Never,
    /// A query for one value has several, or fails itself. It has one answer for all rows.
    Query,
    /// A number that has no place in its type.
    Overflow,
    /// Division by zero, texts that are no numbers, and what else functions do not take.
    Value,
}

/// How an expression over rows of a schema can fail.
pub(super) fn failing(expr: &Expr, schema: &DFSchema) -> Failing {
    worst(expr, schema, Failing::Value)
}

/// The same, looking no further once it is as bad as `enough`: each part of a long chain of sums looks at all below it.
fn worst(expr: &Expr, schema: &DFSchema, enough: Failing) -> Failing {
    let mut worst = Failing::Never;
    let visited = expr.apply(|expr| {
        worst = worst.max(own(expr, schema));
        Ok(if worst >= enough { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    if visited.is_err() { Failing::Value } else { worst }
}

/// Whether it may be wrong for one row and right for others.
pub(crate) fn may_fail(expr: &Expr, schema: &DFSchema) -> bool {
    worst(expr, schema, Failing::Overflow) >= Failing::Overflow
}

pub(super) fn can_fail(expr: &Expr, schema: &DFSchema) -> bool {
    worst(expr, schema, Failing::Query) != Failing::Never
}

/// How an expression can fail if none of its parts does.
fn own(expr: &Expr, schema: &DFSchema) -> Failing {
    match expr {
        Expr::BinaryExpr(binary) => operator(expr, binary, schema),
        Expr::Negative(of) => match type_of(of, schema) {
            Some(ty) if ty.is_floating() || ty.is_decimal() => Failing::Never,
            _ => overflows(expr, schema),
        },
        Expr::Cast(cast) => match type_of(&cast.expr, schema) {
            Some(from) => conversion(&from, range(&cast.expr, schema), cast.field.data_type()),
            None => Failing::Value,
        },
        Expr::SimilarTo(like) => pattern(&like.pattern),
        Expr::ScalarFunction(function) => match operation(expr) {
            Some((operation, left, right)) => arithmetic(expr, operation, (left, right), schema),
            None => call(function),
        },
        Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_) => {
            Failing::Query
        }
        Expr::Unnest(_) | Expr::HigherOrderFunction(_) | Expr::Lambda(_) => Failing::Value,
        _ => Failing::Never,
    }
}

/// Whole numbers overflow unless the bounds of their parts tell otherwise.
fn overflows(expr: &Expr, schema: &DFSchema) -> Failing {
    let fits = range(expr, schema).is_some_and(|range| range.is_exact);
    if fits { Failing::Never } else { Failing::Overflow }
}

/// Of the planner's operators and of ours in their place.
fn arithmetic(
    expr: &Expr,
    operation: Operation,
    (left, right): (&Expr, &Expr),
    schema: &DFSchema,
) -> Failing {
    match operation {
        Operation::Add | Operation::Subtract | Operation::Multiply => {
            sum_or_product(expr, operation, (left, right), schema)
        }
        Operation::Divide | Operation::DivideWhole | Operation::Remainder => {
            division(expr, (left, right), schema)
        }
        Operation::ShiftLeft | Operation::ShiftRight | Operation::Negate => Failing::Overflow,
    }
}

fn operator(expr: &Expr, binary: &BinaryExpr, schema: &DFSchema) -> Failing {
    if let Some((operation, left, right)) = operation(expr) {
        return arithmetic(expr, operation, (left, right), schema);
    }
    match binary.op {
        Operator::IntegerDivide => division(expr, (&binary.left, &binary.right), schema),
        Operator::RegexMatch | Operator::RegexIMatch | Operator::RegexNotMatch | Operator::RegexNotIMatch => {
            pattern(&binary.right)
        }
        Operator::Eq
        | Operator::NotEq
        | Operator::Lt
        | Operator::LtEq
        | Operator::Gt
        | Operator::GtEq
        | Operator::And
        | Operator::Or
        | Operator::IsDistinctFrom
        | Operator::IsNotDistinctFrom
        | Operator::LikeMatch
        | Operator::ILikeMatch
        | Operator::NotLikeMatch
        | Operator::NotILikeMatch
        | Operator::BitwiseAnd
        | Operator::BitwiseOr
        | Operator::BitwiseXor
        | Operator::StringConcat => Failing::Never,
        _ => Failing::Value,
    }
}

fn sum_or_product(
    expr: &Expr,
    operation: Operation,
    (left, right): (&Expr, &Expr),
    schema: &DFSchema,
) -> Failing {
    if let Some(range) = range(expr, schema) {
        return if range.is_exact { Failing::Never } else { Failing::Overflow };
    }
    let types = (type_of(left, schema), type_of(right, schema));
    let (Some(left), Some(right)) = types else { return Failing::Value };
    match (digits(&left), digits(&right)) {
        _ if left.is_floating() || right.is_floating() => Failing::Never,
        (Some((left, left_scale)), Some((right, right_scale)))
            if type_of(expr, schema).is_some_and(|ty| ty.is_decimal()) =>
        {
            let digits = match operation {
                Operation::Multiply => left + right + 1,
                _ => (left - left_scale).max(right - right_scale) + left_scale.max(right_scale) + 1,
            };
            if digits <= i32::from(DECIMAL128_MAX_PRECISION) { Failing::Never } else { Failing::Overflow }
        }
        _ => Failing::Overflow,
    }
}

fn division(expr: &Expr, (left, right): (&Expr, &Expr), schema: &DFSchema) -> Failing {
    let is_double = type_of(expr, schema).is_some_and(|ty| ty.is_floating());
    let divisor = match right {
        Expr::Literal(value, _) => Some(value.clone()),
        Expr::Cast(cast) => match &*cast.expr {
            Expr::Literal(value, _) => value.cast_to(cast.field.data_type()).ok(),
            _ => None,
        },
        _ => None,
    };
    // What a double divided by zero is, is said elsewhere.
    let Some(divisor) = divisor.filter(|divisor| !is_zero(divisor)) else { return Failing::Value };
    let by_minus_one = ScalarValue::new_negative_one(&divisor.data_type()).is_ok_and(|one| one == divisor);
    match (type_of(left, schema), type_of(expr, schema)) {
        _ if is_double => Failing::Never,
        (Some(ty), Some(to)) if to.is_decimal() && !is_fraction(&divisor) && is_as_wide(&ty, &to) => {
            Failing::Never
        }
        (Some(ty), Some(to)) if ty.is_integer() && to.is_integer() && !by_minus_one => Failing::Never,
        _ => Failing::Overflow,
    }
}

/// Whether a number lies between minus one and one.
fn is_fraction(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Decimal128(Some(value), _, scale) => {
            let one = u32::try_from(*scale).ok().and_then(|scale| 10_u128.checked_pow(scale));
            one.is_none_or(|one| value.unsigned_abs() < one)
        }
        value => !value.data_type().is_integer(),
    }
}

/// Whether a decimal has all digits of a number, in front of the point and behind it: of one that is divided by more than one, too.
fn is_as_wide(from: &DataType, to: &DataType) -> bool {
    let (Some((digits, scale)), Some((to_digits, to_scale))) = (digits(from), digits(to)) else {
        return false;
    };
    to_scale >= scale && to_digits - to_scale >= digits - scale
}

fn is_zero(value: &ScalarValue) -> bool {
    ScalarValue::new_zero(&value.data_type()).is_ok_and(|zero| zero == *value)
        || matches!(value, ScalarValue::Float64(Some(value)) if *value == 0.0)
        || matches!(value, ScalarValue::Float32(Some(value)) if *value == 0.0)
}

/// One that is a constant is right or wrong for all rows.
fn pattern(pattern: &Expr) -> Failing {
    match pattern {
        Expr::Literal(..) => Failing::Never,
        _ => Failing::Value,
    }
}

/// How many digits numbers of an exact type have, and how many of them behind the point.
fn digits(ty: &DataType) -> Option<(i32, i32)> {
    match ty {
        DataType::Decimal32(digits, scale)
        | DataType::Decimal64(digits, scale)
        | DataType::Decimal128(digits, scale)
        | DataType::Decimal256(digits, scale) => Some((i32::from(*digits), i32::from(*scale))),
        ty => of_type(ty).map(|range| (digits_of(range), 0)),
    }
}

fn digits_of(range: Range) -> i32 {
    let largest = range.low.unsigned_abs().max(range.high.unsigned_abs());
    largest.checked_ilog10().map_or(1, |log| log as i32 + 1)
}

/// How casts fail for values of a type, those of whole numbers in a range.
fn conversion(from: &DataType, range: Option<Range>, to: &DataType) -> Failing {
    use DataType::*;
    let when = |fits: bool| if fits { Failing::Never } else { Failing::Overflow };
    let from_digits = range.map(|range| (digits_of(range), 0)).or_else(|| digits(from));
    match (from, to) {
        (from, to) if from == to => Failing::Never,
        (Null, _) | (Boolean, Utf8 | LargeUtf8 | Utf8View) => Failing::Never,
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView) => {
            Failing::Never
        }
        (from, Float32 | Float64) if from.is_numeric() => when(*to == Float64 || *from != Float64),
        (from, Utf8 | LargeUtf8 | Utf8View) if from.is_numeric() || from.is_temporal() => Failing::Never,
        (Boolean, to) if to.is_integer() => Failing::Never,
        (from, Boolean) if from.is_integer() => Failing::Never,
        (from, to) if from.is_integer() && to.is_integer() => {
            let fits = range.zip(of_type(to)).is_some_and(|(range, to)| range.is_within(to));
            when(fits)
        }
        (_, Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..)) => {
            match (from_digits, digits(to)) {
                (Some((digits, scale)), Some((to_digits, to_scale))) => {
                    let rounded = i32::from(to_scale < scale);
                    when(to_digits - to_scale >= digits - scale + rounded)
                }
                _ => Failing::Value,
            }
        }
        (Decimal128(digits, scale), to) if to.is_integer() => {
            let most = of_type(to).map_or(0, digits_of);
            when(i32::from(*digits) - i32::from(*scale) + 1 < most)
        }
        (Date32, Timestamp(..)) | (Timestamp(..), Date32) => Failing::Never,
        // Infinity has no time of day.
        (Timestamp(..), Time64(_)) => Failing::Value,
        (Timestamp(from, _), Timestamp(to, _)) => when(from == to),
        (from, to) if from.is_temporal() && to.is_temporal() => Failing::Overflow,
        _ => Failing::Value,
    }
}

/// Functions that have an answer for whatever they get.
const TOTAL: [&str; 80] = [
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_length",
    "ascii",
    "bit_length",
    "btrim",
    "cardinality",
    "cbrt",
    "ceil",
    "char_length",
    "character_length",
    "coalesce",
    "concat",
    "concat_ws",
    "contains",
    "current_date",
    "current_time",
    "date_part",
    "date_trunc",
    "degrees",
    "ends_with",
    "exp",
    "extract",
    "find_in_set",
    "floor",
    "get_field",
    "greatest",
    "ilike",
    "initcap",
    "instr",
    "isnan",
    "iszero",
    "least",
    "left",
    "length",
    "levenshtein",
    "like",
    "list_length",
    "lower",
    "ltrim",
    "make_array",
    "map_element",
    "md5",
    "named_struct",
    "nanvl",
    "nested_text",
    "now",
    "nullif",
    "nvl",
    "nvl2",
    "octet_length",
    "pi",
    "position",
    "radians",
    "random",
    "replace",
    "reverse",
    "right",
    "rtrim",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    "sign",
    "signum",
    "split_part",
    "starts_with",
    "strpos",
    "struct",
    "substr",
    "substr_index",
    "substring",
    "to_hex",
    "translate",
    "trim",
    "try_cast",
    "typeof",
    "upper",
    "||",
];
/// Those whose second arguments are patterns.
const PATTERNS: [&str; 6] =
    ["regexp_like", "regexp_count", "regexp_extract", "regexp_replace", "like_escape", "similar_to_escape"];
/// Functions whose result may have no place in its type.
const NARROW: [&str; 9] = ["abs", "round", "trunc", "cast", "+", "-", "*", "<<", ">>"];

fn call(function: &ScalarFunction) -> Failing {
    let name = function.name();
    if crate::identity::is_identity(&function.func) || TOTAL.contains(&name) {
        Failing::Never
    } else if NARROW.contains(&name) {
        Failing::Overflow
    } else if PATTERNS.contains(&name) && function.args.len() > 1 {
        pattern(&function.args[1])
    } else {
        Failing::Value
    }
}

/// The terms of a condition by how they fail: those that cannot first, each group in its order.
pub(super) fn by_failing(terms: Vec<Expr>, schema: &DFSchema) -> (Vec<Expr>, Vec<Expr>) {
    let (mut failing, safe): (Vec<_>, Vec<_>) = terms
        .into_iter()
        .map(|term| (self::failing(&term, schema), term))
        .partition(|(failing, _)| *failing != Failing::Never);
    // Queries have one answer for all rows, so they come before what fails for some.
    failing.sort_by_key(|(failing, _)| *failing != Failing::Query);
    let terms = |of: Vec<(Failing, Expr)>| of.into_iter().map(|(_, term)| term).collect();
    (terms(safe), terms(failing))
}

/// Whether the terms of a condition stand in that order.
pub(super) fn is_sorted(terms: &[Expr], schema: &DFSchema) -> Result<bool> {
    let classes = terms.iter().map(|term| match failing(term, schema) {
        Failing::Never => 0,
        Failing::Query => 1,
        _ => 2,
    });
    Ok(classes.is_sorted())
}

/// Whether operators that evaluate an expression may fail for a row.
pub(super) fn is_risky(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<bool> {
    expr.exists(|expr| {
        if let Some(binary) = expr.downcast_ref::<PhysicalBinaryExpr>() {
            let is_arithmetic = matches!(
                binary.op(),
                Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
            );
            let ty = expr.data_type(schema)?;
            let is_wide = digits(&ty).is_some_and(|(digits, _)| digits < i32::from(DECIMAL128_MAX_PRECISION));
            let cannot = ty.is_floating() || (ty.is_decimal() && is_wide && *binary.op() != Operator::Divide);
            return Ok(is_arithmetic && !cannot);
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            let from = cast.expr().data_type(schema)?;
            return Ok(conversion(&from, of_type(&from), cast.cast_type()) != Failing::Never);
        }
        Ok(expr.downcast_ref::<ScalarFunctionExpr>().is_some_and(|function| {
            !crate::identity::is_identity(function.fun()) && !TOTAL.contains(&function.fun().name())
        }))
    })
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{Field, TimeUnit};
    use datafusion::{
        logical_expr::{cast, lit, try_cast},
        prelude::col,
    };

    use super::*;
    use crate::numbers::CHECKED;

    /// How it fails, which is the same when arithmetic is that of ours.
    fn of(expr: Expr) -> Failing {
        let fields = vec![
            Field::new("i", DataType::Int32, true),
            Field::new("l", DataType::Int64, true),
            Field::new("d", DataType::Decimal128(15, 2), true),
            Field::new("f", DataType::Float64, true),
            Field::new("t", DataType::Utf8, true),
            Field::new("day", DataType::Date32, true),
        ];
        let schema = DFSchema::try_from(Schema::new(fields)).unwrap();
        let checked = (CHECKED.change)(expr.clone(), &schema, false).unwrap().data;
        let found = failing(&expr, &schema);
        assert_eq!(failing(&checked, &schema), found, "{expr}");
        found
    }

    /// Keeps away: conditions that are held back though they cannot fail, which costs time, and those that are not though they can.
    #[test]
    fn what_fails_is_told_from_what_does_not() {
        let wide = |expr| cast(expr, DataType::Int64);
        for never in [
            col("i").gt(lit(5)),
            (wide(col("i")) + lit(1i64)).gt(lit(5i64)),
            (wide(col("i")) * wide(col("i"))).gt(lit(5i64)),
            col("d") * col("d"),
            col("f") + col("f"),
            col("l") / lit(2i64),
            col("l") % lit(10i64),
            col("f") / lit(2.0),
            try_cast(col("t"), DataType::Int32),
            cast(col("l"), DataType::Utf8),
            cast(col("day"), DataType::Timestamp(TimeUnit::Microsecond, None)),
            cast(col("i"), DataType::Decimal128(20, 0)),
            col("t").like(lit("a%")),
        ] {
            assert_eq!(of(never.clone()), Failing::Never, "{never}");
        }
        for overflow in [
            col("l") + lit(1i64),
            col("i") * col("i"),
            cast(col("l"), DataType::Int32),
            cast(col("i"), DataType::Decimal128(5, 0)),
            col("l") / lit(-1i64),
            -col("l"),
        ] {
            assert_eq!(of(overflow.clone()), Failing::Overflow, "{overflow}");
        }
        for value in [
            col("l") / col("l"),
            col("l") % lit(0i64),
            cast(col("t"), DataType::Int32),
            cast(col("t"), DataType::Date32),
        ] {
            assert_eq!(of(value.clone()), Failing::Value, "{value}");
        }
    }
}
