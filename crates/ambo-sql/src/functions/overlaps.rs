//! `overlaps(begin, end, begin, end)`, which is `(begin, end) OVERLAPS (begin, end)`: whether two spans of time have a moment in common
//! (SQL:2016 part 2, 8.14; with NULL as PostgreSQL).
//!
//! The ends of a span may change places. A span holds its begin and what is before its end; one without length holds its moment. A span
//! that lacks an end is the other one, and what is not known of it makes the answer NULL where it matters.

use std::{cmp::Ordering, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray},
    compute::cast,
    datatypes::{DataType, Int64Type, TimeUnit},
};
use datafusion::{
    common::{Result, plan_err},
    logical_expr::{
        ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        type_coercion::binary::type_union_coercion,
    },
};

use crate::{
    times::is_text,
    value::{null_without_type, returned},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Overlaps(Signature);

impl Overlaps {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for Overlaps {
    fn name(&self) -> &str {
        "overlaps"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let wrong = || {
            plan_err!(
                "OVERLAPS compares a begin and an end with a begin and an end, which are dates, timestamps or times"
            )
        };
        let [first, rest @ ..] = types else { return wrong() };
        let common = rest.iter().try_fold(first.clone(), |common, ty| match is_text(ty) {
            // A text is what the others are.
            true => Some(common),
            false if is_text(&common) => Some(ty.clone()),
            false => type_union_coercion(&common, ty),
        });
        match common {
            Some(common) if types.len() == 4 => Ok(match common {
                ty if is_text(&ty) => vec![DataType::Timestamp(TimeUnit::Microsecond, None); 4],
                DataType::Null | DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_) => {
                    vec![common; 4]
                }
                _ => return wrong(),
            }),
            _ => wrong(),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let Some(null) = null_without_type(&args) {
            return Ok(null);
        }
        let is_one = args.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let numbers = args.args.iter().map(|value| numbers(&value.to_array(rows)?));
        let numbers = numbers.collect::<Result<Vec<_>>>()?;
        let columns: Vec<_> = numbers.iter().map(|array| array.as_primitive::<Int64Type>()).collect();
        let row = |row: usize| {
            let end = |nth: usize| columns[nth].is_valid(row).then(|| columns[nth].value(row));
            overlap(Span::new(end(0), end(1))?, Span::new(end(2), end(3))?)
        };
        returned(Arc::new((0..rows).map(row).collect::<BooleanArray>()) as ArrayRef, is_one)
    }
}

/// Days or microseconds.
fn numbers(times: &ArrayRef) -> Result<ArrayRef> {
    let whole = match times.data_type() {
        DataType::Date32 => cast(times, &DataType::Int32)?,
        _ => times.clone(),
    };
    Ok(cast(&whole, &DataType::Int64)?)
}

#[derive(Clone, Copy)]
struct Span {
    begin: i64,
    end: Option<i64>,
}

impl Span {
    /// `None` if nothing is known of it.
    fn new(one: Option<i64>, other: Option<i64>) -> Option<Self> {
        Some(match (one, other) {
            (Some(one), Some(other)) => Self { begin: one.min(other), end: Some(one.max(other)) },
            (begin, end) => Self { begin: begin.or(end)?, end: None },
        })
    }
}

fn overlap(one: Span, other: Span) -> Option<bool> {
    let (first, second) = match one.begin.cmp(&other.begin) {
        Ordering::Equal => return one.end.and(other.end).map(|_| true),
        Ordering::Less => (one, other),
        Ordering::Greater => (other, one),
    };
    match second.begin < first.end? {
        true => Some(true),
        false => second.end.map(|_| false),
    }
}
