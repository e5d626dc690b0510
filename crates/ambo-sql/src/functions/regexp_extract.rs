//! `regexp_extract(text, pattern [, group [, options]])`: the first part of a text that fits a pattern, or a group of it; an empty text
//! where nothing does. `regexp_extract_all` gives a list of all parts, NULL where a group has none. Groups are numbered from 1; 0, which is
//! meant without one, is all of it. A list of names in the place of the group makes structs: the first name is for the first group. Names
//! of fields are known before there are rows: with them it is another function, which has them as arguments.

use std::{ops::Range, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, ListArray, StringArray, StringBuilder, StructArray},
    buffer::OffsetBuffer,
    datatypes::{DataType, Field, FieldRef, Fields, Int64Type},
};
use datafusion::{
    common::{Result, ScalarValue, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
    },
};
use regex::{Captures, Regex};

use super::regexes::expression;
use crate::value::returned;

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RegexpExtract {
    is_all: bool,
    /// Whether the names of groups stand behind the options.
    is_named: bool,
    signature: Signature,
}

impl RegexpExtract {
    pub(super) fn all() -> [Self; 4] {
        [(false, false), (false, true), (true, false), (true, true)].map(|(is_all, is_named)| Self {
            is_all,
            is_named,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    }
}

/// Texts that are the same in all rows.
fn names<'v>(values: impl Iterator<Item = Option<&'v ScalarValue>>) -> Option<Vec<String>> {
    let name = |value: Option<&ScalarValue>| match value {
        Some(ScalarValue::Utf8(Some(name))) => Some(name.clone()),
        _ => None,
    };
    values.map(name).collect()
}

fn fields(names: &[String]) -> Fields {
    names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect()
}

impl ScalarUDFImpl for RegexpExtract {
    fn name(&self) -> &str {
        match (self.is_all, self.is_named) {
            (false, false) => "regexp_extract",
            (false, true) => "regexp_extract_with_names",
            (true, false) => "regexp_extract_all",
            (true, true) => "regexp_extract_all_with_names",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let fits = match self.is_named {
            true => types.len() > 3,
            false => {
                (2..=4).contains(&types.len())
                    && types.get(2).is_none_or(|ty| ty.is_integer() || ty.is_null())
            }
        };
        if !fits || types.iter().any(DataType::is_nested) {
            return plan_err!(
                "regexp_extract has a text, a pattern, perhaps the number of a group or ['name', …], and options"
            );
        }
        let of = |nth: usize| if nth == 2 && !self.is_named { DataType::Int64 } else { DataType::Utf8 };
        Ok((0..types.len()).map(of).collect())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let of = match self.is_named {
            false => DataType::Utf8,
            true => match names(args.scalar_arguments.iter().skip(3).copied()) {
                Some(names) => {
                    match names.iter().enumerate().find(|(nth, name)| names[..*nth].contains(name)) {
                        Some((_, twice)) => {
                            return plan_err!("regexp_extract: two groups are called '{twice}'");
                        }
                        None => DataType::Struct(fields(&names)),
                    }
                }
                None => return plan_err!("regexp_extract: the names of groups are written as texts"),
            },
        };
        let ty = if self.is_all { DataType::new_list(of, true) } else { of };
        Ok(Arc::new(Field::new(self.name(), ty, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let constant = |arg: &'_ ColumnarValue| match arg {
            ColumnarValue::Scalar(value) => Some(value.clone()),
            ColumnarValue::Array(_) => None,
        };
        let constants: Vec<_> = args.args.iter().skip(3).map(constant).collect();
        let names = match self.is_named {
            true => names(constants.iter().map(Option::as_ref)),
            false => None,
        };
        let mut parts = Parts::new(names.as_ref().map_or(1, Vec::len));
        for row in 0..rows {
            match columns.iter().any(|column| column.is_null(row)) {
                true => parts.add_nothing(),
                false => self.add(&columns, row, names.as_deref(), &mut parts)?,
            }
        }
        returned(parts.finish(names.as_deref(), self.is_all)?, is_one)
    }
}

impl RegexpExtract {
    /// Adds the parts of one row.
    fn add(
        &self,
        columns: &[ArrayRef],
        row: usize,
        names: Option<&[String]>,
        parts: &mut Parts,
    ) -> Result<()> {
        let text = |nth: usize| columns.get(nth).map(|column| column.as_string::<i32>().value(row));
        let (of, pattern) = (text(0).unwrap_or_default(), text(1).unwrap_or_default());
        let options = if self.is_named { text(2) } else { text(3) };
        let regex = expression("regexp_extract", pattern, options)?;
        let wanted = groups(&regex, columns.get(2), row, names)?;
        let take = |found: Option<&Captures<'_>>, group: usize| {
            found.and_then(|found| found.get(group)).map(|part| part.as_str().to_owned())
        };
        if !self.is_all {
            let found = regex.captures(of);
            parts.add(wanted.map(|group| Some(take(found.as_ref(), group).unwrap_or_default())));
            return Ok(());
        }
        // A match of nothing may stand right behind another one, as in RE2 and PCRE.
        let (mut at, mut count) = (0, 0);
        while let Some(found) = regex.captures_at(of, at) {
            let whole = found.get(0).map_or(at..at, |whole| whole.range());
            parts.push(wanted.clone().map(|group| take(Some(&found), group)));
            count += 1;
            at = match whole.is_empty() {
                true => whole.end + of[whole.end..].chars().next().map_or(1, char::len_utf8),
                false => whole.end,
            };
            if at > of.len() {
                break;
            }
        }
        parts.end_row(count);
        Ok(())
    }
}

/// The groups that are asked for.
fn groups(
    regex: &Regex,
    group: Option<&ArrayRef>,
    row: usize,
    names: Option<&[String]>,
) -> Result<Range<usize>> {
    let (there, pattern) = (regex.captures_len() - 1, regex.as_str());
    if let Some(names) = names {
        return match names.len() <= there {
            true => Ok(1..names.len() + 1),
            false => exec_err!("regexp_extract: {} names for the {there} groups of '{pattern}'", names.len()),
        };
    }
    let group = group.map_or(0, |groups| groups.as_primitive::<Int64Type>().value(row));
    match usize::try_from(group).ok().filter(|group| *group <= there) {
        Some(group) => Ok(group..group + 1),
        None => exec_err!("regexp_extract: there is no group {group}; the pattern '{pattern}' has {there}"),
    }
}

/// Columns of parts, with how many each row has.
struct Parts {
    columns: Vec<StringBuilder>,
    lengths: Vec<usize>,
    there: Vec<bool>,
}

impl Parts {
    fn new(columns: usize) -> Self {
        let columns = std::iter::repeat_with(StringBuilder::new).take(columns).collect();
        Self { columns, lengths: Vec::new(), there: Vec::new() }
    }

    fn push(&mut self, parts: impl Iterator<Item = Option<String>>) {
        self.columns.iter_mut().zip(parts).for_each(|(column, part)| column.append_option(part));
    }

    fn end_row(&mut self, count: usize) {
        self.lengths.push(count);
        self.there.push(true);
    }

    /// A row with one part.
    fn add(&mut self, parts: impl Iterator<Item = Option<String>>) {
        self.push(parts);
        self.end_row(1);
    }

    fn add_nothing(&mut self) {
        self.lengths.push(0);
        self.there.push(false);
    }

    fn finish(mut self, names: Option<&[String]>, is_all: bool) -> Result<ArrayRef> {
        if !is_all {
            // One part a row, also where there is none.
            let mut places = Vec::with_capacity(self.there.len());
            let mut at = 0;
            for there in &self.there {
                places.push(there.then_some(at));
                at += u32::from(*there);
            }
            let places = arrow::array::UInt32Array::from(places);
            let column = |mut column: StringBuilder| -> Result<ArrayRef> {
                Ok(arrow::compute::take(&column.finish(), &places, None)?)
            };
            let columns = self.columns.into_iter().map(column).collect::<Result<Vec<_>>>()?;
            return Ok(match names {
                Some(names) => {
                    Arc::new(StructArray::try_new(fields(names), columns, Some(self.there.into()))?)
                }
                None => columns.into_iter().next().unwrap_or_else(|| Arc::new(StringArray::new_null(0))),
            });
        }
        let columns: Vec<ArrayRef> =
            self.columns.iter_mut().map(|column| Arc::new(column.finish()) as ArrayRef).collect();
        let values: ArrayRef = match names {
            Some(names) => Arc::new(StructArray::try_new(fields(names), columns, None)?),
            None => columns.into_iter().next().unwrap_or_else(|| Arc::new(StringArray::new_null(0))),
        };
        let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
        let offsets = OffsetBuffer::from_lengths(self.lengths);
        Ok(Arc::new(ListArray::try_new(field, offsets, values, Some(self.there.into()))?))
    }
}
