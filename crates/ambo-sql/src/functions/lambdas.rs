//! `list_transform(list, x -> …)`, `list_filter(list, x -> …)`, and both at once, as `[… FOR x IN list IF …]` is. A second parameter of a
//! lambda is the place of the element, from 1 on.
//!
//! The planner's have no place of the element. An element is kept where the condition is true, neither false nor NULL. What a list is made
//! into is only computed of the elements that are kept.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, UInt32Array, new_empty_array},
    buffer::OffsetBuffer,
    compute::{filter, take, take_arrays},
    datatypes::{DataType, Field, FieldRef},
};
use datafusion::{
    common::{Result, plan_err, utils::adjust_offsets_for_slice, utils::list_values},
    logical_expr::{
        ColumnarValue, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature,
        HigherOrderUDFImpl, LambdaArgument, LambdaParametersProgress, ValueOrLambda, Volatility,
    },
};

use super::LIST_COMPREHENSION;

/// What is done with the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Transform,
    Filter,
    /// Filter, if there are two lambdas, and transform.
    Both,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OfElements {
    name: &'static str,
    step: Step,
    aliases: Vec<String>,
    signature: HigherOrderSignature,
}

impl OfElements {
    pub(super) fn all() -> [Self; 3] {
        let of = |name, step, aliases: &[&str]| Self {
            name,
            step,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            signature: HigherOrderSignature::user_defined(Volatility::Immutable),
        };
        [
            of("list_transform", Step::Transform, &["array_transform", "list_apply", "array_apply", "apply"]),
            of("list_filter", Step::Filter, &["array_filter", "filter"]),
            of(LIST_COMPREHENSION, Step::Both, &[]),
        ]
    }

    /// How many lambdas there may be.
    fn lambdas_max(&self) -> usize {
        if self.step == Step::Both { 2 } else { 1 }
    }

    /// What the elements are made into, if that is not what they are.
    fn made<'a, V, L>(&self, args: &'a [ValueOrLambda<V, L>]) -> Option<&'a L> {
        match args.last() {
            Some(ValueOrLambda::Lambda(of)) if self.step != Step::Filter => Some(of),
            _ => None,
        }
    }

    /// What the elements have to fulfil.
    fn condition<'a, V, L>(&self, args: &'a [ValueOrLambda<V, L>]) -> Option<&'a L> {
        match (self.step, args) {
            (Step::Filter, [_, ValueOrLambda::Lambda(of)]) => Some(of),
            (Step::Both, [_, ValueOrLambda::Lambda(of), _]) => Some(of),
            _ => None,
        }
    }
}

/// The type of lists that a first argument is taken as.
pub(super) fn list_type(name: &str, ty: &DataType) -> Result<DataType> {
    match ty {
        DataType::List(_) => Ok(ty.clone()),
        DataType::LargeList(field) | DataType::FixedSizeList(field, _) => Ok(DataType::List(field.clone())),
        DataType::Null => Ok(DataType::new_list(DataType::Null, true)),
        _ => plan_err!("{name} takes a list first"),
    }
}

/// The type of the elements of the list that stands first.
pub(super) fn element_of<L>(name: &str, args: &[ValueOrLambda<FieldRef, L>]) -> Result<FieldRef> {
    match args.first() {
        Some(ValueOrLambda::Value(list)) => match list.data_type() {
            DataType::List(field) => Ok(field.clone()),
            _ => plan_err!("{name} takes a list first"),
        },
        _ => plan_err!("{name} takes a list first"),
    }
}

pub(super) fn place_field() -> FieldRef {
    Arc::new(Field::new("i", DataType::Int64, false))
}

impl HigherOrderUDFImpl for OfElements {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &HigherOrderSignature {
        &self.signature
    }

