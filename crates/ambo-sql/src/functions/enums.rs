//! `enum_range(x)`, `enum_first(x)`, `enum_last(x)`: labels of the enum that x is of, whatever x is. `enum_code(x)`: the place of its
//! label.
//! `enum_range_boundary(x, y)`: the labels from that of x to that of y, from the first or to the last where one is NULL.

use std::sync::Arc;

use ambo::arrow::enum_of;
use arrow::{
    array::{Array, ArrayRef, ListBuilder, StringBuilder},
    compute::cast,
    datatypes::DataType,
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use crate::{
    logical::{codes, is_enum},
    value::returned,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Range,
    First,
    Last,
    Code,
    Boundary,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OfEnums {
    name: &'static str,
    what: What,
    signature: Signature,
}

impl OfEnums {
    pub(super) fn all() -> [Self; 5] {
        let of = |name, what| {
            let count = if what == What::Boundary { 2 } else { 1 };
            Self { name, what, signature: Signature::any(count, Volatility::Immutable) }
        };
        [
            of("enum_range", What::Range),
            of("enum_first", What::First),
            of("enum_last", What::Last),
            of("enum_code", What::Code),
            of("enum_range_boundary", What::Boundary),
        ]
    }

    /// The enum that arguments are of.
    fn enum_of<'t>(&self, types: &'t [DataType]) -> Result<&'t DataType> {
        let mut others = types.iter().filter(|ty| !ty.is_null());
        match others.next() {
            Some(ty) if is_enum(ty) && others.all(|other| other == ty) => Ok(ty),
            Some(ty) if is_enum(ty) => plan_err!("{} takes two values of one enum", self.name),
            _ => plan_err!("{} takes a value of an enum; of NULL it is to be known: NULL::name", self.name),
        }
    }
}

fn texts() -> DataType {
    DataType::new_list(DataType::Utf8, true)
}

/// As narrow as the number of labels lets it be.
fn code_type(ty: &DataType) -> DataType {
    match enum_of(ty).map_or(0, Iterator::count) {
        0..=256 => DataType::UInt8,
        _ => DataType::UInt16,
    }
}

fn list(labels: &[&str]) -> Result<ScalarValue> {
    let mut builder = ListBuilder::new(StringBuilder::new());
    labels.iter().for_each(|label| builder.values().append_value(label));
    builder.append(true);
    let list: ArrayRef = Arc::new(builder.finish());
    ScalarValue::try_from_array(&cast(&list, &texts())?, 0)
}

impl ScalarUDFImpl for OfEnums {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let ty = self.enum_of(types)?;
        Ok(match self.what {
            What::Range | What::Boundary => texts(),
            What::First | What::Last => DataType::Utf8,
            What::Code => code_type(ty),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<_> = args.args.iter().map(ColumnarValue::data_type).collect();
        let ty = self.enum_of(&types)?;
        let labels: Vec<&str> = enum_of(ty).into_iter().flatten().collect();
        let text = |label: Option<&&str>| {
            ColumnarValue::Scalar(ScalarValue::Utf8(label.map(|label| (*label).into())))
        };
        Ok(match self.what {
            What::Range => ColumnarValue::Scalar(list(&labels)?),
            What::First => text(labels.first()),
            What::Last => text(labels.last()),
            What::Code => {
                let is_one = matches!(args.args[0], ColumnarValue::Scalar(_));
                let values = args.args[0].to_array(if is_one { 1 } else { args.number_rows })?;
                returned(cast(&codes(&values), &code_type(ty))?, is_one)?
            }
            What::Boundary => {
                let bounds = args.args.iter().map(|arg| arg.to_array(args.number_rows));
                let bounds = bounds.collect::<Result<Vec<_>>>()?;
                let place = |of: &ArrayRef, row: usize| {
                    (is_enum(of.data_type()) && of.is_valid(row)).then(|| usize::from(codes(of).value(row)))
                };
                let one = |row: usize| {
                    let from = place(&bounds[0], row).unwrap_or(0);
                    let to = place(&bounds[1], row).map_or(labels.len(), |to| to + 1);
                    list(labels.get(from..to).unwrap_or_default())
                };
                let rows = (0..args.number_rows).map(one).collect::<Result<Vec<_>>>()?;
                match rows.is_empty() {
                    true => ColumnarValue::Array(arrow::array::new_empty_array(&texts())),
                    false => ColumnarValue::Array(ScalarValue::iter_to_array(rows)?),
                }
            }
        })
    }
}
