//! `regexp_extract(text, pattern [, group])`: the first part of a text that fits a pattern, or a group of it; an empty text where nothing
//! does, as DuckDB has it. Groups are numbered from 1; 0, which is meant without one, is all of it.

use std::sync::Arc;

use arrow::{
    array::{Array, AsArray, StringArray},
    datatypes::{DataType, Int64Type},
};
use datafusion::{
    common::{Result, exec_datafusion_err, exec_err, plan_err},
    logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility},
};
use regex::Regex;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RegexpExtract(Signature);

impl RegexpExtract {
    pub(super) fn new() -> Self {
        Self(Signature::user_defined(Volatility::Immutable))
    }
}

impl ScalarUDFImpl for RegexpExtract {
    fn name(&self) -> &str {
        "regexp_extract"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types.len() {
            2 => Ok(vec![DataType::Utf8; 2]),
            3 => Ok(vec![DataType::Utf8, DataType::Utf8, DataType::Int64]),
            _ => plan_err!("regexp_extract has a text, a pattern and perhaps the number of a group"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let columns: Vec<_> =
            args.args.iter().map(|value| value.to_array(args.number_rows)).collect::<Result<_>>()?;
        let (texts, patterns) = (columns[0].as_string::<i32>(), columns[1].as_string::<i32>());
        let groups = columns.get(2).map(|groups| groups.as_primitive::<Int64Type>());
        let group = |row| groups.map_or(Some(0), |groups| groups.is_valid(row).then(|| groups.value(row)));
        // Most often the pattern is the same for all rows.
        let mut last: Option<Regex> = None;
        let mut extract = |row: usize| -> Result<Option<String>> {
            let (Some(text), Some(pattern), Some(group)) =
                (text_of(texts, row), text_of(patterns, row), group(row))
            else {
                return Ok(None);
            };
            let regex = match last.take_if(|last| last.as_str() == pattern) {
                Some(regex) => regex,
                None => Regex::new(pattern).map_err(|error| {
                    exec_datafusion_err!("regexp_extract: the pattern '{pattern}': {error}")
                })?,
            };
            let groups = regex.captures_len() - 1;
            let Some(group) = usize::try_from(group).ok().filter(|group| *group <= groups) else {
                return exec_err!(
                    "regexp_extract: there is no group {group}; the pattern '{pattern}' has {groups}"
                );
            };
            let found =
                regex.captures(text).and_then(|found| found.get(group).map(|part| part.as_str().to_owned()));
            last = Some(regex);
            Ok(Some(found.unwrap_or_default()))
        };
        let parts = (0..args.number_rows).map(&mut extract).collect::<Result<StringArray>>()?;
        Ok(ColumnarValue::Array(Arc::new(parts)))
    }
}

fn text_of(texts: &StringArray, row: usize) -> Option<&str> {
    texts.is_valid(row).then(|| texts.value(row))
}
