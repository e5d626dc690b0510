//! `list_select(list, places)`: the elements at places, counted from 1, NULL where there is none; `list_where(list, conditions)`: the
//! elements whose condition is true; `list_grade_up(list)`: the places of the elements in their order.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, Int64Array, ListArray, UInt32Array},
    buffer::OffsetBuffer,
    compute::{SortOptions, sort_to_indices, take},
    datatypes::{DataType, Field, Int64Type},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

use super::lambdas::list_type;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum By {
    Places,
    Conditions,
    Order,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ListSelect {
    name: &'static str,
    aliases: Vec<String>,
    by: By,
    signature: Signature,
}

impl ListSelect {
    pub(super) fn all() -> [Self; 3] {
        let signature = Signature::user_defined(Volatility::Immutable);
        let of = |name, aliases: &[&str], by| Self {
            name,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            by,
            signature: signature.clone(),
        };
        [
            of("list_select", &["array_select"], By::Places),
            of("list_where", &["array_where"], By::Conditions),
            of("list_grade_up", &["array_grade_up", "grade_up"], By::Order),
        ]
    }
}

impl ScalarUDFImpl for ListSelect {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let second = match (self.by, types) {
            (By::Order, [list]) => return Ok(vec![list_type(self.name, list)?]),
            (By::Order, _) => return plan_err!("list_grade_up takes a list"),
            (By::Places, [_, _]) => DataType::Int64,
            (By::Conditions, [_, _]) => DataType::Boolean,
            _ => return plan_err!("{} takes two lists", self.name),
        };
        let of = match &types[1] {
            DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => of.data_type(),
            other => other,
        };
        let fits = match self.by {
            By::Conditions => *of == DataType::Boolean,
            _ => of.is_integer(),
        };
        match fits || of.is_null() {
            true => Ok(vec![list_type(self.name, &types[0])?, DataType::new_list(second, true)]),
            false if self.by == By::Conditions => {
                plan_err!("list_where takes a list of true and false second")
            }
            false => plan_err!("list_select takes a list of places second"),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(match (self.by, &types[0]) {
            (By::Order, _) => DataType::new_list(DataType::Int64, true),
            (_, DataType::List(of)) => DataType::new_list(of.data_type().clone(), true),
            _ => DataType::new_list(DataType::Null, true),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns =
            args.args.iter().map(|arg| arg.to_array(args.number_rows)).collect::<Result<Vec<_>>>()?;
        let columns: Vec<_> = columns.iter().map(|column| column.as_list::<i32>()).collect();
        let list = columns[0];
        let (mut places, mut lengths) = (Vec::new(), Vec::with_capacity(list.len()));
        let is_there = |row: usize| columns.iter().all(|column| column.is_valid(row));
        let there: Vec<bool> = (0..list.len()).map(is_there).collect();
        for (row, is_there) in there.iter().enumerate() {
            let before = places.len();
            if *is_there {
                self.places(&columns, row, &mut places)?;
            }
            lengths.push(places.len() - before);
        }
        let values: ArrayRef = match self.by {
            By::Order => Arc::new(places.iter().map(|place| place.map(i64::from)).collect::<Int64Array>()),
            _ => take(list.values(), &UInt32Array::from(places), None)?,
        };
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let made =
            ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), values, Some(there.into()))?;
        Ok(ColumnarValue::Array(Arc::new(made)))
    }
}

impl ListSelect {
    /// Adds the places of a row: among the elements of all rows, or in the list.
    fn places(&self, columns: &[&ListArray], row: usize, to: &mut Vec<Option<u32>>) -> Result<()> {
        let (begin, length) = (columns[0].value_offsets()[row], columns[0].value_length(row));
        let at = |place: i64| {
            let place = if place < 0 { place + i64::from(length) } else { place - 1 };
            (0..i64::from(length)).contains(&place).then(|| begin as u32 + place as u32)
        };
        match self.by {
            By::Places => {
                let places = columns[1].value(row);
                to.extend(places.as_primitive::<Int64Type>().iter().map(|place| place.and_then(at)));
            }
            By::Conditions => {
                let conditions = columns[1].value(row);
                if conditions.null_count() > 0 {
                    return exec_err!("list_where: a condition is NULL");
                }
                let conditions = conditions.as_boolean();
                if conditions.len() > length as usize
                    && conditions.iter().skip(length as usize).any(|of| of == Some(true))
                {
                    return exec_err!("list_where: there are more conditions than elements");
                }
                to.extend(
                    (0..conditions.len()).filter(|nth| conditions.value(*nth)).map(|nth| at(nth as i64 + 1)),
                );
            }
            By::Order => {
                let order = SortOptions { descending: false, nulls_first: false };
                let order = sort_to_indices(&columns[0].value(row), Some(order), None)?;
                to.extend(order.values().iter().map(|place| Some(place + 1)));
            }
        }
        Ok(())
    }
}
