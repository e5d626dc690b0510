//! `list_reduce(list, (a, x) -> … [, first])`: one value of all elements. `a` is what came out before, at first the first element or what
//! is given. A third parameter of the lambda is the place of the element, from 1 on. NULL of NULL; of nothing it is the given value, or an
//! error.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Int64Array, ListArray, UInt32Array, new_null_array},
    compute::{cast, interleave, take, take_arrays},
    datatypes::{DataType, Field, FieldRef},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature,
        HigherOrderUDFImpl, LambdaArgument, LambdaParametersProgress, ValueOrLambda, Volatility,
        type_coercion::binary::type_union_coercion,
    },
};

use super::lambdas::{element_of, list_type, place_field};
use crate::{numbers::DIGITS_MAX, times::is_text};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ListReduce {
    signature: HigherOrderSignature,
    aliases: Vec<String>,
}

impl ListReduce {
    pub(super) fn new() -> Self {
        Self {
            signature: HigherOrderSignature::user_defined(Volatility::Immutable),
            aliases: vec!["array_reduce".to_owned(), "reduce".to_owned()],
        }
    }
}

/// The list, the lambda, and the value to begin with.
fn parts<V, L>(args: &[ValueOrLambda<V, L>]) -> Result<(&V, &L, Option<&V>)> {
    use ValueOrLambda::{Lambda, Value};
    match args {
        [Value(list), Lambda(lambda)] => Ok((list, lambda, None)),
        [Value(list), Lambda(lambda), Value(first)] => Ok((list, lambda, Some(first))),
        _ => plan_err!("list_reduce takes a list, a lambda and perhaps a value to begin with"),
    }
}

/// The type of what comes out: that of the first value, wide enough for what the lambda makes of it.
fn united(first: &DataType, made: &DataType) -> Result<DataType> {
    let is_mixed = is_text(first) != is_text(made) && !first.is_null() && !made.is_null();
    match type_union_coercion(first, made) {
        Some(ty) if !is_mixed => Ok(ty),
        _ => plan_err!("list_reduce: {made} cannot go on as {first}; cast the one or the other"),
    }
}

/// Whether a type may still be too short for the next step.
fn grows(ty: &DataType) -> bool {
    matches!(ty, DataType::Decimal128(digits, _) if *digits < DIGITS_MAX)
}

