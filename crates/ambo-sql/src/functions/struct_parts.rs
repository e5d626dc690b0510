//! Structs by their fields: `struct_keys(s)`, `struct_values(s)`, `struct_concat(s, t)`, `struct_extract_at(s, n)`, and `struct_insert(s, a
//! := 1)` and `struct_update(s, a := 1)`, which are given the names and values in turn.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, StructArray},
    buffer::NullBuffer,
    datatypes::{DataType, Field, FieldRef, Fields},
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
    },
};

use crate::logical::is_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Keys,
    Values,
    Concat,
    /// One field, by its place.
    At,
    Insert,
    Update,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct StructParts {
    name: &'static str,
    what: What,
    signature: Signature,
}

impl StructParts {
    pub(super) fn all() -> [Self; 6] {
        let of = |name, what| Self { name, what, signature: Signature::user_defined(Volatility::Immutable) };
        [
            of("struct_keys", What::Keys),
            of("struct_values", What::Values),
            of("struct_concat", What::Concat),
            of("struct_extract_at", What::At),
            of("struct_insert", What::Insert),
            of("struct_update", What::Update),
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
            What::At => types.len() == 2,
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
    let is_null = arrow::array::BooleanArray::new(!nulls.inner(), None);
    Ok(arrow::compute::nullif(values, &is_null)?)
}
