//! Structs by their fields: `struct_keys(s)`, `struct_values(s)`, `struct_concat(s, t)`, `struct_extract_at(s, n)`, and `struct_insert(s, a
//! := 1)` and `struct_update(s, a := 1)`, which are given the names and values in turn; `struct_position(s, x)` and `struct_contains(s, x)`
//! look for a value among the fields: a number is equal to a number of another type, a text to no number.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, StructArray},
    buffer::NullBuffer,
    compute::cast,
    datatypes::{DataType, Field, FieldRef, Fields},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
    },
};

use crate::{logical::is_enum, optimizer::common_type, times::is_text};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Keys,
    Values,
    Concat,
    /// One field, by its place.
    At,
    Insert,
    Update,
    Position,
    Contains,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct StructParts {
    name: &'static str,
    what: What,
    signature: Signature,
}

impl StructParts {
    pub(super) fn all() -> [Self; 8] {
        let of = |name, what| Self { name, what, signature: Signature::user_defined(Volatility::Immutable) };
        [
            of("struct_keys", What::Keys),
            of("struct_values", What::Values),
            of("struct_concat", What::Concat),
            of("struct_extract_at", What::At),
            of("struct_insert", What::Insert),
            of("struct_update", What::Update),
            of("struct_position", What::Position),
            of("struct_contains", What::Contains),
        ]
    }

    fn fields_of<'f>(&self, ty: &'f DataType) -> Result<&'f Fields> {
        match ty {
            DataType::Struct(fields) if !is_enum(ty) => Ok(fields),
            other => plan_err!("{} takes a struct, not {other}", self.name),
        }
    }

    /// The fields of a struct that is changed, each with the argument and the place in it that it comes from.
    fn changed(
        &self,
        fields: &[FieldRef],
        names: &[Option<&ScalarValue>],
    ) -> Result<Vec<(FieldRef, usize, usize)>> {
        let mut all = Vec::new();
        if self.what == What::Concat {
            for (nth, field) in fields.iter().enumerate() {
                let of = self.fields_of(field.data_type())?;
                all.extend(of.iter().enumerate().map(|(place, field)| (field.clone(), nth, place)));
            }
        } else {
            let of = self.fields_of(fields[0].data_type())?;
            all.extend(of.iter().enumerate().map(|(place, field)| (field.clone(), 0, place)));
            for nth in (1..fields.len()).step_by(2) {
                let Some(Some(ScalarValue::Utf8(Some(name)))) = names.get(nth) else {
                    return plan_err!(
                        "{}: the names of fields are written before the values, a := 1",
                        self.name
                    );
                };
                let new = Arc::new(Field::new(name, fields[nth + 1].data_type().clone(), true));
                match all.iter_mut().find(|(field, ..)| field.name() == name) {
                    Some(known) if self.what == What::Update => *known = (new, nth + 1, 0),
                    _ => all.push((new, nth + 1, 0)),
                }
            }
        }
        for (at, (field, ..)) in all.iter().enumerate() {
            if all[..at].iter().any(|(other, ..)| other.name() == field.name()) {
                return plan_err!("{}: there would be two fields \"{}\"", self.name, field.name());
            }
        }
        Ok(all)
    }

    /// The types in which the fields of a struct are compared with a value; `None` of those that are never equal to it.
    fn common_types(&self, of: &DataType, wanted: &DataType) -> Result<Vec<Option<DataType>>> {
        if of.is_null() {
            return Ok(Vec::new());
        }
        let common = |field: &FieldRef| {
            let field = field.data_type();
            let is_truth = |ty: &DataType| *ty == DataType::Boolean;
            match (field, wanted) {
                (field, wanted)
                    if is_truth(field) && wanted.is_numeric() || is_truth(wanted) && field.is_numeric() =>
                {
                    plan_err!("{}: {field} and {wanted} cannot be compared", self.name)
                }
                (field, wanted)
                    if !field.is_null() && !wanted.is_null() && is_text(field) != is_text(wanted) =>
                {
                    Ok(None)
                }
                (field, wanted) => Ok(common_type(field, wanted)),
            }
        };
        self.fields_of(of)?.iter().map(common).collect()
    }

    /// Where the first field is that is equal to a value, or whether there is one.
    fn found(&self, of: &ArrayRef, wanted: &ArrayRef) -> Result<ArrayRef> {
        let types = self.common_types(of.data_type(), wanted.data_type())?;
        let mut pairs = Vec::new();
        for (nth, ty) in types.iter().enumerate() {
            if let Some(ty) = ty {
                pairs.push((nth as i64 + 1, cast(of.as_struct().column(nth), ty)?, cast(wanted, ty)?));
            }
        }
        let place = |row: usize| -> Result<Option<i64>> {
            for (place, field, wanted) in &pairs {
                if ScalarValue::try_from_array(field, row)? == ScalarValue::try_from_array(wanted, row)? {
                    return Ok(Some(*place));
                }
            }
            Ok(None)
        };
        let is_null = |row: usize| of.data_type().is_null() || of.is_null(row);
        let places = (0..of.len()).map(|row| if is_null(row) { Ok(None) } else { place(row) });
        let places = places.collect::<Result<Int64Array>>()?;
        if self.what == What::Position {
            return Ok(Arc::new(places));
        }
        let is_unknown = |row: usize| is_null(row) || wanted.data_type().is_null() || wanted.is_null(row);
        let contains = places.iter().enumerate();
        let contains = contains.map(|(row, place)| (!is_unknown(row)).then_some(place.is_some()));
        Ok(Arc::new(contains.collect::<BooleanArray>()))
    }

    /// The place that is asked for.
    fn place(&self, fields: &Fields, place: Option<&ScalarValue>) -> Result<usize> {
        let place = place.map(|place| place.cast_to(&DataType::Int64)).transpose()?;
        match place {
            Some(ScalarValue::Int64(Some(place))) if (1..=fields.len() as i64).contains(&place) => {
                Ok(place as usize - 1)
            }
            _ => plan_err!("{}: the place is a constant between 1 and {}", self.name, fields.len()),
        }
    }
}

