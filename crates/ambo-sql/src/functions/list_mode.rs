//! `list_mode(list)`: the value that most elements are, the first of several; NULL if there is none. It is what `mode(x ORDER BY y)` is
//! computed by.

use std::collections::HashMap;

use arrow::{
    array::{Array, AsArray},
    datatypes::DataType,
};
use datafusion::{
    common::{Result, ScalarValue, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ListMode(Signature);

impl ListMode {
    pub(super) fn new() -> Self {
        Self(Signature::any(1, Volatility::Immutable))
    }
}

impl ScalarUDFImpl for ListMode {
    fn name(&self) -> &str {
        "list_mode"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match &arguments[0] {
            DataType::List(item) => Ok(item.data_type().clone()),
            DataType::Null => Ok(DataType::Null),
            _ => plan_err!("list_mode takes a list"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let nothing = ScalarValue::try_from(args.return_type())?;
        let lists = args.args[0].to_array(args.number_rows)?;
        let Some(lists) = lists.as_list_opt::<i32>() else { return Ok(ColumnarValue::Scalar(nothing)) };
        let modes = lists.iter().map(|list| match list {
            Some(list) => Ok(mode(list.as_ref())?.unwrap_or_else(|| nothing.clone())),
            None => Ok(nothing.clone()),
        });
        let modes = modes.collect::<Result<Vec<_>>>()?;
        Ok(ColumnarValue::Array(match modes.is_empty() {
            true => nothing.to_array_of_size(0)?,
            false => ScalarValue::iter_to_array(modes)?,
        }))
    }
}

fn mode(list: &dyn Array) -> Result<Option<ScalarValue>> {
    // How many there are of each, and where the first is.
    let mut counts: HashMap<ScalarValue, (usize, usize)> = HashMap::new();
    for at in 0..list.len() {
        let value = match ScalarValue::try_from_array(list, at)? {
            value if value.is_null() => continue,
            // 0.0 and -0.0 are one.
            ScalarValue::Float64(Some(0.0)) => ScalarValue::Float64(Some(0.0)),
            ScalarValue::Float32(Some(0.0)) => ScalarValue::Float32(Some(0.0)),
            value => value,
        };
        counts.entry(value).or_insert((0, at)).0 += 1;
    }
    let best = counts.into_iter().max_by_key(|(_, (count, first))| (*count, usize::MAX - first));
    Ok(best.map(|(value, _)| value))
}
