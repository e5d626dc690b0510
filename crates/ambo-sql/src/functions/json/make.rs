//! JSON of values of SQL: `to_json(x)`, `json_quote(x)`, `CAST(x AS json)`, `json_array(…)`, `json_object(name, value, …)`; and the parts
//! of `json_group_array(x)` and `json_group_object(name, x)`, which are arrays and objects of lists of parts.
//!
//! Numbers and booleans are themselves, lists arrays, structs and maps objects, NULL is null, JSON stays what it is; of all else it is the
//! text in quotes, and so it is of numbers that are not finite.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, StringArray, StringBuilder},
    compute::cast,
    datatypes::{DataType, Field, FieldRef},
};
use datafusion::{
    common::{Result, exec_err, plan_err},
    logical_expr::{
        ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
    },
};

use super::{
    is_json, text_or_json,
    value::{given, read, write_text},
};
use crate::{
    files::value_texts,
    logical::{bytes_texts, is_bytes, is_enum, labels},
    times::is_text,
    value::returned,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    /// NULL stays NULL.
    Value,
    /// A text is read.
    Cast,
    /// As a cast, but NULL of what is no JSON.
    TryCast,
    /// NULL is null.
    Element,
    Array,
    Object,
    /// A name with its value, as they stand in an object.
    Pair,
    ArrayOf,
    ObjectOf,
}

#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Make {
    name: &'static str,
    aliases: Vec<String>,
    what: What,
    signature: Signature,
}

impl Make {
    pub(super) fn all() -> [Self; 9] {
        let of = |name, aliases: &[&str], what| Self {
            name,
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            what,
            signature: Signature::user_defined(Volatility::Immutable),
        };
        [
            of("to_json", &["to_jsonb", "json_quote", "array_to_json", "row_to_json"], What::Value),
            of("cast_to_json", &[], What::Cast),
            of("try_cast_to_json", &[], What::TryCast),
            of("json_element", &[], What::Element),
            of("json_array", &["json_build_array", "jsonb_build_array"], What::Array),
            of("json_object", &["json_build_object", "jsonb_build_object"], What::Object),
            of("json_pair", &[], What::Pair),
            of("json_array_of", &[], What::ArrayOf),
            of("json_object_of", &[], What::ObjectOf),
        ]
    }
}

impl ScalarUDFImpl for Make {
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
        let fits = match self.what {
            What::Value | What::Cast | What::TryCast | What::Element | What::ArrayOf | What::ObjectOf => {
                types.len() == 1
            }
            What::Pair => types.len() == 2,
            What::Object => types.len().is_multiple_of(2),
            What::Array => true,
        };
        if !fits {
            return match self.what {
                What::Object => plan_err!("{} takes names and values in turn", self.name),
                _ => plan_err!("{} takes one value", self.name),
            };
        }
        let coerced = |(nth, ty): (usize, &DataType)| {
            let is_name = matches!(self.what, What::Object | What::Pair) && nth % 2 == 0;
            match is_name || is_text(ty) || ty.is_null() {
                true if ty.is_nested() => plan_err!("{}: a name is a text", self.name),
                true => Ok(DataType::Utf8),
                false => Ok(ty.clone()),
            }
        };
        types.iter().enumerate().map(coerced).collect()
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(text_or_json(self.name, true))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_one =
            !args.args.is_empty() && args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let made = match self.what {
            What::ArrayOf | What::ObjectOf => self.of_parts(&columns[0])?,
            What::Cast if columns[0].data_type() == &DataType::Utf8 => cast_texts(&columns[0])?,
            What::TryCast if columns[0].data_type() == &DataType::Utf8 => {
                let texts = columns[0].as_string::<i32>().iter();
                let texts = texts.map(|text| text.filter(|text| read(text).is_ok()));
                Arc::new(texts.collect::<StringArray>())
            }
            _ => self.of_columns(&columns, &args.arg_fields, rows)?,
        };
        returned(made, is_one)
    }
}

impl Make {
    fn of_columns(&self, columns: &[ArrayRef], fields: &[FieldRef], rows: usize) -> Result<ArrayRef> {
        let is_name = |nth: usize| matches!(self.what, What::Object | What::Pair) && nth.is_multiple_of(2);
        let texts = columns.iter().zip(fields).enumerate().map(|(nth, (column, field))| match is_name(nth) {
            true => json_texts(column, &Field::new("name", DataType::Utf8, true)),
            false => json_texts(column, field),
        });
        let texts = texts.collect::<Result<Vec<_>>>()?;
        let mut out = StringBuilder::new();
        for row in 0..rows {
            if matches!(self.what, What::Value | What::Cast | What::TryCast) && columns[0].is_null(row) {
                out.append_null();
                continue;
            }
            if let Some(nth) = (0..columns.len()).find(|nth| is_name(*nth) && columns[*nth].is_null(row)) {
                return exec_err!("{}: the name in argument {} is NULL", self.name, nth + 1);
            }
            let parts: Vec<&str> = texts.iter().map(|texts| texts[row].as_str()).collect();
            let pairs = || parts.chunks(2).map(|pair| pair.join(":")).collect::<Vec<_>>().join(",");
            match self.what {
                What::Array => out.append_value(format!("[{}]", parts.join(","))),
                What::Object => out.append_value(format!("{{{}}}", pairs())),
                What::Pair => out.append_value(pairs()),
                _ => out.append_value(parts[0]),
            }
        }
        Ok(Arc::new(out.finish()))
    }