impl ScalarUDFImpl for StructParts {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let fits = match self.what {
            What::Keys | What::Values => types.len() == 1,
            What::At | What::Position | What::Contains => types.len() == 2,
            What::Concat => types.len() > 1,
            What::Insert | What::Update => types.len() > 2 && types.len() % 2 == 1,
        };
        match fits {
            true => Ok(types.to_vec()),
            false => plan_err!("{} takes other arguments: it is called as {0}(struct, …)", self.name),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        plan_err!("{}: its type depends on its arguments", self.name)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let ty = match self.what {
            What::Keys => DataType::new_list(DataType::Utf8, true),
            What::Position | What::Contains => {
                let [of, wanted] = [0, 1].map(|nth| args.arg_fields[nth].data_type());
                self.common_types(of, wanted)?;
                if self.what == What::Position { DataType::Int64 } else { DataType::Boolean }
            }
            What::At => {
                let fields = self.fields_of(args.arg_fields[0].data_type())?;
                let place = self.place(fields, args.scalar_arguments.get(1).copied().flatten())?;
                fields[place].data_type().clone()
            }
            What::Values => {
                let fields = self.fields_of(args.arg_fields[0].data_type())?;
                let of = |(nth, field): (usize, &FieldRef)| {
                    Field::new(format!("c{nth}"), field.data_type().clone(), true)
                };
                DataType::Struct(fields.iter().enumerate().map(of).collect())
            }
            _ => {
                let changed = self.changed(args.arg_fields, args.scalar_arguments)?;
                DataType::Struct(changed.into_iter().map(|(field, ..)| field).collect())
            }
        };
        Ok(Arc::new(Field::new(self.name, ty, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = args.number_rows;
        let columns = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let constants: Vec<_> = args
            .args
            .iter()
            .map(|arg| match arg {
                ColumnarValue::Scalar(value) => Some(value),
                ColumnarValue::Array(_) => None,
            })
            .collect();
        let nulls = columns[0].logical_nulls();
        let made: ArrayRef = match self.what {
            What::Keys => {
                let names: Vec<_> = self
                    .fields_of(columns[0].data_type())?
                    .iter()
                    .map(|field| field.name().as_str().into())
                    .collect();
                let names = ScalarValue::List(ScalarValue::new_list_nullable(&names, &DataType::Utf8));
                with_nulls(&names.to_array_of_size(rows)?, nulls.as_ref())?
            }
            What::Position | What::Contains => self.found(&columns[0], &columns[1])?,
            What::At => {
                let place = self.place(self.fields_of(columns[0].data_type())?, constants[1])?;
                with_nulls(columns[0].as_struct().column(place), nulls.as_ref())?
            }
            What::Values => {
                let DataType::Struct(fields) = args.return_type() else { return plan_err!("{}", self.name) };
                let values = columns[0].as_struct().columns().to_vec();
                Arc::new(StructArray::try_new(fields.clone(), values, nulls)?)
            }
            _ => {
                let changed = self.changed(&args.arg_fields, &constants)?;
                let nulls = match self.what {
                    What::Concat => NullBuffer::union_many(columns.iter().map(|column| column.nulls())),
                    _ => nulls,
                };
                let part = |(_, nth, place): &(FieldRef, usize, usize)| match (
                    columns[*nth].as_struct_opt(),
                    *nth,
                ) {
                    (Some(of), 0) => of.column(*place).clone(),
                    (Some(of), _) if self.what == What::Concat => of.column(*place).clone(),
                    _ => columns[*nth].clone(),
                };
                let parts = changed.iter().map(part).collect();
                let fields = changed.iter().map(|(field, ..)| field.clone()).collect();
                Arc::new(StructArray::try_new(fields, parts, nulls)?)
            }
        };
        Ok(ColumnarValue::Array(made))
    }
}

/// Values, NULL where a struct is.
fn with_nulls(values: &ArrayRef, nulls: Option<&NullBuffer>) -> Result<ArrayRef> {
    let Some(nulls) = nulls else { return Ok(values.clone()) };
    let is_null = BooleanArray::new(!nulls.inner(), None);
    Ok(arrow::compute::nullif(values, &is_null)?)
}
