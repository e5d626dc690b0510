//! `array_element(x, n)` and `array_slice(x, from, to)`, which are `x[n]` and `x[from:to]`, also of texts: characters in the place of
//! elements, an empty text where there is none; and `x[from:to]` of blobs: bytes.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, BinaryArray, StringArray},
    datatypes::{DataType, Field, FieldRef, Int64Type},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    functions_nested::extract::{array_element_udf, array_slice_udf},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
        type_coercion::functions::fields_with_udf,
    },
};

use crate::{times::is_text, value::returned};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TextOrList {
    /// What it is of lists.
    planners: Arc<ScalarUDF>,
    signature: Signature,
}

impl TextOrList {
    fn new(planners: Arc<ScalarUDF>) -> Self {
        Self { planners, signature: Signature::user_defined(Volatility::Immutable) }
    }

    pub(super) fn all() -> [Self; 2] {
        [Self::element(), Self::slice()]
    }

    pub(crate) fn element() -> Self {
        Self::new(array_element_udf())
    }

    pub(crate) fn slice() -> Self {
        Self::new(array_slice_udf())
    }

    fn is_slice(&self) -> bool {
        self.planners.name() == "array_slice"
    }
}

impl ScalarUDFImpl for TextOrList {
    fn name(&self) -> &str {
        self.planners.name()
    }

    fn aliases(&self) -> &[String] {
        self.planners.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let places = if self.is_slice() { 2 } else { 1 };
        let are_places = |at: &[DataType]| at.iter().all(|ty| ty.is_integer() || ty.is_null());
        match types {
            [DataType::Null, ..] if self.is_slice() => Ok(types.to_vec()),
            [DataType::Binary, at @ ..] if self.is_slice() && at.len() == 2 && are_places(at) => {
                Ok(vec![DataType::Binary, DataType::Int64, DataType::Int64])
            }
            [of, at @ ..] if is_text(of) => match at.len() == places
                && at.iter().all(|ty| ty.is_integer() || ty.is_null())
            {
                true => Ok(std::iter::once(DataType::Utf8).chain(vec![DataType::Int64; places]).collect()),
                false if self.is_slice() => plan_err!("array_slice of a text has two places, from and to"),
                false => plan_err!("a part of a text is taken by its place, a whole number"),
            },
            _ => {
                let field = |ty: &DataType| Arc::new(Field::new("", ty.clone(), true)) as FieldRef;
                let fields: Vec<_> = types.iter().map(field).collect();
                let fields = fields_with_udf(&fields, self.planners.as_ref())?;
                Ok(fields.iter().map(|field| field.data_type().clone()).collect())
            }
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types.first() {
            Some(DataType::Utf8) => Ok(DataType::Utf8),
            Some(of @ (DataType::Null | DataType::Binary)) if self.is_slice() => Ok(of.clone()),
            _ => self.planners.return_type(types),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields.first().map(|field| field.data_type()) {
            Some(DataType::Utf8) => Ok(Arc::new(Field::new(self.name(), DataType::Utf8, true))),
            Some(of @ (DataType::Null | DataType::Binary)) if self.is_slice() => {
                Ok(Arc::new(Field::new(self.name(), of.clone(), true)))
            }
            _ => self.planners.return_field_from_args(args),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.first().map(ColumnarValue::data_type) {
            Some(DataType::Utf8) => {}
            Some(DataType::Binary) if self.is_slice() => return self.of_bytes(&args),
            Some(DataType::Null) if self.is_slice() => return Ok(ColumnarValue::Scalar(ScalarValue::Null)),
            _ if self.is_slice() => return self.planners.invoke_with_args(within_lists(args)?),
            _ => return self.planners.invoke_with_args(args),
        }
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let part = |row: usize| {
            let is_there = columns.iter().all(|column| column.is_valid(row));
            let place = |nth: usize| columns[nth].as_primitive::<Int64Type>().value(row);
            is_there.then(|| {
                let text = columns[0].as_string::<i32>().value(row);
                match self.is_slice() {
                    true => slice(text, place(1), place(2)),
                    false => slice(text, place(1), place(1)),
                }
            })
        };
        returned(Arc::new((0..rows).map(part).collect::<StringArray>()), is_one)
    }
}

impl TextOrList {
    fn of_bytes(&self, args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let part = |row: usize| {
            let place = |nth: usize| columns[nth].as_primitive::<Int64Type>().value(row);
            columns.iter().all(|column| column.is_valid(row)).then(|| {
                let bytes = columns[0].as_binary::<i32>().value(row);
                let (begin, count) = span(bytes.len(), place(1), place(2));
                bytes.iter().skip(begin).take(count).copied().collect::<Vec<u8>>()
            })
        };
        returned(Arc::new((0..rows).map(part).collect::<BinaryArray>()), is_one)
    }
}

/// Places of lists, none of which has so many elements, as the planner's function can count them.
fn within_lists(mut args: ScalarFunctionArgs) -> Result<ScalarFunctionArgs> {
    const MOST: i64 = i32::MAX as i64;
    for place in args.args.iter_mut().skip(1).take(2) {
        if place.data_type() != DataType::Int64 {
            continue;
        }
        let is_one = matches!(place, ColumnarValue::Scalar(_));
        let places = place.to_array(if is_one { 1 } else { args.number_rows })?;
        let places = places.as_primitive::<Int64Type>().unary::<_, Int64Type>(|of| of.clamp(-MOST, MOST));
        *place = returned(Arc::new(places), is_one)?;
    }
    Ok(args)
}

/// The characters from a place to another one, counted from 1, or from the end if they are negative.
fn slice(text: &str, from: i64, to: i64) -> String {
    let (begin, count) = span(text.chars().count(), from, to);
    text.chars().skip(begin).take(count).collect()
}

/// How many are left out before the part from a place to another one, and how many it has.
fn span(count: usize, from: i64, to: i64) -> (usize, usize) {
    let count = count as i64;
    let place = |place: i64| if place < 0 { count.saturating_add(place) } else { place - 1 };
    let (begin, end) = (place(from).max(0), place(to).min(count));
    match from == 0 && to == 0 || end < begin {
        true => (0, 0),
        false => (begin as usize, (end - begin + 1) as usize),
    }
}