    /// Lists of parts as arrays or objects.
    fn of_parts(&self, lists: &ArrayRef) -> Result<ArrayRef> {
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return Ok(Arc::new(StringArray::new_null(lists.len())));
        };
        let [begin, end] = if self.what == What::ArrayOf { ["[", "]"] } else { ["{", "}"] };
        let made = lists.iter().map(|parts| {
            let parts = parts?;
            let parts: Vec<_> = parts.as_string::<i32>().iter().flatten().collect();
            Some(format!("{begin}{}{end}", parts.join(",")))
        });
        Ok(Arc::new(made.collect::<StringArray>()))
    }
}

/// Texts that have to be JSON.
fn cast_texts(texts: &ArrayRef) -> Result<ArrayRef> {
    texts.as_string::<i32>().iter().flatten().try_for_each(|text| given("CAST to json", text).map(drop))?;
    Ok(texts.clone())
}

/// The values of an array as JSON, as they are in a column of it: NULL stays NULL.
pub(crate) fn json_values(array: &ArrayRef) -> Result<ArrayRef> {
    let texts = json_texts(array, &Field::new("value", array.data_type().clone(), true))?;
    let texts = texts.into_iter().enumerate().map(|(row, text)| array.is_valid(row).then_some(text));
    Ok(Arc::new(texts.collect::<StringArray>()))
}

/// The values of an array as JSON; NULL as null.
pub(super) fn json_texts(array: &ArrayRef, field: &Field) -> Result<Vec<String>> {
    let rows = array.len();
    let or_null = |made: Vec<String>| -> Vec<String> {
        let made = made.into_iter().enumerate();
        made.map(|(row, text)| if array.is_null(row) { "null".to_owned() } else { text }).collect()
    };
    let made = match array.data_type() {
        DataType::Null => return Ok(vec!["null".to_owned(); rows]),
        DataType::Boolean => {
            array.as_boolean().iter().map(|value| value.unwrap_or_default().to_string()).collect()
        }
        ty if ty.is_floating() => floats(array)?,
        ty if ty.is_integer() || ty.is_decimal() => texts_of(array, str::to_owned)?,
        ty if is_text(ty) && is_json(field) => texts_of(array, str::to_owned)?,
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = json_texts(list.values(), item)?;
            spans(list.value_offsets()).map(|span| format!("[{}]", values[span].join(","))).collect()
        }
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            return json_texts(&cast(array, &DataType::List(item.clone()))?, field);
        }
        ty if is_enum(ty) => quoted_texts(&(Arc::new(labels(array)?) as ArrayRef))?,
        DataType::Struct(fields) => {
            let columns = fields.iter().zip(array.as_struct().columns());
            let columns =
                columns.map(|(field, column)| Ok((quoted(field.name()), json_texts(column, field)?)));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let one = |row: usize| {
                let fields = columns.iter().map(|(name, values)| format!("{name}:{}", values[row]));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
            };
            (0..rows).map(one).collect()
        }
        DataType::Map(entries, _) => {
            let map = array.as_map();
            let of_value = match entries.data_type() {
                DataType::Struct(fields) if fields.len() == 2 => fields[1].clone(),
                _ => return plan_err!("a map without keys and values"),
            };
            let (keys, values) = (quoted_texts(map.keys())?, json_texts(map.values(), &of_value)?);
            let one = |span: std::ops::Range<usize>| {
                let pairs = span.map(|at| format!("{}:{}", keys[at], values[at]));
                format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
            };
            spans(map.value_offsets()).map(one).collect()
        }
        ty if is_bytes(ty) => quoted_texts(&(Arc::new(bytes_texts(array)?) as ArrayRef))?,
        _ => quoted_texts(array)?,
    };
    Ok(or_null(made))
}

fn spans(offsets: &[i32]) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
    offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize)
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_text(text, &mut out);
    out
}

fn quoted_texts(array: &ArrayRef) -> Result<Vec<String>> {
    texts_of(array, quoted)
}

/// The texts of plain values.
fn texts_of(array: &ArrayRef, make: impl Fn(&str) -> String) -> Result<Vec<String>> {
    let texts = match value_texts(array, "UTC")? {
        Some(texts) => texts,
        None => cast(array, &DataType::Utf8)?.as_string::<i32>().clone(),
    };
    Ok(texts.iter().map(|text| make(text.unwrap_or_default())).collect())
}

/// Doubles with a point or an exponent, so that they are read as such.
fn floats(array: &ArrayRef) -> Result<Vec<String>> {
    texts_of(array, |text| match text.parse::<f64>() {
        Ok(number) if number.is_finite() && text.contains(['.', 'e', 'E']) => text.to_owned(),
        Ok(number) if number.is_finite() => format!("{text}.0"),
        _ => quoted(text),
    })
}