impl HigherOrderUDFImpl for ListReduce {
    fn name(&self) -> &str {
        "list_reduce"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &HigherOrderSignature {
        &self.signature
    }

    fn coerce_value_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [list] => Ok(vec![list_type(self.name(), list)?]),
            [list, first] => Ok(vec![list_type(self.name(), list)?, first.clone()]),
            _ => plan_err!("list_reduce takes a list, a lambda and perhaps a value to begin with"),
        }
    }

    fn lambda_parameters(
        &self,
        step: usize,
        fields: &[ValueOrLambda<FieldRef, Option<FieldRef>>],
    ) -> Result<LambdaParametersProgress> {
        let element = element_of(self.name(), fields)?;
        let (_, lambda, first) = parts(fields)?;
        let begin = match first {
            Some(first) => type_union_coercion(element.data_type(), first.data_type())
                .unwrap_or_else(|| first.data_type().clone()),
            None => element.data_type().clone(),
        };
        let of = |ty: &DataType| {
            vec![Arc::new(Field::new("a", ty.clone(), true)) as FieldRef, element.clone(), place_field()]
        };
        let Some(made) = lambda else {
            return Ok(LambdaParametersProgress::Partial(vec![Some(of(&begin))]));
        };
        let wanted = united(&begin, made.data_type())?;
        if step == 0 || step > 1 && !grows(&wanted) || wanted == begin {
            return Ok(LambdaParametersProgress::Complete(vec![of(&wanted)]));
        }
        match wanted {
            // Each step would have a digit more.
            DataType::Decimal128(digits, places) if digits < DIGITS_MAX => Ok(
                LambdaParametersProgress::Partial(vec![Some(of(&DataType::Decimal128(DIGITS_MAX, places)))]),
            ),
            _ if step == 1 => Ok(LambdaParametersProgress::Partial(vec![Some(of(&wanted))])),
            _ => plan_err!("list_reduce: the decimals get longer with each step; cast them to double"),
        }
    }

    fn coerce_values_for_lambdas(
        &self,
        fields: &[ValueOrLambda<DataType, DataType>],
    ) -> Result<Option<Vec<DataType>>> {
        let (list, made, first) = parts(fields)?;
        Ok(match first {
            Some(first) => Some(vec![list.clone(), united(first, made)?]),
            None => None,
        })
    }

    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs<'_>) -> Result<FieldRef> {
        let element = element_of(self.name(), args.arg_fields)?;
        let (_, made, first) = parts(args.arg_fields)?;
        let ty = united(first.unwrap_or(&element).data_type(), made.data_type())?;
        Ok(Arc::new(Field::new("", ty, true)))
    }

    fn invoke_with_args(&self, args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        let (list, lambda, first) = parts(&args.args)?;
        let list = list.to_array(args.number_rows)?;
        let list = list.as_list::<i32>();
        let ty = args.return_type();
        let (made, begin) = match first {
            Some(first) => (cast(&first.to_array(args.number_rows)?, ty)?, 0),
            None => (firsts(list, ty)?, 1),
        };
        let nothing: UInt32Array =
            (0..list.len() as u32).map(|row| list.is_valid(row as usize).then_some(row)).collect();
        let made = take(&made, &nothing, None)?;
        Ok(ColumnarValue::Array(reduced(list, lambda, made, begin)?))
    }
}

/// The first element of each list.
fn firsts(list: &ListArray, ty: &DataType) -> Result<ArrayRef> {
    let mut places = Vec::with_capacity(list.len());
    for row in 0..list.len() {
        let place = match (list.is_valid(row), list.value_length(row)) {
            (false, _) => None,
            (true, 0) => {
                return exec_err!(
                    "list_reduce: of an empty list comes nothing; give it a value to begin with"
                );
            }
            (true, _) => Some(list.value_offsets()[row] as u32),
        };
        places.push(place);
    }
    if places.iter().all(Option::is_none) {
        return Ok(new_null_array(ty, list.len()));
    }
    Ok(cast(&take(list.values(), &UInt32Array::from(places), None)?, ty)?)
}

/// Takes the elements in their order, those at one place of all lists at once.
fn reduced(list: &ListArray, lambda: &LambdaArgument, mut made: ArrayRef, begin: i32) -> Result<ArrayRef> {
    let ty = made.data_type().clone();
    for at in begin.. {
        let has_more = |row: &u32| list.is_valid(*row as usize) && list.value_length(*row as usize) > at;
        let rows: UInt32Array = (0..list.len() as u32).filter(has_more).collect();
        if rows.is_empty() {
            break;
        }
        let places: UInt32Array =
            rows.values().iter().map(|row| (list.value_offsets()[*row as usize] + at) as u32).collect();
        let before = take(&made, &rows, None)?;
        let elements = take(list.values(), &places, None)?;
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![i64::from(at) + 1; rows.len()]));
        let (before, elements, numbers) =
            (|| Ok(before.clone()), || Ok(elements.clone()), || Ok(numbers.clone()));
        let outer = |columns: &[ArrayRef]| Ok(take_arrays(columns, &rows, None)?);
        let next = lambda.evaluate(&[&before, &elements, &numbers], outer)?.into_array(rows.len())?;
        let next = cast(&next, &ty)?;
        let mut from: Vec<(usize, usize)> = (0..made.len()).map(|row| (0, row)).collect();
        for (nth, row) in rows.values().iter().enumerate() {
            from[*row as usize] = (1, nth);
        }
        made = interleave(&[made.as_ref(), next.as_ref()], &from)?;
    }
    Ok(made)
}