    fn coerce_value_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [list] => Ok(vec![list_type(self.name, list)?]),
            _ => plan_err!("{} takes a list and a lambda: {0}(list, x -> …)", self.name),
        }
    }

    fn lambda_parameters(
        &self,
        _: usize,
        fields: &[ValueOrLambda<FieldRef, Option<FieldRef>>],
    ) -> Result<LambdaParametersProgress> {
        let element = element_of(self.name, fields)?;
        let lambdas = fields.len() - 1;
        if lambdas == 0 || lambdas > self.lambdas_max() {
            return plan_err!("{} takes a list and a lambda: {0}(list, x -> …)", self.name);
        }
        Ok(LambdaParametersProgress::Complete(vec![vec![element, place_field()]; lambdas]))
    }

    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs<'_>) -> Result<FieldRef> {
        let element = element_of(self.name, args.arg_fields)?;
        if let Some(condition) = self.condition(args.arg_fields)
            && !matches!(condition.data_type(), DataType::Boolean | DataType::Null)
        {
            return plan_err!("{}: the condition is not true or false", self.name);
        }
        let ty = self.made(args.arg_fields).map_or(element.data_type(), |made| made.data_type());
        let list = DataType::List(Arc::new(Field::new_list_field(ty.clone(), true)));
        Ok(Arc::new(Field::new("", list, true)))
    }

    fn invoke_with_args(&self, args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        let (Some(ValueOrLambda::Value(list)), DataType::List(field)) =
            (args.args.first(), args.return_field.data_type())
        else {
            return plan_err!("{} takes a list first", self.name);
        };
        let list = list.to_array(args.number_rows)?;
        let mut elements = Elements::of(list.as_list::<i32>())?;
        if let Some(condition) = self.condition(&args.args) {
            elements.keep(condition)?;
        }
        let values = match self.made(&args.args) {
            Some(made) => elements.computed(made, field.data_type())?,
            None => elements.values,
        };
        let offsets = OffsetBuffer::from_lengths(elements.lengths);
        let list = ListArray::try_new(field.clone(), offsets, values, list.nulls().cloned())?;
        Ok(ColumnarValue::Array(Arc::new(list)))
    }
}

/// The elements of all lists, with the row and the place of each.
struct Elements {
    lengths: Vec<usize>,
    values: ArrayRef,
    rows: UInt32Array,
    places: ArrayRef,
}

impl Elements {
    fn of(list: &ListArray) -> Result<Self> {
        let lengths: Vec<usize> = adjust_offsets_for_slice(list).lengths().collect();
        let each =
            || lengths.iter().enumerate().flat_map(|(row, length)| (0..*length).map(move |at| (row, at)));
        let rows = each().map(|(row, _)| row as u32).collect();
        let places: Int64Array = each().map(|(_, at)| at as i64 + 1).collect();
        Ok(Self { values: list_values(list)?, rows, places: Arc::new(places), lengths })
    }

    /// What a lambda says of each element.
    fn computed(&self, lambda: &LambdaArgument, ty: &DataType) -> Result<ArrayRef> {
        if self.rows.is_empty() {
            return Ok(new_empty_array(ty));
        }
        let (value, place) = (|| Ok(self.values.clone()), || Ok(self.places.clone()));
        let outer = |columns: &[ArrayRef]| Ok(take_arrays(columns, &self.rows, None)?);
        lambda.evaluate(&[&value, &place], outer)?.into_array(self.rows.len())
    }

    /// Leaves the elements that a condition is true for.
    fn keep(&mut self, condition: &LambdaArgument) -> Result<()> {
        let kept = self.computed(condition, &DataType::Boolean)?;
        let kept = match kept.as_boolean_opt() {
            Some(kept) => kept.iter().map(|kept| kept == Some(true)).collect::<BooleanArray>(),
            // NULL for each.
            None => vec![false; kept.len()].into(),
        };
        let mut at = 0;
        for length in &mut self.lengths {
            let end = at + *length;
            *length = (at..end).filter(|at| kept.value(*at)).count();
            at = end;
        }
        self.values = filter(&self.values, &kept)?;
        self.places = filter(&self.places, &kept)?;
        let rows: UInt32Array = (0..kept.len() as u32).filter(|at| kept.value(*at as usize)).collect();
        self.rows = take(&self.rows, &rows, None)?.as_primitive().clone();
        Ok(())
    }
}
