//! `array_has_any(list, other)` and `array_has_all(list, part)`, `list_has_any` and `list_has_all`: NULL of NULL; NULL within them is
//! looked over.
//!
//! `array_has(list, value)` is the planner's, but finds a value also where it is of another type than the elements, if both are compared.
//!
//! The planner's take NULL for a value that is equal to itself, and what they say of a list that is NULL hangs on the other rows of its
//! batch (apache/datafusion#24985).

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, ListArray},
    compute::{SortOptions, cast},
    datatypes::{DataType, Field},
};
use datafusion::{
    common::{Result, arrow::array::make_comparator, plan_datafusion_err, plan_err},
    functions_nested::array_has::ArrayHas,
    logical_expr::{
        ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
        simplify::{ExprSimplifyResult, SimplifyContext},
        type_coercion::binary::comparison_coercion,
    },
};

use crate::{
    logical::{GEOMETRY, geometry_of},
    times::is_text,
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Has {
    is_all: bool,
    signature: Signature,
    aliases: Vec<String>,
}

impl Has {
    pub(super) fn any() -> Self {
        let aliases = vec!["list_has_any".to_owned(), "arrays_overlap".to_owned()];
        Self { is_all: false, signature: Signature::user_defined(Volatility::Immutable), aliases }
    }

    pub(super) fn all() -> Self {
        Self { is_all: true, aliases: vec!["list_has_all".to_owned()], ..Self::any() }
    }
}

fn element(list: &DataType) -> Option<&DataType> {
    match list {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            Some(field.data_type())
        }
        DataType::Null => Some(list),
        _ => None,
    }
}

fn list(array: &ArrayRef) -> Result<ListArray> {
    Ok(match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().clone(),
        other => {
            let of = element(other).cloned().unwrap_or(DataType::Null);
            cast(array, &DataType::List(Arc::new(Field::new_list_field(of, true))))?.as_list::<i32>().clone()
        }
    })
}

impl ScalarUDFImpl for Has {
    fn name(&self) -> &str {
        if self.is_all { "array_has_all" } else { "array_has_any" }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if !self.is_all && types.len() == 2 && types.contains(&GEOMETRY) {
            return Ok(vec![GEOMETRY; 2]);
        }
        let elements: Option<Vec<_>> = types.iter().map(element).collect();
        let Some([left, right]) = elements.as_deref() else {
            return plan_err!("{} has two lists", self.name());
        };
        let common = comparison_coercion(left, right)
            .ok_or_else(|| plan_datafusion_err!("{}: the lists are not of one kind", self.name()))?;
        Ok(vec![DataType::List(Arc::new(Field::new_list_field(common, true))); 2])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        if args.args[0].data_type() == GEOMETRY {
            return Ok(ColumnarValue::Array(meet(&args, rows)?));
        }
        let (all, wanted) = (list(&args.args[0].to_array(rows)?)?, list(&args.args[1].to_array(rows)?)?);
        let order = make_comparator(all.values().as_ref(), wanted.values().as_ref(), SortOptions::default())?;
        let places = |of: &ListArray, row: usize| -> Range<usize> {
            let offsets = of.value_offsets();
            offsets[row] as usize..offsets[row + 1] as usize
        };
        let is_value =
            |of: &ListArray, at: usize| of.values().is_valid(at) && !of.values().data_type().is_null();
        let has =
            |row: usize, at: usize| places(&all, row).any(|of| is_value(&all, of) && order(of, at).is_eq());
        let answer = |row: usize| {
            let mut values = places(&wanted, row).filter(|at| is_value(&wanted, *at));
            if self.is_all { values.all(|at| has(row, at)) } else { values.any(|at| has(row, at)) }
        };
        let both = |row: &usize| all.is_valid(*row) && wanted.is_valid(*row);
        let answers: BooleanArray = (0..rows).map(|row| both(&row).then(|| answer(row))).collect();
        Ok(ColumnarValue::Array(Arc::new(answers)))
    }
}

/// Whether the rectangles around geometries meet, which is what `a && b` is of them.
fn meet(args: &ScalarFunctionArgs, rows: usize) -> Result<ArrayRef> {
    let [left, right] = [args.args[0].to_array(rows)?, args.args[1].to_array(rows)?];
    let pairs = left.as_binary_view().iter().zip(right.as_binary_view());
    let meet = pairs.map(|pair| match pair {
        (Some(left), Some(right)) => Ok(Some(geometry_of(left)?.meets(&geometry_of(right)?))),
        _ => Ok(None),
    });
    Ok(Arc::new(meet.collect::<Result<BooleanArray>>()?))
}

/// The planner's, of a list and a value of any types that are compared.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct HasValue {
    inner: ArrayHas,
    signature: Signature,
}

impl HasValue {
    pub(super) fn new() -> Self {
        Self { inner: ArrayHas::new(), signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for HasValue {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [of, value] = types else { return plan_err!("array_has has a list and a value") };
        let Some(element) = element(of) else {
            return plan_err!("array_has takes a list first, not {of}");
        };
        let common = match (element.is_null(), value.is_null()) {
            (true, _) => value.clone(),
            (_, true) => element.clone(),
            _ if is_text(element) && value.is_numeric() || element.is_numeric() && is_text(value) => {
                return plan_err!("array_has: {value} is not compared with the elements of {of}");
            }
            _ => comparison_coercion(element, value).ok_or_else(|| {
                plan_datafusion_err!("array_has: {value} is not compared with the elements of {of}")
            })?,
        };
        let list = DataType::List(Arc::new(Field::new_list_field(common.clone(), true)));
        Ok(vec![if of.is_null() { DataType::Null } else { list }, common])
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.invoke_with_args(args)
    }
}
